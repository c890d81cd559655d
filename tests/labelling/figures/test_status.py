"""Figures of a project, and the page made of them."""

import pytest

from labelwise import Answer
from labelwise.labelling import krippendorff_alpha
from labelwise.labelling.figures.report import write_report
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.figures.wording import why_no_f1
from labelwise.records.costs import Costs


@pytest.fixture
def project(make):
    made = make(overlap=2, control=0.3, ready=40)
    said = {"p0": "yy", "p1": "yn", "p2": "nn", "p3": "n?"}
    for item, words in said.items():
        for who, word in zip(("ann", "<b>bob</b>"), words, strict=True):
            made.tell(Answer(item, {"left": {"y": True, "n": False, "?": None}[word]}), who=who)
    return made


def test_answers_agreement_and_people(project):
    now = status_of(project)
    left = now.labels[0]
    assert (left.name, left.yes, left.no, left.unsure) == ("left", 3, 4, 1)
    assert left.agreement == pytest.approx(krippendorff_alpha([2, 1, 0, 0], [0, 1, 2, 1]), abs=1e-4)
    assert now.labels[1].agreement is None
    assert (now.answers, now.answered_items, now.people) == (8, 4, {"ann": 4, "<b>bob</b>": 4})
    assert now.f1 is None and now.worker is False


@pytest.mark.parametrize(
    ("said", "found", "words"),
    [
        (True, 3, "not yet: 1 random item, 20 are needed"),
        (False, 0, "not yet: 1 random item, 20 are needed; no label was found among the random answers yet"),
    ],
)
def test_a_few_random_items_are_no_estimate(make, tmp_path, said, found, words):
    made = make(control=0.3, ready=40)
    made.refresh()
    lease = next(lease for lease in made.ask(40) if lease.question.reason == "control")
    made.service.answer(lease.token, dict.fromkeys(lease.question.labels, said))
    made.refresh()
    assert why_no_f1(status_of(made).f1) == words  # nothing else was answered: there is no model either
    made.tell(Answer("p0", {"left": True, "low": False, "far": True}))
    made.refresh()
    now = status_of(made)
    assert (now.f1["f1"], now.f1["low"], now.f1["items"], now.f1["found"]) == (None, None, 1, found)
    assert now.course == () and (now.curve, now.outlook) == (None, None)
    write_report(made, tmp_path / "report.html")
    assert f"<p>{words.capitalize()}.</p>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_estimate_comes_from_the_random_share(project, monkeypatch):
    monkeypatch.setattr("labelwise.campaign.standing.MIN_RANDOM_ITEMS", 1)
    worker = project.worker()
    for _ in range(14):
        worker.step()
        for who in ("ann", "<b>bob</b>"):
            for lease in project.service.ask(who):
                project.service.answer(lease.token, dict.fromkeys(lease.question.labels, True))
    worker.step()
    now = status_of(project)
    control = {event.item for event in project.events() if event.reason == "control"}
    assert now.f1["items"] == len(control) > 0
    assert now.f1["f1"] > 0.6
    assert len(now.course) >= 2
    assert now.labels[2].base_rate["rate"] > 0.5


def test_the_page_holds_everything_and_runs_nothing(project, tmp_path):
    project.refresh()
    write_report(project, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "8 answers on 4 of 40 items, by 2 people" in page
    assert "&lt;b&gt;bob&lt;/b&gt;" in page and "<b>bob</b>" not in page
    assert "<script" not in page and "http" not in page.replace("http-equiv", "")


def test_what_was_paid_counts_readings_of_each_person(make):
    made = make(control=0.0, read_cost=10.0, answer_cost=0.5, label_costs={"left": 2.0})
    for item, label, who in (("p0", "left", "ann"), ("p0", "low", "bob"), ("p0", "low", "ann"), ("p1", "left", "ann")):
        made.tell(Answer(item, {label: True}), who=who)
    now = status_of(made)
    assert now.readings == 3  # ann reads p0 once for two answers, bob reads it too
    assert now.cost == pytest.approx(3 * 10 + 2 * 2.0 + 2 * 0.5)
    assert made.campaign().costs.read == 10.0


def test_items_of_a_sweep_are_tiles_and_not_read(make):
    made = make(control=0.0, read_cost=10.0, answer_cost=0.5)
    page = made.many.give_page("ann", "left", [1, 2, 3, 4], 4)
    made.many.save_page("ann", page.token, {f"p{i}": False for i in range(4)})
    now = status_of(made)
    assert (now.readings, now.cost) == (0, pytest.approx(4 * float(Costs(10.0, 0.5).sweep(1))))
    made.tell(Answer("p0", {"low": True, "far": True}), who="ann")  # now it is opened, too
    made.tell(Answer("p1", {"low": True}), who="bob")
    after = status_of(made)
    assert (after.readings, after.cost) == (2, pytest.approx(now.cost + 2 * 10 + 3 * 0.5))
    rival = made.campaign().spent()
    assert (rival.readings, rival.cost) == (after.readings, pytest.approx(after.cost))


def test_what_was_paid_stays_paid_when_labels_go(make, location):
    made = make(at=location, control=0.0, read_cost=10.0, label_costs={"left": 2.0})
    for item, said in (("p0", {"left": True, "low": False}), ("p1", {"far": False}), ("p0", {"far": True})):
        made.tell(Answer(item, said), who="ann")
    made.tell(Answer("p1", {"left": True, "far": True}), who="bob")
    before = status_of(made)
    assert (before.readings, before.cost) == (4, 4 * 10 + 2 * 2.0 + 4 * 1.0)
    made.merge_labels("left", "low")  # says anew of low what was said of left
    made.retire_label("far")
    after = status_of(made)
    assert (after.readings, after.cost) == (before.readings, before.cost)
