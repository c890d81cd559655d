"""Should a campaign learn from its random share, or keep it apart to be judged by?

    python benchmarks/random_share.py [--quick]

Two arms with the same answers to spend, the same model, strategy and seeds. *learnt*: a share of the questions is drawn
at random, the model learns from all answers, and F1 is judged by cross-fitting, random items hidden in turn. *apart*:
a share of the items is kept apart from the start, asked about as often, and never learnt from; F1 is judged on those.

Reported for each set: micro-F1 on items that were never asked about (the truth), what each arm says its F1 is, how wide
its interval is, and how often the interval holds the truth. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

import labelwise as lw
from labelwise.campaign.estimates import MicroF1, draw_items
from labelwise.campaign.standing import MIN_RANDOM_ITEMS
from labelwise.studies import Answerer

SHARE, BATCH = 0.15, 10
BUDGET = 200  # whole items
SIZES = {"quick": (("emotions",), 2), "full": (("emotions", "scene", "yeast", "enron", "medical"), 8)}  # sets, seeds
MOST_ITEMS = 1200  # of a set, drawn at random
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))


def load(name: str, seed: int) -> lw.LabelData:
    found = sorted((DATA / name).glob("*.arff*"), key=lambda path: len(path.name))  # the whole set before its parts
    data = lw.read(found[0])
    return data.take(np.random.default_rng(seed).permutation(data.n_items)[:MOST_ITEMS])


def campaign_over(data: lw.LabelData, seed: int, **settings: Any) -> lw.Campaign:
    return lw.Campaign(data.hide(), model="label_gp", strategy="label_covariance", random_state=seed, **settings)


def f1_on(campaign: lw.Campaign, data: lw.LabelData, rows: np.ndarray) -> float:
    """Micro-F1 of predictions about some items."""
    Y, sets = data.Y[rows].toarray(), campaign.predict(data.X[rows])
    return float(2 * (Y & sets).sum() / max(Y.sum() + sets.sum(), 1))


def learnt(data: lw.LabelData, seed: int) -> dict[str, float]:
    """All answers are learnt from; F1 by cross-fitting."""
    campaign, answerer = campaign_over(data, seed, control=SHARE), Answerer(data)
    while len(campaign.answers) < BUDGET:
        campaign.tell(answerer.answers(campaign.ask(BATCH)))
    standing = campaign.status()
    asked = {answer.item for answer in campaign.answers}
    return judged(campaign, data, asked, standing.f1)


def apart(data: lw.LabelData, seed: int) -> dict[str, float]:
    """A share of the items is kept apart and only judged by."""
    rng = np.random.default_rng([seed, 7])
    kept = np.flatnonzero(rng.random(data.n_items) < SHARE)
    campaign, answerer = campaign_over(data, seed), Answerer(data)
    ids, queue, n_random = np.array(data.item_ids, dtype=object), rng.permutation(kept).tolist(), 0
    excluded = ids[kept].tolist()
    while len(campaign.answers) + n_random < BUDGET:
        drawn = int((rng.random(BATCH) < SHARE).sum())
        n_random = min(n_random + drawn, len(queue))
        campaign.tell(answerer.answers(campaign.ask(BATCH - drawn, exclude=excluded)))
    rows = np.array(queue[:n_random], dtype=np.intp)
    asked = {answer.item for answer in campaign.answers} | set(ids[rows])
    estimate = None
    if rows.size >= MIN_RANDOM_ITEMS:
        Y, known = data.Y[rows].toarray(), np.ones((rows.size, data.n_labels), dtype=bool)
        estimate = MicroF1.of(Y, known, campaign.predict(data.X[rows]), draw_items(rows.size, rng)).estimate()
    return judged(campaign, data, asked, estimate)


def judged(campaign: lw.Campaign, data: lw.LabelData, asked: set[str], estimate: Any) -> dict[str, float]:
    rest = np.flatnonzero([item not in asked for item in data.item_ids])
    truth = f1_on(campaign, data, rest)
    if estimate is None:
        return {"f1": truth}
    return {
        "f1": truth,
        "bias": estimate.value - truth,
        "width": estimate.high - estimate.low,
        "covered": float(estimate.low <= truth <= estimate.high),
    }


def mean_of(runs: list[dict[str, float]]) -> dict[str, float]:
    names = sorted({name for run in runs for name in run})
    return {name: round(float(np.mean([run[name] for run in runs if name in run])), 4) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    sets, seeds = SIZES[parser.parse_args().size]
    figures: dict[str, Any] = {"sets": {}}
    gains = []
    for name in sets:
        runs: dict[str, list[dict[str, float]]] = {"learnt": [], "apart": []}
        for seed in range(seeds):
            data = load(name, seed)
            runs["learnt"].append(learnt(data, seed))
            runs["apart"].append(apart(data, seed))
        gain = [a["f1"] - b["f1"] for a, b in zip(runs["learnt"], runs["apart"], strict=True)]
        gains += gain
        figures["sets"][name] = {arm: mean_of(found) for arm, found in runs.items()}
        figures["sets"][name]["gain"] = round(float(np.mean(gain)), 4)
        print(name, figures["sets"][name], flush=True)
    error = float(np.std(gains, ddof=1) / np.sqrt(len(gains)))
    print(json.dumps({"gain": round(float(np.mean(gains)), 4), "standard_error": round(error, 4), **figures}))


if __name__ == "__main__":
    main()
