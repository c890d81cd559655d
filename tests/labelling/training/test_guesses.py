"""Labels added with a hint: kept in the project, told to the campaign, and carried through renaming and merging."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.labelling import Project, ProjectError, TrainedLabeller
from labelwise.labelling.store.labels import read_labels


@pytest.fixture
def animals(make) -> Project:
    """Texts about cats, dogs and cars, with what they are about known for most."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(3, size=60)
    words = [("purr", "whisker", "milk"), ("bark", "bone", "leash"), ("engine", "wheel", "road")]
    texts = [" ".join(rng.choice(words[kind], size=6)) for kind in kinds]
    Y = np.full((60, 3), np.nan)
    Y[:50] = np.eye(3)[kinds[:50]]
    data = LabelData.from_arrays(np.zeros((60, 1)), Y, label_names=["cats", "dogs", "cars"], items=texts)
    return make(data=data, text="", model="label_gp")


def guessed(project: Project, name: str) -> np.ndarray:
    campaign = project.campaign()
    return campaign.believe().probabilities()[:, campaign.data.label_names.index(name)]


def starts(project: Project) -> dict:
    with project.store.reading() as connection:
        return read_labels(connection).starts


def test_a_hint_is_kept_and_guessed_by_in_every_rebuild(animals):
    animals.add_label("kittens", like={"cats": 0.9})
    campaign = animals.campaign()
    cats = campaign.data.label_names.index("cats")
    there = campaign.labelled().Y[:, [cats]].toarray().ravel().astype(bool)
    p = guessed(animals, "kittens")
    assert p[there].mean() > 0.5 > p[~there].mean() + 0.2
    by_hand = animals.campaign()
    assert by_hand.new_labels["kittens"].like == {"cats": 0.9}
    with Project(animals.store.location) as again:
        assert guessed(again, "kittens") == pytest.approx(p)


def test_without_a_hint_there_is_no_guess(animals):
    animals.add_label("kittens")
    assert starts(animals) == {} and animals.campaign().new_labels == {}
    assert np.ptp(guessed(animals, "kittens")) < 0.05


def test_hints_follow_renaming_merging_and_retiring(animals):
    animals.add_label("kittens", like={"cats": 0.6, "dogs": 0.1, "cars": 0.2})
    animals.rename_label("cats", "felines")
    assert starts(animals) == {"kittens": {"like": {"felines": 0.6, "dogs": 0.1, "cars": 0.2}}}
    animals.merge_labels("dogs", "felines")
    animals.retire_label("cars")
    assert starts(animals) == {"kittens": {"like": {"felines": 0.6}}}
    animals.merge_labels("felines", "kittens")
    assert starts(animals) == {}, "a label says nothing of itself"
    assert animals.campaign().new_labels == {}


def test_counts_are_kept_too(animals):
    animals.add_label("kittens", counts={"cats": 12})
    assert animals.campaign().new_labels["kittens"].counts == {"cats": 12.0}


def test_examples_are_answers(animals):
    animals.add_label("kittens", examples=["0", "3"], who="ann")
    event = animals.events()[-1]
    assert (event.who, event.values, event.reason) == ("ann", {"kittens": True}, "told")
    data = animals.labelled()
    column = data.label_names.index("kittens")
    assert np.flatnonzero(data.Y[:, [column]].toarray().ravel()).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"like": {"cuts": 0.4}}, "names 'cuts', which is not a known label"),
        ({"like": {"cats": 1.4}}, "expected a share between 0 and 1"),
        ({"like": {"cats": 0.4}, "counts": {"cats": 4}}, "both like and counts"),
        ({"examples": ["nobody"]}, "there is no item 'nobody'"),
    ],
)
def test_a_wrong_hint_is_told_and_adds_nothing(animals, options, words):
    with pytest.raises(ProjectError, match=words):
        animals.add_label("kittens", **options)
    assert "kittens" not in animals.label_names()


def test_answers_take_over(animals):
    animals.add_label("noisy", like={"cats": 1.0})
    truth = animals.labelled()
    dogs = truth.Y[:, [1]].toarray().ravel().astype(bool)
    for row in range(40):  # in truth it goes with dogs
        animals.tell(Answer(str(row), {"noisy": bool(dogs[row])}), who="ann")
    p = guessed(animals, "noisy")
    assert p[40:50][dogs[40:50]].mean() > 0.6 > 0.4 > p[40:50][~dogs[40:50]].mean()


def test_a_model_that_is_kept_guesses_too(animals, tmp_path):
    animals.add_label("kittens", like={"cats": 0.9})
    animals.refresh()
    believed = animals.campaign().believe().probabilities()
    kept = animals.model()
    assert kept.label_names[-1] == "kittens"
    assert kept.probabilities(animals.labelled().items) == pytest.approx(believed, abs=1e-6)
    animals.model().save(tmp_path / "all.skops")
    again = TrainedLabeller.load(tmp_path / "all.skops")
    p = again.probabilities(["purr whisker milk purr", "engine wheel road engine"])[:, -1]
    assert p[0] > 0.5 > p[1] + 0.2
