"""What the docs promise of clusters: picks, streams and factors as on one machine, and no hang."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import labelwise as lw
from labelwise.data import ShardedFeatures, write
from labelwise.numerics.information import (
    LowRankBlocks,
    array_blocks,
    greedy_information,
)
from rest_slow import rest_slow
from rival_blocks import watched
from rival_brute import SOURCES, Brute, asked, campaign_over, in_another_process, rivals


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed", reason="needs the extra cluster")
    from labelwise.cluster import connected

    with connected(2) as client:
        yield client


@pytest.fixture(scope="module")
def on_workers():
    pytest.importorskip("distributed", reason="needs the extra cluster")
    from labelwise import cluster

    return cluster


@pytest.mark.parametrize("seed", rest_slow(range(2000, 2012), 2))
def test_picks_on_a_cluster_are_those_of_brute_force(client, on_workers, seed):
    brute, matrix, settings, _ = rivals(seed, n=90)
    n = 12  # ends before the last positive gain
    here = greedy_information(matrix, n, **settings)
    there = on_workers.greedy_information(matrix, n, cluster=client, **settings)
    np.testing.assert_array_equal(here.indices, there.indices)
    np.testing.assert_array_equal(here.gains, there.gains)
    assert here.n_by_criterion == there.n_by_criterion
    if here.n_by_criterion == n:
        brute.assert_right(there, n)


def large_pool():
    rng = np.random.default_rng(6)
    F = rng.normal(size=(400, 6)) * rng.gamma(0.5, size=(400, 1))
    return F, rng.uniform(0.1, 1, 400)


@pytest.mark.slow
@pytest.mark.parametrize("deadly", rest_slow([120, 30]))  # in the first walk over the 80 blocks, and in a later one
def test_a_worker_killed_while_it_reads_changes_nothing(client, on_workers, tmp_path, deadly):
    F, noise = large_pool()
    client.wait_for_workers(2, timeout=60)
    log = tmp_path / "loads"
    matrix = LowRankBlocks(watched(F, noise, 5, log, deadly=deadly), n_candidates=3)
    picks = on_workers.greedy_information(matrix, 40, cluster=client)
    assert log.stat().st_size > deadly
    Brute(F, noise).assert_right(picks, 40)


def test_an_error_in_a_block_comes_back_as_it_is(client, on_workers, tmp_path):
    F, noise = large_pool()
    matrix = LowRankBlocks(watched(F, noise, 5, tmp_path / "loads", broken_at=150))
    with pytest.raises(OSError, match="the disk under row 150 is gone") as here:
        greedy_information(matrix, 3)
    with pytest.raises(OSError, match="the disk under row 150 is gone") as there:
        on_workers.greedy_information(matrix, 3, cluster=client)
    assert (there.type, there.value.errno) == (here.type, here.value.errno) == (OSError, 5)
    whole = LowRankBlocks(array_blocks(F, noise, size=50))
    assert len(on_workers.greedy_information(whole, 3, cluster=client).indices) == 3  # and the cluster goes on


@pytest.mark.parametrize(
    "strategy", [lw.MutualInformation(max_dense=60), lw.MutualInformation("pairs", max_dense=60), lw.Uncertainty()]
)
@pytest.mark.slow
def test_a_campaign_on_a_cluster_asks_what_one_machine_asks(client, on_workers, tmp_path, strategy):
    X = np.random.default_rng(4).normal(size=(500, 5)).round(1).astype(np.float32)
    paths = []
    for number, rows in enumerate(np.array_split(X, 9)):
        paths.append(tmp_path / f"{number}.npy")
        np.save(paths[-1], rows)
    shards = ShardedFeatures.open(paths)
    assert asked(campaign_over(shards, on_workers.on_cluster(strategy, client))) == asked(campaign_over(X, strategy))


@pytest.mark.slow
def test_when_all_workers_are_gone_it_is_said(monkeypatch, on_workers, tmp_path):
    import distributed

    from labelwise.cluster import _connect

    short = functools.partial(_connect.collect, patience=2.0)  # two minutes, says docs/scale.md
    for name in ("information", "online", "factors", "scoring"):
        monkeypatch.setattr(f"labelwise.cluster.{name}.collect", short)
    file, started = tmp_path / "scheduler.json", []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([SOURCES, str(Path(__file__).parent / "helpers")])}
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment, "cwd": tmp_path}
    try:
        scheduler = ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        started.append(subprocess.Popen([*dask, *scheduler], **quiet))
        worker = ["worker", "--scheduler-file", str(file), "--no-nanny", "--nthreads", "1", "--no-dashboard"]
        started.append(subprocess.Popen([*dask, *worker], **quiet))
        until = time.monotonic() + 30
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.1)
        with distributed.Client(scheduler_file=str(file), set_as_default=False) as alone:
            alone.wait_for_workers(1, timeout=30)
            matrix = LowRankBlocks(watched(*large_pool(), 5, tmp_path / "loads", deadly=-1))
            with pytest.raises(ConnectionError, match=r"all workers of tcp://.* are gone"):
                on_workers.greedy_information(matrix, 3, cluster=alone)
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def alive_in_session(session):
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else None
        except OSError:
            continue
        if fields and fields[0] != "Z" and int(fields[3]) == session:
            found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("whom", rest_slow(["group", "process"]))  # a terminal interrupts the whole group
@pytest.mark.slow
def test_an_interrupt_leaves_nothing_running(on_workers, tmp_path, whom):
    log = tmp_path / "loads"
    process = in_another_process(
        """
        import sys
        import numpy as np
        from labelwise.cluster import greedy_information
        from labelwise.numerics.information import LowRankBlocks
        from rival_blocks import watched
        if __name__ == "__main__":
            F = np.random.default_rng(0).normal(size=(400, 4))
            greedy_information(LowRankBlocks(watched(F, 0.3, 2, sys.argv[1], slow=0.1)), 5, cluster=2)
        """,
        log,
    )
    try:
        until = time.monotonic() + 30
        while not (log.exists() and log.stat().st_size >= 3) and time.monotonic() < until and process.poll() is None:
            time.sleep(0.1)
        assert process.poll() is None, process.communicate()[1]
        (os.killpg if whom == "group" else os.kill)(process.pid, signal.SIGINT)
        error = process.communicate(timeout=30)[1]
        until = time.monotonic() + 5
        while (left := alive_in_session(process.pid)) and time.monotonic() < until:
            time.sleep(0.1)
        assert left == []
        assert process.returncode != 0 and "KeyboardInterrupt" in error
    finally:
        for pid in alive_in_session(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()


# --- 3. streams and factors ------------------------------------------------------------------------------------------


def stream(n=240, q=24, pieces=6, *, observed=False, sparse=False):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 9)) * (rng.random((n, 9)) < 0.6)
    Y = X @ rng.normal(size=(9, q)) > 0.7
    mask = rng.random(Y.shape) < 0.5
    cut = np.array_split(np.arange(n), pieces)
    made = sp.csr_array if sparse else np.asarray
    return [(made(X[rows]), Y[rows], mask[rows]) if observed else (made(X[rows]), Y[rows]) for rows in cut], X


def learnt(model, shards):
    for rows in shards:
        model.partial_fit(*rows)
    return model


def assert_bits(one, other, X):
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    for mine, theirs in zip(one.state_.weights_of(np.arange(9)), other.state_.weights_of(np.arange(9)), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.label_shares_, other.label_shares_)
    assert one.n_seen_ == other.n_seen_


@pytest.mark.parametrize("observed", rest_slow([True, False]))
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "settings",
    [{"coupling": "independent"}, {"block_size": 8}, {"block_size": 16, "hash_features": 8}],
    ids=str,
)
def test_by_labels_has_the_bits_of_one_machine(client, on_workers, settings, sparse, observed):
    shards, X = stream(observed=observed, sparse=sparse)
    there = on_workers.fit_online(lw.OnlineBayes(**settings), shards, cluster=client, parts=3)
    here = learnt(lw.OnlineBayes(**settings), shards)
    if "hash_features" in settings:
        np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))
    else:
        assert_bits(there, here, X)


def test_by_labels_with_masks_of_whole_labels_and_whole_rows(client, on_workers):
    shards, X = stream(observed=True)
    shards[0][2][:, :8] = False  # the first block of labels has no answer in the first shard
    shards[2][2][:] = False  # a shard without any answer
    shards[3][2][::2] = False
    there = on_workers.fit_online(lw.OnlineBayes(block_size=8), shards, cluster=client)
    assert_bits(there, learnt(lw.OnlineBayes(block_size=8), shards), X)


@pytest.mark.parametrize("settings", [{"coupling": "independent"}, {"block_size": 8}], ids=str)
def test_labels_that_turn_up_later_are_refused(client, on_workers, settings):
    shards, _ = stream()
    shards = [(shards[0][0], shards[0][1][:, :10]), (shards[1][0], shards[1][1][:, :17]), *shards[2:]]
    with pytest.raises(ValueError, match="shard 1 has 17 labels, the first has 10: give all shards the same columns"):
        on_workers.fit_online(lw.OnlineBayes(**settings), shards, cluster=client)


def test_fewer_labels_than_before_are_refused_as_here(client, on_workers):
    shards, _ = stream()
    shards = [shards[0], (shards[1][0], shards[1][1][:, :10])]
    with pytest.raises(ValueError, match="has 10 labels"):
        learnt(lw.OnlineBayes("independent"), shards)
    with pytest.raises(ValueError, match="has 10 labels"):
        on_workers.fit_online(lw.OnlineBayes("independent"), shards, cluster=client)


@pytest.mark.parametrize("start", [10, 24])
def test_a_model_made_here_without_blocks_is_refused(client, on_workers, start):
    shards, _ = stream()
    shards[0] = (shards[0][0], shards[0][1][:, :start])
    begun = learnt(lw.OnlineBayes("independent"), shards[:1])
    with pytest.raises(ValueError, match="begin it here, or with a block_size, or learn by rows"):
        on_workers.fit_online(begun, shards[1:], cluster=client)


def test_one_label_on_two_workers(client, on_workers):
    shards, X = stream(q=1)
    there = on_workers.fit_online(lw.OnlineBayes("independent"), shards, cluster=client)
    assert_bits(there, learnt(lw.OnlineBayes("independent"), shards), X)


def test_by_labels_in_several_calls(client, on_workers):
    shards, X = stream()
    model = lw.OnlineBayes(block_size=8)
    for part in (shards[:1], shards[1:4], shards[4:]):
        model = on_workers.fit_online(model, part, cluster=client)
    assert_bits(model, learnt(lw.OnlineBayes(block_size=8), shards), X)


def test_by_rows_in_one_part_is_one_pass(client, on_workers):
    shards, X = stream(observed=True)
    settings = {"coupling": "independent"}
    here = learnt(lw.OnlineBayes(**settings), shards)
    there = on_workers.fit_online(lw.OnlineBayes(**settings), shards, cluster=client, by="rows", parts=1, merges=2)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=1e-4)
    np.testing.assert_array_equal(there.label_shares_, here.label_shares_)


@pytest.mark.parametrize("observed", [False, True])
def test_by_rows_adds_up_natural_parameters(client, on_workers, observed):
    """Two parts, one merge: base + Σ (part − base) in precision and precision × mean, from two models made here."""
    shards, _ = stream(pieces=2, observed=observed)
    settings = {"coupling": "independent", "skew_margin": False}
    there = on_workers.fit_online(lw.OnlineBayes(**settings), shards, cluster=client, by="rows", parts=2, merges=1)
    parts = [learnt(lw.OnlineBayes(**settings), [one]) for one in shards]
    found = [np.asarray(array, dtype=float) for array in there.state_.weights_of(np.arange(9))]
    ones = [[np.asarray(array, dtype=float) for array in part.state_.weights_of(np.arange(9))] for part in parts]
    # weights_of gives means and variances; the base is the prior, N(0, 1)
    precision = 1 + sum(1 / variance - 1 for _, variance in ones)
    mean = sum(mean / variance for mean, variance in ones) / precision
    np.testing.assert_allclose(found[1], 1 / precision, rtol=1e-4)
    np.testing.assert_allclose(found[0], mean, rtol=1e-4, atol=1e-5)
    assert there.n_seen_ == 240


@pytest.mark.parametrize("by", ["labels", "rows"])
def test_parquet_shards_are_read_where_they_are(client, on_workers, tmp_path, by):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    shards, X = stream()
    names, paths = [f"l{number:02d}" for number in range(24)], []
    for number, (rows, labels) in enumerate(shards):
        paths.append(tmp_path / f"day{number}.parquet")
        write(lw.LabelData.from_arrays(rows, labels, label_names=names), paths[-1])
    how = {"cluster": client, "by": by, "parts": 2} | ({"merges": 2} if by == "rows" else {})
    from_files = on_workers.fit_online(lw.OnlineBayes("independent"), paths, reading={"label_names": names}, **how)
    from_arrays = on_workers.fit_online(lw.OnlineBayes("independent"), shards, **how)
    assert_bits(from_files, from_arrays, X)


def test_factors_on_a_cluster_are_those_of_one_machine(client, on_workers):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(150, 5))
    Y = X @ rng.normal(size=(5, 7)) > 0.3
    observed = rng.random(Y.shape) < 0.6
    for made in (np.asarray, sp.csr_array):
        model = lw.CooccurrenceFactors(3, feature_penalty=0.2, n_iterations=5, precision="float64")
        there = on_workers.fit_factors(model, made(X), Y, observed, cluster=client)
        here = lw.CooccurrenceFactors(**model.get_params()).fit(made(X), Y, observed)
        np.testing.assert_allclose(there.predict_proba(made(X)), here.predict_proba(made(X)), rtol=1e-6, atol=1e-9)
        assert not hasattr(model, "factors_")
