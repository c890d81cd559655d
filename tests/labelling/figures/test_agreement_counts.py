"""Running counts against counting everything anew."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise import Answer
from labelwise.labelling import Project, krippendorff_alpha
from labelwise.labelling.figures.agreement import PairCounts

LABELS = ("left", "low", "far")


@pytest.fixture
def busy(make) -> Project:
    """Four people, some of whom change their minds, take answers back or settle."""
    project, rng = make(), np.random.default_rng(5)
    for _ in range(90):
        who, item = f"person {rng.integers(4)}", f"p{rng.integers(6)}"
        values = {name: [True, False, None][rng.integers(3)] for name in LABELS if rng.random() < 0.7}
        if values and rng.random() < 0.1:
            project.service.settle(Answer(item, {name: bool(value) for name, value in values.items()}), who)
        elif values:
            project.tell(Answer(item, values, correction=True), who=who)
    return project


def last_words(project: Project) -> dict[tuple[str, str, str], bool | None]:
    """By walking through the events: what each person says of each label of each item."""
    undone = {event.undoes for event in project.events()}
    said = {}
    for event in project.events():
        if event.kind == "answer" and event.id not in undone:
            said |= {(event.item, label, event.who): value for label, value in event.values.items()}
    return said


def test_counts_and_alphas_are_those_of_a_recount(busy):
    tally, said = busy.learner().history.tally, last_words(busy)
    for column, label in enumerate(LABELS):
        mine = {key: value for key, value in said.items() if key[1] == label}
        for row, word in enumerate((True, False, None)):
            assert tally.said[row, column] == sum(value is word for value in mine.values())
        items = sorted({item for item, _, _ in mine})
        yes = [sum(value is True for key, value in mine.items() if key[0] == item) for item in items]
        no = [sum(value is False for key, value in mine.items() if key[0] == item) for item in items]
        assert tally.alphas()[column] == pytest.approx(krippendorff_alpha(yes, no))


def test_pairs_are_those_of_a_recount(busy):
    tally, said = busy.learner().history.tally, last_words(busy)
    assert len(tally.pairs) == 6
    for (first, second), counts in tally.pairs.items():
        both = [
            (value, said[item, label, second])
            for (item, label, who), value in said.items()
            if who == first and value is not None and said.get((item, label, second)) is not None
        ]
        assert counts.both == len(both) > 0
        assert counts.same == sum(a == b for a, b in both)
        assert (counts.yes_first, counts.yes_second) == (sum(a for a, _ in both), sum(b for _, b in both))


def test_following_the_answers_counts_like_reading_them_all(busy):
    learner = busy.learner()
    busy.tell(Answer("p20", {"left": True, "far": None}), who="ann")
    busy.tell(Answer("p20", {"left": False, "low": True}), who="bob")
    learner.catch_up()
    anew = busy.learner()
    assert np.array_equal(learner.history.tally.said, anew.history.tally.said)
    assert learner.history.tally.pairs == anew.history.tally.pairs
    assert learner.history.tally.alphas() == pytest.approx(anew.history.tally.alphas())


def test_kappa_is_what_is_left_after_chance():
    assert PairCounts(10, 10, 5, 5).kappa == 1
    assert PairCounts(100, 58, 40, 50).kappa == pytest.approx((0.58 - 0.5) / 0.5)
    assert PairCounts().kappa is None
    assert PairCounts(3, 3, 3, 3).kappa is None, "both always said yes: chance explains it all"


def test_labels_that_came_with_the_items_are_nobodys_opinion(make, pool):
    Y = np.full((40, 3), np.nan)
    Y[:5] = 1
    data = type(pool).from_arrays(pool.X, Y, item_ids=pool.item_ids, label_names=pool.label_names)
    project = make(data=data)
    project.tell(Answer("p0", {"left": False}), who="ann")
    assert project.learner().history.tally.pairs == {}
