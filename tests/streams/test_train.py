"""Training on streams: the weights of plain partial_fit, resumed after a kill, late labels, drift."""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from labelwise.data import make_drifting_stream, write
from labelwise.models import OnlineBayes
from labelwise.numerics import metrics
from labelwise.streams.checkpoint import Checkpoint
from labelwise.streams.train import StreamPlan, ahead, train_stream

PLAN = StreamPlan(batch=50, window=100, checkpoint_every=200)
DATA = make_drifting_stream(1000, 6, noise=0.1, new_label_at=520, random_state=0)


@pytest.fixture
def here(tmp_path):
    write(DATA, tmp_path / "s.libsvm", header=False)
    write(DATA, tmp_path / "s.txt.gz")
    return tmp_path


def weights(path):
    return {name: array.copy() for name, array in OnlineBayes.load(path).state_.arrays().items()}


def assert_same_model(one, other):
    for name, array in weights(one).items():
        np.testing.assert_array_equal(weights(other)[name], array, err_msg=name)
    first, second = Checkpoint.load(one), Checkpoint.load(other)
    assert first.label_names == second.label_names and first.position == second.position
    assert first.score.to_json() == second.score.to_json() and first.shares.to_json() == second.shares.to_json()
    np.testing.assert_equal(first.curve, second.curve)


def test_training_is_partial_fit_batch_by_batch(here):
    done = train_stream(here / "s.txt.gz", here / "m.npz", plan=PLAN)
    plain = OnlineBayes()
    for start in range(0, 1000, 50):
        plain.partial_fit(DATA.X[start : start + 50], DATA.Y[start : start + 50])
    np.testing.assert_array_equal(done.model.state_.arrays()["weights"], plain.state_.arrays()["weights"])
    np.testing.assert_array_equal(weights(here / "m.npz")["weights"], plain.state_.arrays()["weights"])
    assert done.rows == done.new_rows == 1000 and done.label_names == [str(label) for label in range(6)]


def test_each_row_is_judged_before_it_is_learnt(here):
    done = train_stream(
        here / "s.txt.gz", here / "m.npz", plan=StreamPlan(batch=50, window=50, decision="threshold:0.3")
    )
    plain = OnlineBayes().partial_fit(DATA.X[:50], DATA.Y[:50])
    assert done.curve["rows"].tolist() == list(range(100, 1001, 50))  # nothing was known of the first batch
    Y = DATA.Y.toarray()
    for row, start in zip(done.curve.rows(), range(50, 1000, 50), strict=True):
        part = slice(start, start + 50)
        p = plain.predict_proba(DATA.X[part])
        assert row["log_loss"] == pytest.approx(metrics.log_loss(p, Y[part]), rel=1e-9)
        assert row["micro_f1"] == pytest.approx(metrics.micro_f1(p.astype(np.float32) > 0.3, Y[part]), rel=1e-9)
        plain.partial_fit(DATA.X[part], DATA.Y[part])
    assert done.measures["log_loss"] == pytest.approx(done.curve["log_loss"].mean(), rel=1e-9)


KILLED = """
    import os, signal, sys
    from labelwise.streams.train import StreamPlan, train_stream

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def on_batch(progress):
        if sys.argv[2] == "between" and progress.rows == 650:
            die()

    def replace(part, target, real=os.replace):
        if sys.argv[2] == "half written" and os.path.basename(target) == "m.npz" and os.path.exists("m.npz"):
            os.truncate(part, 5000)
            die()
        real(part, target)

    os.replace = replace
    plan = StreamPlan(batch=50, window=100, checkpoint_every=200)
    train_stream(sys.argv[1], "m.npz", plan=plan, settings={"half_life": 300.0}, on_batch=on_batch)
"""


@pytest.mark.parametrize(("name", "moment", "kept"), [("s.libsvm", "between", 600), ("s.txt.gz", "half written", 200)])
@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bits(here, name, moment, kept):
    settings = {"half_life": 300.0}
    command = [sys.executable, "-c", textwrap.dedent(KILLED), name, moment]
    killed = subprocess.run(command, cwd=here, check=False, stderr=subprocess.PIPE)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert Checkpoint.load(here / "m.npz").rows == kept
    done = train_stream(here / name, here / "m.npz", plan=PLAN, settings=settings)
    assert (done.rows, done.new_rows) == (1000, 1000 - kept)
    train_stream(here / name, here / "unbroken.npz", plan=PLAN, settings=settings)
    assert_same_model(here / "m.npz", here / "unbroken.npz")
    assert not list(here.glob(".*"))


def test_a_finished_file_is_not_learnt_again_and_a_grown_one_is_learnt_on(here):
    path, lines = here / "log.libsvm", (here / "s.libsvm").read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:400]))
    train_stream(path, here / "m.npz", plan=PLAN)
    before = (here / "m.npz").read_bytes()
    again = train_stream(path, here / "m.npz", plan=PLAN)
    assert (again.rows, again.new_rows) == (400, 0) and (here / "m.npz").read_bytes() == before
    path.write_text("".join(lines))
    assert train_stream(path, here / "m.npz", plan=PLAN).new_rows == 600
    train_stream(here / "s.libsvm", here / "unbroken.npz", plan=PLAN)
    assert_same_model(here / "m.npz", here / "unbroken.npz")


