"""Likely labels that were not picked: asked about once more, stored, taken back, counted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.labelling import ProjectError
from labelwise.labelling.errors import AnswerRefused
from labelwise.labelling.exchange.transfer import read_events_file, write_events
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.figures.wording import miss_line
from labelwise.labelling.missed import MissRates, picks_of_item
from labelwise.labelling.records import Verified
from labelwise.labelling.service import Service
from labelwise.labelling.store.labels import read_labels
from labelwise.labelling.store.trainings import last_good
from labelwise.labelling.training.learner import Learner
from labelwise.records.asking import VERIFY, Timing
from labelwise.records.missed import MOST_VERIFIED

NAMES = ("a", "b", "c", "d")


@pytest.fixture
def project(make, location):
    """Sixty points whose labels follow the plane, twelve of them known: beliefs from the first question on."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] > -0.3, X[:, 1] > 0, X[:, 1] > 1.8])
    observed = np.repeat(np.arange(60) < 12, 4).reshape(60, 4)
    data = LabelData.from_arrays(X, Y & observed, observed=observed, label_names=NAMES)
    made = make(at=location, data=data, ready=40, verify=True)
    made.refresh()
    ticks = itertools.count(1.7e9, 100.0)
    made.service = Service(made.store, made.settings, clock=lambda: next(ticks))
    made.service._until = lambda: 4e9
    return made


def asked(project, who="ann"):
    """A question with at least two labels that are worth verifying."""
    return next(lease for lease in project.service.ask(who, 40) if len(lease.verify) >= 2)


def events(project):
    return [event for event in project.events() if event.reason != "given"]


def test_the_labels_to_verify_are_those_of_the_campaign(project):
    campaign, n_asked = project.campaign(), 0
    for lease in project.service.ask("ann", 20):
        further = campaign.verify(Answer(lease.question.item, dict.fromkeys(NAMES, False)))
        assert lease.verify[:MOST_VERIFIED] == (further.labels if further else ())
        n_asked += len(lease.verify)
    assert n_asked > 3


def test_without_the_setting_nothing_is_verified(make):
    made = make()
    made.refresh()
    assert not any(lease.verify for lease in made.service.ask("ann", 10))


def test_the_random_share_is_not_verified(make):
    """Its answers measure what is believed, and must not depend on it; nor do they count as checked."""
    X = np.random.default_rng(0).standard_normal((40, 2))
    observed = np.repeat(np.arange(40) < 12, 4).reshape(40, 4)
    data = LabelData.from_arrays(X, observed, observed=observed, label_names=NAMES)
    made = make(data=data, ready=28, verify=True, control=0.5)
    made.refresh()
    leases = made.service.ask("ann", 28)
    drawn = [lease for lease in leases if lease.question.reason == "control"]
    others = [lease for lease in leases if lease.question.reason != "control"]
    assert drawn and others and all(lease.beliefs for lease in leases)
    assert not any(lease.verify for lease in drawn) and any(lease.verify for lease in others)
    first = next(lease for lease in others if lease.verify)
    said = dict.fromkeys(NAMES, False)
    made.service.answer(first.token, said, verified=Verified({first.verify[0]: False}))
    for lease in (drawn[0], others[1] if others[0] is first else others[0]):
        made.service.answer(lease.token, {**said, "a": True})
    history = made.learner().history
    since = {"ann": 1}
    counted = {history.names[item]: bool(picks_of_item(votes, since)) for item, votes in history.items.items()}
    assert (
        not counted[drawn[0].question.item] and counted[(others[1] if others[0] is first else others[0]).question.item]
    )


