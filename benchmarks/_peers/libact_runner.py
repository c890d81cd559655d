"""libact's MMC and binary minimisation: dense rows, one item at a time, and a model fitted for each."""

from __future__ import annotations

import numpy as np
from libact.base.dataset import Dataset
from libact.models import LogisticRegression
from libact.query_strategies import multilabel
from protocol import C, Task, run_jobs


class Libact:
    def __init__(self, strategy: str, task: Task) -> None:
        answers = np.full(task.Y.shape[0], None, dtype=object)
        for row in task.start:
            answers[row] = task.Y[row]
        self.data, self.Y = Dataset(task.dense, answers), task.Y
        model = LogisticRegression(C=C, solver="liblinear")
        if strategy == "mmc":
            self.chooser = multilabel.MMC(self.data, br_base=model, random_state=0)
        else:
            self.data.update(0, task.Y[0])  # it reads the number of labels off the first row
            self.chooser = multilabel.BinaryMinimization(self.data, base_clf=model, random_state=0)
            self.data.update(0, answers[0])

    def ask(self, n: int) -> tuple[np.ndarray, None]:
        rows = []
        for number in range(n):
            rows.append(int(self.chooser.make_query()))
            if number + 1 < n:  # the next one has to know the answer, or it would be the same
                self.data.update(rows[-1], self.Y[rows[-1]])
        return np.array(rows), None

    def tell(self, rows: np.ndarray, labels: None, values: np.ndarray) -> None:
        self.data.update(int(rows[-1]), values[-1])  # those before were told while asking


if __name__ == "__main__":
    run_jobs(Libact)
