"""What stopping rules cost, in hours: time wasted by going on, and time's worth missed by stopping too soon.

    python benchmarks/stopping.py [--quick] [--sets a,b] [--seeds 3] [--finished]

Default campaigns on the sets of `time_saving.py`: pools of 2000 items, rounds of 20 items up to 700 or the pool. After
each round micro-F1 of the campaign's label sets is measured on a test set. A price says how many hours of a person's
time a point of F1 is worth. Time is by `Costs.short_text()`. The worth of stopping after t hours is F1(t) in hours less
t; the best stop in hindsight is the round of the most worth, from the first round to the end. `regret` is what a rule
lacks of it, in hours, of the single run. It is `wasted` where the rule stops later, `missed` where it stops sooner.

Rules look after each round: the published ones as published, each with its own threshold, and none knows the price.
Where a rule for one label can be read in two ways for many, both ways are there. Predictions are compared on the whole
pool. Ours (`Campaign.status`) knows the price, and looks after every second round, from 60 items on. A rule that never
says stop goes on to the end.

Runs are kept in runs/stopping, one for a set and seed; `--finished` starts nothing new. The last line has the mean
regret of each rule over sets, prices and seeds; `ours_over_best_published` is that of our default risk over the least
of those published.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import labelwise as lw
from _label_saving_sets import FILES, available, load, split
from labelwise.campaign import standing, stopping
from labelwise.numerics.metrics import micro_f1
from labelwise.records.asking import RISK
from labelwise.records.learning_curve import LearningCurve
from labelwise.studies import Answerer

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
RUNS = ROOT / "runs" / "stopping"
ROUND, LAST, POOL = 20, 700, 2000
OUR_FIRST, OUR_STEP = 60, 40  # items between looks of ours
PRICES = (0.1, 0.3, 1.0)  # hours that a point of F1 is worth
RISKS = (0.05, 0.1, RISK, 0.3, 0.5)
OVER = 3  # rounds that a rule of several looks at
BUDGET = 300


class PoolHistory:
    """What the rules look at, round by round."""

    def __init__(self, pool):
        self.X, self.n, self.q = pool.X, pool.n_items, pool.n_labels
        self.truth = pool.Y.toarray().astype(bool)
        self.row_of = {item: row for row, item in enumerate(pool.item_ids)}
        self.predictions, self.p = [], None

    def selected(self, asked):
        """Of a batch, before it is told: the published statistics of the items that are asked about."""
        if self.p is None:
            return {}
        rows = [self.row_of[item] for item in dict.fromkeys(question.item for question in asked)]
        right = self.predictions[-1][rows] == self.truth[rows]
        return {
            "max_confidence": stopping.max_confidence(self.p[rows]),
            "max_confidence_of_any": min(stopping.max_confidence(self.p[[row]]) for row in rows),
            "selected_accuracy": stopping.selected_accuracy(self.predictions[-1][rows], self.truth[rows]),
            "selected_accuracy_items": float(right.all(axis=1).mean()),
        }

    def after(self, campaign):
        """After a batch is told: statistics of the pool."""
        beliefs = campaign.believe()
        self.p = np.clip(beliefs.probabilities(), 0.0, 1.0)
        self.predictions = [*self.predictions[-OVER:], campaign.decide(beliefs)]
        open_ = np.setdiff1d(np.arange(self.n), [self.row_of[answer.item] for answer in campaign.answers])
        left = self.p[open_] if open_.size else self.p
        found = {
            "overall_uncertainty": stopping.overall_uncertainty(left),
            "expected_error": stopping.expected_error(left),
            "unchanged": stopping.classification_change(self.predictions),
            "stabilising_labels": stopping.stabilising_predictions(self.predictions, over=OVER),
            "stabilising_pooled": stopping.stabilising_predictions(
                [each.reshape(-1, 1) for each in self.predictions], over=OVER
            ),
        }
        if len(self.predictions) > 1:
            found["f_change"] = stopping.predicted_f_change(*self.predictions[-2:])
        return {name: None if value != value else value for name, value in found.items()}  # NaN is no JSON


def campaign_rounds(pool, test, seed):
    """A campaign, round by round: items, hours, F1, what the rules see, and the learning curve where we look at it."""
    campaign, answerer = lw.Campaign(pool.hide(), random_state=seed), Answerer(pool, random_state=seed)
    history, truth, rounds = PoolHistory(pool), test.Y.toarray().astype(bool), []
    for n in range(ROUND, min(LAST, pool.n_items) + 1, ROUND):
        asked = campaign.ask(n - campaign.spent().items)
        seen = history.selected(asked)
        campaign.tell(answerer.answers(asked))
        spent = campaign.spent()
        row = {"items": spent.items, "hours": spent.seconds / 3600}
        row["f1"] = float(micro_f1(campaign.decide(campaign.believe(test.X)), truth))
        row |= seen | history.after(campaign)
        if n >= OUR_FIRST and (n - OUR_FIRST) % OUR_STEP == 0:
            found = campaign.status()
            row["curve"] = None if found.curve is None else found.curve.as_dict()
            row["random_items"], row["estimate"] = found.random_items, None if found.f1 is None else vars(found.f1)
        rounds.append(row)
    return rounds


def run(name, seed):
    """A campaign, from the disk where it was done before."""
    path = RUNS / f"{name}-{seed}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    began = time.process_time()
    standing._strategy_worth = lambda *_: (None, None)  # half of the time of `status`, and moves no curve
    with threadpool_limits(1):
        rounds = campaign_rounds(*split(load(DATA, name), seed, POOL), seed)
    found = {"cpu_seconds": round(time.process_time() - began, 1), "rounds": rounds}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(path)
    print(f"{name} {seed}: {found['cpu_seconds']} CPU s", file=sys.stderr, flush=True)
    return found


def below(name, threshold):
    """A rule that stops once a figure is so small."""
    return lambda rows: rows[-1].get(name) is not None and rows[-1][name] <= threshold


def from_on(name, threshold):
    """A rule that stops once a figure is so large."""
    return lambda rows: rows[-1].get(name) is not None and rows[-1][name] >= threshold


def small_three_times(rows):
    changes = [row.get("f_change") for row in rows[-OVER:]]
    return len(changes) == OVER and all(change is not None and change < 0.05 for change in changes)


PUBLISHED = {
    "stabilising predictions, worst label": lambda rows: rows[-1]["stabilising_labels"],
    "stabilising predictions, all labels as one": lambda rows: rows[-1]["stabilising_pooled"],
    "classification change": lambda rows: rows[-1]["unchanged"],
    "overall uncertainty 0.01": below("overall_uncertainty", 0.01),
    "overall uncertainty 0.05": below("overall_uncertainty", 0.05),
    "max confidence, all selected": below("max_confidence", 0.001),
    "max confidence, any selected": below("max_confidence_of_any", 0.001),
    "selected accuracy, labels": from_on("selected_accuracy", 0.9),
    "selected accuracy, items": from_on("selected_accuracy_items", 0.9),
    "expected error": below("expected_error", 0.01),
    "predicted F change": small_three_times,
}
FIXED = {f"budget of {BUDGET} items": from_on("items", BUDGET), "never": lambda rows: False}


def ours(risk, price):
    """Our rule: it knows that a point of F1 is worth `price` hours."""

    def rule(rows):
        values = rows[-1].get("curve")
        return values is not None and LearningCurve.from_dict(values).outlook(None, worth(price), risk).stop

    return rule


def worth(price):
    """F1 that makes an hour worth it, where a point is worth so many hours.

    >>> worth(0.5)
    0.02
    """
    return min(0.01 / price, 1.0)


def stops_after(rule, rounds):
    """The number of the round after which a rule stops: the first that it likes, or the last there is."""
    return next((k for k in range(len(rounds)) if rule(rounds[: k + 1])), len(rounds) - 1)


def judge(stop, rounds, price):
    """Hours of regret, wasted and missed, against the best stop in hindsight, and whether it was sooner than that."""
    value = np.array([100 * price * row["f1"] - row["hours"] for row in rounds])
    best = int(np.argmax(value))
    regret = float(value[best] - value[stop])
    too_soon = float(stop < best)
    return {"regret": regret, "wasted": regret * (stop > best), "missed": regret * too_soon, "too_soon": too_soon}


def figures_of(runs):
    """By rule and price, means over seeds, then sets: regret and its parts, how often too soon, hours and items."""
    table = {}
    for price in PRICES:
        rules = {f"ours, risk {risk:g}": ours(risk, price) for risk in RISKS} | PUBLISHED | FIXED
        for rule_name, rule in rules.items():
            by_set = {}
            for name, seeds in runs.items():
                found = []
                for rounds in seeds:
                    stop = stops_after(rule, rounds)
                    found.append(
                        {**judge(stop, rounds, price), **{key: rounds[stop][key] for key in ("hours", "items")}}
                    )
                by_set[name] = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
            means = {
                key: round(float(np.mean([row[key] for row in by_set.values()])), 3)
                for key in next(iter(by_set.values()))
            }
            means["by_set"] = {name: round(row["regret"], 3) for name, row in by_set.items()}
            table.setdefault(rule_name, {})[f"{price:g}"] = means
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="emotions and medical, one seed")
    parser.add_argument("--sets", default=",".join(FILES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--finished", action="store_true")
    options = parser.parse_args()
    sets = available(DATA, ("emotions", "medical") if options.quick else tuple(options.sets.split(",")))
    seeds = range(1 if options.quick else options.seeds)
    if not options.finished:
        for seed in seeds:
            for name in sets:
                run(name, seed)
    found = {name: [run(name, s) for s in seeds if (RUNS / f"{name}-{s}.json").exists()] for name in sets}
    found = {name: each for name, each in found.items() if each}
    table = figures_of({name: [one["rounds"] for one in each] for name, each in found.items()})
    mean = {rule: float(np.mean([row["regret"] for row in by_price.values()])) for rule, by_price in table.items()}
    least = min(PUBLISHED, key=mean.__getitem__)
    for rule, by_price in table.items():
        said = "  ".join(f"{p} h: {row['wasted']:.2f} + {row['missed']:.2f}" for p, row in by_price.items())
        print(f"{rule:45} {mean[rule]:6.3f}   {said}")
    last = {
        "mean_regret_hours": {rule: round(value, 3) for rule, value in mean.items()},
        "ours_over_best_published": round(mean[f"ours, risk {RISK:g}"] / mean[least], 3),
        "best_published": least,
        "risk": RISK,
        "sets": len(found),
        "runs": {name: len(each) for name, each in found.items()},
        "cpu_seconds": {
            name: round(float(np.mean([one["cpu_seconds"] for one in each])), 1) for name, each in found.items()
        },
        "rules": table,
    }
    print(json.dumps(last))


if __name__ == "__main__":
    main()
