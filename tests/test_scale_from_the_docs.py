"""What docs/large-pools.md, docs/scale.md and "In blocks" promise, against brute force with dense matrices.

Written from the documents and signatures alone. Tests that showed a defect when written say so in a comment.
"""

import functools
import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import labelwise as lw
from labelwise.cli import app
from labelwise.data import ShardedFeatures, write
from labelwise.experiments.plan_advice import advise
from labelwise.experiments.plan_calibration import Calibration
from labelwise.experiments.plan_costs import MODELS, STRATEGIES, Workload
from labelwise.numerics.information import (
    ArrayBlock,
    LowRankBlocks,
    StreamedInformation,
    array_blocks,
    greedy_information,
)
from rival_blocks import watched

CRITERIA = ["mi", "entropy", "mi_fixed_rest"]
CLOSE = 1e-8  # scores nearer to one another than this may be taken in any order, but for twins
SOURCES = str(Path(lw.__file__).parents[1])


class Brute:
    """Greedy selection from the dense covariance of the pool, every gain by np.linalg at every step."""

    def __init__(self, F, noise, *, known=None, in_pool=None, given=(), criterion="mi", costs=None, eligible=None):
        F = np.asarray(F.toarray() if sp.issparse(F) else F, dtype=float)
        self.n, rank = F.shape
        noise = np.broadcast_to(np.asarray(noise, dtype=float), self.n)
        prior = np.eye(rank) + (0 if known is None else known)
        self.C = F @ np.linalg.solve(prior, F.T) + np.diag(noise)
        self.exists = np.ones(self.n, dtype=bool) if in_pool is None else in_pool
        self.eligible = np.ones(self.n, dtype=bool) if eligible is None else eligible
        self.costs = np.broadcast_to(np.asarray(1.0 if costs is None else costs, dtype=float), self.n)
        self.chosen, self.criterion = [int(one) for one in given], criterion
        self.twin = [(F[i].tobytes(), noise[i], self.costs[i]) for i in range(self.n)]
        self.fixed = self.precision()

    def variance(self):
        A = self.chosen
        told = np.einsum("ij,ij->j", self.C[A], np.linalg.solve(self.C[np.ix_(A, A)], self.C[A])) if A else 0.0
        return np.diag(self.C) - told

    def precision(self):
        rest = self.exists.copy()
        rest[self.chosen] = False
        rest, found = np.flatnonzero(rest), np.full(self.n, np.nan)
        found[rest] = np.diag(np.linalg.inv(self.C[np.ix_(rest, rest)]))
        return found

    def open(self):
        found = self.exists & self.eligible
        found[self.chosen] = False
        return np.flatnonzero(found)

    def gains(self):
        if self.criterion == "entropy":
            return 0.5 * np.log(self.variance())
        return 0.5 * np.log(self.variance() * (self.precision() if self.criterion == "mi" else self.fixed))

    def take(self, index):
        self.chosen.append(int(index))

    def assert_right(self, picks, n, *, stop=False):
        """Each pick is the best of its step, the first of its twins, and has the gain that it is said to have."""
        n_open = len(self.open())
        for step, (pick, gain) in enumerate(zip(picks.indices, picks.gains, strict=True)):
            left = self.open()
            assert pick in left, f"step {step}: {pick} is not open"
            gains, fell_back = self.gains(), step >= picks.n_by_criterion
            if self.criterion != "entropy":
                best = gains[left].max()
                assert best < CLOSE if fell_back else best > -CLOSE, f"step {step}: best gain {best}, {fell_back=}"
            assert not (fell_back and stop)
            scores = (self.variance() if fell_back or self.criterion == "entropy" else gains) / self.costs
            slack = CLOSE * (1 + np.abs(scores[left]).max())
            better = left[scores[left] > scores[pick] + slack]
            assert not len(better), f"step {step}: {pick} before {better}, {fell_back=}"
            twins = [one for one in left if one < pick and self.twin[one] == self.twin[pick]]
            assert not twins, f"step {step}: {pick} before its earlier twins {twins}"
            np.testing.assert_allclose(gain, gains[pick], rtol=1e-6, atol=1e-7)
            self.take(pick)
        if len(picks.indices) < min(n, n_open):
            assert stop and self.gains()[self.open()].max() < CLOSE


