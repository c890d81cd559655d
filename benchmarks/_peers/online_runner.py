"""Ours on the same stream: `OnlineBayes`, rows one after another and in batches of a hundred."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from protocol import Task, load_task

import labelwise as lw

BATCHES = {"OnlineBayes": 1, "OnlineBayes in hundreds": 100}


def learn(task: Task, batch: int) -> tuple[float, np.ndarray]:
    model = lw.OnlineBayes()
    predicted = np.zeros(task.Y.shape, dtype=bool)
    begin = time.process_time()
    for start in range(0, len(predicted), batch):
        part = slice(start, start + batch)
        if start:
            predicted[part] = model.posterior(task.X[part]).probabilities() > 0.5
        model.partial_fit(task.X[part], task.Y[part])
    return time.process_time() - begin, predicted


def main() -> None:
    task = load_task(Path(sys.argv[1]))
    learn(Task(task.X[:200], task.Y[:200], task.start), 100)  # a rehearsal: code is compiled
    figures = {}
    for name, batch in BATCHES.items():
        seconds, predicted = learn(task, batch)
        figures[name] = {"rows_per_second": len(predicted) / seconds, "predicted": np.packbits(predicted).tolist()}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
