"""One label of many items: pages of a sweep that are saved and taken back as one, beside all other asking."""

from __future__ import annotations

import numpy as np
import pytest

from labelling.conftest import truth
from labelwise import Answer
from labelwise.labelling.errors import AnswerRefused, ProjectError
from labelwise.labelling.exchange.transfer import read_events_file, write_events
from labelwise.labelling.items.browse import Browser
from labelwise.labelling.many_items import OF_NAMES, sweep_order, telling_words
from labelwise.labelling.safety.verify import verify
from labelwise.labelling.web.sweep_view import SHORT, snippets
from labelwise.records import Timing
from labelwise.records.costs import Costs


def page_of(project, who="ann", label="far", n=6, **options):
    numbers, _ = sweep_order(Browser(project), label)
    return project.many.give_page(who, label, numbers.tolist(), n, **options)


def names(project, page):
    by_number = {number: f"p{number - 1}" for number in page.items}  # items are numbered from 1
    assert set(by_number.values()) <= project.item_names()
    return list(by_number.values())


def stands(project):
    undone = {event.undoes for event in project.events()}
    return {
        (event.who, event.item, label): value
        for event in project.events()
        if event.kind == "answer" and event.id not in undone
        for label, value in event.values.items()
    }


def test_a_page_is_saved_once_and_taken_back_as_one(make):
    project = make()
    page = page_of(project)
    values = {name: place % 3 == 0 for place, name in enumerate(names(project, page))}
    first = project.many.save_page("ann", page.token, values, Timing(12.0, "sweep"))
    again = project.many.save_page("ann", page.token, values, Timing(12.0, "sweep"))
    assert (first.saved, first.event) == (6, again.event) and len(project.events()) == 6
    assert stands(project) == {("ann", name, "far"): value for name, value in values.items()}
    assert {(event.reason, event.asked, event.at) for event in project.events()} == {
        ("sweep", "far", project.events()[0].at)
    }
    with pytest.raises(AnswerRefused, match="saved already"):
        project.many.save_page("ann", page.token, {**values, names(project, page)[0]: False})
    reopened = [project.many.reopen_page("ann", page.token) for _ in range(2)]
    assert reopened[0] == reopened[1] and reopened[0].items == page.items
    assert reopened[0].marked == {page.items[0], page.items[3]}
    assert stands(project) == {} and len(project.events()) == 12
    project.many.save_page("ann", reopened[0].token, dict.fromkeys(values, False))
    assert set(stands(project).values()) == {False}
    with pytest.raises(AnswerRefused, match="saved again"):
        project.many.reopen_page("ann", page.token)
    assert [check.examples for check in verify(project.store.shown).checks if check.number] == []


def test_nobody_sweeps_what_others_have_were_asked_or_answered(make):
    project = make()
    project.refresh()
    asked = {lease.question.item for lease in project.ask(4, who="bob")}
    project.tell(Answer("p7", {"far": None}), who="cid")
    first, second = page_of(project, n=10), page_of(project, "dan", n=40)
    seen = [set(names(project, page)) for page in (first, second)]
    assert not seen[0] & seen[1] and not (seen[0] | seen[1]) & (asked | {"p7"})
    assert len(seen[1]) == 40 - 10 - len(asked | {"p7"})
    project.tell(Answer(names(project, second)[0], {"far": True}), who="bob")
    done = project.many.save_page("dan", second.token, dict.fromkeys(names(project, second), False))
    assert done.left_out == (names(project, second)[0],) and done.saved == len(seen[1]) - 1
    assert stands(project)["bob", names(project, second)[0], "far"] is True
    with pytest.raises(AnswerRefused, match="no page"):
        project.many.save_page("bob", first.token, {names(project, first)[0]: True})
    with pytest.raises(ProjectError, match="not on the page"):
        project.many.save_page("ann", first.token, {"p7": True})


def test_pages_that_are_not_kept_are_given_back(make):
    project = make()
    first = page_of(project)
    second = page_of(project, keep=[first.token])
    assert not set(first.items) & set(second.items)
    assert page_of(project, keep=[first.token]).items == second.items  # asked anew: the same, as the second was lost
    assert page_of(project).items == first.items
    assert page_of(project, "bob").items == second.items


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_a_sweep_changes_nothing_of_overlap_and_of_whole_items(make, pool, strategy):
    project = make(overlap=2, strategy=strategy, ready=40, data=pool.take(range(8)))
    page = page_of(project, n=5)
    project.many.save_page("ann", page.token, {name: truth(pool, name)["far"] for name in names(project, page)})
    everything = {}
    for who in ("ann", "bob", "cid"):
        project.refresh()
        for lease in project.ask(40, who=who):
            said = {name: truth(pool, lease.question.item)[name] for name in lease.question.labels}
            project.service.answer(lease.token, said)
    for (who, item, label), value in stands(project).items():
        everything.setdefault((item, label), {})[who] = value
    assert len(everything) == 24
    assert {len(votes) for votes in everything.values()} == {2}  # two people each, no more and no fewer
    assert all(set(votes.values()) == {truth(pool, item)[label]} for (item, label), votes in everything.items())


