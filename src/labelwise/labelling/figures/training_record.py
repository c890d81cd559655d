"""What a training finds out, for the record: F1 with its interval, calibration, base rates, agreement."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from labelwise.campaign.estimates import base_rate
from labelwise.campaign.standing import MIN_RANDOM_ITEMS, Standing
from labelwise.labelling.store.labels import StoredLabels
from labelwise.labelling.training.agreement_counts import Tally
from labelwise.labelling.training.learner import Learner


def report_of(learner: Learner) -> dict[str, Any]:
    """Counts, base rates by the random questions, and agreement: what costs no model."""
    yes, no = (counts.tolist() for counts in learner.campaign.random_counts())
    rates = {
        name: base_rate(yes[column], no[column])
        for column, name in enumerate(learner.labels.names)
        if yes[column] + no[column] > 0
    }
    answers = {"answers": len(learner.history.answers), "base_rates": rates}
    return answers | agreement_of(learner.history.tally, learner.labels)


def standing_report(standing: Standing, answers: int) -> dict[str, Any]:
    """How the campaign stood after so many answers, as it is kept with a training."""
    f1: dict[str, float | None] = {"f1": None, "low": None, "high": None}
    if standing.f1 is not None:
        values = {"f1": standing.f1.value, "low": standing.f1.low, "high": standing.f1.high}
        f1 |= {name: round(value, 4) for name, value in values.items()}
    rests_on = {"items": standing.random_items, "entries": standing.random_answers, "found": standing.random_labels}
    kept = {name: asdict(standing)[name] for name in ("over_random", "saved", "per_doubling", "advice")}
    return {
        "f1": {"answers": answers, **f1, **rests_on, "needed": MIN_RANDOM_ITEMS},
        "calibration": standing.calibration,
        "standing": kept,
    }


def agreement_of(tally: Tally, labels: StoredLabels) -> dict[str, Any]:
    """Counts of each label (by number: yes, no, unsure, Krippendorff's alpha) and of each two people."""
    alphas = [None if np.isnan(alpha) else round(float(alpha), 4) for alpha in tally.alphas()]
    by_label = zip(labels.ids, *tally.said.tolist(), alphas, strict=True)
    return {
        "labels": {str(label): figures for label, *figures in by_label},
        "pairs": [[*names, counts.both, counts.same, counts.kappa] for names, counts in sorted(tally.pairs.items())],
    }
