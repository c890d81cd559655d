"""What it brings that a campaign also asks for sweeps, at equal time, by price list.

    python benchmarks/sweeps.py [--quick] [--sets a,b] [--seeds 3]

The default campaign, once as it is and once with `sweeps=True`, is given the time of 150 whole items by a price list.
`gain` is the mean log macro average precision on a test set with sweeps less that without, at eight times from a
quarter of the time on, paired by seed, with its standard error over seeds; `pages` is the mean number of pages. Sets
come from the folder LABELWISE_SHARED_DATA, or ../shared/data beside the repository.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import labelwise as lw
from _label_saving_sets import available, load, split
from labelwise.numerics.metrics import macro_average_precision
from labelwise.records.asking import SWEEP, SWEEP_PAGE
from labelwise.studies import Answerer

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
SETS = ("emotions", "yeast", "medical", "enron", "goemotions")
LISTS = ("picture", "short_text")
ITEMS, ROUND, POOL = 150, 10, 2000


def curve(pool, test, costs, seed, sweeps):
    """Log macro average precision at eight times, and the number of pages."""
    campaign = lw.Campaign(pool.hide(), costs=costs, sweeps=sweeps, random_state=seed)
    answerer, truth = Answerer(pool, random_state=seed), test.Y.toarray()
    budget = ITEMS * float(costs.whole_item(pool.Y.sum() / pool.n_items))
    seconds, scores = [], []
    while campaign.spent().cost < budget and (asked := campaign.ask(ROUND)):
        if asked[-1].reason == SWEEP:
            asked = campaign.ask(SWEEP_PAGE)
        campaign.tell(answerer.answers(asked))
        seconds.append(campaign.spent().cost)
        scores.append(macro_average_precision(campaign.believe(test.X).probabilities(), truth).value)
    pages = sum(answer.reason == SWEEP for answer in campaign.answers) / SWEEP_PAGE
    return np.interp(budget * np.linspace(0.25, 1, 8), seconds, np.log(scores)), pages


def compared(name, which, seeds):
    gains, pages = [], []
    for seed in seeds:
        pool, test = split(load(DATA, name), seed, POOL)
        with threadpool_limits(1):
            (plain, _), (swept, n) = (curve(pool, test, lw.Costs.named(which), seed, on) for on in (False, True))
        gains.append(np.mean(swept - plain))
        pages.append(n)
    error = np.std(gains, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
    found = {"gain": round(float(np.mean(gains)), 4), "pages": round(float(np.mean(pages)), 1)}
    found["standard_error"] = round(float(error), 4) if np.isfinite(error) else None
    print(name, which, found, flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="emotions, one seed")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    sets = available(DATA, ("emotions",) if options.quick else tuple(options.sets.split(",")))
    seeds = range(1 if options.quick else options.seeds)
    print(json.dumps({which: {name: compared(name, which, seeds) for name in sets} for which in LISTS}))


if __name__ == "__main__":
    main()
