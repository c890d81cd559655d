"""Does a hierarchy of labels help `OnlineBayes`, and do windows of rows that are gone through forth and back?

    python benchmarks/online_hierarchy.py [--quick] [--seeds 6]

Sets whose labels stand in a tree: enron (four groups of categories), Reuters-21578 (economic indicators, currencies,
corporate, commodities, energy) and cei_exposure (a taxonomy of up to five levels). Every label above another is a label
itself, and a child implies it. All arms learn from the same rows, with the answers that follow from the tree filled in:

- `flat` knows nothing of the tree, `tree` has it as `hierarchy`;
- `window` is `flat` with all rows in one window: learnt against each other instead of one after the other.

They learn from 100, 300 or 1000 random items, whose labels are all known, or 30 % of them, drawn at random. Each is
scored on 1000 other items (a third of a small set) over the labels that have no label below them: macro average
precision, and macro-F1 of label sets chosen by `ClassMass`. `by_set` has the mean over seeds of each arm, and the
difference to `flat` with its standard error, paired by seed. `tree_gain` and `window_gain` are means over all cases,
and how many of them are better or worse by more than two standard errors.

Sets come from the folder LABELWISE_SHARED_DATA, or ../shared/data beside the repository.
"""

import argparse
import gzip
import itertools
import json
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import labelwise as lw
from _label_saving_sets import available, load, split
from labelwise.decisions import ClassMass
from labelwise.numerics.metrics import macro_average_precision
from labelwise.records.label_tree import LabelTree

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
SETS = ("enron", "reuters21578", "cei_exposure")
SIZES, KNOWN = (100, 300, 1000), (1.0, 0.3)
ARMS = ("flat", "tree", "window")
MEASURES = ("macro_ap", "macro_f1")


def paths_of(name):
    """The path of every label from the top, in the order of the columns of `load`."""
    if name == "enron":
        names = lw.read(DATA / "enron/enron.arff.gz").label_names
        return [(label.split(".")[0], label) for label in names]
    if name == "cei_exposure":
        names = json.loads((DATA / name / "labels.json").read_text(encoding="utf-8"))
        parts = [label.split(" / ") for label in names]
        return [tuple(" / ".join(each[: depth + 1]) for depth in range(len(each))) for each in parts]
    groups = reuters_groups((DATA / name / "cat-descriptions_120396.txt").read_text(encoding="latin-1"))
    return [(groups[topic], topic) if topic in groups else (topic,) for topic in reuters_topics(DATA / name)]


def reuters_groups(text):
    """Topic to the group of codes that it is listed under; the first three subject codes have none."""
    groups, group = {}, None
    for line in map(str.strip, text.partition("****Subject Codes")[2].splitlines()):
        if line.startswith("****"):
            break
        if line.startswith("**"):
            group = line.strip("* ").split(" (")[0]
        elif line and group:
            code = re.search(r"\(([^()]+)\)\W*$", line)
            groups[(code.group(1) if code else line).strip("@* ").lower()] = group
    return groups


def reuters_topics(folder):
    """Topics of the documents that `read_reuters` reads, sorted as its columns are."""
    topics = set()
    for file in sorted(folder.glob("*.sgm.gz")):
        text = gzip.decompress(file.read_bytes()).decode("latin-1")
        for attributes, body in re.findall(r"<REUTERS(.*?)>(.*?)</REUTERS>", text, re.DOTALL):
            if 'TOPICS="YES"' in attributes and re.search(r'LEWISSPLIT="(TRAIN|TEST)"', attributes):
                found = re.search(r"<TOPICS>(.*?)</TOPICS>", body, re.DOTALL)
                topics.update(re.findall(r"<D>(.*?)</D>", found.group(1)) if found else ())
    return sorted(topics)


def with_tree(name):
    """Items with all labels of the tree, which they have if they have one below; the tree; which labels are leaves."""
    data, paths = load(DATA, name), paths_of(name)
    assert len(paths) == data.n_labels
    names = [path[-1] for path in paths]
    names += sorted({above for path in paths for above in path[:-1]} - set(names))
    place, parents = {label: column for column, label in enumerate(names)}, np.full(len(names), -1)
    for path in paths:
        for above, below in itertools.pairwise(path):
            parents[place[below]] = place[above]
    tree = LabelTree(parents)
    Y = np.zeros((data.n_items, len(names)), dtype=bool)
    Y[:, : data.n_labels] = data.Y.toarray()
    leaves = np.setdiff1d(np.arange(len(names)), parents)
    return lw.LabelData.from_arrays(data.X, tree.upwards(Y), label_names=names), tree, leaves


