"""The half of `scale.py` past one machine: a pool and a stream on a local Dask cluster of one and of two workers.

Workers are processes with one thread each, so that two use two cores; shards are files that they open themselves.
`two_worker_speedup`: 250 questions from a million items of 500 features, one worker's seconds over those of two, in
medians of three rounds in which they take turns; all workers have compiled their code before. `same_picks_on_cluster`:
whether both picked what one process picks without a cluster. `same_picks_after_kill`: the same with one of two workers
killed (kill -9) in the middle.

`online_two_worker_speedup`: `OnlineBayes` over 1 000 000 rows of about 70 non-zeros and 300 labels from parquet shards,
two blocks of labels, likewise. `online_f1_gap`: macro-F1 of the two blocks on held-out rows less that of one pass with
one bias for all labels on one machine, `online_same_bits` whether one and two workers learnt the same bits,
`online_rows_f1_loss` what is lost when two workers learn half of the rows each and merge five times. Label sets are by
class mass. `scale.py` runs this in a process of its own; the last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from sklearn.metrics import f1_score

from labelwise import ClassMass, OnlineBayes
from labelwise.cluster import connected, fit_online, greedy_information
from labelwise.data import ShardedFeatures, open_stream
from labelwise.numerics.information import LowRankBlocks
from labelwise.posterior import MarginalPosterior
from online import FEATURES, LABELS, rows_of_text
from scale import NOISE, LinearBlock, pool_of, select, write_pool

HALF = 152  # labels to a block
SHARDS = 20
ROUNDS = 3  # of one worker and two in turn
SIZES = {"quick": (20_000, 60, 50, 50_000), "full": (1_000_000, 500, 250, 1_000_000)}  # items, features, picks, rows
HELD_OUT = 20_000
READING = {"features": ["x"], "labels": "labels"}


def timed(task: Callable[[], Any], what: str) -> tuple[float, Any]:
    start = time.perf_counter()
    result = task()
    seconds = time.perf_counter() - start
    print(f"{what}: {seconds:.1f} s", file=sys.stderr, flush=True)
    return seconds, result


# -- picks ------------------------------------------------------------------------------------------------------------


def picks_on(client: Any, X: ShardedFeatures, n: int, block: int | None = None) -> list[int]:
    pool = LowRankBlocks([LinearBlock(part, NOISE) for part in X.parts(block)])
    return greedy_information(pool, n, cluster=client).indices.tolist()


def measure_picks(folder: Path, n: int, d: int, picks: int) -> dict[str, Any]:
    write_pool(folder / "few", 2_000, d)
    write_pool(folder / "pool", n, d)
    few, pool = pool_of(folder / "few"), pool_of(folder / "pool")
    alone, (_, truth) = timed(lambda: select(pool, picks), "picks in one process")

    def compile_all(client: Any) -> None:
        picks_on(client, few, 20, block=100)  # on every worker

    seconds, found = rounds(compile_all, lambda client: picks_on(client, pool, picks), "picks")
    with connected(2) as client:
        compile_all(client)
        killed = killed_after(client, seconds[2] / 2)
        took, survived = timed(lambda: picks_on(client, pool, picks), "picks, one worker killed")
    return {
        "picks_one_process_seconds": alone,
        "picks_one_worker_seconds": seconds[1],
        "picks_two_workers_seconds": seconds[2],
        "two_worker_speedup": seconds[1] / seconds[2],
        "same_picks_on_cluster": all(picked == truth for each in found.values() for picked in each),
        "picks_killed_seconds": took,
        "same_picks_after_kill": bool(killed) and survived == truth,
    }


def rounds(
    prepare: Callable[[Any], Any], task: Callable[[Any], Any], what: str
) -> tuple[dict[int, float], dict[int, list[Any]]]:
    """Medians of seconds, and all results, by number of workers; these take turns, each in a cluster of its own."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    results: dict[int, list[Any]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for workers in seconds:
            with connected(workers) as client:
                prepare(client)
                took, result = timed(lambda c=client: task(c), f"{what}, {workers} workers")
            seconds[workers].append(took)
            results[workers].append(result)
    return {workers: statistics.median(each) for workers, each in seconds.items()}, results


def killed_after(client: Any, seconds: float) -> list[int]:
    """Kill a worker without warning so long from now; its number, once that has happened."""
    number, killed = sorted(client.run(os.getpid).values())[0], []

    def kill() -> None:
        os.kill(number, signal.SIGKILL)
        killed.append(number)

    threading.Timer(seconds, kill).start()
    return killed


