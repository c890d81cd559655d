"""Vectors in projects: made in pauses, joined when all are ready, kept where they came with the items."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise import LabelData, encoders
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.training.model_files import TrainedLabeller
from labelwise.labelling.training.worker import model_path
from letter_encoder import LETTERS

PATH = "letter_encoder:LETTERS"


@pytest.fixture(autouse=True)
def forget(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    encoders.base.LOADED.pop(PATH, None)
    LETTERS.n_encoded = 0


def texts(n=150):
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list("abc"), 6)) + f" text{k}" for k in range(n)]


def pool(n=150):
    items = [{"body": text} for text in texts(n)]
    return LabelData.from_arrays(np.zeros((n, 1)), label_names=["a", "b"], items=items)


def answer_some(project, n=8):
    for _ in range(n):
        lease = project.ask(who="ann")[0]
        body = lease.content["body"]
        project.service.answer(lease.token, {name: body.count(name) > 1 for name in lease.question.labels})


def test_a_campaign_begins_with_words_and_vectors_join_when_all_are_ready(tmp_path):
    with Project.create(tmp_path / "p.db", pool(), text="body", embed=PATH) as project:
        said = []
        worker = project.worker(on_event=said.append)
        assert worker.step() and not worker.learner.featurizer.has_vectors
        assert worker.learner.campaign.data.blocks == () and worker.is_encoding
        now = status_of(project)
        assert now.encoding == {"done": 0, "of": 150, "trouble": None} and now.ready > 0
        steps = 0
        while worker.encode_some():
            steps += 1
        assert steps > 5 and LETTERS.n_encoded == 150
        assert status_of(project).encoding["done"] == 150
        assert worker.step() and not worker.is_encoding  # trained once more, though nobody has answered
        assert [block.kind for block in worker.learner.campaign.data.blocks] == ["words", "vectors"]
        assert said.count("all texts have vectors, which are learnt from now on") == 1
        assert not worker.step() and not worker.encode_some()


def test_what_was_made_is_not_made_again_and_new_items_join_at_once(tmp_path):
    with Project.create(tmp_path / "p.db", pool(), text="body", embed=PATH) as project:
        project.refresh()
        assert project.campaign().data.blocks[1].encoder == PATH and LETTERS.n_encoded == 150 + 2  # and two labels
        more = LabelData.from_arrays(
            np.zeros((1, 1)), label_names=["a", "b"], item_ids=["new"], items=[{"body": "aaa something"}]
        )
        project.add_items(more)
        assert project.campaign().data.n_items == 151 and LETTERS.n_encoded == 151 + 2
        assert len(project.campaign().data.blocks) == 2


def test_questions_do_not_wait_for_vectors_and_predictions_use_them(tmp_path):
    with Project.create(tmp_path / "p.db", pool(), text="body", embed=PATH) as project:
        answer_some(project)
        assert LETTERS.n_encoded == 0
        predicted = project.predict()
        assert LETTERS.n_encoded >= 150
        labeller = TrainedLabeller.load(model_path(project.store))
        contents = [{"body": text} for text in texts()]
        assert labeller.featurizer.has_vectors
        assert_allclose(labeller.probabilities(contents), predicted.probabilities, atol=1e-6)


def test_vectors_that_came_with_the_items_are_kept(tmp_path):
    vectors = LETTERS.encode(texts())
    data = pool().with_block(vectors, "mine", "vectors")
    with Project.create(tmp_path / "p.db", data, text="body") as project:
        answer_some(project)
        campaign = project.campaign()
        block = campaign.data.blocks[1]
        assert_allclose(block.of(campaign.data.X).toarray(), vectors)
        assert_allclose(project.predict().probabilities, campaign.believe().probabilities(), atol=1e-6)
        labeller = project.model()
        assert labeller.probabilities([{"body": "aaa new"}]).shape == (1, 2)  # words alone
        with pytest.raises(ProjectError, match="have 2 numbers, those of the project 3"):
            project.add_items(pool(1).with_block(np.ones((1, 2)), "mine", "vectors"))


def test_an_encoder_that_fails_leaves_words(tmp_path, monkeypatch):
    with Project.create(tmp_path / "p.db", pool(), text="body", embed=PATH) as project:
        monkeypatch.setattr(LETTERS, "encode", lambda texts: [[np.nan]] * len(texts), raising=False)
        said = []
        worker = project.worker(on_event=said.append)
        worker.step()
        while worker.encode_some():
            pass
        assert "no vectors can be made, words are learnt from" in said[-1] and not worker.is_encoding
        assert "NaN" in status_of(project).encoding["trouble"]
        assert not worker.step()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "body", "embed": "letter_encoder:Nothing"}, "there is no encoder at"),
        ({"text": "body", "embed": "maxilm"}, "one of minilm"),
        ({"embed": PATH}, "say where they are by text= or images="),
        ({"text": "body", "embed": LETTERS}, "keeps its encoder by name"),
    ],
)
def test_wrong_encoders_make_no_project(tmp_path, options, message):
    with pytest.raises((ProjectError, ValueError), match=message):
        Project.create(tmp_path / "p.db", pool(), **options)
    assert not list(tmp_path.iterdir())


def test_somebody_who_answers_all_the_while_does_not_keep_vectors_from_being_made(tmp_path):
    with Project.create(tmp_path / "p.db", pool(), text="body", embed=PATH) as project:
        worker, rounds = project.worker(), 0

        def until():
            nonlocal rounds
            rounds += 1
            if project.service.ask("ann"):
                answer_some(project, 1)  # there is something to learn whenever the worker looks
            return LETTERS.n_encoded >= 60 or rounds > 30

        worker.run(until)
        assert LETTERS.n_encoded >= 60


def test_vectors_wait_where_people_run_short_of_questions(tmp_path):
    with Project.create(tmp_path / "p.db", pool(), text="body", embed=PATH, ready=40) as project:
        worker = project.worker()
        worker.step()
        worker.encode_for(0.0)
        assert LETTERS.n_encoded == 0
        answer_some(project, 25)
        worker.encode_for(60.0)
        assert LETTERS.n_encoded < 60
        worker.step()  # makes new questions
        worker.encode_for(60.0)
        assert LETTERS.n_encoded == 150
