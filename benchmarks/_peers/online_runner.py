"""Ours on the same stream: `OnlineBayes`, rows one after another and in batches of a hundred."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from protocol import Task, load_task

import labelwise as lw

HALF = lw.Threshold()
KINDS = {
    "OnlineBayes": (1, HALF),
    "OnlineBayes in hundreds": (100, HALF),
    "OnlineBayes in hundreds, expected F1": (100, lw.ExpectedF1()),
}


def learn(task: Task, batch: int, rule: Any) -> tuple[float, np.ndarray]:
    model = lw.OnlineBayes()
    predicted = np.zeros(task.Y.shape, dtype=bool)
    begin = time.process_time()
    for start in range(0, len(predicted), batch):
        part = slice(start, start + batch)
        if start:
            predicted[part] = rule.decide(model.posterior(task.X[part]))
        model.partial_fit(task.X[part], task.Y[part])
    return time.process_time() - begin, predicted


def main() -> None:
    task = load_task(Path(sys.argv[1]))
    learn(Task(task.X[:200], task.Y[:200], task.start), 100, HALF)  # a rehearsal: code is compiled
    figures = {}
    for name, (batch, rule) in KINDS.items():
        seconds, predicted = learn(task, batch, rule)
        figures[name] = {"rows_per_second": len(predicted) / seconds, "predicted": np.packbits(predicted).tolist()}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
