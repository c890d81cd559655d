"""Predictions of streams against those of the model on the whole file at once."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from labelwise.data import make_drifting_stream, read, write
from labelwise.decisions import ExpectedF1, Threshold, TopLabels, base
from labelwise.models import OnlineBayes
from labelwise.numerics.metrics import evaluate
from labelwise.streams.checkpoint import Checkpoint
from labelwise.streams.predict import predict_stream, score_stream
from labelwise.streams.train import StreamPlan, train_stream

TRAIN, TEST = make_drifting_stream(800, 6, random_state=0), make_drifting_stream(450, 6, random_state=1)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    write(TRAIN, folder / "train.txt")
    write(TEST, folder / "test.txt.gz")
    train_stream(folder / "train.txt", folder / "m.npz", plan=StreamPlan(batch=100))
    return folder


def posterior(here):
    return OnlineBayes.load(here / "m.npz").posterior(TEST.X)


def predicted(here, decision, out="p.jsonl", **options):
    done = predict_stream(here / "test.txt.gz", here / "m.npz", here / out, decision=decision, **options)
    rows = [json.loads(line) for line in (here / out).read_text().splitlines()]
    sets = np.array([[str(label) in row["labels"] for label in range(6)] for row in rows])
    assert done.rows == len(rows) == 450 and done.labels_given == sets.sum()
    return done, sets


@pytest.mark.parametrize(
    ("decision", "rule"),
    [
        ("threshold:0.3", Threshold(0.3)),
        ("top_labels:2", TopLabels(2)),
        ("expected_f1_per_item", ExpectedF1("samples")),
        ("expected_f1", ExpectedF1()),
    ],
)
@pytest.mark.parametrize("batch", [64, 1000])
def test_sets_are_those_of_the_rule_on_the_whole_file(here, monkeypatch, decision, rule, batch):
    monkeypatch.setattr(base, "EXACT_ENTRIES", 0)  # bins, as in a stream
    done, sets = predicted(here, decision, reading={"batch": batch})
    whole = rule.decide(posterior(here))
    np.testing.assert_array_equal(sets, whole)
    if decision == "expected_f1":
        assert done.believed_macro_f1 == pytest.approx(rule.decide_scored(posterior(here)).mean, rel=1e-9)
    else:
        assert done.believed_macro_f1 is None


def test_class_mass_gives_each_label_its_share_of_all_rows(here):
    done, sets = predicted(here, "class_mass", reading={"batch": 100})
    shares = Checkpoint.load(here / "m.npz").shares.shares(6)
    np.testing.assert_array_equal(sets.sum(0), np.rint(450 * shares))
    p = posterior(here).probabilities()
    for label in range(6):
        kept, left = p[sets[:, label], label].min(), p[~sets[:, label], label].max()
        assert kept >= left or kept / (1 - kept) > 0.97 * left / (1 - left)  # within a bin the first come first
    assert 0 < done.believed_macro_f1 < 1


def test_probabilities_and_top_labels_are_written(here):
    predicted(here, "threshold", top=3)
    p = posterior(here).probabilities()
    for line, row in zip((here / "p.jsonl").read_text().splitlines(), p, strict=True):
        told = json.loads(line)
        assert told["top_labels"] == [str(label) for label in np.argsort(-row, kind="stable")[:3]]
        np.testing.assert_allclose(told["top_probabilities"], np.sort(row)[::-1][:3], atol=1e-6)


def test_scores_are_those_of_the_whole_file(here):
    told = score_stream(here / "test.txt.gz", here / "m.npz", decision="threshold:0.3").measures()
    p = posterior(here).probabilities()
    truth = evaluate(p, TEST.Y.toarray(), p > 0.3)
    for name, value in told.items():
        assert value == pytest.approx(truth[name], rel=1e-9), name


def test_a_test_file_with_labels_the_model_never_saw(tmp_path):
    (tmp_path / "train.svm").write_text("0 1:1\n1 2:1\n" * 40)
    (tmp_path / "test.svm").write_text("0 1:1\n7 2:1\n")
    train_stream(tmp_path / "train.svm", tmp_path / "m.npz")
    score = score_stream(tmp_path / "test.svm", tmp_path / "m.npz", decision="top_labels:1")
    assert score.present.tolist() == [1, 0, 1] and score.hits.tolist() == [1, 0, 0]
    assert score.measures()["precision_at_1"] == 0.5


def test_the_file_to_predict_is_read_as_the_training_was(tmp_path):
    rows = [{"key": i, "body": ["red sun", "blue sea"][i % 2], "tags": [["sun"], ["sea"]][i % 2]} for i in range(60)]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    bare = [{"key": f"k{i}", "body": row["body"]} for i, row in enumerate(rows[:10])]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, bare)))
    reading = {"text": "body", "labels": "tags", "id": "key", "hashed_width": 256}
    train_stream(tmp_path / "train.jsonl", tmp_path / "m.npz", reading=reading, plan=StreamPlan(batch=20))
    predict_stream(tmp_path / "new.jsonl", tmp_path / "m.npz", tmp_path / "p.csv", decision="top_labels:1")
    told = read(tmp_path / "p.csv", text="id")
    assert told.item_ids == tuple(f"k{i}" for i in range(10)) and told.label_names == ("sea", "sun")
    np.testing.assert_array_equal(told.Y.toarray(), [[i % 2 == 1, i % 2 == 0] for i in range(10)])


def test_tables_of_either_format_are_read_alike_and_text_is_asked_of_no_other(tmp_path):
    rows = [{"body": ["red sun", "blue sea"][i % 2], "tags": [["sun"], ["sea"]][i % 2]} for i in range(60)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    write(TEST, tmp_path / "t.txt")
    model = tmp_path / "m.npz"
    train_stream(tmp_path / "t.jsonl", model, reading={"text": "body", "labels": "tags"}, plan=StreamPlan(batch=20))
    for suffix in ("jsonl", "parquet"):
        predict_stream(tmp_path / f"t.{suffix}", model, tmp_path / f"{suffix}.csv", decision="top_labels:1")
    assert (tmp_path / "parquet.csv").read_text() == (tmp_path / "jsonl.csv").read_text()
    for learn_or_predict in (train_stream, score_stream):
        with pytest.raises(ValueError, match="text of column 'body'"):
            learn_or_predict(tmp_path / "t.txt", model)


def test_progress_covers_both_passes(here):
    told = []
    options = {"reading": {"batch": 200}, "on_batch": lambda rows, share: told.append((rows, round(share, 3)))}
    predict_stream(here / "train.txt", here / "m.npz", here / "p.jsonl", decision="class_mass", **options)
    assert told == [(0, 0.125), (0, 0.25), (0, 0.375), (0, 0.5), (200, 0.625), (400, 0.75), (600, 0.875), (800, 1.0)]


def test_what_is_wrong_is_told_before_anything_is_written(here, tmp_path):
    out = tmp_path / "p.jsonl"
    with pytest.raises(ValueError, match="no decision 'f1'"):
        predict_stream(here / "test.txt.gz", here / "m.npz", out, decision="f1")
    with pytest.raises(FileNotFoundError, match="no such model"):
        predict_stream(here / "test.txt.gz", here / "other.npz", out)
    with pytest.raises(ValueError, match="top must not be negative"):
        predict_stream(here / "test.txt.gz", here / "m.npz", out, top=-1)
    with pytest.raises(ValueError, match="written to"):
        predict_stream(here / "test.txt.gz", here / "m.npz", tmp_path / "p.txt")
    assert not out.exists()
