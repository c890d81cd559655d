"""Which rule turns beliefs into label sets if nobody chooses one?

    python benchmarks/default_decision.py [--quick]

Models learn from a few random items, answered in full, and every rule decides about the same 300 other items by the
same beliefs. Each time it decides twice: about all labels, where nearly every item has one, and about the rarer half of
the labels alone, where most items have none. A label without a yes among the answers is never predicted by any rule.

The score of a rule is the mean of sample-F1 and macro-F1, over sets, versions, sizes, models and seeds. `gain` is
that over p > ½, paired, with its standard error over the sets. Rules that look at the whole batch are `by_item: false`:
one item alone, or a handful, gets another set than in the batch. `in_fives` has what is left of each rule if the items
come five at a time. `chosen` has the scores of the rules in the default pair campaign, whose answers are no random
sample, `young` how many labels they predict after ten answered items.

Sets come from the folder LABELWISE_SHARED_DATA, or ../shared/data beside the repository; without them a made-up set is
used. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import labelwise as lw
from _label_saving_sets import available, load
from labelwise.data import make_gaussian_labels
from labelwise.numerics.metrics import macro_f1, sample_f1
from labelwise.posterior import MarginalPosterior
from labelwise.studies import Answerer

DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETS = (
    "emotions",
    "scene",
    "yeast",
    "medical",
    "enron",
    "bibtex",
    "corel5k",
    "tmc2007-500",
    "rcv1sub1",
    "goemotions",
    "reuters21578",
    "imdb",
    "delicious",
)
CHOSEN_SETS = ("medical", "tmc2007-500")  # the pair campaign
VERSIONS = ("all labels", "rarer half")
MODELS: dict[str, Callable[[int], Any]] = {
    "label_gp": lambda seed: lw.LabelGP("rbf+linear", random_state=seed),
    "auto": lambda seed: lw.AutoModel(random_state=seed),
    "binary_relevance": lambda seed: lw.BinaryRelevance(),
}
SIZES, YOUNG = (30, 100, 300), 10  # items answered; of the youngest only the number of labels predicted is told
SEEDS, QUICK_SEEDS = 3, 1
TEST = 300  # items, or a quarter of a small set, and as many others to take thresholds from
FEW = 5  # items that come at a time
FIVES = ("auto", 100, 0)  # model, size and seed for which that is tried
CAMPAIGNS = 2  # of each set
SHARES = (20 / 300, 0.15, 0.3)  # of 300 items' answers: the start of a campaign, then two rounds
PER_ITEM = (0.0, 0.25, 0.5, 0.75, 1.0)  # what a right empty set counts


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What a rule may look at: beliefs about the items to decide on and about others, and the answers."""

    p: np.ndarray  # (n, q), labels without a yes have 0
    thresholds: np.ndarray  # (q,) lowest probability that macro expected F1 keeps of each label, of other items
    Y: np.ndarray  # (answered items, q)
    shares: np.ndarray  # (q,) of random answers

    @classmethod
    def of(cls, p: np.ndarray, p_others: np.ndarray, Y: np.ndarray, shares: np.ndarray) -> Beliefs:
        kept = lw.ExpectedF1(cautious=False).decide(MarginalPosterior(p_others))
        return cls(p, np.where(kept, p_others, 1.0).min(axis=0), Y, shares)

    def rows(self, rows: np.ndarray) -> Beliefs:
        return Beliefs(self.p[rows], self.thresholds, self.Y, self.shares)

    def labels(self, labels: np.ndarray) -> Beliefs:
        return Beliefs(self.p[:, labels], self.thresholds[labels], self.Y[:, labels], self.shares[labels])


Rule = Callable[[Beliefs], np.ndarray]


def by(make: Callable[[Beliefs], Any]) -> Rule:
    return lambda beliefs: make(beliefs).decide(MarginalPosterior(beliefs.p))


def per_item(empty_score: float) -> Rule:
    return by(lambda _: lw.ExpectedF1("samples", empty_score=empty_score))


def per_item_as_seen(beliefs: Beliefs) -> np.ndarray:
    """An item may be left without labels if an answered item has none."""
    return per_item(0.0 if beliefs.Y.any(axis=1).all() else 1.0)(beliefs)


def half_or_best(beliefs: Beliefs) -> np.ndarray:
    sets = beliefs.p > 0.5
    none = np.flatnonzero(~sets.any(axis=1))
    sets[none, beliefs.p[none].argmax(axis=1)] = True
    return sets


