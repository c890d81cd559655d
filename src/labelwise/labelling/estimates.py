"""What the random share says: base rates, and the F1 that predictions reach on items the model never learnt from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from labelwise.labelling.history import UNKNOWN
from labelwise.labelling.learner import Learner
from labelwise.labelling.store.labels import StoredLabels
from labelwise.labelling.tally import Tally
from labelwise.posterior import FloatArray
from labelwise.standing import ENOUGH, LEVEL, MicroF1, draw_items

BINS = 10  # of the probabilities, for calibration

Bools = npt.NDArray[np.bool_]


def estimate_f1(Y: Bools, known: Bools, predicted: Bools | None, random_state: int) -> dict[str, Any]:
    """Micro-F1 on what is known, with a bootstrap interval over items (rows), and what it rests on.

    None where there is nothing to count, and below `needed` items: drawing from a few again and again says nothing of
    how others would differ.

    >>> Y = np.array([[True, False], [True, True]])
    >>> estimate_f1(Y, np.ones((2, 2), dtype=bool), Y, 0)
    {'f1': None, 'low': None, 'high': None, 'items': 2, 'entries': 4, 'found': 3, 'needed': 20}
    """
    items = int(known.any(1).sum())
    counts = {"items": items, "entries": int(known.sum()), "found": int((Y & known).sum()), "needed": ENOUGH}
    nothing = {"f1": None, "low": None, "high": None, **counts}
    if predicted is None or items < ENOUGH:
        return nothing
    score = MicroF1.of(Y, known, predicted, draw_items(Y.shape[0], np.random.default_rng(random_state)))
    if score.value is None:
        return nothing
    found = score.estimate()
    values = {"f1": found.value, "low": found.low, "high": found.high}
    return {**{name: round(value, 4) for name, value in values.items()}, **counts}


def base_rate(yes: int, no: int) -> dict[str, float]:
    """Share of yes with its interval: the posterior of a Jeffreys prior.

    >>> base_rate(5, 5)["rate"]
    0.5
    """
    low, high = beta.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2], yes + 0.5, no + 0.5)
    return {"rate": (yes + 0.5) / (yes + no + 1), "low": float(low), "high": float(high)}


def calibration(Y: Bools, known: Bools, p: FloatArray) -> dict[str, Any]:
    """How often labels are there among those believed so likely: ten bins of the probability, on what is known.

    The error is the expected calibration error: the mean distance of belief and share, by the number in each bin.

    >>> calibration(np.array([[True, False]]), np.ones((1, 2), dtype=bool), np.array([[0.9, 0.2]]))["error"]
    0.15
    """
    believed, said = p[known], Y[known]
    place = np.minimum((believed * BINS).astype(int), BINS - 1)
    bins = []
    for number in np.unique(place).tolist():
        inside = place == number
        yes = int(said[inside].sum())
        rate = base_rate(yes, int(inside.sum()) - yes)
        share = yes / int(inside.sum())
        figures = {"believed": float(believed[inside].mean()), "share": share}
        figures |= {"low": min(rate["low"], share), "high": max(rate["high"], share)}
        bins.append({"entries": int(inside.sum()), **{key: round(value, 4) for key, value in figures.items()}})
    total = max(known.sum(), 1)
    error = sum(each["entries"] * abs(each["believed"] - each["share"]) for each in bins) / total
    return {"bins": bins, "error": round(float(error), 4)}


def agreement_of(tally: Tally, labels: StoredLabels) -> dict[str, Any]:
    """Counts of each label (by number: yes, no, unsure, Krippendorff's alpha) and of each two people."""
    alphas = [None if np.isnan(alpha) else round(float(alpha), 4) for alpha in tally.alphas()]
    by_label = zip(labels.ids, *tally.said.tolist(), alphas, strict=True)
    return {
        "labels": {str(label): figures for label, *figures in by_label},
        "pairs": [[*names, counts.both, counts.same, counts.kappa] for names, counts in sorted(tally.pairs.items())],
    }


def report_of(learner: Learner) -> dict[str, Any]:
    """What a training found out, for the record: F1 and calibration on what was kept apart, base rates, agreement."""
    rows, codes = learner.history.table(learner.items.ids, "control")
    known, Y = codes != UNKNOWN, codes == 1
    report: dict[str, Any] = {"answers": len(learner.history.answers), "control_items": int(rows.size)}
    if rows.size:
        p = None if learner.knows_nothing else learner.campaign.believe(learner.X[rows]).probabilities()
        report["f1"] = estimate_f1(Y, known, None if p is None else p > 0.5, learner.settings.random_state)
        report |= {} if p is None else {"calibration": calibration(Y, known, p)}
    report |= agreement_of(learner.history.tally, learner.labels)
    yes, no = Y.sum(0).tolist(), (known & ~Y).sum(0).tolist()
    report["base_rates"] = {
        name: base_rate(yes[column], no[column])
        for column, name in enumerate(learner.labels.names)
        if yes[column] + no[column] > 0
    }
    return report