def test_another_file_is_learnt_on_top(here):
    lines = (here / "s.libsvm").read_text().splitlines(keepends=True)
    for name, part in (("a.libsvm", lines[:500]), ("b.libsvm", lines[500:])):
        (here / name).write_text("".join(part))
    train_stream(here / "a.libsvm", here / "m.npz", plan=PLAN)
    done = train_stream(here / "b.libsvm", here / "m.npz", plan=PLAN)
    assert (done.rows, done.new_rows) == (1000, 500) and done.curve["rows"][-1] == 1000
    train_stream(here / "s.libsvm", here / "unbroken.npz", plan=PLAN)
    assert weights(here / "m.npz")["weights"].tobytes() == weights(here / "unbroken.npz")["weights"].tobytes()


def test_the_limit_stops_and_a_higher_one_goes_on(here):
    plan = StreamPlan(batch=50, window=100, limit=300)
    assert train_stream(here / "s.libsvm", here / "m.npz", plan=plan).rows == 300
    train_stream(here / "s.libsvm", here / "m.npz", plan=PLAN)
    train_stream(here / "s.libsvm", here / "unbroken.npz", plan=PLAN)
    assert_same_model(here / "m.npz", here / "unbroken.npz")


def test_a_label_that_first_appears_half_way_is_learnt(here):
    seen = []
    train_stream(here / "s.libsvm", here / "m.npz", plan=PLAN, on_batch=lambda progress: seen.append(progress.window))
    windows = {window.rows: window.score for window in seen if window is not None}
    assert Checkpoint.load(here / "m.npz").label_names[-1] == "5"
    assert windows[500].present.size == 5 and windows[600].present.size == 6
    assert windows[600].predicted[-1] == 0  # nobody knew of it before that window
    last = windows[800] + windows[900] + windows[1000]
    assert last.label_f1()[-1] > 0.7


def test_forgetting_follows_drifts_that_a_model_without_it_does_not(tmp_path):
    data = make_drifting_stream(6000, 6, drift_at=(2000, 4000), random_state=1)
    write(data, tmp_path / "drift.txt")
    plan = StreamPlan(batch=100, window=1000)
    f1 = {}
    for half_life in (None, 300.0):
        target, settings = tmp_path / f"{half_life}.npz", {"half_life": half_life}
        f1[half_life] = train_stream(tmp_path / "drift.txt", target, settings=settings, plan=plan).curve["micro_f1"]
    off, on = f1[None], f1[300.0]
    assert off[1] > 0.8 and on[1] > off[1] - 0.06  # forgetting costs little while nothing changes
    for after in (2, 4):
        assert off[after] < 0.6 and on[after] > off[after] + 0.1  # both are surprised
        assert on[after + 1] > max(0.75, off[after + 1] + 0.05), (on, off)  # one of them recovers sooner


def test_partial_labels_and_rows_nobody_looked_at(tmp_path):
    rows = [
        '{"w": {"a": 1}, "x": 1, "y": null}',
        '{"w": {"b": 1}, "x": 0, "y": 1}',
        '{"w": {"a": 2}, "x": null, "y": null}',
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(rows * 20))
    done = train_stream(
        tmp_path / "s.jsonl", tmp_path / "m.npz", reading={"labels": ["x", "y"]}, plan=StreamPlan(batch=1, window=10)
    )
    assert done.rows == 60 and done.model.n_seen_ == 40
    np.testing.assert_array_equal(done.model.state_.counts[:, :2], [[20, 0], [20, 20]])
    assert done.label_names == ["x", "y"]


def test_what_does_not_agree_with_the_model_is_told(here):
    train_stream(here / "s.libsvm", here / "m.npz", plan=PLAN, settings={"half_life": 100.0})
    with pytest.raises(ValueError, match=r"begun with half_life=100\.0, got 50\.0"):
        train_stream(here / "s.libsvm", here / "m.npz", settings={"half_life": 50.0})
    with pytest.raises(ValueError, match="say the same, or start again"):
        train_stream(here / "s.libsvm", here / "m.npz", reading={"one_based": True})
    assert train_stream(here / "s.libsvm", here / "m.npz", settings={"n_jobs": 2}).model.n_jobs == 2
    fresh = train_stream(here / "s.libsvm", here / "m.npz", settings={"half_life": 50.0}, fresh=True, plan=PLAN)
    assert fresh.new_rows == 1000 and fresh.model.half_life == 50.0


def test_nothing_to_learn_is_told(tmp_path):
    (tmp_path / "s.jsonl").write_text('{"x": 1, "labels": null}\n')
    with pytest.raises(ValueError, match="no row has a known label"):
        train_stream(tmp_path / "s.jsonl", tmp_path / "m.npz")
    assert not (tmp_path / "m.npz").exists()
    for wrong in ({"batch": 0}, {"window": 0}, {"limit": 0}):
        with pytest.raises(ValueError, match="must be at least 1, got 0"):
            StreamPlan(**wrong)
    with pytest.raises(ValueError, match="no decision"):
        StreamPlan(decision="f1")


def test_judging_can_be_left_out(here):
    done = train_stream(here / "s.libsvm", here / "m.npz", plan=StreamPlan(batch=50, window=100, decision=None))
    assert len(done.curve) == 0 and done.rows == 1000
    train_stream(here / "s.libsvm", here / "judged.npz", plan=PLAN)
    np.testing.assert_array_equal(weights(here / "m.npz")["weights"], weights(here / "judged.npz")["weights"])


def test_ahead_keeps_order_and_passes_errors_on():
    def items():
        yield from range(3)
        raise RuntimeError("torn")

    walk = ahead(items())
    assert [next(walk) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(RuntimeError, match="torn"):
        next(walk)