def in_the_middle(beliefs: Beliefs) -> np.ndarray:
    """Above the geometric mean of the label's threshold and the item's."""
    kept = per_item(0.0)(beliefs)
    of_item = np.where(kept, beliefs.p, 1.0).min(axis=1, keepdims=True)
    return beliefs.p >= np.sqrt(of_item * beliefs.thresholds)


RULES: dict[str, tuple[Rule, bool]] = {  # the rule, and whether it decides about each item by itself
    "p > 1/2": (by(lambda _: lw.Threshold(0.5)), True),
    "p > 0.3": (by(lambda _: lw.Threshold(0.3)), True),
    "p > 0.2": (by(lambda _: lw.Threshold(0.2)), True),
    "p > 1/2, or the best label": (half_or_best, True),
    "as many as expected": (by(lambda _: lw.TopLabels("expected")), True),
    **{f"expected F1 per item, empty {value:g}": (per_item(value), True) for value in PER_ITEM},
    "expected F1 per item, empty as seen": (per_item_as_seen, True),
    "expected F1 per label, pool": (lambda b: b.p >= b.thresholds, True),
    "per item or per label": (lambda b: per_item(0.5)(b) | (b.p >= b.thresholds), True),
    "per item and per label": (lambda b: per_item(0.0)(b) & (b.p >= b.thresholds), True),
    "between item and label": (in_the_middle, True),
    "expected F1 per label, batch": (by(lambda _: lw.ExpectedF1(cautious=False)), False),
    "expected F1 per label, cautious": (by(lambda _: lw.ExpectedF1()), False),
    "class mass": (by(lambda b: lw.ClassMass(b.shares)), False),
}
BASELINE = "p > 1/2"
Row = dict[str, Any]


def load_set(name: str) -> lw.LabelData:
    return make_gaussian_labels(1500, 20, 3.0, random_state=0) if name == "made_up" else load(DATA, name)


