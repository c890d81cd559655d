"""How many yes/no answers the default pair campaign needs to be as good as the usual way, on every label-rich set.

    python benchmarks/label_saving.py [--quick] [--sets a,b] [--seeds 8] [--arms default,...] [--jobs 1] [--finished]

The usual way: 300 random items, every label of them answered, one logistic regression per label (`BinaryRelevance`).
A campaign is given the same pool and asked for questions in up to twelve rounds. `share` is the part of the 300 × q
answers after which it is at least as good in macro average precision and in mean precision@1-3 on a test set: the
larger of the two, by straight lines between rounds. A campaign ends when it was as good in both in two rounds one after
the other, or after 90 % of the answers; `share` is null where it was not as good then. `median` is that over all sets
of the mean over seeds.

`default` is `Campaign(data, strategy="pairs")`; the other arms change one thing each. `items` compares the default item
campaign at 300 items with random items and the same model. Sets come from the folder LABELWISE_SHARED_DATA, or
../shared/data beside the repository. A finished run is kept in runs/label_saving and not done again; `--finished` does
nothing new and sums up what is there.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import labelwise as lw
from _label_saving_sets import available, load, split
from labelwise.numerics.metrics import evaluate
from labelwise.studies import Answerer

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
RUNS = ROOT / "runs" / "label_saving"
RICH = (
    "medical",
    "enron",
    "bibtex",
    "corel5k",
    "tmc2007-500",
    "imdb",
    "rcv1sub1",
    "reuters21578",
    "goemotions",
    "delicious",
)
ALL = (*RICH, "yeast", "emotions", "scene")
FULL, ROUNDS, LAST = 300, 12, 0.9
METRICS = ("macro_average_precision", "precision_at_1_3")
ARMS = {  # what differs from the default pair campaign
    "default": {},
    "unguarded": {"control": 0.0},
    "auto": {"model": "auto"},
    "logistic": {"model": lw.BinaryRelevance()},
    "start_30": {"start": 30},
    "start_10": {"start": 10},
    "even_shares": {"strategy": lw.BalancedPairs(focus=0.0), "start": 20, "control": lw.Guard()},
    "random_pairs": {"strategy": lw.Random(target="pairs"), "start": 20},
    "most_uncertain": {"strategy": lw.Uncertainty(target="pairs"), "start": 20},
    "reading_costs_5": {"costs": lw.Costs(read=5.0)},
}
ITEM_ARMS = {"items": {"strategy": "items"}, "random_items": {"strategy": lw.Random(), "start": 20}}


def score(beliefs, truth):
    figures = evaluate(beliefs.probabilities(), truth)
    return [figures[name] for name in METRICS]


def pair_campaign(pool, test, options, seed, usual):
    """[share of the answers, macro-AP, precision@1-3, readings] after each round."""
    campaign = lw.Campaign(pool.hide(), random_state=seed, **({"strategy": "pairs"} | options))
    answerer, truth, budget = Answerer(pool), test.Y.toarray(), FULL * pool.n_labels
    curve = []
    for share in np.linspace(campaign.start / FULL, LAST, ROUNDS + 1):
        campaign.tell(answerer.answers(campaign.ask(round(share * budget) - campaign.spent().answers)))
        spent = campaign.spent()
        curve.append([spent.answers / budget, *score(campaign.believe(test.X), truth), spent.readings])
        if len(curve) > 1 and all(a >= b for point in curve[-2:] for a, b in zip(point[1:3], usual, strict=True)):
            break
    return curve


def item_campaign(pool, test, options, seed):
    """[items, macro-AP, precision@1-3] after each round of 28 items, up to 300."""
    campaign = lw.Campaign(pool.hide(), random_state=seed, **options)
    answerer, truth, curve = Answerer(pool), test.Y.toarray(), []
    for n in range(20, FULL + 1, 28):
        campaign.tell(answerer.answers(campaign.ask(n - campaign.spent().items)))
        curve.append([n, *score(campaign.believe(test.X), truth)])
    return curve


def run(name, arm, seed):
    """One campaign, or the usual way, from the disk where it was done before."""
    path = RUNS / f"{name}-{arm}-{seed}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    began = time.perf_counter()
    with threadpool_limits(1):
        pool, test = split(load(DATA, name), seed)
        if arm == "usual":
            rows = np.random.default_rng(seed + 100).permutation(pool.n_items)[:FULL]
            model = lw.BinaryRelevance().fit(pool.X[rows], pool.Y[rows].toarray())
            found = score(model.posterior(test.X), test.Y.toarray())
        elif arm in ITEM_ARMS:
            found = item_campaign(pool, test, ITEM_ARMS[arm], seed)
        else:
            found = pair_campaign(pool, test, ARMS[arm], seed, run(name, "usual", seed))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(path)
    print(f"{name} {arm} {seed}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def reached(x, y, goal):
    """Where a curve of straight lines is above the goal to its end; infinity where it is not."""
    below = np.flatnonzero(np.asarray(y) < goal)
    if below.size == 0:
        return float(x[0])
    k = below[-1]
    return float(np.interp(goal, y[k : k + 2], x[k : k + 2])) if k + 1 < len(y) else float("inf")


def shares(curve, usual):
    """Of the answers, for macro-AP and for precision@1-3."""
    x, *ys = np.array(curve).T[:3]
    return [reached(x, y, goal) for y, goal in zip(ys, usual, strict=True)]


def summary(name, arm, seeds):
    """Shares of a set and arm by seed, their mean, and how many items had to be read for one answer at the end."""
    both = [shares(run(name, arm, seed), run(name, "usual", seed)) for seed in seeds]
    found = [max(each) for each in both]
    first = {"usual": run(name, "usual", seeds[0]), "curve": run(name, arm, seeds[0])}
    return {
        "share": rounded(np.mean(found)),
        "by_seed": [rounded(each) for each in found],
        "macro_ap": rounded(np.mean([each[0] for each in both])),
        "precision": rounded(np.mean([each[1] for each in both])),
        "first_seed": {key: np.round(value, 4).tolist() for key, value in first.items()},
    }


def item_summary(name, seeds):
    """The default item campaign less random items with the same model, over the last half of the curve, by seed."""
    gains = []
    for seed in seeds:
        ours, drawn = (np.array(run(name, arm, seed)) for arm in ("items", "random_items"))
        gains.append((ours - drawn)[len(ours) // 2 :, 1:].mean(axis=0))
    gains = np.array(gains)
    error = gains.std(axis=0, ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else np.full(2, np.nan)
    pairs = zip(("macro_ap", "precision"), gains.mean(axis=0), error, strict=True)
    return {which: {"gain": rounded(gain, 4), "standard_error": rounded(se, 4)} for which, gain, se in pairs}


def rounded(value, digits=3):
    return round(float(value), digits) if np.isfinite(value) else None


def median(values):
    """Of shares, None being infinite."""
    middle = float(np.median([np.inf if value is None else value for value in values]))
    return rounded(middle)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="medical alone, one seed, the default arm")
    parser.add_argument("--sets", default=",".join(ALL))
    parser.add_argument("--arms", default="default,items")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--finished", action="store_true")
    options = parser.parse_args()
    sets = available(DATA, ("medical",) if options.quick else tuple(options.sets.split(",")))
    arms, seeds = options.arms.split(","), range(1 if options.quick else options.seeds)
    todo = [
        (name, arm, seed)
        for seed in seeds
        for name in sets
        for arm in ("usual", *(each for chosen in arms for each in (ITEM_ARMS if chosen == "items" else (chosen,))))
        if name in RICH or arm in ITEM_ARMS
    ]
    if not options.finished:
        Parallel(n_jobs=options.jobs)(delayed(run)(*each) for each in todo)

    def finished(name, *needed):
        return [s for s in seeds if all((RUNS / f"{name}-{arm}-{s}.json").exists() for arm in needed)]

    tables = {
        arm: {
            name: summary(name, arm, done) for name in sets if name in RICH and (done := finished(name, "usual", arm))
        }
        for arm in arms
        if arm != "items"
    }
    result = {
        "seeds": len(seeds),
        "arms": tables,
        "median": {arm: median(row["share"] for row in table.values()) for arm, table in tables.items() if table},
    }
    if "items" in arms:
        result["items"] = {name: item_summary(name, done) for name in sets if (done := finished(name, *ITEM_ARMS))}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
