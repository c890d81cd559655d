"""How close one-pass learning comes to the speed of memory, and what it needs of it: `OnlineBayes`.

    python benchmarks/online.py [--quick]

300 labels, 50 000 features with Zipf frequencies, about 70 non-zeros per row. The floor is a compiled loop that reads
and writes, once, the means and variances of the very features of those rows. `partial_fit` is timed as users call it,
on a model that has met the features before, against the floor and against one pass of scikit-learn's passive-aggressive
classifier per label: processor time of one thread, and wall time for two threads against one (the floor with two
threads shows what the machine has to give there). Runs take turns and the least time of each counts, since other work
on the machine only adds.

The stream is made up batch by batch in a process of its own: as libsvm text it would be 5 GB (12 bytes per non-zero);
--quick makes a tenth of that. `stream_peak_gib` is the peak of resident memory less the weights. The last line printed
is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.multiclass import OneVsRestClassifier

from labelwise import OnlineBayes

LABELS, FEATURES, NONZEROS, ROWS = 300, 50_000, 70, 4000
SEGMENTS = [slice(start, start + 2000) for start in range(0, ROWS, 2000)]
HALF = 152  # labels to a block: half of them
STREAM_LABELS, STREAM_BATCH, TEXT_BYTES = 32, 10_000, 12
GIB = 2**30


def rows_of_text(n: int, rng: np.random.Generator) -> sp.csr_array:
    """n rows of distinct features with Zipf frequencies (feature r + 1 has odds 1/(r + 1)), of unit length."""
    rank = np.exp(rng.random((n, NONZEROS + 18)) * np.log(FEATURES)).astype(np.int32) - 1  # 18 more: some are doubles
    rank.sort(axis=1)
    first = np.ones(rank.shape, dtype=bool)
    first[:, 1:] = rank[:, 1:] != rank[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(first.sum(1))]).astype(np.int32)
    values = rng.random(int(indptr[-1]), dtype=np.float32) + np.float32(0.1)
    # neighbours in rank are no neighbours in memory
    columns = (rank[first].astype(np.int64) * 7919 % FEATURES).astype(np.int32)
    X = sp.csr_array((values, columns, indptr), shape=(n, FEATURES))
    X.sort_indices()
    return X


def labels_of(X: sp.csr_array, n_labels: int, rng: np.random.Generator) -> np.ndarray:
    """Each label on one row in a hundred, by a rule of its own over the features: there is something to learn."""
    rule = sp.random_array((FEATURES, n_labels), density=0.02, random_state=rng, dtype=np.float32, format="csr")
    scores = (X @ rule).toarray()
    return scores > np.quantile(scores, 0.99, axis=0)


@numba.njit(nogil=True, fastmath={"contract"})
def touch(indptr: Any, rows: Any, values: Any, weights: Any) -> None:
    """Read and write the rows' means and variances once."""
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            row, x = weights[rows[k]], values[k]
            for part in range(2):
                line = row[part]
                for c in range(line.size):
                    line[c] += x


def least_times(runs: dict[str, Callable[[int], Any]], rounds: int) -> dict[str, tuple[float, float]]:
    """Seconds on the wall and of the processor for all rows: the sum over segments of the least that each one took.

    All runs take turns at a segment, so that each finds its weights as cold in the caches as the others do.
    """
    times = {name: np.full((2, len(SEGMENTS)), np.inf) for name in runs}
    for _ in range(rounds + 1):  # the first is a rehearsal: code is compiled, memory is touched
        for number in range(len(SEGMENTS)):
            for name, run in runs.items():
                wall, processor = time.perf_counter(), time.process_time()
                run(number)
                took = time.perf_counter() - wall, time.process_time() - processor
                times[name][:, number] = np.minimum(times[name][:, number], took)
    return {name: tuple(least.sum(1)) for name, least in times.items()}


