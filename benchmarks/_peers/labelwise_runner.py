"""Ours, by the same clock: a campaign with the same logistic regression and each strategy, and the default campaign."""

from __future__ import annotations

import numpy as np
from protocol import Task, run_jobs

import labelwise as lw
from labelwise import queries

DEFAULT = "default"


class Labelwise:
    def __init__(self, strategy: str, task: Task, data: lw.LabelData | None = None) -> None:
        names = [str(j) for j in range(task.Y.shape[1])]
        self.data = lw.LabelData.from_arrays(task.X, label_names=names) if data is None else data
        self.Y, self.campaign = task.Y.astype(bool), start_campaign(strategy, self.data)
        self.row_of = {item: row for row, item in enumerate(self.data.item_ids)}
        self.column_of = {name: column for column, name in enumerate(self.data.label_names)}
        self.know(task.start)

    def know(self, rows: np.ndarray) -> None:
        """Tell the campaign all labels of some items."""
        ids, names = self.data.item_ids, self.data.label_names
        said = [dict(zip(names, self.Y[row].tolist(), strict=True)) for row in rows]
        self.campaign.tell([lw.Answer(ids[row], each) for row, each in zip(rows, said, strict=True)])

    def ask(self, n: int) -> tuple[np.ndarray, np.ndarray | None]:
        self.questions = self.campaign.ask(n)
        rows = np.array([self.row_of[question.item] for question in self.questions], dtype=int)
        if self.campaign.strategy.target == "items":
            return rows, None
        columns = [[self.column_of[name] for name in question.labels] for question in self.questions]
        return np.repeat(rows, [len(some) for some in columns]), np.concatenate(columns)

    def tell(self, rows: np.ndarray, labels: np.ndarray | None, values: np.ndarray) -> None:
        said = iter(np.asarray(values).ravel().tolist())
        self.campaign.tell(
            [
                lw.Answer(question.item, {name: bool(next(said)) for name in question.labels}, question.reason)
                for question in self.questions
            ]
        )


def start_campaign(strategy: str, data: lw.LabelData) -> lw.Campaign:
    if strategy == DEFAULT:
        return lw.Campaign(data, random_state=0)
    return lw.Campaign(data, model=lw.BinaryRelevance(), strategy=queries.BY_NAME[strategy](), random_state=0)


if __name__ == "__main__":
    run_jobs(Labelwise)