def model_of(arm, tree, n):
    settings = {"tree": {"hierarchy": tree}, "window": {"window": n}, "flat": {}}[arm]
    return lw.OnlineBayes(random_state=0, **settings)


def macro_f1(chosen, truth):
    there = truth.any(axis=0)
    hits = (chosen & truth).sum(axis=0)[there]
    return float(np.mean(2 * hits / np.maximum(chosen.sum(axis=0)[there] + truth.sum(axis=0)[there], 1)))


def run(data, tree, leaves, seed, n, known):
    """Measures of each arm for one draw of the items, and the seconds of training."""
    pool, test = split(data, seed, pool=n)
    Y, truth = pool.Y.toarray().astype(bool), test.Y.toarray().astype(bool)[:, leaves]
    observed = np.random.default_rng([seed, 1]).random(Y.shape) < known
    yes, no = tree.close(Y & observed, ~Y & observed)
    found = {}
    for arm in ARMS:
        began = time.process_time()
        model = model_of(arm, tree, n).fit(pool.X, yes, yes | no)
        seconds = time.process_time() - began
        posterior = model.posterior(test.X)
        chosen = ClassMass(model.label_shares_).decide(posterior)[:, leaves]
        ap = macro_average_precision(posterior.probabilities()[:, leaves], truth).value
        found[arm] = {"macro_ap": ap, "macro_f1": macro_f1(chosen, truth), "seconds": seconds}
    return found


def summary(runs):
    """Means of the arms, and differences to `flat` with their standard errors."""
    figures = {}
    for measure in MEASURES:
        values = {arm: np.array([each[arm][measure] for each in runs]) for arm in ARMS}
        figures[measure] = {arm: round(float(value.mean()), 4) for arm, value in values.items()}
        for arm in ARMS[1:]:
            gain = values[arm] - values["flat"]
            error = gain.std(ddof=1) / np.sqrt(gain.size) if gain.size > 1 else np.nan
            figures[measure][f"{arm}_gain"] = [round(float(gain.mean()), 4), round(float(error), 4)]
    figures["seconds"] = {arm: round(float(np.mean([each[arm]["seconds"] for each in runs])), 3) for arm in ARMS}
    return figures


def overall(by_set, arm, measure):
    gains = [case[measure][f"{arm}_gain"] for cases in by_set.values() for case in cases.values()]
    return {
        "mean": round(float(np.mean([gain for gain, _ in gains])), 4),
        "cases": len(gains),
        "better": sum(gain > 2 * error for gain, error in gains),
        "worse": sum(gain < -2 * error for gain, error in gains),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="enron, two seeds, 100 items")
    parser.add_argument("--seeds", type=int, default=6)
    chosen = parser.parse_args()
    sets = available(DATA, SETS[:1] if chosen.quick else SETS)
    if not sets:
        sys.exit(f"no set found in {DATA}; set LABELWISE_SHARED_DATA")
    seeds, sizes = (range(2), SIZES[:1]) if chosen.quick else (range(chosen.seeds), SIZES)
    by_set, trees = {}, {}
    with threadpool_limits(1):
        for arm in ARMS:  # compiled before it is timed
            model_of(arm, LabelTree(np.array([-1, 0])), 2).fit(np.eye(2), np.eye(2, dtype=bool))
        for name in sets:
            data, tree, leaves = with_tree(name)
            trees[name] = {"labels": data.n_labels, "leaves": leaves.size, "levels": int(tree.depth.max()) + 1}
            by_set[name] = {}
            for known in KNOWN:
                for n in sizes:
                    runs = [run(data, tree, leaves, seed, n, known) for seed in seeds]
                    by_set[name][f"{n} items, {known:.0%} known"] = summary(runs)
                    print(name, n, known, by_set[name][f"{n} items, {known:.0%} known"], file=sys.stderr, flush=True)
    figures = {f"{arm}_gain": {measure: overall(by_set, arm, measure) for measure in MEASURES} for arm in ARMS[1:]} | {
        "trees": trees,
        "by_set": by_set,
        "seeds": len(seeds),
        "version": lw.__version__,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
