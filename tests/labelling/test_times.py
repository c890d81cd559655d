"""How long answers took: stored once, within reason, exported, and learnt from."""

from __future__ import annotations

import itertools

import pytest
import sqlalchemy as sa

from labelwise import Costs
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.exchange.label_studio import from_label_studio, to_label_studio
from labelwise.labelling.exchange.transfer import read_events_file, write_events
from labelwise.labelling.figures.report import write_report
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.service import Service
from labelwise.labelling.store.events import recent_times
from labelwise.records import Timing
from labelwise.records.asking import MAX_SECONDS

YES = {"left": True, "low": False, "far": False}


@pytest.fixture
def slow(make, location):
    """A project whose clock goes on by a thousand seconds at every look, so that no lease is too young for a time."""
    project = make(at=location, ready=40)
    project.refresh()
    ticks = itertools.count(1.7e9, 1000.0)
    project.service = Service(project.store, project.settings, clock=lambda: next(ticks))
    project.service._until = lambda: 4e9
    return project


def answer(project, timing, who="ann", values=YES):
    return project.service.answer(project.service.ask(who)[0].token, values, timing=timing)


def test_the_time_is_stored_with_the_event_and_a_resend_changes_nothing(slow):
    token = slow.service.ask("ann")[0].token
    first = Timing(12.5, "item", by_key=1, by_search=2, by_suggestion=3)
    for timing in (first, Timing(99.0, "pair"), None):
        slow.service.answer(token, YES, timing=timing)
    assert [event.timing for event in slow.events()] == [first]
    token = slow.service.ask("ann")[0].token
    for timing in (None, first):
        slow.service.answer_item(token, YES, timing=timing)
    assert slow.events()[-1].timing is None  # what came first counts, also where it came without


def test_skips_take_time_too_and_told_answers_have_none(slow):
    for skip in (slow.service.skip, slow.service.skip_item):
        token = slow.service.ask("ann")[0].token
        for seconds in (3.0, 8.0):
            skip(token, timing=Timing(seconds))
    slow.service.undo("ann")
    assert [event.timing and event.timing.seconds for event in slow.events()] == [3.0, 3.0, None]
    assert status_of(slow).seconds == 6.0  # what was taken back was spent all the same


@pytest.mark.parametrize("nonsense", [-1.0, float("nan"), float("-inf")])
def test_what_is_no_time_keeps_no_answer_from_being_saved(slow, nonsense):
    answer(slow, Timing(nonsense))
    answer(slow, Timing(4.0, "essay"))
    assert [event.timing for event in slow.events()] == [None, None]
    assert status_of(slow).times == ()


def test_times_are_cut_to_what_can_be(slow, make):
    answer(slow, Timing(float("inf"), by_key=-4, by_search=10**12))
    kept = slow.events()[-1].timing
    assert kept.seconds <= MAX_SECONDS and kept.by_key == 0 and kept.by_search == 100_000
    quick = make(ready=40)
    quick.refresh()
    answer(quick, Timing(500.0))  # the question was given just now
    assert quick.events()[-1].timing.seconds < 5.0


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_times_go_to_files_and_back(slow, make, tmp_path, suffix):
    answer(slow, Timing(12.5, "pair", 1, 2, 3))
    answer(slow, None)
    path, copy = str(tmp_path / f"answers{suffix}"), make()
    write_events(slow.events(), path)
    for added in (2, 0):
        assert copy.record(read_events_file(path)) == added
    assert copy.events() == slow.events() and copy.events()[0].timing == Timing(12.5, "pair", 1, 2, 3)


def test_files_from_before_times_and_absurd_times_are_read(make, tmp_path):
    path, copy = tmp_path / "answers.csv", make()
    head = "event,at,who,kind,item,asked,reason,undoes,{}label,value\n"
    row = "{},2020-01-01T00:00:0{}+00:00,ann,answer,p{},,strategy,,{}left,yes\n"
    path.write_text(head.format("") + row.format(1, 1, 1, ""), encoding="utf-8")
    assert copy.record(read_events_file(str(path))) == 1
    rows = (row.format(n, n, n, f"{said},") for n, said in ((2, "1e9"), (3, "-5"), (4, "")))
    path.write_text(head.format("seconds,") + "".join(rows), encoding="utf-8")
    assert copy.record(read_events_file(str(path))) == 3
    assert [event.timing and event.timing.seconds for event in copy.events()] == [None, MAX_SECONDS, None, None]


