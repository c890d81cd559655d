"""Label Studio JSON: the round trip keeps everything that both formats can say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.data import FormatError
from labelwise.labelling import Project
from labelwise.labelling.exchange.label_studio import from_label_studio, labels_in, to_label_studio
from labelwise.labelling.exchange.label_studio_predictions import version_of
from labelwise.labelling.exchange.label_studio_tasks import SUGGESTIONS
from labelwise.labelling.exchange.label_studio_transfer import export_tasks, import_tasks
from labelwise.labelling.items.browse import Browser

LABELS = ["red; or so", "round", "new"]


@pytest.fixture
def texts(tmp_path):
    """A project of six texts with answers of every kind."""
    data = LabelData.from_arrays(
        np.zeros((6, 1)), label_names=LABELS, item_ids=list("abcdef"), items=[{"text": f"thing {i}"} for i in range(6)]
    )
    with Project.create(tmp_path / "texts.db", data, text="text", control=0, model="binary_relevance") as project:
        project.tell(Answer("a", {"red; or so": True, "round": False, "new": True}), who="ann")
        project.tell(Answer("b", {"round": True}), who="bob")
        project.tell(Answer("a", {"red; or so": False, "round": None}), who="bob")
        project.service.skip(project.ask(who="ann")[0].token)
        project.tell(Answer("c", {"new": True}), who="ann")
        project.service.undo("ann")
        yield project


def said(project: Project) -> list[tuple]:
    """What Label Studio can say: who said what of which item and when; not what was taken back."""
    undone = {event.undoes for event in project.events()}
    return [
        (event.at, event.who, event.kind, event.item, event.asked, event.reason, dict(event.values))
        for event in project.events()
        if event.kind != "undo" and event.id not in undone
    ]


def test_out_and_in_again_is_the_same(texts, tmp_path):
    path = str(tmp_path / "tasks.json")
    assert export_tasks(texts, path, predictions=True) == 6
    empty = LabelData.from_arrays(np.zeros((1, 1)), label_names=LABELS, item_ids=["a"], items=[{"text": "thing 0"}])
    with Project.create(tmp_path / "copy.db", empty, text="text", control=0) as copy:
        done = import_tasks(copy, path)
        assert (done.items, done.events, done.repeated) == (5, 4, 0)
        done = import_tasks(copy, path)
        assert (done.items, done.events, done.repeated) == (0, 0, 4), "a second time adds nothing"
        assert said(copy) == said(texts)
        assert copy.labelled().items == texts.labelled().items
        assert (copy.labelled().observed != texts.labelled().observed).nnz == 0
        assert (copy.labelled().Y != texts.labelled().Y).nnz == 0
        again = str(tmp_path / "again.json")
        export_tasks(copy, again)
    first, second = (json.loads(Path(name).read_text(encoding="utf-8")) for name in (path, again))
    for task, other in zip(first, second, strict=True):
        assert {**task["data"], SUGGESTIONS: None} == {**other["data"], SUGGESTIONS: None}
        assert [{**a, "id": 0} for a in task["annotations"]] == [{**a, "id": 0} for a in other["annotations"]]


def test_tasks_have_the_shape_label_studio_expects(texts, tmp_path):
    path = str(tmp_path / "tasks.json")
    export_tasks(texts, path, predictions=True)
    task = json.loads(Path(path).read_text(encoding="utf-8"))[0]
    result = task["annotations"][0]["result"]
    assert result == [
        {"from_name": "labels", "to_name": "text", "type": "choices", "value": {"choices": ["red; or so", "new"]}}
    ]
    assert task["annotations"][1]["result"][1]["value"] == {"choices": ["red; or so"]}
    assert task["predictions"][0]["model_version"] == version_of(Browser(texts))
    assert set(task["predictions"][0]["meta"]) == set(LABELS)


def test_an_export_of_label_studio_itself_is_whole_answers():
    task = {
        "id": 17,
        "data": {"text": "hello"},
        "annotations": [
            {
                "id": 3,
                "completed_by": {"id": 1, "email": "ann@example.org"},
                "created_at": "2024-05-01T10:00:00.000000Z",
                "was_cancelled": False,
                "result": [{"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": ["x"]}}],
            }
        ],
    }
    assert labels_in([task]) == ["x"]
    found = from_label_studio([task], ["x", "y"])[0]
    assert (found.item, found.content) == ("17", {"text": "hello"})
    assert found.annotations[0].event.values == {"x": True, "y": False}
    assert found.annotations[0].event.who == "label-studio:1"


def test_bare_contents_stay_bare():
    tasks = to_label_studio({"a": "just text"}, [], ["x"])
    assert from_label_studio(tasks, ["x"])[0].content == "just text"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "expected a list of tasks"),
        ("[{}]", "task 1 has no data"),
        ('[{"data": {}, "annotations": [{"result": []}]}]', "an annotation of task 1"),
        ("[", "this is no JSON"),
    ],
)
def test_a_wrong_file_is_told_and_changes_nothing(texts, tmp_path, text, words):
    path = tmp_path / "wrong.json"
    path.write_text(text, encoding="utf-8")
    before = texts.events()
    with pytest.raises(FormatError, match=words):
        import_tasks(texts, str(path))
    assert texts.events() == before


def test_broken_encodings_are_told(texts, tmp_path):
    (tmp_path / "latin.json").write_bytes('[{"data": {"text": "caf\xe9"}}]'.encode("latin-1"))
    with pytest.raises(FormatError, match="not utf-8 text"):
        import_tasks(texts, str(tmp_path / "latin.json"))
