"""Labels that nobody annotated, by their names, by counts, and by both: the unseen-label protocol of paper 4.

    python benchmarks/unseen_labels.py [--quick] [--seeds 3]

Half of the labels, drawn at random, are seen: they are known of every training item. The others are predicted for the
test items, without any answer: by the *names* alone (hints, no label used), by the *counts* of the training items that
have both labels (`CooccurrenceTransfer`), by counts that nobody gave, from the pool's own semantics (*own counts*: for
each seen label, the mean belief by names in the unseen one over its items), and by names and counts together, weighed
on the seen labels (`HintedModel`). Macro average precision and mean precision@1-3 over the unseen labels of the test
set. `chance` is a random order. Sets come from the folder LABELWISE_SHARED_DATA, or ../shared/data beside the
repository.
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from threadpoolctl import threadpool_limits

import labelwise as lw
from labelwise.hints import learn_hints
from labelwise.numerics.metrics import evaluate

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
SETS = ("bibtex", "delicious")
MOST_ITEMS, LEAST_IN_TEST = 5000, 3
METRICS = ("macro_average_precision", "precision_at_1_3")
ARMS = ("chance", "names", "own counts", "counts", "names and own counts", "names and counts")


def load(name, seed):
    """Training and test items as tf-idf, with the labels that both have."""
    parts = [lw.read(DATA / name / f"{name}-{part}.arff.gz") for part in ("train", "test")]
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.permutation(part.n_items)[:MOST_ITEMS]) for part in parts]
    train, test = (part.take(some) for part, some in zip(parts, rows, strict=True))
    kept = np.flatnonzero((test.Y.toarray().sum(axis=0) >= LEAST_IN_TEST) & (train.Y.toarray().sum(axis=0) > 0))
    scale = TfidfTransformer(sublinear_tf=True).fit(sp.csr_array(train.X))
    names = [train.label_names[label] for label in kept]
    return [
        lw.LabelData.from_arrays(
            sp.csr_array(scale.transform(sp.csr_array(part.X))),
            part.Y.toarray()[:, kept],
            label_names=names,
            feature_names=part.feature_names,
        )
        for part in (train, test)
    ]


def counts_of(Y, unseen, believed=None):
    """(q, q) how often labels occur together; of two unseen ones it is unknown. `believed`: in place of the truth."""
    known = Y.astype(float)
    if believed is not None:
        known[:, unseen] = believed[:, unseen]
    together = known.T @ known
    together[np.ix_(unseen, unseen)] = np.nan
    return together


def run(name, seed):
    began = time.process_time()
    train, test = load(name, seed)
    Y, truth, q = train.Y.toarray(), test.Y.toarray(), train.n_labels
    unseen = np.sort(np.random.default_rng(seed + 1).permutation(q)[-(-q // 2) :])
    observed = np.ones(Y.shape, dtype=bool)
    observed[:, unseen] = False
    hints = learn_hints(train)
    by_name = lw.HintedModel(lw.BinaryRelevance(), hints)
    own = counts_of(Y, unseen, by_name.before_answers(train.X).probabilities())
    given = counts_of(Y, unseen)

    def transferred(counts, with_names):
        model = lw.CooccurrenceTransfer(cooccurrence=counts, random_state=0)
        model = lw.HintedModel(model, hints) if with_names else model
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # counts by names do not fit the training labels, and are told to
            return model.fit(train.X, np.where(observed, Y, 0), observed).posterior(test.X).probabilities()

    beliefs = {
        "chance": np.random.default_rng(seed).random(truth.shape),
        "names": by_name.before_answers(test.X).probabilities(),
        "own counts": transferred(own, False),
        "counts": transferred(given, False),
        "names and own counts": transferred(own, True),
        "names and counts": transferred(given, True),
    }
    found = {}
    for arm, p in beliefs.items():
        figures = evaluate(p[:, unseen], truth[:, unseen])
        found[arm] = [figures[metric] for metric in METRICS]
    print(f"{name} {seed}: {q} labels, {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
    return found, q, unseen.size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="bibtex, one seed")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    sets = [name for name in (SETS[:1] if options.quick else SETS) if (DATA / name).exists()]
    table = {}
    with threadpool_limits(1):
        for name in sets:
            runs = [run(name, seed) for seed in range(1 if options.quick else options.seeds)]
            means = {arm: np.mean([found[arm] for found, *_ in runs], axis=0).round(3).tolist() for arm in ARMS}
            table[name] = {"labels": runs[0][1], "unseen": runs[0][2], "seeds": len(runs), **means}
    for name, figures in table.items():
        print(f"{name:10}", json.dumps(figures))
    print(json.dumps({"metrics": METRICS, "tables": table}))


if __name__ == "__main__":
    main()