def speed(rounds: int, pa_labels: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    X = rows_of_text(ROWS, rng)
    Y = labels_of(X, LABELS, rng)
    models = {
        "coupled": OnlineBayes(),
        "independent": OnlineBayes("independent"),
        "blocks": OnlineBayes(block_size=HALF),
        "blocks on two threads": OnlineBayes(block_size=HALF, n_jobs=2),
        "independent on two threads": OnlineBayes("independent", n_jobs=2),
    }
    batches = [(X[rows], Y[rows]) for rows in SEGMENTS]
    with ThreadPoolExecutor(2) as pool:
        runs: dict[str, Callable[[int], Any]] = {
            "floor": floor(OnlineBayes().partial_fit(X, Y), batches, map),
            "floor in blocks": floor(OnlineBayes(block_size=HALF).partial_fit(X, Y), batches, map),
            "floor on two threads": floor(OnlineBayes(block_size=HALF).partial_fit(X, Y), batches, pool.map),
        }
        for name, model in models.items():
            runs[name] = lambda number, model=model: model.partial_fit(*batches[number])
        times = least_times(runs, rounds)
    per_row = {f"{name}_us_per_row": 1e6 * times[name][1] / ROWS for name in ("floor", "coupled", "independent")}
    pa = passive_aggressive_seconds(X, Y[:, :pa_labels]) * LABELS / pa_labels
    return {
        "coupled_ratio_to_floor": times["coupled"][1] / times["floor"][1],
        "independent_ratio_to_floor": times["independent"][1] / times["floor"][1],
        "speedup_over_sklearn_pa": pa / times["coupled"][1],
        "two_thread_speedup": times["blocks"][0] / times["blocks on two threads"][0],
        "two_thread_speedup_over_one_block": times["coupled"][0] / times["blocks on two threads"][0],
        "two_thread_speedup_independent": times["independent"][0] / times["independent on two threads"][0],
        "two_thread_speedup_of_floor": times["floor in blocks"][0] / times["floor on two threads"][0],
        "nonzeros_per_row": X.nnz / ROWS,
        **per_row,
    }


def floor(model: OnlineBayes, batches: list[Any], share_out: Callable[..., Any]) -> Callable[[int], None]:
    """Touch the weights that the rows' features have in a model, which is of no use afterwards."""
    items = [model.state_.look_up(X) for X, _ in batches]

    def run(number: int) -> None:
        here = items[number]
        list(share_out(lambda own: touch(here.indptr, here.rows, here.values, own.weights), model.state_.blocks))

    return run


def passive_aggressive_seconds(X: sp.csr_array, Y: np.ndarray) -> float:
    """Processor time of one pass over all rows, one classifier per label; the least of three."""
    one = SGDClassifier(learning_rate="pa1", eta0=1.0, penalty=None, max_iter=1, tol=None, shuffle=False)
    times = []
    for _ in range(3):
        start = time.process_time()
        OneVsRestClassifier(one).fit(X, Y)
        times.append(time.process_time() - start)
    return min(times)


def stream(text_gb: float) -> Iterator[tuple[sp.csr_array, np.ndarray]]:
    rng = np.random.default_rng(1)
    rule = rng.normal(size=(FEATURES, STREAM_LABELS)).astype(np.float32)
    written = 0.0
    while written < text_gb * 1e9:
        X = rows_of_text(STREAM_BATCH, rng)
        yield X, X @ rule > 4
        written += TEXT_BYTES * X.nnz


def train_on_stream(text_gb: float) -> dict[str, float]:
    """Learn the stream in this process; what it took at its peak, beyond the weights."""
    model, start = OnlineBayes(), time.process_time()
    for X, Y in stream(text_gb):
        model.partial_fit(X, Y)
    state = model.state_
    weights = sum(block.weights[: state.n_rows].nbytes for block in state.blocks)
    return {
        "stream_peak_gib": (peak_bytes() - weights) / GIB,
        "stream_weights_gib": weights / GIB,
        "stream_rows": model.n_seen_,
        "stream_cpu_seconds": time.process_time() - start,
    }


def peak_bytes() -> int:
    """Highest resident memory of this process; Linux tells it without what came before the start of the program."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and a stream of half a gigabyte")
    parser.add_argument("--stream", type=float, metavar="GB", help="only learn a stream of this size, in this process")
    options = parser.parse_args()
    if options.stream is not None:
        print(json.dumps(train_on_stream(options.stream)))
        return
    figures = speed(rounds=20 if options.quick else 60, pa_labels=5 if options.quick else 20)
    command = [sys.executable, __file__, "--stream", "0.5" if options.quick else "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures |= json.loads(done.stdout.splitlines()[-1])
    print(json.dumps({name: float(f"{value:.4g}") for name, value in figures.items()}))


if __name__ == "__main__":
    main()
