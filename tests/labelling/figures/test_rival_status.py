"""Each figure of a status against a direct computation from the events."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.campaign.estimates import base_rate, calibration
from labelwise.labelling import Event, Project, krippendorff_alpha
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.training.learner import standing_report

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
    made = Project.create(location, pool, strategy="uncertainty", control=0.4, overlap=2, ready=40, model="label_gp")
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
@pytest.mark.slow
def test_postgresql_says_the_same(project, location):
    with fill(location) as other:
        mine, theirs = status_of(project, recount=False), status_of(other, recount=False)
    assert (mine.days, mine.by_person, mine.labels, mine.pairs) == (
        theirs.days,
        theirs.by_person,
        theirs.labels,
        theirs.pairs,
    )
    assert mine.f1 == pytest.approx(theirs.f1, abs=1e-3)


def standing_events(project: Project) -> list[Event]:
    undone = {event.undoes for event in project.events()}
    return [event for event in project.events() if event.kind == "answer" and event.id not in undone]


@pytest.mark.slow
def test_answers_per_day_and_person(project):
    found = status_of(project, recount=False)
    expected = Counter((datetime.fromtimestamp(event.at, UTC).date(), event.who) for event in standing_events(project))
    table = {
        (datetime.fromtimestamp(day * DAY, UTC).date(), who): number
        for who, numbers in found.by_person.items()
        for day, number in zip(found.days, numbers, strict=True)
        if number
    }
    assert table == dict(expected) and len({day for day, _ in table}) == 3
    assert found.answers == sum(expected.values())
    assert found.people == dict(Counter(event.who for event in standing_events(project)).most_common())
    assert found.answered_items == len({event.item for event in standing_events(project)})
    assert (found.items, found.unseen, found.trouble) == (40, 0, None)


def test_labels_of_the_training_are_those_of_a_recount(project):
    found = status_of(project, recount=False)
    assert found.labels == status_of(project).labels
    for mine in found.labels:
        votes = [event.values.get(mine.name, 0) for event in standing_events(project)]
        assert mine.yes == votes.count(True) and mine.unsure == votes.count(None)
    assert any(label.agreement is not None for label in found.labels)


def test_agreement_of_pairs(project):
    said = {
        (event.who, event.item, name): value
        for event in standing_events(project)
        for name, value in event.values.items()
    }
    found = status_of(project, recount=False).pairs
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


def test_f1_base_rates_and_calibration_are_those_of_the_campaign(project, few_are_enough):
    found, standing = status_of(project, recount=False), project.standing()
    assert standing.random_items > 3
    assert found.f1 | {"needed": 3} == standing_report(standing, len(project.campaign().answers))["f1"] | {"needed": 3}
    assert found.calibration == standing.calibration
    assert sum(each["entries"] for each in found.calibration["bins"]) == standing.random_answers
    assert found.course[-1]["f1"] == found.f1["f1"] and len(found.course) > 3
    for label, yes, no in zip(found.labels, *project.campaign().random_counts(), strict=True):
        assert label.base_rate == base_rate(int(yes), int(no))


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
    found = status_of(project, recount=False)
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


def test_curve_and_outlook_are_those_of_the_campaign_and_follow_the_goals(project, few_are_enough):
    standing = project.campaign().status(target_f1=0.6, worth_an_hour=0.99)
    found = status_of(project, target_f1=0.6, worth_an_hour=0.99)
    assert found.curve == standing.curve and len(found.curve.points) == 6
    assert found.outlook == standing.outlook and found.outlook.risk == project.settings.risk == 0.2
    bold = project.status(worth_an_hour=1.0, risk=1.0)
    assert bold.outlook.stop and bold.standing["advice"].startswith("stop: more time is worth it with a probability")
    assert not project.status(worth_an_hour=1.0, risk=0.0).outlook.stop
    prices = project.costs()
    assert found.curve.seconds == project.campaign().spent().seconds
    read = {(event.who, event.item) for event in standing_events(project)}
    assert found.curve.seconds > 0.7 * len(read) * prices.whole_item(), "two people read what both are asked"
    told = found.as_dict()
    assert [point["f1"] for point in told["learning_curve"]] == [point.f1 for point in found.curve.points]
    assert json.loads(json.dumps(told, allow_nan=False))["outlook"]["target_f1"] == 0.6
    with pytest.raises(ValueError, match="target_f1 must lie above 0"):
        status_of(project, target_f1=60)


def test_a_new_project_has_nothing_to_tell(make):
    found = status_of(make(), recount=False)
    assert (found.answers, found.f1, found.curve, found.calibration) == (0, None, None, None)
    assert found.course == () and list(found.days) == [] and found.following.number == 0
    assert [label.name for label in found.labels] == list(LABELS)


def test_answers_since_the_training_are_told(project):
    project.tell(Answer("p39", {"left": True}), who="zoe")
    found = status_of(project, recount=False)
    assert found.unseen == 1 and found.people["zoe"] == 1
    assert np.isnan(krippendorff_alpha([1], [0])), "one answer says nothing of agreement"


def test_trouble_is_told(project, monkeypatch):
    worker = project.worker()
    monkeypatch.setattr(worker.learner, "catch_up", lambda: 1 / 0)
    project.tell(Answer("p39", {"left": True}), who="zoe")
    worker.step()
    assert status_of(project, recount=False).trouble == "the last training failed: ZeroDivisionError: division by zero"
