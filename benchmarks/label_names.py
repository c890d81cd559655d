"""How many tagged items the names of labels save: items needed to be as good as 300 that were tagged at random.

    python benchmarks/label_names.py [--quick] [--sets a,b] [--seeds 5] [--jobs 1]

The usual way: 300 random items tagged in full, tf-idf, one logistic regression per label (`BinaryRelevance`). Against
it: random items, too, and the default model with hints, fitted on the first 0, 6, 12, 20, ... of the same 300. `share`
is the part of the 300 items from which on it stays at least as good in macro average precision and in mean
precision@1-3 on a test set, by straight lines between. `without` is the same for the model without hints; both are at
most 1. Zero answers: the figures by hints alone; `worth_items`: how many random items the model without hints needs to
reach each of them. `misled`: what hints cost that are shuffled, inverted or constant: differences to no hints in macro
average precision and in precision@1-3 at 20, 100 and 300 items.

The sets goemotions_embedded, movies_omdb_embedded, valueeval_embedded and cei_exposure_embedded have vectors of MiniLM
beside the words; they need the extra `embed`. The usual way has words alone there, too.

Sets come from the folder LABELWISE_SHARED_DATA, or ../shared/data beside the repository. A finished run is kept in
runs/label_names and not done again.
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
from _label_names_sets import available, split
from labelwise.hints import learn_hints
from labelwise.models.semi_supervised import for_blocks
from labelwise.numerics.metrics import evaluate

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
RUNS = ROOT / "runs" / "label_names"
BARS = {
    "bibtex": 0.15,
    "imdb": 0.25,
    "eurlex57k": 0.04,
    "cei_exposure": 0.55,
    "movies_omdb": 0.60,
    "valueeval": 0.70,
    "delicious": 0.60,
    "enron": 0.60,
    "reuters21578": 0.40,
    "goemotions": 0.60,
    "movies_omdb_embedded": 0.15,
    "valueeval_embedded": 0.35,
    "cei_exposure_embedded": 0.45,
    "goemotions_embedded": 0.30,
}
CODES = ("medical", "rcv1sub1")  # names that say nothing
MISLED, MISLED_AT = ("bibtex", "movies_omdb", "goemotions"), (20, 100, 300)
FULL, SIZES = 300, (0, 6, 12, 20, 30, 45, 60, 90, 120, 180, 240, 300)
METRICS = ("macro_average_precision", "precision_at_1_3")


def score(beliefs, truth):
    figures = evaluate(beliefs.probabilities(), truth)
    return [round(figures[name], 5) for name in METRICS]


def curve(model, pool, test, rows, sizes=SIZES):
    """[items, macro-AP, precision@1-3] at each size."""
    found, truth = [], test.Y.toarray()
    for n in sizes:
        if n == 0 and not hasattr(model, "before_answers"):
            continue
        tagged = rows[:n]
        beliefs = model.before_answers(test.X) if n == 0 else None
        if n:
            beliefs = model.fit(pool.X[tagged], pool.Y[tagged].toarray()).posterior(test.X)
        found.append([n, *score(beliefs, truth)])
    return found


def run(name, seed, misled=False):
    """The figures of one set and seed, from the disk where they were found before."""
    path = RUNS / f"{name}-{'misled-' if misled else ''}{seed}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    began = time.process_time()
    with threadpool_limits(1):
        pool, test = split(DATA, name, seed)
        rows = np.random.default_rng(seed + 100).permutation(pool.n_items)[:FULL]
        began_hints = time.process_time()
        hints = learn_hints(pool)
        seconds = time.process_time() - began_hints
        plain = for_blocks(lw.SemiSupervised(random_state=0), pool.blocks).learn_pool(pool.X)
        hinted = plain if hints is None else lw.HintedModel(plain, hints)
        if misled:
            arms = {"none": plain, "real": hinted} | {
                kind: lw.HintedModel(plain, mislead(hints, kind, seed)) for kind in ("shuffled", "inverted", "constant")
            }
            found = {arm: curve(model, pool, test, rows, MISLED_AT) for arm, model in arms.items()}
        else:
            words, of_test = (data.blocks[0].of(data.X) if data.blocks else data.X for data in (pool, test))
            usual_model = lw.BinaryRelevance().fit(words[rows], pool.Y[rows].toarray())
            usual = score(usual_model.posterior(of_test), test.Y.toarray())
            found = {"usual": usual, "labels": pool.n_labels, "hint_seconds": round(seconds, 2)}
            found["with"] = curve(hinted, pool, test, rows)
            found["without"] = found["with"] if hints is None else curve(plain, pool, test, rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(path)
    print(f"{name} {seed}: {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def mislead(hints, kind, seed):
    """Hints of other labels, hints that say the contrary, or hints that say the same of every item."""
    if kind == "inverted":
        return lambda X: -hints(X)
    if kind == "constant":
        return lambda X: np.zeros_like(hints(X))
    order = np.random.default_rng(seed).permutation(hints.means.shape[1])
    return lambda X: hints(X)[:, :, order]


def reached(points, which, goal):
    """Items after which a curve of straight lines stays at the goal or above; infinity where it does not."""
    x, y = np.array(points)[:, 0], np.array(points)[:, which]
    below = np.flatnonzero(y < goal)
    if below.size == 0:
        return float(x[0])
    last = below[-1]
    return float(np.interp(goal, y[last : last + 2], x[last : last + 2])) if last + 1 < len(y) else float("inf")


def share(found, arm):
    needed = [reached(found[arm], which, goal) for which, goal in enumerate(found["usual"], start=1)]
    return min(max(needed) / FULL, 1.0)


def summary(name, seeds):
    runs = [run(name, seed) for seed in seeds]
    figures = {
        "share": [share(each, "with") for each in runs],
        "without": [share(each, "without") for each in runs],
    }
    has_zero = all(each["with"][0][0] == 0 for each in runs)
    return {
        "labels": runs[0]["labels"],
        "share": round(float(np.mean(figures["share"])), 3),
        "by_seed": [round(value, 3) for value in figures["share"]],
        "without": round(float(np.mean(figures["without"])), 3),
        "bar": BARS.get(name),
        "usual": np.mean([each["usual"] for each in runs], axis=0).round(3).tolist(),
        "zero_answers": np.mean([each["with"][0][1:] for each in runs], axis=0).round(3).tolist() if has_zero else None,
        "worth_items": [worth_items(runs, which) for which in (1, 2)] if has_zero else None,
        "hint_seconds": round(float(np.mean([each["hint_seconds"] for each in runs])), 2),
    }


def worth_items(runs, which):
    """Random items that the model without hints needs to be as good as hints without an answer; None: more than all."""
    mean = {arm: np.mean([each[arm] for each in runs], axis=0) for arm in ("with", "without")}
    needed = reached(mean["without"], which, mean["with"][0, which])
    return round(needed) if np.isfinite(needed) else None


def misled_summary(name, seeds):
    """Mean difference to no hints, and its standard error, at each size: [macro-AP, ±, precision, ±]."""
    runs = [run(name, seed, misled=True) for seed in seeds]
    table = {}
    for arm in ("real", "shuffled", "inverted", "constant"):
        gains = np.array([np.array(each[arm])[:, 1:] - np.array(each["none"])[:, 1:] for each in runs])  # seeds, n, 2
        error = gains.std(axis=0, ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else np.full(gains.shape[1:], np.nan)
        both = np.stack([gains.mean(axis=0), error], axis=2).reshape(len(MISLED_AT), 4).round(4)
        table[arm] = {str(n): row.tolist() for n, row in zip(MISLED_AT, both, strict=True)}
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="bibtex and imdb, one seed")
    parser.add_argument("--sets", default=",".join((*BARS, *CODES)))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    sets = available(DATA, ("bibtex", "imdb") if options.quick else tuple(options.sets.split(",")))
    seeds = range(1 if options.quick else options.seeds)
    misled = [] if options.quick else [name for name in sets if name in MISLED]
    todo = [(name, seed, False) for name in sets for seed in seeds] + [
        (n, seed, True) for n in misled for seed in seeds
    ]
    Parallel(n_jobs=options.jobs)(delayed(run)(*each) for each in todo)
    table = {name: summary(name, seeds) for name in sets}
    for name, figures in table.items():
        print(f"{name:22}", json.dumps(figures))
    costs = {name: misled_summary(name, seeds) for name in misled}
    for name, figures in costs.items():
        for arm, rows in figures.items():
            print(f"{name:22} {arm:9}", json.dumps(rows))
    found = {name: figures["share"] for name, figures in table.items()}
    named = [found[name] for name in found if name not in CODES and not name.endswith("_embedded")]
    last = found | {"median_share": round(float(np.median(named)), 3) if named else None}
    last |= {"missed": [name for name, bar in BARS.items() if name in found and found[name] > bar]}
    print(json.dumps(last | {"tables": table, "misled": costs}))


if __name__ == "__main__":
    main()
