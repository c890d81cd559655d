"""small-text on scikit-learn's logistic regression, sparse rows, as its documentation has it for multi-label data."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import small_text
from protocol import C, Task, run_jobs
from sklearn.linear_model import LogisticRegression

STRATEGIES = {
    "prediction_entropy": "PredictionEntropy",
    "cvirs": "CategoryVectorInconsistencyAndRanking",
    "label_cardinality_inconsistency": "LabelCardinalityInconsistency",
    "adaptive": "AdaptiveActiveLearning",
}


class SmallText:
    def __init__(self, strategy: str, task: Task) -> None:
        n, q = task.Y.shape
        model = LogisticRegression(C=C, solver="liblinear")
        template = small_text.SklearnClassifierFactory(model, q, kwargs={"multi_label": True})
        known = sp.lil_matrix((n, q), dtype=int)
        known[task.start] = task.Y[task.start]
        data = small_text.SklearnDataset(task.X, known.tocsr(), target_labels=np.arange(q))
        kind = getattr(small_text, STRATEGIES[strategy])
        self.learner = small_text.PoolBasedActiveLearner(
            template, kind(pbar=None) if strategy == "cvirs" else kind(), data
        )
        if hasattr(self.learner, "initialize_data"):  # before 2.0
            self.learner.initialize_data(task.start, sp.csr_matrix(task.Y[task.start]))
        else:
            self.learner.initialize(task.start)

    def ask(self, n: int) -> tuple[np.ndarray, None]:
        return self.learner.query(num_samples=n), None

    def tell(self, rows: np.ndarray, labels: None, values: np.ndarray) -> None:
        self.learner.update(sp.csr_matrix(values))


if __name__ == "__main__":
    run_jobs(SmallText)
