"""scikit-activeml knows one label: its uncertainty sampling, label by label, and the most useful pairs of all.

"items entropy" takes the items with the highest mean over their labels, as whole items.
"""

from __future__ import annotations

import numpy as np
from protocol import C, Task, run_jobs
from skactiveml.classifier import SklearnClassifier
from skactiveml.pool import UncertaintySampling
from sklearn.linear_model import LogisticRegression


class SkActiveML:
    def __init__(self, strategy: str, task: Task) -> None:
        self.X = task.dense  # it takes no sparse rows
        self.known = np.full(task.Y.shape, np.nan)
        self.known[task.start] = task.Y[task.start]
        self.whole_items = strategy.startswith("items ")
        self.chooser = UncertaintySampling(method=strategy.removeprefix("items "), random_state=0)
        self.model = SklearnClassifier(LogisticRegression(C=C, solver="liblinear"), classes=[0, 1], random_state=0)

    def ask(self, n: int) -> tuple[np.ndarray, np.ndarray | None]:
        utilities = np.empty(self.known.shape)
        for j, known in enumerate(self.known.T):
            _, utilities[:, j : j + 1] = (
                part.T if part.ndim == 2 else part
                for part in self.chooser.query(self.X, known, self.model, batch_size=1, return_utilities=True)
            )
        utilities[np.isnan(utilities)] = -np.inf  # answered
        if self.whole_items:
            return np.argsort(-utilities.mean(axis=1), kind="stable")[:n], None
        best = np.argpartition(-utilities.ravel(), n)[:n]
        return best // self.known.shape[1], best % self.known.shape[1]

    def tell(self, rows: np.ndarray, labels: np.ndarray | None, values: np.ndarray) -> None:
        self.known[rows if labels is None else (rows, labels)] = values


if __name__ == "__main__":
    run_jobs(SkActiveML)
