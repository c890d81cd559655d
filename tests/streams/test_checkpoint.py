"""Checkpoints: a model file with more in it, whole or not there."""

import json
import math
import os

import numpy as np
import pytest

from labelwise.data import Position, make_drifting_stream
from labelwise.models import OnlineBayes
from labelwise.streams.checkpoint import Checkpoint, FileStart
from labelwise.streams.judge import RunningShares, set_score

DATA = make_drifting_stream(60, 3, random_state=0)
Y = DATA.Y.toarray()


def checkpoint():
    made = Checkpoint(
        OnlineBayes(half_life=50.0).partial_fit(DATA.X, Y),
        ["a", "b", "ü"],
        {"format": "jsonl", "text": "body"},
        FileStart(5, "abc"),
        Position(60, 61, 4000),
        rows_before=7,
        score=set_score(Y, Y),
        shares=RunningShares(50.0),
        curve=[{"rows": 67, "micro_f1": 0.1 + 0.2, "log_loss": math.nan}],
    )
    made.shares.add(Y, None)
    return made


def test_everything_comes_back(tmp_path):
    made, path = checkpoint(), tmp_path / "m.npz"
    made.save(path)
    back = Checkpoint.load(path)
    for name in ("label_names", "reading", "source", "position", "rows_before", "rows"):
        assert getattr(back, name) == getattr(made, name), name
    assert back.score.measures()["micro_f1"] == 1.0 and back.score.rows == 60
    assert back.curve[0]["micro_f1"] == 0.1 + 0.2 and math.isnan(back.curve[0]["log_loss"])
    np.testing.assert_array_equal(back.shares.shares(3), made.shares.shares(3))
    np.testing.assert_array_equal(back.model.state_.arrays()["weights"], made.model.state_.arrays()["weights"])
    assert [file.name for file in tmp_path.iterdir()] == ["m.npz"]


def test_it_is_a_model_file_too_and_holds_strict_json(tmp_path):
    checkpoint().save(tmp_path / "m.npz")
    model = OnlineBayes.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(model.predict_proba(DATA.X), checkpoint().model.predict_proba(DATA.X))
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        json.loads(file["stream"].tobytes(), parse_constant=pytest.fail)


def test_a_model_saved_by_itself_is_taken_with_numbers_for_names(tmp_path):
    made = checkpoint()
    made.model.save(tmp_path / "m.npz")
    back = Checkpoint.load(tmp_path / "m.npz")
    assert back.label_names == ["0", "1", "2"] and back.rows == 60 and back.position is None
    np.testing.assert_allclose(back.shares.shares(3), made.model.label_shares_)


def test_a_save_that_is_cut_off_leaves_the_old_file(tmp_path, monkeypatch):
    made, path = checkpoint(), tmp_path / "m.npz"
    made.save(path)
    before = path.read_bytes()
    made.position = Position(99)
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError(28, "no space")))
    with pytest.raises(OSError, match="no space"):
        made.save(path)
    assert path.read_bytes() == before
    monkeypatch.undo()
    made.save(path)  # over what is left of the other
    assert Checkpoint.load(path).position == Position(99)
    assert [file.name for file in tmp_path.iterdir()] == ["m.npz"]


def test_what_is_no_model_is_told(tmp_path):
    path = tmp_path / "m.npz"
    for content in (b"", b"no zip", b"PK\x03\x04 cut"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"m\.npz is no"):
            Checkpoint.load(path)
    np.savez(path, other=np.zeros(3))
    with pytest.raises(ValueError, match="is no"):
        Checkpoint.load(path)


def test_a_file_is_known_by_its_beginning(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("one\ntwo\n")
    source = FileStart.of(path)
    assert source.is_beginning_of(path)
    path.write_text("one\ntwo\nthree\n")
    assert source.is_beginning_of(path)
    path.write_text("one\ntwx\nthree\n")
    assert not source.is_beginning_of(path)
    path.write_text("one\n")
    assert not source.is_beginning_of(path)
    assert not FileStart().is_beginning_of(path)
