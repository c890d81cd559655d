"""What choosing items by mutual information costs: the dense and the low-rank engine against bare linear algebra.

    python benchmarks/information.py [--quick | --large]

Dense: 250 picks of 4000 items against one LAPACK inverse (potrf and potri, in place) of the same covariance. Low rank:
250 picks of a million items with 100 features in single precision against forming XᵀX once and 250 products X @ v, in a
process of its own whose peak of memory is taken; --large has 500 features (2 GB). Each is timed twice: processor time
with one thread, which the neighbours of a shared machine change least, and, but for --quick, wall time with all
threads. Runs take turns and the least time of each counts. The last line printed is one JSON object; ratios without a
suffix are those of processor time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from labelwise.numerics.information import LowRank, greedy_information

NOISE = 0.1
SIZES = {  # dense items, low-rank items, features, picks, repeats
    "quick": (1500, 100_000, 100, 60, 2),
    "full": (4000, 1_000_000, 100, 250, 3),
    "large": (4000, 1_000_000, 500, 250, 1),
}


def in_turns(tasks: dict[str, Callable[[], Any]], repeats: int, wall: bool) -> dict[str, float]:
    """Least processor time of each task with one thread and, if asked for, least wall time with all."""
    least: dict[str, float] = {}
    for _ in range(repeats):
        for name, task in tasks.items():
            with threadpool_limits(1):
                note(least, f"{name}_cpu_seconds", time.thread_time, task)
            if wall:
                note(least, f"{name}_wall_seconds", time.perf_counter, task)
    return least


def note(least: dict[str, float], key: str, clock: Callable[[], float], task: Callable[[], Any]) -> None:
    start = clock()
    task()
    seconds = clock() - start
    least[key] = min(least.get(key, np.inf), seconds)
    print(f"{key} {seconds:.2f}", file=sys.stderr, flush=True)


def dense(n: int, picks: int, repeats: int, wall: bool) -> dict[str, float]:
    X = np.random.default_rng(0).standard_normal((n, 20))
    C = np.exp(-cdist(X, X, "sqeuclidean") / 40.0) + NOISE * np.eye(n)
    work = np.empty((n, n), order="F")

    def copy() -> None:
        np.copyto(work, C)

    def copy_and_invert() -> None:
        copy()
        L, _ = lapack.dpotrf(work, lower=1, overwrite_a=1, clean=0)
        lapack.dpotri(L, lower=1, overwrite_c=1)

    def select() -> None:
        greedy_information(C, picks)

    times = in_turns({"copy": copy, "inverse": copy_and_invert, "dense": select}, 2 * repeats, wall)
    for key in times:
        if key.startswith("inverse"):
            times[key] -= times[key.replace("inverse", "copy")]  # an inverse in place needs none
    return times


def low_rank(n: int, r: int, picks: int, repeats: int, wall: bool) -> dict[str, float]:
    X = np.random.default_rng(0).standard_normal((n, r), dtype=np.float32)
    v = np.ones(r, dtype=np.float32)

    def passes() -> None:
        X.T @ X
        for _ in range(picks):
            X @ v

    def select() -> None:
        greedy_information(LowRank(X, NOISE), picks)

    greedy_information(LowRank(X[:2000], NOISE), 200)  # compiles
    times = in_turns({"passes": passes, "lowrank": select}, repeats, wall)
    return times | {"lowrank_peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}  # KiB on Linux


def low_rank_in_a_process_of_its_own(*arguments: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--low-rank", *(str(int(argument)) for argument in arguments)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    parser.add_argument("--large", action="store_const", const="large", dest="size", help="500 features, 2 GB")
    parser.add_argument("--low-rank", type=int, nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.low_rank:
        print(json.dumps(low_rank(*options.low_rank)))
        return
    n_dense, n, r, picks, repeats = SIZES[options.size]
    wall = options.size != "quick"
    times = low_rank_in_a_process_of_its_own(n, r, picks, repeats, wall)  # first, while this process is small
    times |= dense(n_dense, picks, repeats, wall)
    figures: dict[str, Any] = {"dense_items": n_dense, "lowrank_items": n, "lowrank_features": r, "picks": picks}
    for suffix, clock in (("", "cpu"), ("_wall", "wall"))[: 1 + wall]:
        for ours, floor in (("dense", "inverse"), ("lowrank", "passes")):
            ratio = times[f"{ours}_{clock}_seconds"] / times[f"{floor}_{clock}_seconds"]
            figures[f"{ours}_ratio_to_{floor}{suffix}"] = round(ratio, 2)
    print(json.dumps(figures | {key: round(value, 3) for key, value in times.items()}))


if __name__ == "__main__":
    main()
