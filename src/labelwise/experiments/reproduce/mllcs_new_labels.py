"""A label added in mid-campaign, with and without a start from co-occurrence: what a hundred answers are worth then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.campaign import Campaign
from labelwise.experiments.jobs import Job, Outcome
from labelwise.experiments.metrics import macro_average_precision
from labelwise.experiments.reproduce.mllcs_data import MADE_UP, count, load
from labelwise.models import LabelGP
from labelwise.posterior import LabelPosterior
from labelwise.queries import Uncertainty
from labelwise.records import Answer, LabelData

BEFORE, AFTER, BATCH = 200, 100, 20  # items answered before the label is added; answers about it, and how many at once
POOL = 1500
MOST_LABELS = 200  # the most common ones: a campaign on a thousand labels would take minutes
FEWEST_POSITIVES = 20  # among the test items: below, average precision is a lottery


def label_plan(folder: str, sets: Sequence[str], quick: bool) -> list[Job]:
    n = 4 if quick else 20
    return [Job(label_run, {"folder": folder, "name": name, "seed": seed}) for name in sets for seed in range(n)]


@dataclass(frozen=True)
class AboutOneLabel:
    """Asks about the last label alone, where the model is least certain."""

    target: str = "pairs"

    def choose(self, posterior: LabelPosterior, closed: Any, n: int, rng: np.random.Generator) -> Any:
        others = np.ones(closed.shape, dtype=bool)
        others[:, -1] = closed[:, [-1]].toarray()[:, 0]
        return Uncertainty("pairs").choose(posterior, sp.csr_array(others), n, rng)


def label_run(folder: str, name: str, seed: int) -> Outcome:
    """Average precision on the test items of a label added after 200 items, as 100 answers about it come in.

    Two campaigns on the same pool, with the same model and the same way of asking; one is told, for every known label,
    which share of its items carries the new one, counted on training items outside the pool.
    """
    train, test = load(folder, name)
    rng = np.random.default_rng([seed, 23])
    rows = rng.permutation(train.n_items)
    n_pool = min(POOL, train.n_items // 2)
    pool, others = train.take(rows[:n_pool]), train.Y[rows[n_pool:]].toarray()
    truth = test.Y.toarray()
    fewest = FEWEST_POSITIVES if name != MADE_UP else 5
    label = int(rng.choice(np.flatnonzero(truth.sum(axis=0) >= fewest)))
    counts = count(others)
    common = np.argsort(-counts.diagonal(), kind="stable")[: MOST_LABELS + 1]
    known = np.sort(common[common != label][:MOST_LABELS])
    like = {train.label_names[j]: float(counts[j, label] / max(counts[j, j], 1.0)) for j in known}
    curves = {
        start: _curve(pool, known, label, test.X, truth[:, [label]], like if start == "guess" else None)
        for start in ("guess", "nothing")
    }
    return {
        "set": name,
        "seed": seed,
        "label": train.label_names[label],
        "share": float(truth[:, label].mean()),
        "answers": list(range(0, AFTER + 1, BATCH)),
        **curves,
    }


def _curve(pool: LabelData, known: Any, label: int, X: Any, truth: Any, like: dict[str, float] | None) -> list[float]:
    names = [pool.label_names[j] for j in known]
    Y = pool.Y.toarray()
    before = min(BEFORE, pool.n_items // 2)
    answers = [Answer(str(i), dict(zip(names, Y[i, known].tolist(), strict=True))) for i in range(before)]
    campaign = Campaign(
        LabelData.from_arrays(pool.X, label_names=names),
        model=LabelGP("linear", random_state=0),
        strategy=AboutOneLabel(),
        answers=answers,
    )
    added = pool.label_names[label]
    campaign.add_label(added, like=like)
    found = []
    for _ in range(0, AFTER + 1, BATCH):
        p = campaign.believe(X).probabilities()[:, -1:]
        found.append(macro_average_precision(p, truth).value)
        if len(found) <= AFTER // BATCH:
            asked = campaign.ask(BATCH)
            campaign.tell([Answer(q.item, {added: bool(Y[int(q.item), label])}) for q in asked])
    return found