def test_label_studio_says_and_is_told_how_long_it_took(slow):
    answer(slow, Timing(12.5, "pair", 1, 2, 3))
    contents = {event.item: "text" for event in slow.events()}
    tasks = to_label_studio(contents, slow.events(), list(YES))
    assert tasks[0]["annotations"][0]["lead_time"] == 12.5
    assert from_label_studio(tasks, list(YES))[0].annotations[0].event.timing == Timing(12.5, "pair", 1, 2, 3)
    for lead_time, seconds in ((7, 7.0), (1e9, MAX_SECONDS), (-2.0, None), ("long", None), (True, None), (None, None)):
        said = {**tasks[0]["annotations"][0], "lead_time": lead_time, "meta": {}}
        (found,) = from_label_studio([{**tasks[0], "annotations": [said]}], list(YES))
        timing = found.annotations[0].event.timing
        assert (timing and timing.seconds) == seconds


def test_the_campaign_counts_by_what_these_people_need(slow):
    assert slow.costs() == slow.costs("ann") == Costs.short_text() and not slow.campaign().priced
    for _ in range(12):
        answer(slow, Timing(60.0, by_key=1))
        answer(slow, Timing(6.0, by_key=1), who="bob")
    usual, everybody = Costs.short_text(), slow.costs()
    price = {who: float(slow.costs(who).whole_item(1, words=2)) for who in ("ann", "bob", None)}
    assert price["ann"] > 2.5 * price["bob"] and price["bob"] < price[None] < price["ann"]
    campaign = slow.campaign()
    assert campaign.costs == everybody != usual and campaign.priced
    learner = slow.learner()
    answer(slow, Timing(60.0, by_key=1))
    learner.catch_up()
    assert learner.costs == slow.learner().costs != everybody  # followed or read anew, it is the same


def test_prices_that_were_chosen_are_what_learning_starts_from(make):
    project = make(read_cost=10.0, answer_cost=2.0)
    assert project.costs() == Costs(10.0, 2.0) == project.campaign().costs


def test_a_price_list_is_what_learning_starts_from(make):
    assert make(price_list="long_text:high").costs() == Costs.long_text("high")
    with pytest.raises(ProjectError, match="no price list 'novel'"):
        make(price_list="novel")
    with pytest.raises(ProjectError, match="not both"):
        make(price_list="picture", answer_cost=2.0)


def test_status_and_report_show_the_time_of_each_person_and_kind(slow, tmp_path):
    for seconds in (5.0, 6.0, 700.0):
        answer(slow, Timing(seconds))
    answer(slow, Timing(2.0, "pair"), who="<b>bob</b>", values={"left": True})
    answer(slow, None)
    now = status_of(slow)
    assert [(t.who, t.question, t.timed, t.seconds, t.median) for t in now.times] == [
        ("ann", "item", 3, 711.0, 6.0),
        ("<b>bob</b>", "pair", 1, 2.0, 2.0),
    ]
    assert now.seconds == 713.0 and now.as_dict()["seconds"] == 713.0
    assert [t.who for t in now.seen_by("ann").times] == ["ann"] and now.seen_by("ann").seconds == 713.0
    write_report(slow, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "They took 11 min 53 s of people's time." in page and "<b>bob" not in page
    assert "<td>ann</td><td>whole items</td><td>3</td><td>11 min 51 s</td><td>6 s</td>" in page


def test_only_the_latest_times_count_for_what_is_usual(slow):
    for seconds in (100.0, 3.0, 4.0):
        answer(slow, Timing(seconds))
    with slow.store.reading() as connection:
        assert [row.seconds for row in recent_times(connection, 2)] == [3.0, 4.0]
        assert connection.execute(sa.text("SELECT count(*) FROM timings")).scalar() == 3
