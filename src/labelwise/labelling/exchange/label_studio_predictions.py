"""What Label Studio is told of its tasks: choices, why, and a score by which it asks our next questions first.

Label Studio's uncertainty sampling takes the lowest score first, among the predictions of the version that its project
has chosen. Scores below `ASKED_FIRST` are places among the questions that are ready, scores above are of other tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.exchange.label_studio_answers import choices_of, suggestions_box
from labelwise.labelling.items.browse import Browser, LabelOfItem
from labelwise.labelling.records import ExpectedLabels
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.engine import pieces
from labelwise.labelling.store.trainings import last_good

MOST_TASKS, TASKS_AT_ONCE = 20_000, 1000  # of one request; of one look at the project
ASKED_FIRST = 0.5

Expect = Callable[[Sequence[Any]], Sequence[ExpectedLabels]]  # of contents that are none of ours


def version_of(browser: Browser) -> str:
    """The version of what is predicted: the training, and the last event that the beliefs know.

    It changes with each, so that Label Studio asks for new predictions.
    """
    with browser.project.store.reading() as connection:
        good = last_good(connection)
    beliefs = browser.snapshots.read()
    numbers = (0 if good is None else good.id), (0 if beliefs is None else int(beliefs.seen[0]))
    return version_prefix(browser.project) + "-".join(map(str, numbers))


def version_prefix(project: ServedProject) -> str:
    """How the versions of a project's models begin."""
    return f"labelwise-{project.identity[:8]}-"


@dataclass(frozen=True)
class Config:
    """The choices of a labelling interface: their name, what they are about, and which there are (None: unknown).

    `is_single` tells that only one may be chosen. `box` is the name and object of a `TextArea` for suggestions, where
    the interface has one.
    """

    from_name: str = "labels"
    to_name: str = "text"
    choices: frozenset[str] | None = None
    is_single: bool = False
    box: tuple[str, str] | None = None

    @classmethod
    def read(cls, text: Any, labels: Sequence[str]) -> Config:
        """From the XML of a labelling interface: its `Choices` with most of our labels; the default where it has none.

        >>> Config.read('<View><Choices name="t" toName="x"><Choice value="a"/></Choices></View>', ["a", "b"])
        Config(from_name='t', to_name='x', choices=frozenset({'a'}), is_single=True, box=None)
        """
        best, most = cls(), -1
        for control in choices_of(text):
            common = len(control.values & set(labels))
            if common > most:
                best = cls(control.name, control.to_name, control.values or None, control.is_single)
                most = common
        return replace(best, box=suggestions_box(text))


def predictions_of(browser: Browser, tasks: Sequence[Any], config: Config, expect: Expect) -> list[dict[str, Any]]:
    """A prediction for each task, in their order. `expect`: see `expected_of`."""
    return [prediction(expected, score, config) for expected, score in expected_of(browser, tasks, expect)]


def expected_of(browser: Browser, tasks: Sequence[Any], expect: Expect) -> list[tuple[ExpectedLabels, float]]:
    """What is expected of each task, and its score.

    What is expected of tasks that are no items of the project follows from their data, by `expect`; not where several
    items show the same, because one of them may be of the random share.
    """
    if len(tasks) > MOST_TASKS:
        raise ProjectError(f"at most {MOST_TASKS} tasks can be predicted at once, got {len(tasks)}")
    return [each for part in pieces(tasks, TASKS_AT_ONCE) for each in _expected_of(browser, part, expect)]


def _expected_of(browser: Browser, tasks: Sequence[Any], expect: Expect) -> list[tuple[ExpectedLabels, float]]:
    items = browser.project.task_items.find(tasks)
    names = [item.name or None for item in items]
    ours = browser.standing_of([name for name in names if name is not None])
    strange = [i for i, name in enumerate(names) if name not in ours]
    contents = [None if items[i].is_ambiguous else _data_of(tasks[i]) for i in strange]
    guessed = dict(zip(strange, expect(contents), strict=True))
    found = []
    for i, name in enumerate(names):
        if name in ours:
            labels, rank = ours[name]
            found.append((_expected(labels), _score(labels, rank)))
        else:
            p = list(guessed[i].probabilities.values())
            found.append((guessed[i], ASKED_FIRST + _certainty(p) / 2))
    return found


def _data_of(task: Any) -> Any:
    return task.get("data") if isinstance(task, Mapping) else None


def _expected(labels: Sequence[LabelOfItem]) -> ExpectedLabels:
    """What is known stands; of the rest what is believed, where there is a belief."""
    p = {each.name: each.probability if each.known is None else float(each.known) for each in labels}
    present = frozenset(each.name for each in labels if (each.predicted if each.known is None else each.known))
    reasons = sorted(
        (each.reason for each in labels if each.known is None and each.reason), key=lambda r: -r.probability
    )
    return ExpectedLabels({name: value for name, value in p.items() if value is not None}, present, tuple(reasons))


def _score(labels: Sequence[LabelOfItem], rank: float | None) -> float:
    """Lowest first: the place among the ready questions, then what is open, then what is known."""
    if rank is not None:
        return ASKED_FIRST * rank
    still_open = [label.probability for label in labels if label.known is None]
    if not still_open:
        return 1.0
    return ASKED_FIRST + _certainty([p for p in still_open if p is not None]) / 2 * 0.99


def _certainty(p: Sequence[float]) -> float:
    """0 where all is open, 1 where nothing is: how far probabilities are from one half, on average."""
    return float(np.abs(2 * np.asarray(p, dtype=np.float64) - 1).mean()) if len(p) else 0.0


def prediction(expected: ExpectedLabels, score: float, config: Config) -> dict[str, Any]:
    """What is expected as Label Studio takes it; of a single choice the most probable label."""
    p = expected.probabilities
    usable = {name: p[name] for name in p if config.choices is None or name in config.choices}
    chosen = [name for name in usable if name in expected.labels]
    if config.is_single:
        chosen = sorted((name for name in usable if usable[name] > 0), key=lambda name: -usable[name])[:1]
    result = {
        "from_name": config.from_name,
        "to_name": config.to_name,
        "type": "choices",
        "value": {"choices": chosen},
        "score": round(_certainty(list(usable.values())), 4),
    }
    results = [result] if chosen else []
    if expected.reasons and config.box is not None:
        name, about = config.box
        told = {"text": [str(reason) for reason in expected.reasons]}
        results.append({"from_name": name, "to_name": about, "type": "textarea", "value": told})
    return {"result": results, "score": round(score, 6)}
