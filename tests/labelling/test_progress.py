"""Each figure of the progress page against a direct computation from the events."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.labelling import Event, Project, krippendorff_alpha
from labelwise.labelling.estimates import base_rate, calibration, estimate_f1
from labelwise.labelling.planning import kept_apart
from labelwise.labelling.progress import progress_of
from labelwise.labelling.status import status_of

LABELS = ("left", "low", "far")
DAY = 86400.0


def says(pool, item: str, rng: np.random.Generator) -> dict[str, bool | None]:
    """What somebody who errs now and then says of a point."""
    x, y = pool.X[pool.item_ids.index(item)]
    right = {"left": bool(x < 0), "low": bool(y < 0), "far": bool(x * x + y * y > 2)}
    return {name: None if rng.random() < 0.1 else value != (rng.random() < 0.1) for name, value in right.items()}


def points() -> LabelData:
    X = np.random.default_rng(0).standard_normal((40, 2))
    return LabelData.from_arrays(X, label_names=LABELS, item_ids=[f"p{i}" for i in range(40)])


def fill(location: str) -> Project:
    """Three people on three days, with a random share, overlap, one answer taken back, trained now and then."""
    pool = points()
    made = Project.create(location, pool, control=0.4, overlap=2, ready=40, model="label_gp")
    rng, now = np.random.default_rng(1), [1.6e9]
    made.service._clock = lambda: now[0]
    for turn in range(30):
        now[0] += 0.07 * DAY
        who = ("ann", "bob", "cid")[turn % 3]
        if turn % 3 == 0:
            made.refresh()
        for lease in made.service.ask(who):
            made.service.answer(lease.token, says(pool, lease.question.item, rng))
    made.service.skip(made.service.undo("cid").token)
    made.refresh()
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory, few_are_enough) -> Path:
    path = tmp_path_factory.mktemp("progress") / "filled.db"
    fill(str(path)).close()
    return path


@pytest.fixture
def project(copied) -> Project:
    return copied


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_postgresql_says_the_same(project, location):
    with fill(location) as other:
        mine, theirs = progress_of(project), progress_of(other)
    assert (mine.days, mine.by_person, mine.labels, mine.pairs) == (
        theirs.days,
        theirs.by_person,
        theirs.labels,
        theirs.pairs,
    )
    assert mine.f1 == pytest.approx(theirs.f1, abs=1e-3)


def standing(project: Project) -> list[Event]:
    undone = {event.undoes for event in project.events()}
    return [event for event in project.events() if event.kind == "answer" and event.id not in undone]


def test_answers_per_day_and_person(project):
    found = progress_of(project)
    expected = Counter((datetime.fromtimestamp(event.at, UTC).date(), event.who) for event in standing(project))
    table = {
        (datetime.fromtimestamp(day * DAY, UTC).date(), who): number
        for who, numbers in found.by_person.items()
        for day, number in zip(found.days, numbers, strict=True)
        if number
    }
    assert table == dict(expected) and len({day for day, _ in table}) == 3
    assert found.answers == sum(expected.values())
    assert found.people == dict(Counter(event.who for event in standing(project)).most_common())
    assert found.answered_items == len({event.item for event in standing(project)})
    assert (found.items, found.unseen, found.trouble) == (40, 0, None)


def test_labels_are_those_of_the_status_and_of_a_recount(project):
    found, status = progress_of(project), status_of(project)
    for mine, other in zip(found.labels, status.labels, strict=True):
        assert (mine.name, mine.yes, mine.no, mine.unsure) == (other.name, other.yes, other.no, other.unsure)
        assert mine.alpha == other.agreement and mine.base_rate == other.base_rate
        votes = [event.values.get(mine.name, 0) for event in standing(project)]
        assert mine.yes == votes.count(True) and mine.unsure == votes.count(None)
    assert any(label.alpha is not None for label in found.labels)


def test_agreement_of_pairs(project):
    said = {(event.who, event.item, name): value for event in standing(project) for name, value in event.values.items()}
    found = progress_of(project).pairs
    assert len(found) == 3
    for pair in found:
        mine = {key[1:]: value for key, value in said.items() if key[0] == pair.first and value is not None}
        other = {key[1:]: value for key, value in said.items() if key[0] == pair.second and value is not None}
        both = mine.keys() & other.keys()
        assert pair.both == len(both) > 0
        share = np.mean([mine[key] == other[key] for key in both])
        assert pair.share == pytest.approx(share)
        yes = [np.mean([values[key] for key in both]) for values in (mine, other)]
        chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
        assert pair.kappa == pytest.approx((share - chance) / (1 - chance))


def control_table(project: Project) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, mask and beliefs of the items kept apart, from the labelled data and the campaign."""
    learner = project.learner()
    data, apart = learner.data(), kept_apart(project.settings, learner.items.ids)
    known = data.observed_mask().toarray()
    rows = np.flatnonzero(apart & known.any(1))
    return data.Y.toarray()[rows], known[rows], learner.campaign.believe().probabilities()[rows]