# -- stream -----------------------------------------------------------------------------------------------------------


def write_stream(folder: Path, rows: int) -> tuple[list[Path], Path]:
    """Parquet shards of sparse rows and their labels, each on one row in a hundred by a rule of its own."""
    rng = np.random.default_rng(0)
    rule = sp.random_array((FEATURES, LABELS), density=0.02, random_state=rng, dtype=np.float32, format="csr")
    least = np.quantile((rows_of_text(5_000, rng) @ rule).toarray(), 0.99, axis=0)
    folder.mkdir()
    files = [folder / f"{number:02d}.parquet" for number in range(SHARDS)]
    for file in files:
        write_rows(file, rows // SHARDS, rule, least, rng)
    write_rows(folder / "held-out.parquet", HELD_OUT, rule, least, rng)
    return files, folder / "held-out.parquet"


def write_rows(path: Path, n: int, rule: Any, least: np.ndarray, rng: np.random.Generator) -> None:
    X = rows_of_text(n, rng)
    Y = sp.csr_array((X @ rule).toarray() > least)
    names = pa.array([f"label {label}" for label in range(LABELS)])
    x = pa.MapArray.from_arrays(X.indptr.astype(np.int32), X.indices.astype(np.int32), X.data)
    labels = pa.ListArray.from_arrays(Y.indptr.astype(np.int32), names.take(pa.array(Y.indices)))
    pq.write_table(pa.table({"x": x, "labels": labels}), path, row_group_size=10_000)


def macro_f1(model: OnlineBayes, held_out: Path, names: list[str]) -> float:
    beliefs, truth = [], []
    for batch in open_stream(held_out, batch=5_000, label_names=names, **READING):
        beliefs.append(model.posterior(batch.X).probabilities())
        truth.append(batch.Y.toarray())
    sets = ClassMass(model.label_shares_).decide(MarginalPosterior(np.vstack(beliefs)))
    return float(f1_score(np.vstack(truth), sets, average="macro", zero_division=0))


def measure_stream(folder: Path, rows: int) -> dict[str, Any]:
    files, held_out = write_stream(folder / "stream", rows)
    names = [f"label {label}" for label in range(LABELS)]
    reading = {**READING, "label_names": names}

    def learn(client: Any, shards: list[Path] = files, **how: Any) -> OnlineBayes:
        return fit_online(OnlineBayes(block_size=HALF), shards, cluster=client, parts=2, reading=reading, **how)

    def compile_all(client: Any) -> None:
        learn(client, [held_out] * 2)  # and every worker reads

    seconds, found = rounds(compile_all, learn, "stream by labels")
    with connected(2) as client:
        compile_all(client)
        by_rows, merged = timed(lambda: learn(client, by="rows", merges=5), "stream by rows, 2 workers, 5 merges")
    learnt = [model for each in found.values() for model in each]
    alone, whole = timed(lambda: learnt_here(files, reading), "stream in one process, one bias")
    f1 = {name: macro_f1(model, held_out, names) for name, model in (("2", learnt[-1]), ("r", merged), ("w", whole))}
    arrays = [model.state_.arrays() for model in learnt]
    return {
        "online_one_process_seconds": alone,
        "online_one_worker_seconds": seconds[1],
        "online_two_workers_seconds": seconds[2],
        "online_two_worker_speedup": seconds[1] / seconds[2],
        "online_same_bits": all(
            np.array_equal(arrays[0][name], others[name]) for others in arrays[1:] for name in arrays[0]
        ),
        "online_f1": f1["w"],
        "online_f1_gap": f1["2"] - f1["w"],
        "online_rows_seconds": by_rows,
        "online_rows_f1_loss": f1["w"] - f1["r"],
    }


def learnt_here(files: list[Path], reading: dict[str, Any]) -> OnlineBayes:
    model = OnlineBayes()
    for file in files:
        for batch in open_stream(file, batch=5_000, **reading):
            model.partial_fit(batch.X, batch.Y)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    parser.add_argument("--only", choices=("picks", "stream"), help="half of it")
    options = parser.parse_args()
    items, features, picks, rows = SIZES[options.size]
    figures: dict[str, Any] = {"online_rows": rows}
    with tempfile.TemporaryDirectory() as scratch:
        if options.only != "stream":
            figures |= measure_picks(Path(scratch), items, features, picks)
        if options.only != "picks":
            figures |= measure_stream(Path(scratch), rows)
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in figures.items()}))


if __name__ == "__main__":
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    main()
