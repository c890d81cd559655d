"""What the runners of all packages share: the data, the order of play, and the clock.

A runner is started as `python RUNNER.py JOBS.json` in the package's own environment and prints one JSON line: for each
run, what it asked and the seconds of every round. A round is what a user waits for between giving answers and seeing
the next questions: take the answers in, refresh the model, choose. Only numpy and scipy are used here.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

C = 10.0  # of the logistic regression that every package is given
BUDGET = 60.0  # processor seconds after which a run of many rounds ends


@dataclass(frozen=True)
class Task:
    """A pool whose labels are known to us, and the rows that are answered at the start."""

    X: Any  # (n, d) csr_matrix or array
    Y: np.ndarray  # (n, q) of 0 and 1
    start: np.ndarray  # (s,)

    @property
    def dense(self) -> np.ndarray:
        return self.X.toarray() if sp.issparse(self.X) else self.X


class Learner(Protocol):
    """A package's loop. `labels` is None where whole items are asked for."""

    def ask(self, n: int) -> tuple[np.ndarray, np.ndarray | None]: ...

    def tell(self, rows: np.ndarray, labels: np.ndarray | None, values: np.ndarray) -> None: ...


Make = Callable[[str, Task], Learner]


def save_task(path: Path, X: Any, Y: np.ndarray, start: np.ndarray) -> None:
    if sp.issparse(X):
        parts = {"data": X.data, "indices": X.indices.astype(np.int32), "indptr": X.indptr.astype(np.int32)}
        np.savez(path, shape=X.shape, Y=Y, start=start, **parts)
    else:
        np.savez(path, dense=X, Y=Y, start=start)


def load_task(path: Path) -> Task:
    with np.load(path) as file:
        if "dense" in file:
            return Task(file["dense"], file["Y"].astype(int), file["start"])
        X = sp.csr_matrix((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
        return Task(X, file["Y"].astype(int), file["start"])


def play(learner: Learner, task: Task, batch: int, rounds: int, budget: float = BUDGET) -> dict[str, Any]:
    """Ask, then answer and ask again `rounds` times. The first of several rounds is a rehearsal, which is not timed."""
    wall, processor, asked = [], [], []
    rows, labels = learner.ask(batch)
    for _ in range(rounds):
        rows = np.asarray(rows)
        values = task.Y[rows] if labels is None else task.Y[rows, labels]
        asked.append([rows.tolist(), None if labels is None else np.asarray(labels).tolist()])
        clocks = time.perf_counter(), time.process_time()
        learner.tell(rows, labels, values)
        rows, labels = learner.ask(batch)
        wall.append(time.perf_counter() - clocks[0])
        processor.append(time.process_time() - clocks[1])
        if sum(processor) > budget:
            break
    first = 1 if len(wall) > 1 else 0
    return {"wall": wall[first:], "processor": processor[first:], "asked": asked}


def run_jobs(make: Make) -> None:
    """Play every run of the file named on the command line; what fails says why and does not stop the others."""
    warnings.simplefilter("ignore")  # labels without a positive answer yet, deprecations
    done = []
    for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        task = load_task(Path(job["data"]))
        random.seed(0)  # for packages that take their chance from the states of the interpreter and of numpy
        np.random.seed(0)  # noqa: NPY002 (the same)
        try:
            learner = make(job["strategy"], task)
            found = play(learner, task, job["batch"], job["rounds"], job.get("budget", BUDGET))
        except Exception as error:  # a peer may fail in any way; the others have to be measured all the same
            traceback.print_exc()
            found = {"error": f"{type(error).__name__}: {error}"}
        done.append({**job, **found})
        took = np.mean(found.get("processor") or [np.nan])
        print(f"{job['strategy']:32s} {job['case']}: {took:.3f} s", file=sys.stderr, flush=True)
    print(json.dumps(done))