def test_what_was_verified_is_an_event_of_its_own_saved_with_the_answer(project):
    lease = asked(project)
    first, second = lease.verify[:2]
    picked = dict.fromkeys(lease.question.labels, False)
    verified = Verified({first: True, second: False}, Timing(3.0, "further", by_suggestion=1))
    for _ in range(2):  # sent twice it is saved once
        receipt = project.service.answer(lease.token, picked, timing=Timing(9.0, "item"), verified=verified)
    item, further = events(project)
    assert receipt.event == item.id and item.reason == lease.question.reason and item.timing.seconds == 9.0
    assert item.values == {name: False for name in NAMES if name not in (first, second)}
    assert (further.values, further.reason, further.asked) == ({first: True, second: False}, VERIFY, None)
    assert (further.timing.seconds, further.timing.question) == (3.0, "further") and further.at > item.at
    known = project.labelled()
    row = known.item_ids.index(lease.question.item)
    assert known.observed_mask().toarray()[row].all() and known.Y.toarray()[row].tolist() == [n == first for n in NAMES]
    assert lease.question.item not in {each.question.item for each in project.service.ask("ann", 60)}
    assert status_of(project).answers == 1


def test_undo_takes_both_back_at_once(project):
    lease = asked(project)
    picked, verified = dict.fromkeys(NAMES, False), Verified(dict.fromkeys(lease.verify[:2], True))
    receipt = project.service.answer(lease.token, picked, verified=verified)
    for _ in range(2):  # sent twice it is taken back once
        again = project.service.undo("ann", receipt.event)
    assert again.question.item == lease.question.item and again.question.labels == NAMES
    assert again.verify == lease.verify
    project.service.answer(again.token, {**picked, "a": True})
    assert project.labelled().Y.toarray()[project.labelled().item_ids.index(lease.question.item)].sum() == 1
    with pytest.raises(AnswerRefused, match="answered"):
        project.service.undo("ann", receipt.event)


def test_an_answer_of_which_every_label_was_verified_is_one_event(project):
    lease = asked(project)
    verified = Verified({name: name == "a" for name in NAMES})
    project.service.answer(lease.token, dict.fromkeys(NAMES, False), verified=verified)
    assert [event.values for event in events(project)] == [{name: name == "a" for name in NAMES}]
    assert [event.reason for event in events(project)] != [VERIFY]


def test_what_cannot_be_is_refused_and_nothing_is_saved(project):
    lease = asked(project)
    for values, error in (({"a": False}, "was picked"), ({"zzz": True}, "zzz"), ({"b": "yes"}, "must be True, False")):
        with pytest.raises(ProjectError, match=error):
            project.service.answer(lease.token, {"a": True, "c": False}, verified=Verified(values))
    assert events(project) == []
    project.service.answer(lease.token, {"a": True, "c": False}, verified=Verified({}))
    with pytest.raises(AnswerRefused, match="answered or skipped already"):
        project.service.answer(lease.token, {"a": True, "c": False}, verified=Verified({"c": True}))
    assert [event.values for event in events(project)] == [{"a": True, "c": False}]


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_both_events_go_to_files_and_back(project, make, tmp_path, suffix):
    lease = asked(project)
    project.service.answer(lease.token, dict.fromkeys(NAMES, False), verified=Verified({lease.verify[0]: True}))
    path = tmp_path / f"events.{suffix}"
    write_events(project.events(), path)
    other = make(data=project.labelled().hide())
    other.record(event for event in read_events_file(path) if event.reason != "given")
    assert [(e.values, e.reason) for e in events(other)] == [(e.values, e.reason) for e in events(project)]


def test_a_second_opinion_is_not_asked_what_the_model_knows_from_the_first(make):
    made = make(overlap=2, verify=True, ready=40)
    for number in range(12):
        made.tell(Answer(f"p{number}", {"left": number % 2 == 0, "low": True, "far": False}), who="bob")
    made.refresh()
    lease = next(lease for lease in made.service.ask("ann", 40) if lease.verify)
    made.service.answer(lease.token, dict.fromkeys(lease.question.labels, True))
    made.refresh()
    same = [each for each in made.service.ask("cat", 40) if each.question.item == lease.question.item]
    assert not any(each.verify for each in same)


