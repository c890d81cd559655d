"""river on a stream of sparse rows, one after another: predict, then learn. Prints rows per second and macro F1."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from protocol import Task, load_task
from river import linear_model, multioutput, optim


class LabelByLabel:
    """One logistic regression per label: river has no such wrapper."""

    def __init__(self, make: Callable[[], Any], n_labels: int) -> None:
        self.models = [make() for _ in range(n_labels)]

    def predict_one(self, x: dict[int, float]) -> dict[int, bool]:
        return {j: model.predict_one(x) for j, model in enumerate(self.models)}

    def learn_one(self, x: dict[int, float], y: dict[int, bool]) -> None:
        for j, model in enumerate(self.models):
            model.learn_one(x, y[j])


def logistic() -> Any:
    return linear_model.LogisticRegression(optimizer=optim.AdaGrad(1.0))


MODELS = {
    "river logistic regressions": lambda q: LabelByLabel(logistic, q),
    "river passive-aggressive": lambda q: LabelByLabel(lambda: linear_model.PAClassifier(C=1.0), q),
    "river classifier chain": lambda q: multioutput.ClassifierChain(logistic(), order=list(range(q))),
}


def learn(model: Any, task: Task) -> tuple[float, np.ndarray]:
    """Processor seconds of the whole stream, and what was predicted of each row before it was learnt."""
    X = task.X
    rows = [
        dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    sets = [dict(enumerate(y.tolist())) for y in task.Y.astype(bool)]
    predicted = np.zeros(task.Y.shape, dtype=bool)
    begin = time.process_time()
    for i, (x, y) in enumerate(zip(rows, sets, strict=True)):
        said = model.predict_one(x)
        predicted[i] = [bool(said.get(j, False)) for j in range(task.Y.shape[1])]
        model.learn_one(x, y)
    return time.process_time() - begin, predicted


def main() -> None:
    task = load_task(Path(sys.argv[1]))
    figures = {}
    for name, make in MODELS.items():
        seconds, predicted = learn(make(task.Y.shape[1]), task)
        figures[name] = {"rows_per_second": len(predicted) / seconds, "predicted": np.packbits(predicted).tolist()}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