def problem(seed, n=None):
    """A pool of one of several shapes with some of all the settings there are: (matrix, noise, blocks, settings)."""
    rng = np.random.default_rng(seed)
    n, rank = int(rng.integers(1, 120)) if n is None else n, int(rng.integers(1, 12))
    F = rng.normal(size=(n, rank)) * rng.gamma(rng.choice([0.3, 1, 5]), size=(n, 1))
    shape = ("any", "twins", "best first", "best last", "whole numbers", "many zeros")[rng.integers(6)]
    order = np.argsort(np.linalg.norm(F, axis=1))
    F = {
        "any": F,
        "twins": F[rng.integers(max(1, n // 4), size=n)],
        "best first": F[order[::-1]],
        "best last": F[order],
        "whole numbers": F.round(),
        "many zeros": F * (rng.random((n, 1)) < 0.5),
    }[shape].astype(rng.choice([np.float32, np.float64]))
    if rng.random() < 0.4:
        F = sp.csr_array(F * (rng.random(F.shape) < 0.4))
    noise = 0.3 if rng.random() < 0.5 else rng.uniform(0.05, 2, n)
    in_pool = rng.random(n) < 0.7 if rng.random() < 0.4 else None
    settings = {"criterion": str(rng.choice(CRITERIA))}
    if rng.random() < 0.4:
        settings["costs"] = rng.choice([1.0, 2.0, 3.0], n)
    if rng.random() < 0.4:
        settings["eligible"] = rng.random(n) < 0.7
    if rng.random() < 0.4:
        there = np.arange(n) if in_pool is None else np.flatnonzero(in_pool)
        settings["given"] = rng.permutation(there)[: int(rng.integers(4))]
    known = None
    if rng.random() < 0.4:
        outside = rng.normal(size=(int(rng.integers(1, 8)), rank)) * rng.choice([0.1, 1, 10])
        known = outside.T @ outside
    size, held = int(rng.choice([1, 2, 3, 5, 17, 1000])), rng.choice([None, 1, 2, 5, 20])
    return F, noise, size, {"known_gram": known, "in_pool": in_pool, "n_candidates": held}, settings, rng


def rivals(seed, n=None):
    F, noise, size, pool, settings, rng = problem(seed, n)
    brute = Brute(F, noise, known=pool["known_gram"], in_pool=pool["in_pool"], **settings)
    return brute, LowRankBlocks(array_blocks(F, noise, size=size), **pool), settings, rng


# --- 1. pools in shards, one machine ---------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(8))
def test_picks_in_several_calls_are_those_of_brute_force(part):
    for seed in range(12 * part, 12 * part + 12):
        brute, matrix, settings, rng = rivals(seed)
        state = StreamedInformation(matrix, **settings)
        for _ in range(int(rng.integers(1, 4))):
            n = int(rng.integers(brute.n // 2 + 2))
            brute.assert_right(state.pick(n, stop_when_not_positive=True), n, stop=settings["criterion"] != "entropy")
        if settings["criterion"] != "mi_fixed_rest":
            expected, left = np.full(brute.n, -np.inf), brute.open()
            if len(left):
                expected[left] = brute.gains()[left]
            np.testing.assert_allclose(state.gains(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("part", range(4))
def test_picks_after_the_last_positive_gain_go_by_entropy(part):
    for seed in range(400 + 25 * part, 415 + 25 * part):
        brute, matrix, settings, _ = rivals(seed)
        brute.assert_right(greedy_information(matrix, brute.n, **settings), brute.n)


@pytest.mark.parametrize("criterion", ["mi", "mi_fixed_rest"])
@pytest.mark.parametrize("held", [None, 1, 2, 3])
def test_without_any_gain_the_most_uncertain_come_first(criterion, held):
    blocks = array_blocks(np.diag([0.0, 1.0, 2.0]), 0.3, size=2)
    picks = greedy_information(LowRankBlocks(blocks, n_candidates=held), 3, criterion=criterion)
    assert picks.indices.tolist() == [2, 1, 0] and picks.n_by_criterion == 0


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("held", [None, 1, 3])
def test_what_was_taken_is_not_picked_again(criterion, held):
    F = np.random.default_rng(0).normal(size=(12, 2))
    again = []
    for index in range(12):
        state = StreamedInformation(LowRankBlocks(array_blocks(F, 0.3, size=3), n_candidates=held), criterion=criterion)
        state.take(index)
        if index in state.pick(11).indices:
            again.append(index)
    assert again == []


@pytest.mark.parametrize("part", range(4))
def test_picks_after_take_are_those_of_brute_force(part):
    for seed in range(800 + 15 * part, 815 + 15 * part):
        brute, matrix, settings, rng = rivals(seed)
        state = StreamedInformation(matrix, **settings)
        for _ in range(3):
            if len(left := brute.open()):
                index = int(rng.choice(left))
                brute.take(index)
                state.take(index)
            n = int(rng.integers(brute.n // 4 + 2))
            brute.assert_right(state.pick(n, stop_when_not_positive=True), n, stop=settings["criterion"] != "entropy")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("made", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_hundreds_of_tiny_blocks_in_a_sorted_pool(criterion, dtype, made):
    rng = np.random.default_rng(5)
    F = rng.normal(size=(600, 8)) * (rng.random((600, 8)) < 0.5) * rng.gamma(0.5, size=(600, 1))
    F = F[np.argsort(np.linalg.norm(F, axis=1))].astype(dtype)  # all good rows are in the last blocks
    noise, edges = rng.uniform(0.1, 1, 600), np.r_[0, np.cumsum(rng.integers(1, 6, 600))]
    edges = np.r_[edges[edges < 600], 600]
    blocks = [ArrayBlock(int(a), made(F[a:b]), noise[a:b]) for a, b in itertools.pairwise(edges)]
    assert len(blocks) > 150
    for held in (3, 40):
        brute = Brute(F, noise, criterion=criterion, given=[599, 0])
        picks = greedy_information(LowRankBlocks(blocks, n_candidates=held), 15, criterion=criterion, given=[599, 0])
        brute.assert_right(picks, 15)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_of_equal_rows_the_first_is_picked(criterion):
    F = np.tile(np.random.default_rng(2).normal(size=(4, 3)), (25, 1)).astype(np.float32)
    for size, held in [(1, 1), (3, 2), (7, None), (100, 5)]:
        matrix = LowRankBlocks(array_blocks(F, 0.5, size=size), n_candidates=held)
        picks = greedy_information(matrix, 12, criterion=criterion)
        Brute(F, 0.5, criterion=criterion).assert_right(picks, 12)
        assert picks.indices[0] < 4


def test_blocks_read_from_shards_of_every_kind(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    F = np.random.default_rng(3).normal(size=(90, 5)).astype(np.float32)
    brute = Brute(F, 0.2).C
    for kind in ("npy", "npz", "sparse", "parquet", "lists"):
        paths = [tmp_path / f"{kind}{number}.{'npz' if kind == 'sparse' else kind}" for number in range(3)]
        for number, path in enumerate(paths):
            rows = F[30 * number : 30 * number + 30]
            if kind == "npy":
                np.save(path, rows)
            elif kind == "npz":
                np.savez(path, rows)
            elif kind == "sparse":
                sp.save_npz(path, sp.csr_array(rows))
            elif kind == "parquet":
                columns = {f"f{j}": rows[:, j] for j in range(5)}
                pq.write_table(pa.table(columns), path, row_group_size=7)
            else:
                paths[number] = path = path.with_suffix(".parquet")
                pq.write_table(pa.table({"x": [row.tolist() for row in rows]}), path, row_group_size=7)
        X = ShardedFeatures.open(paths)
        assert X.shape == (90, 5)
        read = X[[89, 3, 45, 3]]
        np.testing.assert_allclose(read.toarray() if sp.issparse(read) else read, F[[89, 3, 45, 3]], rtol=1e-6)
        walked = [(where, rows) for where, rows in X.blocks(11)]
        assert [where.start for where, _ in walked[1:]] == [where.stop for where, _ in walked[:-1]]
        blocks = [ArrayBlock(where.start, rows, np.full(rows.shape[0], 0.2)) for where, rows in walked]
        picks = greedy_information(LowRankBlocks(blocks, n_candidates=4), 20)
        assert picks.indices.tolist() == greedy_information(brute, 20).indices.tolist(), kind


def campaign_over(X, strategy, model=None):
    names = ["a", "b", "c"]
    said = np.random.default_rng(8).random((30, 3)) < 0.4
    answers = [lw.Answer(str(row), dict(zip(names, map(bool, one), strict=True))) for row, one in enumerate(said)]
    pool = lw.LabelData.from_arrays(X, label_names=names)
    return lw.Campaign(pool, model=model or lw.LabelGP("linear"), strategy=strategy, random_state=0, answers=answers)


def asked(campaign, rounds=2, n=8):
    found = []
    for _ in range(rounds):
        questions = campaign.ask(n)
        found += [(question.item, question.labels) for question in questions]
        campaign.tell([lw.Answer(one.item, dict.fromkeys(one.labels, True)) for one in questions])
    return found


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_campaign_on_shards_asks_what_one_in_memory_asks(criterion, kernel):
    X = np.random.default_rng(4).normal(size=(300, 5)).round(1).astype(np.float32)
    strategy = lw.MutualInformation(criterion=criterion, max_dense=60, rank=20)
    shards = ShardedFeatures.of(*np.array_split(X, 7))
    expected = asked(campaign_over(X, strategy, lw.LabelGP(kernel)))
    assert asked(campaign_over(shards, strategy, lw.LabelGP(kernel))) == expected


def test_sparse_columns_are_converted_or_refused():
    script = """
    import numpy as np, scipy.sparse as sp
    from labelwise.numerics.information import LowRankBlocks, array_blocks, greedy_information
    F = np.random.default_rng(0).normal(size=(12, 2))
    right = greedy_information(LowRankBlocks(array_blocks(F, 0.3, size=3)), 3).indices.tolist()
    for _ in range(5):
        try:
            found = greedy_information(LowRankBlocks(array_blocks(sp.csc_array(F), 0.3, size=3)), 3).indices.tolist()
        except (TypeError, ValueError):
            continue
        assert found == right, found
    """
    process = in_another_process(script)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 0, told


def test_blocks_of_different_widths_are_refused():
    F = np.random.default_rng(0).normal(size=(12, 2))
    blocks = [ArrayBlock(0, F[:5], np.full(5, 0.3)), ArrayBlock(5, F[5:, :1], np.full(7, 0.3))]
    with pytest.raises(ValueError, match=r"features|columns|width"):
        greedy_information(LowRankBlocks(blocks), 3)


def test_a_negative_number_of_candidates_is_refused():
    process = in_another_process("""
    import numpy as np
    from labelwise.numerics.information import LowRankBlocks, array_blocks, greedy_information
    greedy_information(LowRankBlocks(array_blocks(np.eye(4), 0.3, size=2), n_candidates=-3), 2)
    """)
    try:
        error = process.communicate(timeout=5)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail("still running after five seconds")
    assert "ValueError" in error and "-3" in error


@pytest.mark.parametrize(
    ("pool", "settings", "named"),
    [
        ({"in_pool": np.arange(4) != 2}, {"given": [2]}, "given"),
        ({"in_pool": np.ones(3, dtype=bool)}, {}, "in_pool"),
        ({"known_gram": np.eye(3)}, {}, "known_gram"),
        ({"known_gram": -5 * np.eye(4)}, {}, "known_gram"),
        ({"known_gram": np.full((4, 4), np.nan)}, {}, "known_gram"),
    ],
)
def test_what_cannot_be_meant_is_named(pool, settings, named):
    with pytest.raises(ValueError, match=named):
        greedy_information(LowRankBlocks(array_blocks(np.eye(4), 0.3, size=2), **pool), 2, **settings)


# --- 2. on a cluster -------------------------------------------------------------------------------------------------


def in_another_process(script, *arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([SOURCES, str(Path(__file__).parent)])}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


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


@pytest.mark.parametrize("seed", range(2000, 2012))
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


@pytest.mark.parametrize("deadly", [30, 120])  # in the first walk over the 80 blocks, and in a later one
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
def test_a_campaign_on_a_cluster_asks_what_one_machine_asks(client, on_workers, tmp_path, strategy):
    X = np.random.default_rng(4).normal(size=(500, 5)).round(1).astype(np.float32)
    paths = []
    for number, rows in enumerate(np.array_split(X, 9)):
        paths.append(tmp_path / f"{number}.npy")
        np.save(paths[-1], rows)
    shards = ShardedFeatures.open(paths)
    assert asked(campaign_over(shards, on_workers.on_cluster(strategy, client))) == asked(campaign_over(X, strategy))


def test_when_all_workers_are_gone_it_is_said(monkeypatch, on_workers, tmp_path):
    import distributed

    from labelwise.cluster import _connect

    short = functools.partial(_connect.collect, patience=2.0)  # two minutes, says docs/scale.md
    for name in ("information", "online", "factors", "scoring"):
        monkeypatch.setattr(f"labelwise.cluster.{name}.collect", short)
    file, started = tmp_path / "scheduler.json", []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([SOURCES, str(Path(__file__).parent)])}
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
@pytest.mark.parametrize("whom", ["group", "process"])  # a terminal interrupts the whole group
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


@pytest.mark.parametrize("observed", [False, True])
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
    pytest.importorskip("pyarrow")
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


# --- 4. labelwise plan -----------------------------------------------------------------------------------------------


@pytest.fixture
def constants(monkeypatch):
    terms = {f"{name}.{part}": getattr(cost, part) for name, cost in MODELS.items() for part in ("fit", "believe")}
    terms |= {f"{name}.choose": cost.choose for name, cost in STRATEGIES.items()}
    made_up = Calibration({name: [1e-9] * len(of) for name, of in terms.items()}, {})
    monkeypatch.setattr("labelwise.cli.plan.calibration", lambda **how: made_up)
    return made_up


def plan(*more, items="100000", features="200", labels="20"):
    return CliRunner().invoke(app, ["plan", "--items", items, "--features", features, "--labels", labels, *more])


@pytest.mark.parametrize(
    ("sizes", "more", "told"),
    [
        ({"items": "0"}, [], "must be at least 1, got 0"),
        ({"items": "-5"}, [], "must be at least 1, got -5"),
        ({"labels": "0"}, [], "must be at least 1, got 0"),
        ({"features": "0"}, [], "must be at least 1, got 0"),
        ({"items": "10"}, ["--budget", "11"], "at most items=10, got 11"),
        ({}, ["--seconds", "0"], "got 0"),
        ({}, ["--seconds", "-0.5"], "got -0.5"),
        ({}, ["--seconds", "nan"], "got nan"),
        ({}, ["--memory", "nan"], "got nan"),
        ({}, ["--cores", "0"], "got 0"),
        ({}, ["--batch", "0"], "got 0"),
    ],
)
def test_sizes_that_cannot_be_are_said(constants, sizes, more, told):
    done = plan(*more, **sizes)
    assert done.exit_code == 2 and told in done.stderr, done.output


@pytest.mark.parametrize("items", [10**18, 10**400], ids=["1e18", "1e400"])
def test_huge_numbers_are_answered_or_refused(constants, items):
    done = plan(items=str(items))
    assert done.exit_code in (0, 2), repr(done.exception)
    assert "Nothing to recommend" in done.stdout or "error" in done.stderr


def test_one_item_of_one_label(constants):
    done = plan("--budget", "1", "--json", items="1", features="1", labels="1")
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["chosen"]["fits"]
    assert all(one["memory"] > 0 and one["round_seconds"] >= one["fit_seconds"] >= 0 for one in told["expected"])


@pytest.mark.parametrize("more", [[], ["--seconds", "0.5"], ["--memory", "inf"], ["--seconds", "inf"]])
def test_json_is_for_machines(constants, more):

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    done = plan("--json", *more)
    if done.exit_code != 2:  # to refuse it is as good
        json.loads(done.stdout, parse_constant=refuse)


def test_a_fraction_of_a_second_takes_more_workers_than_a_minute(constants):
    size = Workload(1_000_000, 200, 20, 1000)
    chosen = [advise(size, constants, seconds=seconds) for seconds in (600.0, 60.0, 0.5)]
    for slow, fast in itertools.pairwise(chosen):
        for before, after in zip(slow.expectations, fast.expectations, strict=True):
            assert after.workers is None or (before.workers is not None and before.workers <= after.workers)


@pytest.mark.parametrize("items", [1.5, float("nan")])
def test_half_an_item_is_no_workload(items):
    with pytest.raises((TypeError, ValueError)):
        Workload(items, 2, 3, 1)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_no_time_at_all_is_refused(constants, seconds):
    with pytest.raises(ValueError, match="seconds"):
        advise(Workload(1000, 20, 3, 100), constants, seconds=seconds)