def test_a_learner_that_follows_counts_what_one_that_reads_all_at_once_does(project):
    rng, follower = np.random.default_rng(0), Learner(project.store, project.settings)
    for _ in range(30):
        who = ("ann", "bob")[rng.integers(2)]
        lease = project.service.ask(who)[0]
        picked = {name: bool(rng.random() < 0.3) for name in lease.question.labels}
        left = [name for name in lease.verify if not picked[name]][:3]
        verified = Verified({name: bool(rng.random() < 0.5) for name in left}) if left else None
        project.service.answer(lease.token, picked, verified=verified)
        if rng.random() < 0.2:
            project.service.undo(who)
        follower.catch_up()
    fresh = project.learner()
    assert follower.campaign.answers == fresh.campaign.answers
    assert follower.history.picks.keys() == fresh.history.picks.keys() == {"ann", "bob"}
    for who, table in fresh.history.picks.items():
        assert np.array_equal(follower.history.picks[who], table)
    by_events = {"ann": [0, 0], "bob": [0, 0]}  # missed, found
    undone = {event.undoes for event in project.events()}
    standing = [event for event in events(project) if event.kind == "answer" and event.id not in undone]
    verified = [event for event in standing if event.reason == VERIFY]
    since = {event.who: event.id - 1 for event in reversed(verified)}  # the answer before the first of each
    for event in standing:
        if event.id >= since[event.who]:
            by_events[event.who][event.reason != VERIFY] += sum(map(bool, event.values.values()))
    assert {who: table.sum(axis=1).tolist() for who, table in fresh.history.picks.items()} == by_events


def test_misses_come_from_overlap_and_corrections_too(make):
    made = make(overlap=2)
    says = made.tell
    says(Answer("p0", {"left": True, "low": False, "far": False}), who="ann")
    says(Answer("p0", {"left": True, "low": True, "far": False}), who="bob")  # the last word of two: low is there
    says(Answer("p1", {"left": True, "low": False, "far": False}), who="ann")
    says(Answer("p1", {"far": True}, correction=True), who="ann")
    says(Answer("p2", {"left": True, "low": False, "far": False}), who="ann")  # nobody checked this one
    says(Answer("p3", {"left": False}), who="ann")  # not picked
    says(Answer("p3", {"left": True}), who="bob")
    made.refresh()
    ann, bob = status_of(made).misses
    assert (ann.who, ann.missed, ann.found) == ("ann", 2, 2) and (bob.missed, bob.found) == (0, 2)
    assert 0 < ann.low < ann.rate < ann.high < 1 and ann.rate > bob.rate
    assert miss_line(ann).startswith("ann missed 2 of 4 labels when picking")
    assert [each.who for each in status_of(made).seen_by("bob").misses] == ["bob"]
    history = made.learner().history
    assert not any(picks_of_item(votes, {}) for item, votes in history.items.items() if history.names[item] == "p3")


def test_people_who_miss_nothing_are_asked_about_less(project):
    for _ in range(30):
        lease = project.service.ask("ann")[0]
        left = lease.verify[:MOST_VERIFIED]
        verified = Verified(dict.fromkeys(left, False)) if left else None
        picked = {name: name not in left for name in lease.question.labels}
        project.service.answer(lease.token, picked, verified=verified)
    project.refresh()
    careful = status_of(project).misses[0]
    assert careful.who == "ann" and careful.missed == 0 and careful.rate < 0.15
    with project.store.reading() as connection:
        labels, report = read_labels(connection), last_good(connection).report
    beliefs = dict.fromkeys(NAMES, 0.6)
    assert MissRates.read({}, labels).to_verify("ann", beliefs) == NAMES[:-1]
    assert len(MissRates.read(report, labels).to_verify("ann", beliefs)) < len(NAMES) - 1
    assert (MissRates.read(report, labels).of("ann") < 0.15).all()
