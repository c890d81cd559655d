"""Opinions in a project: imported, kept through changes of labels, believed as in a campaign, judged, never answers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from labelwise import Answer, LabelData, Opinions, Project
from labelwise.cli import app
from labelwise.labelling import ProjectError
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.web.label_view import shown_question
from labelwise.records.asking import CONTROL

NAMES = ("joy", "fear", "anger")


@pytest.fixture
def truth():
    return np.random.default_rng(0).random((40, 3)) < 0.4


@pytest.fixture
def project(location, truth):
    rng = np.random.default_rng(1)
    X = truth + rng.normal(size=truth.shape)
    data = LabelData.from_arrays(X, label_names=NAMES, item_ids=[f"p{i}" for i in range(40)])
    with Project.create(location, data, model="binary_relevance", strategy="random", start=0, control=0.3) as made:
        yield made


def said(truth, rows):
    return {f"p{i}": {name: float(truth[i, j]) for j, name in enumerate(NAMES)} for i in rows}


def values(truth, i):
    return dict(zip(NAMES, truth[i].tolist(), strict=True))


def test_a_project_believes_what_a_campaign_with_the_same_opinions_does(project, truth):
    assert project.add_opinions(Opinions("gpt", said(truth, range(30)))) == 30
    project.tell([Answer(f"p{i}", values(truth, i)) for i in range(12)], who="ann")
    campaign = project.campaign()
    assert campaign.data.opinion_names == ("gpt",) and campaign.labelled().n_observed == 36
    assert project.labelled().opinion_names == () and project.labelled().n_observed == 36
    project.refresh()
    predicted = project.predict()
    assert_allclose(predicted.probabilities, campaign.believe().probabilities(), atol=1e-6)
    assert predicted.probabilities[12:30][truth[12:30]].mean() > predicted.probabilities[30:][truth[30:]].mean()


def test_a_model_file_hears_of_no_opinions_about_new_items(project, truth, tmp_path):
    project.add_opinions(Opinions("gpt", said(truth, range(40))))
    project.tell([Answer(f"p{i}", values(truth, i)) for i in range(12)], who="ann")
    labeller = project.model()
    labeller.save(tmp_path / "model.skops")
    again = type(labeller).load(tmp_path / "model.skops")
    X = np.zeros((2, 3))
    assert again.opinions == ("gpt",)
    assert_allclose(again.probabilities([None] * 2, X), labeller.probabilities([None] * 2, X))


def test_opinions_follow_their_labels_through_changes(project):
    project.add_opinions(Opinions("sets", {"p0": ["joy"], "p1": []}))
    project.add_opinions(Opinions("scores", {"p0": {"joy": 0.25, "fear": 1.0}}))
    project.add_label("hope")
    project.rename_label("joy", "delight")
    learner = project.learner()
    assert learner.labels.names == ("delight", "fear", "anger", "hope")
    assert learner.opinions["sets"].toarray()[:3].tolist() == [[1, -1, -1, 0], [-1, -1, -1, 0], [0, 0, 0, 0]]
    project.merge_labels("delight", "fear")
    project.retire_label("anger")
    learner = project.learner()
    assert learner.labels.names == ("fear", "hope")
    assert learner.opinions["sets"].toarray()[:2].tolist() == [[1, 0], [-1, 0]]
    assert learner.opinions["scores"].toarray()[0].tolist() == [1, 0]
    project.add_opinions(Opinions("sets", {"p2": ["hope"]}))
    assert project.learner().opinions["sets"].toarray()[:3].tolist() == [[0, 0], [0, 0], [-1, 1]]
    assert project.remove_opinions("sets") == 1 and list(project.learner().opinions) == ["scores"]
    assert project.remove_opinions("sets") == 0


def test_suggestions_name_the_source_but_not_to_those_who_judge_it(project, truth):
    project.add_opinions(Opinions("gpt", said(truth, range(40))))
    project.refresh()
    shown = [shown_question(lease, project.settings) for lease in project.ask(30, who="ann")]
    by_chance = [question for question in shown if question["reason"] == CONTROL]
    others = [question for question in shown if question["reason"] != CONTROL]
    assert by_chance and others
    assert all(label["p"] is None and label["why"] is None for question in by_chance for label in question["labels"])
    assert any(label["why"] == "by gpt" for question in others for label in question["labels"])


def test_status_and_page_tell_what_a_source_is_worth(project, truth):
    project.add_opinions(Opinions("gpt", said(truth, range(40))))
    project.refresh()
    for _ in range(30):
        lease = project.ask(who="ann")[0]
        project.service.answer(lease.token, values(truth, int(lease.question.item[1:])))
    project.refresh()
    (judged,) = status_of(project).opinions
    blind = {event.item for event in project.events() if event.reason == CONTROL}
    assert judged["name"] == "gpt" and judged["items"] == len(blind) > 3
    assert judged["precision"]["value"] == judged["recall"]["value"] == 1.0
    assert judged["precision"]["low"] < 1
    assert json.loads(json.dumps(status_of(project).as_dict()))["opinions"][0]["coverage"] == 1.0
    done = CliRunner().invoke(app, ["status", str(project.store.location)])
    assert "opinions of gpt: precision 1.00 (0." in done.output


def test_the_command_imports_opinions_all_or_none(project, tmp_path):
    place, path = str(project.store.location), tmp_path / "gpt.jsonl"
    run = CliRunner()
    path.write_text('{"item": "p0", "labels": ["joy"]}\n{"item": "p1", "scores": {"fear": 0.9}}\n', encoding="utf-8")
    done = run.invoke(app, ["import", place, str(path), "--opinions", "gpt"])
    assert done.exit_code == 0 and done.output == "opinions of gpt on 2 items\n"
    for line, error in (
        ('{"item": "p0", "labels": ["joi"]}', "no label 'joi' in the project; did you mean 'joy'"),
        ('{"item": "nobody", "labels": ["joy"]}', "no item 'nobody'"),
        ('{"item": "p0", "scores": {"joy": 2}}', "a score lies in [0, 1], got 2.0"),
    ):
        path.write_text(line, encoding="utf-8")
        done = run.invoke(app, ["import", place, str(path), "--opinions", "gpt"])
        assert done.exit_code != 0 and error in done.output
    assert run.invoke(app, ["import", place, str(path), "--opinions", "model"]).exit_code != 0
    assert project.learner().opinions["gpt"].nnz == 4
    with pytest.raises(ProjectError, match="no item 'nobody'"):
        project.add_opinions(Opinions("gpt", {"nobody": ["joy"]}))


def test_opinions_about_new_items_are_heard_and_their_absence_is_told(project, truth, tmp_path):
    place, run = str(project.store.location), CliRunner()
    new, said_of_new, out = tmp_path / "new.csv", tmp_path / "new.jsonl", tmp_path / "out.csv"
    new.write_text("id,x0,x1,x2\nn1,0,0,0\nn2,0,0,0\n", encoding="utf-8")
    said_of_new.write_text('{"item": "n1", "labels": ["joy"]}\n', encoding="utf-8")
    command = ["predict", place, str(new), "--out", str(out), "--id", "id", "--opinions", f"gpt={said_of_new}"]
    project.tell([Answer(f"p{i}", values(truth, i)) for i in range(12)], who="ann")
    done = run.invoke(app, command)
    assert done.exit_code != 0 and "learnt from no opinions 'gpt' (there are none)" in done.output.replace("\n", " ")
    project.add_opinions(Opinions("gpt", said(truth, range(40))))
    done = run.invoke(app, [*command[:5], "--id", "id"])
    assert done.exit_code == 0 and "nothing is said of these items by gpt" in " ".join(done.output.split())
    alone = project.predict(str(new), id="id")
    assert alone.unheard == ("gpt",)
    done = run.invoke(app, command)
    assert done.exit_code == 0 and "nothing is said" not in done.output
    heard = project.predict(str(new), id="id", opinions=[Opinions("gpt", {"n1": ["joy"]})])
    assert heard.unheard == () and heard.probabilities[0, 0] > alone.probabilities[0, 0] + 0.2
    assert_allclose(heard.probabilities[1], alone.probabilities[1])
    with pytest.raises(ProjectError, match="import those about the project's own"):
        project.predict(opinions=[Opinions("gpt", {"p1": ["joy"]})])
    for wrong in ({"n7": ["joy"]}, {"n1": ["joi"]}):
        with pytest.raises(ProjectError, match="which is not there"):
            project.predict(str(new), id="id", opinions=[Opinions("gpt", wrong)])
    done = run.invoke(app, [*command[:-1], "gpt"])
    assert done.exit_code != 0 and "NAME=FILE" in done.output


def test_a_name_of_features_is_refused_before_anything_is_kept(tmp_path):
    data = LabelData.from_arrays([[0.0], [1.0]], label_names=NAMES, item_ids=["p0", "p1"])
    with Project.create(tmp_path / "blocks.db", data.with_block(np.eye(2), "mine", "vectors")) as project:
        with pytest.raises(ProjectError, match="opinions cannot be called 'mine': features of the items are"):
            project.add_opinions(Opinions("mine", {"p0": ["joy"]}))
        assert project.learner().opinions == {}
        project.settings.features["embed"] = "tiny"  # as of a project whose worker makes vectors
        with pytest.raises(ProjectError, match="'tiny'"):
            project.add_opinions(Opinions("tiny", {"p0": ["joy"]}))


def test_a_campaign_refuses_the_name_of_a_block():
    data = LabelData.from_arrays([[0.0], [1.0]], label_names=NAMES).with_block(np.eye(2), "mine", "vectors")
    with pytest.raises(ValueError, match="take another name"):
        data.with_opinions("mine", {"0": ["joy"]})
