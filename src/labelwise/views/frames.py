"""Records as pandas data frames: answers, questions, beliefs, predictions, how a campaign stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

CAMPAIGN_FRAMES = ("predictions", "beliefs", "labels", "answers")
FIGURES = ("f1", "over_random", "saved", "per_doubling")  # of a `Standing`, each with an interval


def to_frame(things: Any, *, items: Sequence[str] | None = None, labels: Sequence[str] | None = None) -> pd.DataFrame:
    """Anything that a campaign or a project gives, as a data frame.

    Parameters
    ----------
    things : questions, answers, a `Standing`, beliefs (a posterior), `LabelData`, `Predictions` or `Status`
    items, labels : names of the rows and columns of beliefs, which have none of their own

    Examples
    --------
    >>> import labelwise as lw
    >>> print(to_frame([lw.Answer("doc7", {"sports": True, "politics": False})]).to_string())
       answer  item     label  value    reason  correction
    0       0  doc7    sports   True  strategy       False
    1       0  doc7  politics  False  strategy       False
    """
    if hasattr(things, "probabilities") and callable(things.probabilities):
        return of_beliefs(things, items, labels)
    if hasattr(things, "to_frame"):
        frame: pd.DataFrame = things.to_frame()
        return frame
    listed = list(things) if isinstance(things, Iterable) else [things]
    if all(hasattr(each, "values") and hasattr(each, "correction") for each in listed) and listed:
        return of_answers(listed)
    if all(is_dataclass(each) and not isinstance(each, type) for each in listed):
        return pd.DataFrame([asdict(each) for each in listed])
    raise TypeError(
        f"questions, answers, beliefs, data, predictions or a status make a data frame, got {type(things).__name__}"
    )


def of_answers(answers: Sequence[Any]) -> pd.DataFrame:
    """A row for each label that was answered; `answer` counts the answers."""
    columns = ("answer", "item", "label", "value", "reason", "correction")
    rows = [
        (number, answer.item, label, value, answer.reason, answer.correction)
        for number, answer in enumerate(answers)
        for label, value in answer.values.items()
    ]
    return pd.DataFrame(rows, columns=list(columns))


def of_beliefs(beliefs: Any, items: Sequence[str] | None = None, labels: Sequence[str] | None = None) -> pd.DataFrame:
    """(n, q) probabilities, with the names of items and labels where they are given."""
    index = None if items is None else pd.Index(items, name="item")
    return pd.DataFrame(
        np.array(beliefs.probabilities()), index=index, columns=None if labels is None else list(labels)
    )


def of_data(data: Any, *, items: bool = True) -> pd.DataFrame:
    """What is shown of each item, then its labels: True, False or <NA>. A name that is taken gets "label " in front."""
    index = pd.Index(data.item_ids, name="item")
    shown = pd.DataFrame(index=index)
    if items and data.items is not None:
        if all(isinstance(item, Mapping) for item in data.items):
            shown = pd.DataFrame([dict(item) for item in data.items], index=index)
        else:
            shown = pd.DataFrame({"text": list(data.items)}, index=index)
    names = [f"label {name}" if name in shown.columns else name for name in data.label_names]
    known = np.ones(data.Y.shape, dtype=bool) if data.observed is None else data.observed.toarray()
    said = nullable(data.Y.toarray(), known, index, names)
    return pd.concat([shown, said], axis=1) if shown.columns.size else said


def nullable(Y: npt.NDArray[Any], known: npt.NDArray[np.bool_], index: pd.Index, names: Sequence[str]) -> pd.DataFrame:
    """True, False, and <NA> where nothing is known."""
    columns = [
        pd.Series(pd.arrays.BooleanArray(Y[:, j].astype(bool), ~known[:, j]), index=index) for j in range(Y.shape[1])
    ]
    return pd.concat(columns, axis=1, keys=list(names)) if columns else pd.DataFrame(index=index)


def of_predictions(
    ids: Sequence[str], names: Sequence[str], sets: npt.NDArray[np.bool_], p: npt.NDArray[Any]
) -> pd.DataFrame:
    """A row for each item: its labels, the most likely first, and their probabilities."""
    found = []
    for row in range(len(ids)):
        columns = np.flatnonzero(sets[row])
        columns = columns[np.argsort(-p[row, columns], kind="stable")]
        found.append(([names[label] for label in columns.tolist()], p[row, columns].round(4).tolist()))
    index = pd.Index(ids, name="item")
    return pd.DataFrame(found, columns=["labels", "probabilities"], index=index)


def of_campaign(campaign: Any, what: str) -> pd.DataFrame:
    if what not in CAMPAIGN_FRAMES:
        raise ValueError(f"a campaign has frames of {', '.join(map(repr, CAMPAIGN_FRAMES))}, got {what!r}")
    data = campaign.data
    if what == "answers":
        return of_answers(campaign.answers)
    if what == "labels":
        return of_data(campaign.labelled())
    beliefs = campaign.believe()
    if what == "beliefs":
        return of_beliefs(beliefs, data.item_ids, data.label_names)
    frame = of_predictions(data.item_ids, data.label_names, campaign.predict(), np.asarray(beliefs.probabilities()))
    known = campaign.labelled().observed
    frame["answered"] = True if known is None else np.asarray(known.sum(axis=1)).ravel() == data.n_labels
    return frame


def of_standing(standing: Any) -> pd.DataFrame:
    """A row for each figure, with its interval where it has one."""
    spent = standing.spent
    counts: dict[str, Any] = {"items": spent.items, "readings": spent.readings, "answers": spent.answers}
    counts |= {"cost": spent.cost, "random_items": standing.random_items, "random_labels": standing.random_labels}
    rows = {name: (float(value), np.nan, np.nan) for name, value in counts.items()}
    estimates = {name: getattr(standing, name) for name in FIGURES}
    if standing.outlook is not None:
        estimates["next_hour"] = standing.outlook.next_hour
    rows |= {name: (found.value, found.low, found.high) for name, found in estimates.items() if found is not None}
    index = pd.Index(list(rows), name="figure")
    return pd.DataFrame(list(rows.values()), columns=["value", "low", "high"], index=index)