def test_the_random_share_is_not_swept(make):
    project = make(control=0.99, ready=15)
    project.tell(Answer("p0", {"left": True, "low": False, "far": False}), who="ann")
    project.refresh()
    assert 0 < len(page_of(project, n=40).items) <= 40 - 15 - 1


def test_times_of_a_page_teach_the_price_of_a_cell(make):
    project = make(price_list="picture")
    for _ in range(6):
        page = page_of(project)
        clock = project.many._clock
        project.many._clock = lambda clock=clock: clock() + 100.0
        project.many.save_page("ann", page.token, dict.fromkeys(names(project, page), False), Timing(21.0, "sweep"))
        project.many._clock = clock
    assert {event.timing.seconds for event in project.events()} == {3.5}
    before, learnt = Costs.picture(), project.costs()
    assert before.cell < 1.2 < learnt.cell and 15 < float(learnt.sweep(6)) < 21 < 3 * float(before.sweep(6)) + 6


def test_what_was_swept_is_exported_and_read_again(make, pool, tmp_path):
    project, other = make(), make()
    page = page_of(project)
    project.many.save_page("ann", page.token, {name: name == "p3" for name in names(project, page)}, Timing(6.0))
    write_events(project.events(), str(tmp_path / "answers.jsonl"))
    other.record(read_events_file(str(tmp_path / "answers.jsonl")))
    assert stands(other) == stands(project) != {}
    assert {event.timing.question for event in other.events()} == {"sweep"}
    assert np.array_equal(other.labelled().Y.toarray(), project.labelled().Y.toarray())


def test_undo_of_the_label_page_leaves_a_sweep_alone(make):
    project = make()
    project.refresh()
    lease = project.ask(who="ann")[0]
    project.service.answer(lease.token, dict.fromkeys(lease.question.labels, True))
    page = page_of(project)
    project.many.save_page("ann", page.token, dict.fromkeys(names(project, page), True))
    assert project.service.undo("ann").question.item == lease.question.item
    assert set(stands(project)) == {("ann", name, "far") for name in names(project, page)}


def test_a_change_in_bulk_corrects_and_is_taken_back_as_one(make):
    project = make()
    project.tell([Answer("p1", {"far": False}), Answer("p2", {"far": True})], who="ann")
    before = stands(project)
    done = project.many.change("ann", "far", True, ["p1", "p2", "p3", "p4"], "ab12")
    assert (done.saved, done.left_out) == (3, ("p2",))
    assert project.many.change("ann", "far", True, ["p1", "p2", "p3", "p4"], "ab12").saved == 3
    assert stands(project) | before == before | {("ann", f"p{n}", "far"): n != 1 for n in (1, 2, 3, 4)}
    assert project.labelled().Y.toarray()[1:5, 2].tolist() == [True] * 4
    assert [project.many.take_back("ann", "ab12") for _ in range(2)] == [3, 0]
    assert stands(project) == before
    assert project.many.take_back("bob", "ab12") == 0


def test_words_of_a_label_of_its_own_tell_more_than_those_of_its_name(make):
    project = make()
    project.add_label("cost of it")
    assert telling_words(project.store, "cost of it") == {"cost": 1.0, "of": 1.0, "it": 1.0}
    project.describe_labels([{"name": "cost of it", "keywords": ["price", "to pay"], "aliases": ["fee"]}])
    told = telling_words(project.store, "cost of it")
    assert told == {"cost": OF_NAMES, "fee": OF_NAMES, "price": 1.0, "to": 1.0, "pay": 1.0}
    assert snippets(["The cost is high. The price is fair."], told)[0][1] == ("price", True)


def test_a_snippet_is_the_sentence_that_tells_cut_to_a_glance():
    text = "We came home late. " + "word " * 60 + "the refunds never came " + "word " * 60 + ". The end."
    (parts,) = snippets([text], {"refund": 2.0, "late": 0.5})
    assert [part for part, tells in parts if tells] == ["refunds"]
    shown = "".join(part for part, _ in parts)
    assert shown in text and len(shown) <= SHORT and not shown.startswith(" ")
    assert ["".join(part for part, _ in each) for each in snippets([text], {"late": 0.5})] == ["We came home late."]
    assert snippets(["", "\n"], {"late": 1.0}) == [[], []]


def test_a_sentence_that_all_items_of_a_page_have_is_not_what_is_shown_of_them():
    own = ["Bananas of Ecuador", "Lamb of New Zealand", "Steel pipes", "Rice", "Wine", "Cod", "Sugar", "Olives"]
    texts = [f"{name}. Having regard to the customs tariff No {place}/87." for place, name in enumerate(own)]
    assert ["".join(part for part, _ in each) for each in snippets(texts, {"customs": 1.0})] == [f"{n}." for n in own]
    texts[0] += " Customs officers count bananas."  # tells, and no other has it
    assert snippets(texts, {"customs": 1.0})[0] == [("Customs", True), (" officers count bananas.", False)]
    pair = snippets(texts[1:3], {"customs": 1.0})  # two may well have the same sentence
    assert [[part for part, tells in each if tells] for each in pair] == [["customs"], ["customs"]]
