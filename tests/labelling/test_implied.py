"""Child implies parent in a project: what people said stays, what is known and predicted keeps to it."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from labelling.web.site_client import Person
from labelwise import Answer, LabelData, Project
from labelwise.cli import app
from labelwise.labelling import ProjectError
from labelwise.labelling.items.browse import Browser
from labelwise.labelling.web.server import create_app

LABELS = [{"name": "science"}, {"name": "physics", "parent": "science"}, {"name": "optics", "parent": "physics"}, "art"]


@pytest.fixture
def project(location):
    X = np.random.default_rng(0).normal(size=(30, 2))
    given = np.zeros((30, 4))
    observed = np.zeros((30, 4), dtype=bool)
    given[29, 2], observed[29, 2] = 1, True
    data = LabelData.from_arrays(
        X, given, observed=observed, labels=LABELS, item_ids=[f"p{i}" for i in range(30)], implies_parent=True
    )
    with Project.create(location, data, model="binary_relevance", strategy="random", start=0) as made:
        yield made


def known(project, item):
    data = project.labelled()
    row = data.item_ids.index(item)
    Y, observed = data.Y.toarray()[row], data.observed_mask().toarray()[row]
    return {name: bool(Y[j]) for j, name in enumerate(data.label_names) if observed[j]}


def test_what_follows_is_known_and_what_was_said_stays(project):
    project.tell(Answer("p0", {"optics": True}), who="ann")
    project.tell(Answer("p1", {"science": False}), who="ann")
    assert known(project, "p0") == {"science": True, "physics": True, "optics": True}
    assert known(project, "p1") == {"science": False, "physics": False, "optics": False}
    assert known(project, "p29") == {"science": True, "physics": True, "optics": True}, "what came with an item, too"
    assert [dict(event.values) for event in project.events() if event.who == "ann"] == [
        {"optics": True},
        {"science": False},
    ]
    project.refresh()
    shown = {label.name: label.known for label in Browser(project).item("p0").labels}
    assert shown == {"science": True, "physics": True, "optics": True, "art": None}


def test_people_who_differ_are_no_trouble_and_yes_wins(project):
    project.tell(Answer("p0", {"science": False}), who="ann")
    project.refresh()
    project.tell(Answer("p0", {"optics": True}), who="bob")
    project.refresh()
    assert known(project, "p0") == {"science": True, "physics": True, "optics": True}
    assert project.campaign().labelled().Y.toarray()[0].tolist() == [True, True, True, False]
    project.service.undo("bob")
    project.refresh()
    assert known(project, "p0") == {"science": False, "physics": False, "optics": False}
    learner = project.worker().learner
    learner.catch_up()
    assert learner.history.answers[-1].values["science"] is False


def test_predictions_and_model_files_keep_to_it(project, tmp_path):
    rng = np.random.default_rng(1)
    for i in range(20):
        project.tell(Answer(f"p{i}", {"optics": bool(rng.random() < 0.5), "art": bool(i % 2)}), who="ann")
    for found in (project.predict(), project.predict(threshold=0.3), project.predict(every_label=True)):
        sets, p = found.sets, found.probabilities
        assert (sets[:, 0] >= sets[:, 1]).all() and (sets[:, 1] >= sets[:, 2]).all()
        assert (p[:, 0] >= p[:, 1] - 1e-9).all() and (p[:, 1] >= p[:, 2] - 1e-9).all()
    project.model().save(tmp_path / "m.skops")
    again = type(project.model()).load(tmp_path / "m.skops")
    sets = again.label_sets([None] * 5, rng.normal(size=(5, 2)), threshold=0.3)
    assert (sets[:, 0] >= sets[:, 2]).all()


def test_it_follows_renamed_and_merged_labels_and_can_be_switched(project):
    project.tell(Answer("p0", {"optics": True}), who="ann")
    project.rename_label("physics", "natural science")
    assert known(project, "p0")["natural science"] is True
    project.merge_labels("natural science", "art")
    assert known(project, "p0")["art"] is True
    assert project.imply_parents(False) is True and project.imply_parents(False) is False
    assert known(project, "p0") == {"optics": True}


def test_a_circle_is_refused_and_nothing_is_changed(project):
    with pytest.raises(ProjectError, match="stands above itself"):
        project.describe_labels([{"name": "science", "parent": "optics"}])
    assert {label.name: label.parent for label in project.labels()}["science"] == ""
    project.imply_parents(False)
    project.describe_labels([{"name": "science", "parent": "optics"}])
    with pytest.raises(ProjectError, match="stands above itself"):
        project.imply_parents()
    assert not project.implies_parent


def test_command_and_page_switch_it(project):
    place, run = str(project.store.location), CliRunner()
    assert run.invoke(app, ["labels", "imply", place, "--off"]).output == "labels imply nothing now\n"
    assert run.invoke(app, ["labels", "imply", place]).output == "labels imply their parents now\n"
    assert run.invoke(app, ["labels", "imply", place]).output == "labels imply their parents, as before\n"
    person = Person(create_app(project, local_user="me"))
    person.enter()
    assert "a yes goes up" in person.get("/vocabulary").text
    person.client.post("/vocabulary/imply", data={"csrf": person.csrf, "implies": "no"})
    assert not project.implies_parent
    person.client.post("/vocabulary/describe", data={"csrf": person.csrf, "label": "art", "parent": "science"})
    assert {label.name: label.parent for label in project.labels()}["art"] == "science"
    assert "let labels imply nothing" in person.get("/vocabulary").text
