"""Damaged files of projects, models and other programs: each is refused by an error of ours."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile

import pytest

from labelwise import Answer, BinaryRelevance, LabelData, Project
from labelwise.data import FormatError
from labelwise.labelling import ProjectError
from labelwise.labelling.errors import StoreError
from labelwise.labelling.exchange.label_studio import from_label_studio, labels_in, read_tasks
from labelwise.labelling.exchange.transfer import read_events_file
from labelwise.labelling.items.features import Featurizer
from labelwise.labelling.store.events import _as_votes
from labelwise.labelling.training.model_files import TrainedLabeller


@pytest.mark.parametrize(
    "value", [b'{"model": "auto", "no such setting": 1}', b"[1]", b'{"model": ', b'{"model": "\xff"}']
)
def test_a_project_whose_settings_were_damaged(tmp_path, value):
    path = tmp_path / "p.db"
    Project.create(path, LabelData.from_arrays([[0.0], [1.0]], label_names=["a"])).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE labelwise_project SET value = CAST(? AS TEXT) WHERE key = 'settings'", (value,))
    connection.close()
    with pytest.raises(StoreError, match=r"p\.db"):
        Project(path)


def test_a_project_whose_version_was_damaged(tmp_path):
    path = tmp_path / "p.db"
    Project.create(path, LabelData.from_arrays([[0.0], [1.0]], label_names=["a"])).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE labelwise_project SET value = '\"x\"' WHERE key = 'version'")
    connection.close()
    with pytest.raises(StoreError, match=r"p\.db is damaged: its version is 'x'"):
        Project(path)


def test_model_files_that_swell_or_are_damaged(tmp_path):
    texts = ["red apple", "green apple", "red car", "green car"]
    featurizer = Featurizer({"kind": "text", "field": None}).fit(texts)
    model = BinaryRelevance().fit(featurizer.transform(texts), [[1, 0], [0, 0], [1, 1], [0, 1]])
    path = tmp_path / "m.skops"
    TrainedLabeller(model, ("red", "vehicle"), featurizer).save(path)
    whole = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    schema["content"] = [1]
    for content in (members["schema.json"] + b" " * (70 << 20), json.dumps(schema).encode(), b"[" * 100_000):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, old in members.items():
                archive.writestr(name, content if name == "schema.json" else old)
        with pytest.raises(ProjectError, match=r"m\.skops is no model file of ours"):
            TrainedLabeller.load(path)


def test_label_studio_files_that_json_cannot_read(tmp_path):
    path = tmp_path / "tasks.json"
    for text in ("[" * 100_000, f"[{'1' * 5000}]"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(FormatError, match=r"tasks\.json: this JSON is too large or too deep"):
            read_tasks(str(path))
    task = {"id": 1, "data": {}, "meta": {"item": "a", "bare": True}}
    assert from_label_studio([task], ["red"])[0].content is None
    strange = [{"value": {"choices": [["a"], "b"]}}, {"value": {"choices": 1}}, {"value": 1}, 1]
    assert labels_in([{"annotations": [{"result": strange}, 1]}, {"annotations": 1}, 1]) == ["b"]


def test_an_event_with_a_number_that_is_infinite(tmp_path):
    path = tmp_path / "events.jsonl"
    event = '{"event": 1e999, "at": "2024-01-01T00:00:00+00:00", "who": "a", "kind": "skip", "item": "b"'
    path.write_text(event + ', "asked": null, "reason": "told", "undoes": null, "values": {}}\n', encoding="utf-8")
    with pytest.raises(FormatError, match=r"events\.jsonl, line 1: cannot convert"):
        read_events_file(str(path))


def test_a_model_file_with_a_part_that_cannot_be_unpacked(tmp_path):
    path = tmp_path / "m.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("schema.json", "{}" * 500)
    data = bytearray(path.read_bytes())
    start = data.index(b"BZh")
    data[start + 4 : start + 20] = bytes(16)
    path.write_bytes(data)
    with pytest.raises(ProjectError, match=r"m\.skops is no model file of ours"):
        TrainedLabeller.load(path)


def test_a_project_in_which_an_answer_is_no_number(make):
    project = make()
    project.tell(Answer("p0", {"left": True}))
    damaged = pytest.raises(StoreError, match=r"made-.*\.db: the file is damaged \(an answer holds no number")
    with damaged, project.store.reading():
        _as_votes([(1, 1, None, 1, "ann", "told")])