def test_f1_base_rates_and_calibration_are_of_the_random_share(project):
    found = progress_of(project)
    Y, known, p = control_table(project)
    assert len(Y) > 3
    predicted = (p > 0.5) & known
    f1 = 2 * (predicted & Y).sum() / (predicted.sum() + (Y & known).sum())
    assert found.f1["f1"] == pytest.approx(f1, abs=1e-4)
    assert found.f1 == estimate_f1(Y, known, p > 0.5, project.settings.random_state)
    assert found.course[-1]["f1"] == found.f1["f1"] and len(found.course) > 3
    for column, label in enumerate(found.labels):
        yes, no = int((Y & known)[:, column].sum()), int((~Y & known)[:, column].sum())
        assert label.base_rate == base_rate(yes, no)
    assert found.calibration == calibration(Y, known, p)
    assert sum(each["entries"] for each in found.calibration["bins"]) == known.sum()


def test_calibration_by_hand():
    rng = np.random.default_rng(0)
    p, known = rng.random((50, 4)), rng.random((50, 4)) < 0.8
    Y = rng.random((50, 4)) < p**2
    found = calibration(Y, known, p)
    error = 0.0
    for number, each in enumerate(found["bins"]):
        inside = known & (p >= number / 10) & (p < (number + 1) / 10)
        assert each["entries"] == inside.sum()
        assert (each["believed"], each["share"]) == pytest.approx((p[inside].mean(), Y[inside].mean()), abs=1e-4)
        assert each["low"] <= each["share"] <= each["high"]
        error += inside.sum() * abs(p[inside].mean() - Y[inside].mean())
    assert found["error"] == pytest.approx(error / known.sum(), abs=1e-4)
    assert calibration(Y, np.zeros_like(known), p) == {"bins": [], "error": 0.0}


def test_what_the_next_questions_are_expected_to_bring(project):
    found = progress_of(project)
    learner = project.learner()
    p = dict(zip(learner.items.names, learner.campaign.believe().probabilities(), strict=True))
    others = Project(project.store.location)
    leases = [lease for who in ("x", "y") for lease in others.service.ask(who, 100)]
    asked = {lease.question.item: lease for lease in leases}
    assert found.following.number == len(asked)
    assert found.following.at_random == sum(lease.question.reason == "control" for lease in asked.values())
    expected = sum(p[item].sum() for item in asked)
    assert found.following.yes == pytest.approx(expected, rel=1e-4)
    assert sum(number for _, number in found.following.labels) == pytest.approx(expected, rel=1e-4)
    others.close()


def test_a_forecast_comes_with_enough_points(project):
    forecast = progress_of(project).forecast
    assert forecast is not None and forecast["answers"] == 100
    assert forecast["low"] <= forecast["gain"] <= forecast["high"]


def test_a_new_project_has_nothing_to_tell(make):
    found = progress_of(make())
    assert (found.answers, found.f1, found.forecast, found.calibration) == (0, None, None, None)
    assert found.course == () and list(found.days) == [] and found.following.number == 0
    assert [label.name for label in found.labels] == list(LABELS)


def test_answers_since_the_training_are_told(project):
    project.tell(Answer("p39", {"left": True}), who="zoe")
    found = progress_of(project)
    assert found.unseen == 1 and found.people["zoe"] == 1
    assert np.isnan(krippendorff_alpha([1], [0])), "one answer says nothing of agreement"


def test_trouble_is_told(project, monkeypatch):
    worker = project.worker()
    monkeypatch.setattr(worker.learner, "catch_up", lambda: 1 / 0)
    project.tell(Answer("p39", {"left": True}), who="zoe")
    worker.step()
    assert progress_of(project).trouble == "The last training failed: ZeroDivisionError: division by zero"
