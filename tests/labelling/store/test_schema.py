"""What is known of each label against a plain reading of the events."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise import Answer
from labelwise.labelling import Event
from labelwise.labelling.records import SETTLED
from labelwise.labelling.store.events import read_votes, votes_since
from rest_slow import rest_slow


def by_hand(events: list[Event]) -> dict[tuple[str, str], bool]:
    """What is known of each label, by walking through everything that people did."""
    undone = {event.undoes for event in events}
    last: dict[tuple[str, str, str], tuple[int, bool | None, bool]] = {}
    for event in events:
        if event.kind == "answer" and event.id not in undone:
            for label, value in event.values.items():
                last[event.item, label, event.who] = (event.id, value, event.reason == SETTLED)
    known = {}
    for item, label in {key[:2] for key in last}:
        said = sorted(vote for key, vote in last.items() if key[:2] == (item, label) and vote[1] is not None)
        settling = [vote for vote in said if vote[2]]
        yes, no = sum(vote[1] for vote in said), sum(not vote[1] for vote in said)
        if said:
            last_word = (settling or said)[-1][1]
            known[item, label] = last_word if settling or yes == no else yes > no
    return known


@pytest.mark.parametrize("seed", rest_slow(range(3)))
def test_what_is_known_is_the_majority_of_last_words(make, location, seed):
    project, rng = make(location), np.random.default_rng(seed)
    for _ in range(60):
        who, item = f"person {rng.integers(4)}", f"p{rng.integers(3)}"
        values = {name: [True, False, None][rng.integers(3)] for name in ("left", "low", "far") if rng.random() < 0.6}
        if rng.random() < 0.2 and any(event.who == who and event.kind == "answer" for event in project.events()):
            try:
                project.service.skip(project.service.undo(who).token)
            except ValueError:
                continue
        elif values and rng.random() < 0.1:
            label = next(iter(values))
            project.service.settle(Answer(item, {label: bool(rng.integers(2))}), who)
        elif values:
            project.tell(Answer(item, values, correction=True), who=who)
    expected = by_hand(project.events())
    assert len(expected) > 6 and True in expected.values() and False in expected.values()
    data = project.labelled()
    known = {
        (data.item_ids[row], data.label_names[column]): bool(data.Y[row, column])
        for row, column in zip(*data.observed.nonzero(), strict=True)
    }
    assert known == expected


def test_votes_since_are_the_votes_unless_something_was_taken_back(make):
    project = make()
    project.tell(Answer("p0", {"left": True}), who="ann")
    project.tell(Answer("p1", {"left": True, "low": None}), who="ann")
    with project.store.reading() as connection:
        everything, later = read_votes(connection), votes_since(connection, 1)
        assert votes_since(connection, 0).event.tolist() == everything.event.tolist() == [1, 2, 2]
        assert (later.value.tolist(), later.who) == ([1, -1], ("ann", "ann"))
    project.service.undo("ann")
    with project.store.reading() as connection:
        assert votes_since(connection, 2) is None
