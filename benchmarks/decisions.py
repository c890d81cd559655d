"""What each decision rule scores on real data, what it believed it would score, and what it costs on a large batch.

    python benchmarks/decisions.py [--quick]

One logistic regression per label, official training and test rows, three strengths of regularisation: a small C makes
timid probabilities, a large one makes probabilities that are too sure. Thresholds are tuned, and class shares taken, on
the training rows alone. The published sets are read from the folder LABELWISE_SHARED_DATA, or ../shared/data beside the
repository; without them a made-up set is used. The last line printed is one JSON object.
"""

import argparse
import json
import os
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize

import labelwise as lw
from labelwise.data import make_gaussian_labels
from labelwise.decisions import score_sets
from labelwise.numerics.metrics import macro_f1, sample_f1
from labelwise.posterior import MarginalPosterior

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
STRENGTHS = (1.0, 10.0, 100.0)
RESAMPLES = 200


def say(text):
    print(text, file=sys.stderr, flush=True)


def load(name):
    """Features and labels of the training and the test rows; rows of text have unit length."""
    train, test = (lw.read(DATA / name / f"{name}-{part}.arff.gz") for part in ("train", "test"))
    scale = normalize if train.n_features > 500 else np.asarray
    return scale(train.X), train.Y.toarray(), scale(test.X), test.Y.toarray()


def made_up():
    data = make_gaussian_labels(1500, 20, 3.0, random_state=0)
    X, Y = np.hstack([data.X, data.X**2, data.X[:, :1] * data.X[:, 1:]]), data.Y.toarray()
    return X[:1000], Y[:1000], X[1000:], Y[1000:]


def held_out_probabilities(model, X, Y):
    p = np.empty(Y.shape)
    for fit, held_out in KFold(3, shuffle=True, random_state=0).split(X):
        p[held_out] = clone(model).fit(X[fit], Y[fit]).predict_proba(X[held_out])
    return p


def rules(Y, p_held_out):
    seen = Y.any(0)
    return {
        "threshold_0.5": lw.Threshold(),
        "top_labels_average": lw.TopLabels("average"),
        "top_labels_expected": lw.TopLabels("expected"),
        "class_mass": lw.ClassMass.from_labels(Y),
        "tuned_macro": lw.TunedThreshold.fit(p_held_out, Y),
        "tuned_samples": lw.TunedThreshold.fit(p_held_out, Y, average="samples"),
        "expected_f1_macro": lw.ExpectedF1(known_labels=seen),
        "expected_f1_macro_sampled": lw.ExpectedF1(known_labels=seen, method="samples"),
        "expected_f1_samples": lw.ExpectedF1("samples", cautious=False),
        "expected_f1_samples_never_empty": lw.ExpectedF1("samples", empty_score=0.0, cautious=False),
    }


def macro_f1_error(sets, truth, rng):
    """Standard error of macro-F1 over draws of the test rows."""
    weights = rng.multinomial(len(truth), np.full(len(truth), 1 / len(truth)), RESAMPLES).astype(float)
    hits, present = weights @ (sets & truth), weights @ truth  # (resamples, q)
    f1 = 2 * hits / np.maximum(present + weights @ sets, 1)
    return float(np.nanmean(np.where(present > 0, f1, np.nan), axis=1).std())


def scores(name, C, quality):
    X, Y, X_test, truth = made_up() if name == "made_up" else load(name)
    model = lw.BinaryRelevance(LogisticRegression(C=C, solver="liblinear"))
    posterior = model.fit(X, Y).posterior(X_test)
    found = {}
    for rule_name, rule in rules(Y, held_out_probabilities(model, X, Y)).items():
        sets = rule.decide(posterior)
        found[rule_name] = {
            "macro_f1": macro_f1(sets, truth).value,
            "macro_f1_error": macro_f1_error(sets, truth, np.random.default_rng(0)),
            "macro_f1_believed": score_sets(posterior, sets).mean,
            "sample_f1": sample_f1(sets, truth),
            "sample_f1_believed": score_sets(posterior, sets, average="samples").mean,
        }
        row = found[rule_name]
        say(f"{name:8s} C={C:<6g}{rule_name:32s} macro {row['macro_f1']:.3f}  sample {row['sample_f1']:.3f}")
    quality.setdefault(name, {})[f"C={C:g}"] = found


def seconds(call):
    """Of CPU, the least of three calls."""
    took = []
    for _ in range(3):
        start = time.process_time()
        call()
        took.append(time.process_time() - start)
    return min(took)


def cost(n_items, n_labels):
    """Time of each rule over that of sorting every label's probabilities, and memory beyond beliefs and answer."""
    p = np.random.default_rng(0).beta(0.05, 2.0, (n_items, n_labels)).astype(np.float32)
    posterior, warm = MarginalPosterior(p), MarginalPosterior(p[:50])
    sorting = seconds(lambda: np.argsort(p.T.astype(float), axis=1))
    found = {}
    for name, rule in {
        "expected_f1_macro": lw.ExpectedF1(),
        "expected_f1_samples": lw.ExpectedF1("samples"),
        "expected_f1_macro_sampled_10": lw.ExpectedF1(method="samples", n_samples=10),
        "class_mass": lw.ClassMass(0.02),
    }.items():
        rule.decide(warm)
        ratio = seconds(lambda rule=rule: rule.decide(posterior)) / sorting
        tracemalloc.start()
        sets = rule.decide(posterior)
        peak = tracemalloc.get_traced_memory()[1] - sets.nbytes
        tracemalloc.stop()
        found[name] = {"ratio_to_sorting": ratio, "peak_mib": peak / 2**20}
        say(f"{n_items} × {n_labels} {name:32s} {ratio:6.2f} × sorting  {peak / 2**20:6.0f} MiB")
    return {"n_items": n_items, "n_labels": n_labels, "sorting_seconds": sorting, "rules": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two small sets, one strength, a smaller batch")
    quick = parser.parse_args().quick
    names = ("yeast", "enron") if quick else ("yeast", "enron", "bibtex")
    if not DATA.is_dir():
        say(f"the published data sets are not in {DATA.name}; set LABELWISE_SHARED_DATA. Using a made-up set instead.")
        names = ("made_up",)
    quality = {}
    for name in names:
        for C in (10.0,) if quick else STRENGTHS:
            scores(name, C, quality)
    result = {"quality": quality, "cost": cost(20_000 if quick else 100_000, 300)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
