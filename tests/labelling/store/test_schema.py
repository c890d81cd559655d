"""The views against a plain reading of the events."""

from __future__ import annotations

import numpy as np

from labelwise import Answer
from labelwise.labelling import Event
from labelwise.labelling.store.events import read_current, read_votes, votes_since


def by_hand(events: list[Event]) -> dict[tuple[str, str], bool]:
    """What is known of each label, by walking through everything that people did."""
    undone = {event.undoes for event in events}
    last: dict[tuple[str, str, str], tuple[int, bool | None]] = {}
    for event in events:
        if event.kind == "answer" and event.id not in undone:
            for label, value in event.values.items():
                last[event.item, label, event.who] = (event.id, value)
    known = {}
    for item, label in {key[:2] for key in last}:
        said = sorted(vote for key, vote in last.items() if key[:2] == (item, label) and vote[1] is not None)
        yes, no = sum(value for _, value in said), sum(not value for _, value in said)
        if said:
            known[item, label] = said[-1][1] if yes == no else yes > no
    return known


def test_current_labels_are_the_majority_of_last_words(make, location):
    project, rng = make(location), np.random.default_rng(3)
    for _ in range(60):
        who, item = f"person {rng.integers(4)}", f"p{rng.integers(3)}"
        values = {name: [True, False, None][rng.integers(3)] for name in ("left", "low", "far") if rng.random() < 0.6}
        if rng.random() < 0.2 and any(event.who == who and event.kind == "answer" for event in project.events()):
            try:
                project.service.skip(project.service.undo(who).token)
            except ValueError:
                continue
        elif values:
            project.tell(Answer(item, values, correction=True), who=who)
    expected = by_hand(project.events())
    labels = dict(enumerate(project.label_names(), start=1))
    with project.store.reading() as connection:
        view = {(f"p{item - 1}", labels[label]): bool(value) for item, label, value in read_current(connection)}
    assert len(expected) == 9 and True in expected.values() and False in expected.values()
    assert view == expected
    data = project.labelled()
    in_memory = {
        (data.item_ids[row], data.label_names[column]): bool(data.Y[row, column])
        for row, column in zip(*data.observed.nonzero(), strict=True)
    }
    assert in_memory == expected


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
