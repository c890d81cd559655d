"""modAL's seven multi-label strategies. One asks for a single item at a time.

Two need len(X), hence dense rows, and the classes of the classifier, which modAL's own learner does not have: they are
called with its estimator.
"""

from __future__ import annotations

import numpy as np
from modAL import multilabel
from modAL.models import ActiveLearner
from protocol import C, Task, run_jobs
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

NEED_DENSE = ("max_loss", "mean_max_loss")
ONE_AT_A_TIME = ("SVM_binary_minimum",)


class ModAL:
    def __init__(self, strategy: str, task: Task) -> None:
        self.task, self.single = task, strategy in ONE_AT_A_TIME
        self.X = task.dense if strategy in NEED_DENSE else task.X
        self.direct = getattr(multilabel, strategy) if strategy in NEED_DENSE else None
        self.open = np.setdiff1d(np.arange(task.Y.shape[0]), task.start)
        self.learner = ActiveLearner(
            OneVsRestClassifier(LogisticRegression(C=C, solver="liblinear")),
            getattr(multilabel, strategy),
            self.X[task.start],
            task.Y[task.start],
        )

    def ask(self, n: int) -> tuple[np.ndarray, None]:
        if not self.single:
            if self.direct is None:
                places, _ = self.learner.query(self.X[self.open], n_instances=n)
            else:
                places, _ = self.direct(self.learner.estimator, self.X[self.open], n_instances=n)
            return self.open[np.asarray(places)], None
        rows = []
        for number in range(n):
            place, _ = self.learner.query(self.X[self.open])
            rows.append(self.open[place])
            if number + 1 < n:  # the next one has to know the answer, or it would be the same
                self.tell(np.array(rows[-1:]), None, self.task.Y[rows[-1:]])
        return np.array(rows), None

    def tell(self, rows: np.ndarray, labels: None, values: np.ndarray) -> None:
        fresh = np.isin(rows, self.open)
        if fresh.any():
            self.learner.teach(self.X[rows[fresh]], values[fresh])
            self.open = np.setdiff1d(self.open, rows)


if __name__ == "__main__":
    run_jobs(ModAL)
