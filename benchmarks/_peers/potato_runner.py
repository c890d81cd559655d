"""Potato's learner without its web server: its own states of items and people, its classifier, its queue.

Driven is what happens between a saved answer and the next page. A person's ticks go into `UserState` as the page stores
them. `ActiveLearningManager` collects them, fits its pipeline, ranks the pool and reorders the queue in
`ItemStateManager`, in the one call that its training thread makes. Questions are the head of that queue, which the
assignment "active_learning" serves. A multi-select answer is one class, its label set; an answer without a tick is no
class, and is not learnt from.
By default the lowest fifth of the ranking is shuffled and mixed one to one into the head of the queue, so that half of
the first questions come from it; "unmixed" strategies switch that off (`random_sample_percent`). Not driven: the thread
and its triggers, so there is one training for each batch (its default is one for five answers); pages, sessions,
saving, language models.

Its vectorizer is named by an import path. Ours takes the number of a row, the "text", to the row itself, so that
everybody has the same features. The classifier is its default, a softmax regression, with C = 10 as everywhere.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from potato import item_state_management as items
from potato import user_state_management as users
from potato.active_learning_manager import ActiveLearningConfig, ActiveLearningManager
from potato.phase import UserPhase
from protocol import C, Task, run_jobs
from sklearn.base import BaseEstimator, TransformerMixin

SCHEMA, UNMIXED = "labels", "_unmixed"


class Failures(logging.Handler):
    """Its strategies log an error and go on with equal scores; here a run ends with what was said."""

    def emit(self, record: logging.LogRecord) -> None:
        if "failed" in record.getMessage().lower() or record.levelno >= logging.ERROR:
            raise RuntimeError(record.getMessage())


class Rows(TransformerMixin, BaseEstimator):
    """From numbers of rows, as texts, to the rows."""

    X: Any = None  # (n, d), of the run

    def fit(self, texts: list[str], y: Any = None) -> Rows:
        return self

    def transform(self, texts: list[str]) -> Any:
        return self.X[np.array(texts, dtype=int)]


class Potato:
    def __init__(self, strategy: str, task: Task) -> None:
        Rows.X = task.X
        items.clear_item_state_manager()
        users.clear_user_state_manager()
        project = {"assignment_strategy": "active_learning", "item_properties": {"id_key": "id", "text_key": "text"}}
        project["num_annotators_per_item"] = 1
        self.items, people = items.init_item_state_manager(project), users.init_user_state_manager(project)
        self.items.add_items({str(row): {"id": str(row), "text": str(row)} for row in range(task.Y.shape[0])})
        self.person = people.add_user("person")
        self.person.advance_to_phase(UserPhase.ANNOTATION, None)
        settings: dict[str, Any] = {"schema_names": [SCHEMA], "schema_types": {SCHEMA: "multiselect"}}
        settings |= {"query_strategy": strategy.removesuffix(UNMIXED), "classifier_params": {"C": C}}
        settings["vectorizer_name"] = f"{Rows.__module__}.{Rows.__name__}"
        if strategy.endswith(UNMIXED):
            settings["random_sample_percent"] = 0.0
        self.manager = ActiveLearningManager(ActiveLearningConfig(**settings))
        self._save(task.start, task.Y[task.start])
        self._train()

    def ask(self, n: int) -> tuple[np.ndarray, None]:
        return np.array(self.items.get_remaining_instance_ids()[:n], dtype=int), None

    def tell(self, rows: np.ndarray, labels: None, values: np.ndarray) -> None:
        self._save(rows, values)
        self._train()

    def _train(self) -> None:
        before = self.manager._training_count
        self.manager._perform_training()
        if self.manager._training_count == before:
            raise RuntimeError("Potato logged an error and did not train")

    def _save(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Ticked boxes, as its page posts them; the item leaves the queue."""
        for row, ticked in zip(rows, values, strict=True):
            for label in np.flatnonzero(ticked):
                name = f"label {label}"
                self.person.add_label_annotation(str(row), items.Label(SCHEMA, name), name)
            self.items.register_annotator(str(row), self.person.get_user_id())


if __name__ == "__main__":
    logging.disable(logging.INFO)
    logging.getLogger("potato").addHandler(Failures(logging.WARNING))
    run_jobs(Potato)