def rarer_half(data: lw.LabelData) -> np.ndarray:
    frequency = np.asarray(data.Y.sum(axis=0)).ravel()
    return np.sort(np.argsort(frequency, kind="stable")[: data.n_labels // 2])


def parts(data: lw.LabelData, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items to decide about, others that nobody answered, and items to answer, by the seed alone."""
    order = np.random.default_rng([seed, 5]).permutation(data.n_items)
    n = min(TEST, data.n_items // 4)
    return order[:n], order[n : 2 * n], order[2 * n :]


def measured(beliefs: Beliefs, truth: np.ndarray, where: Row, *, fives: bool = False) -> list[Row]:
    """What every rule scores; `fives`: if the items come five at a time. Nothing where no item has a label."""
    if not truth.any():
        return []
    batches = np.array_split(np.arange(len(truth)), len(truth) // FEW) if fives else [np.arange(len(truth))]
    rows = []
    for name, (rule, _) in RULES.items():
        sets = np.vstack([rule(beliefs.rows(batch)) for batch in batches]) & (beliefs.p > 0)
        scores = {"sample_f1": sample_f1(sets, truth), "macro_f1": macro_f1(sets, truth).value}
        sizes = {"labels": float(sets.sum(axis=1).mean()), "most": int(sets.sum(axis=1).max())}
        rows.append(where | {"rule": name, **scores, **sizes, "true_labels": float(truth.sum(axis=1).mean())})
    return rows


def from_random_items(name: str, seeds: int) -> tuple[list[Row], list[Row]]:
    data = load_set(name)
    rarer, rows, in_fives = rarer_half(data), [], []
    for seed in range(seeds):
        test, others, rest = parts(data, seed)
        truth = data.Y[test].toarray()
        for size in (YOUNG, *SIZES) if seed == 0 else SIZES:
            Y = data.Y[rest[:size]].toarray()
            learnt = Y.any(axis=0)
            for model, make in MODELS.items():
                fitted = make(seed).fit(data.X[rest[:size]], Y)
                p, p_others = (fitted.predict_proba(data.X[part]) * learnt for part in (test, others))
                beliefs = Beliefs.of(p, p_others, Y, Y.mean(axis=0))
                where = {"set": name, "version": VERSIONS[0], "seed": seed, "size": size, "model": model}
                rows += measured(beliefs, truth, where)
                rows += measured(beliefs.labels(rarer), truth[:, rarer], where | {"version": VERSIONS[1]})
                if (model, size, seed) == FIVES:
                    in_fives += measured(beliefs, truth, where, fives=True)
    return rows, in_fives


def from_a_campaign(name: str, seed: int) -> list[Row]:
    """After each round of the default pair campaign."""
    data = load_set(name)
    test, others, rest = parts(data, seed)
    asked_about = data.take(np.sort(rest)[:1500])
    campaign, answerer = lw.Campaign(asked_about.hide(), strategy="pairs", random_state=seed), Answerer(asked_about)
    rows = []
    for share in SHARES:
        campaign.tell(answerer.answers(campaign.ask(round(share * 300 * data.n_labels) - campaign.spent().answers)))
        learnt = campaign.learnt_labels()
        p, p_others = (campaign.believe(data.X[part]).probabilities() * learnt for part in (test, others))
        known = campaign.labelled()
        full = np.diff(known.observed_mask().indptr) == data.n_labels
        shares = np.nan_to_num(campaign.base_rates())
        where = {"set": name, "version": VERSIONS[0], "seed": seed, "size": round(share, 3), "model": "campaign"}
        beliefs = Beliefs.of(p, p_others, known.Y[full].toarray(), shares)
        rows += measured(beliefs, data.Y[test].toarray(), where)
    return rows


def mean_of(rows: list[Row], *names: str) -> float:
    return float(np.mean([np.mean([row[name] for name in names]) for row in rows])) if rows else float("nan")


def by_set(rows: list[Row]) -> np.ndarray:
    """(sets,) mean of sample-F1 and macro-F1 over everything else."""
    names = sorted({row["set"] for row in rows})
    return np.array([mean_of([row for row in rows if row["set"] == name], "sample_f1", "macro_f1") for name in names])


def standings(rows: list[Row]) -> dict[str, Row]:
    """Of every rule: its score, the gain over p > ½ and both measures, by version of the sets."""
    of_rule = {rule: [row for row in rows if row["rule"] == rule] for rule in RULES}
    found = {}
    for rule, own in of_rule.items():
        gain = by_set(own) - by_set(of_rule[BASELINE])
        error = float(np.std(gain, ddof=1) / np.sqrt(gain.size)) if gain.size > 1 else None
        found[rule] = {
            "by_item": RULES[rule][1],
            "score": rounded(mean_of(own, "sample_f1", "macro_f1")),
            "gain": rounded(float(gain.mean())),
            "standard_error": rounded(error),
            "sets_better": int((gain > 0).sum()),
            **{
                version: {
                    name: rounded(mean_of([row for row in own if row["version"] == version], name))
                    for name in ("sample_f1", "macro_f1", "labels", "true_labels")
                }
                for version in VERSIONS
            },
        }
    return dict(sorted(found.items(), key=lambda each: -each[1]["score"]))


def scores_by(rows: list[Row], key: str) -> dict[str, dict[str, Any]]:
    """Value of the key to rule to score."""
    values = list(dict.fromkeys(row[key] for row in rows))
    return {
        str(value): {
            rule: rounded(
                mean_of([row for row in rows if row[key] == value and row["rule"] == rule], "sample_f1", "macro_f1")
            )
            for rule in RULES
        }
        for value in values
    }


def rounded(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else round(value, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three small sets, one seed, one campaign")
    quick = parser.parse_args().quick
    names, chosen_sets, seeds = SETS, CHOSEN_SETS, SEEDS
    if quick:
        names, chosen_sets, seeds = ("emotions", "medical", "enron"), ("medical",), QUICK_SEEDS
    if not DATA.is_dir():
        print(f"the published sets are not in {DATA.name}; set LABELWISE_SHARED_DATA. A made-up one instead.")
        names, chosen_sets = ("made_up",), ("made_up",)
    else:
        names = tuple(available(DATA, names))
    rows, in_fives = [], []
    for name in names:
        found, few = from_random_items(name, seeds)
        rows, in_fives = rows + found, in_fives + few
        print(name, len(rows), "rows", file=sys.stderr, flush=True)
    chosen = [
        row for name in chosen_sets for seed in range(min(seeds, CAMPAIGNS)) for row in from_a_campaign(name, seed)
    ]
    judged = [row for row in rows if row["size"] != YOUNG]
    young = [row for row in rows if row["size"] == YOUNG and row["version"] == VERSIONS[0]]
    result = {
        "sets": list(names),
        "seeds": seeds,
        "rules": standings(judged),
        "by_size": scores_by(judged, "size"),
        "by_model": scores_by(judged, "model"),
        "by_set": scores_by(judged, "set"),
        "in_fives": {rule: row["score"] for rule, row in standings(in_fives).items()},
        "chosen": standings(chosen),
        "young": {
            rule: {
                "labels": rounded(mean_of([row for row in young if row["rule"] == rule], "labels")),
                "true_labels": rounded(mean_of([row for row in young if row["rule"] == rule], "true_labels")),
                "most": max(row["most"] for row in young if row["rule"] == rule),
            }
            for rule in RULES
        },
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
