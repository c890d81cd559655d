"""What `LabelGP` costs beside bare LAPACK and a loop over labels, and how well it predicts beside logistic regression.

    python benchmarks/label_gp.py [--quick]

Cost, in CPU seconds with one thread, all figures ratios within this run on made-up data:

* `fit_over_lapack`: a fit with given kernel and noise on complete labels, which needs one factor, the diagonal of its
  inverse for leave-one-out, and the solution of all labels, over one `potrf` + `potrs` of the same size.
* `search_over_fit`: choosing kernel and noise too, over that fit.
* `append_over_refit`: ten more complete rows by `partial_fit`, over a fit of all rows.
* `masked_over_naive_loop`: labels with 100 rows in common and 100 of their own each, over one dense solve per label
  with its leave-one-out diagonal; `masked_over_scikit_learn`: over `GaussianProcessRegressor` per label. Both loops are
  timed on some labels and scaled.
* `pairs_over_refit`: a hundred single (item, label) answers by `partial_fit`, over a fit of everything.

Quality, on 200 random rows of published sets read from the folder LABELWISE_SHARED_DATA or ../shared/data beside the
repository, left out where they are absent: macro ROC AUC, mean precision at 1, 2, 3 and log loss of the calibrated
probabilities, of the clipped regression means, and of one-vs-rest logistic regression (C = 10) on features prepared
alike. The last line printed is one JSON object.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.linalg import lapack
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

import labelwise as lw
from labelwise.numerics.feature_scaling import learn_scaling
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.metrics import log_loss, macro_roc_auc, precision_at

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
SETS = {
    "yeast": "yeast.arff.gz",
    "enron": "enron.arff.gz",
    "medical": "medical.arff",
    "bibtex": "bibtex.arff.gz",
}
FIXED = {"kernel": "rbf", "noise_ratio": 0.5, "length_scale": 0.7, "random_state": 0}
KERNEL, NOISE = Kernel(rbf=1.0, bias=1.0, length_scale=0.7), 0.5


def say(text):
    print(text, file=sys.stderr, flush=True)


def cpu_seconds(call, repeats=3):
    """The fastest of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def made_up(n, q, rng, d=60):
    X = rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, q)) / 4 + rng.standard_normal((n, q)) > rng.uniform(0.5, 3.0, q)
    return X, Y


def complete(n, q, rng):
    X, Y = made_up(n + 10, q, rng)
    prepared = learn_scaling(X[:n], "auto")(X[:n])
    C, targets = KERNEL(prepared) + NOISE * np.eye(n), Y[:n] - Y[:n].mean(axis=0)

    def bare():
        L, _ = lapack.dpotrf(np.asfortranarray(C), lower=1)
        lapack.dpotrs(L, np.asfortranarray(targets), lower=1)

    floor = cpu_seconds(bare)
    fit = cpu_seconds(lambda: lw.LabelGP(**FIXED).fit(X[:n], Y[:n]))
    search = cpu_seconds(lambda: lw.LabelGP(random_state=0).fit(X[:n], Y[:n]), repeats=1)
    refit = cpu_seconds(lambda: lw.LabelGP(**FIXED).fit(X, Y))
    models = [lw.LabelGP(**FIXED).fit(X[:n], Y[:n]) for _ in range(2)]
    append = cpu_seconds(lambda: models.pop().partial_fit(X[n:], Y[n:]), repeats=2)
    return {
        "rows": n,
        "labels": q,
        "fit_over_lapack": fit / floor,
        "search_over_fit": search / fit,
        "append_over_refit": append / refit,
        "fit_cpu_seconds": fit,
    }


def masked(n, q, timed, rng):
    X, Y = made_up(n, q, rng)
    observed = np.zeros((n, q), dtype=bool)
    observed[:100] = True
    for j in range(q):
        observed[rng.choice(np.arange(100, n), 100, replace=False), j] = True
    prepared = learn_scaling(X, "auto")(X)
    K = KERNEL(prepared)

    def solve_each():
        for j in range(timed):
            rows = np.flatnonzero(observed[:, j])
            inverse = np.linalg.inv(K[np.ix_(rows, rows)] + NOISE * np.eye(rows.size))
            inverse @ (Y[rows, j] - Y[rows, j].mean())
            inverse.diagonal()

    def regress_each():
        for j in range(timed):
            rows = observed[:, j]
            theirs = GaussianProcessRegressor(RBF(0.7) + ConstantKernel(1.0), alpha=NOISE, optimizer=None)
            theirs.fit(prepared[rows], Y[rows, j] - Y[rows, j].mean())

    model = lw.LabelGP(**FIXED).fit(X, Y, observed=observed)
    fit = cpu_seconds(lambda: lw.LabelGP(**FIXED).fit(X, Y, observed=observed))
    rows, labels = rng.permutation(np.argwhere(~observed))[:100].T
    single = np.zeros((100, q), dtype=bool)
    single[np.arange(100), labels] = True
    pairs = cpu_seconds(lambda: model.partial_fit(X[rows], Y[rows], observed=single), repeats=1)
    naive, theirs = (cpu_seconds(loop, repeats=2) * q / timed for loop in (solve_each, regress_each))
    return {
        "masked_rows": n,
        "masked_labels": q,
        "masked_over_naive_loop": fit / naive,
        "masked_over_scikit_learn": fit / theirs,
        "pairs_over_refit": pairs / fit,
        "masked_fit_cpu_seconds": fit,
    }


def quality(name, seeds):
    """Mean over seeds of (macro AUC, precision at 1-3, log loss) for each of three ways to score."""
    data = lw.read(DATA / name / SETS[name])
    X, Y = data.X, data.Y.toarray().astype(bool)
    found = {"label_gp": [], "clipped_mean": [], "logistic_regression": []}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(data.n_items)
        train, test = order[:200], order[200:][-1500:]
        posterior = lw.LabelGP(random_state=seed).fit(X[train], Y[train]).posterior(X[test])
        scaling = learn_scaling(X[train], "auto")
        rival = lw.BinaryRelevance().fit(scaling(X[train]), Y[train]).predict_proba(scaling(X[test]))
        scores = (posterior.probabilities(), np.clip(posterior.means(), 1e-3, 1 - 1e-3), rival)
        for each, p in zip(found.values(), scores, strict=True):
            precision = np.mean([precision_at(p, Y[test], k) for k in (1, 2, 3)])
            each.append((macro_roc_auc(p, Y[test]).value, precision, log_loss(p, Y[test])))
    names = ("macro_roc_auc", "precision_at_1_3", "log_loss")
    return {way: dict(zip(names, np.mean(each, axis=0).tolist(), strict=True)) for way, each in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, two sets, one seed")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        result = complete(600 if quick else 3000, 40 if quick else 150, rng)
        say("complete labels done")
        result |= masked(400 if quick else 1000, 60 if quick else 300, 20 if quick else 60, rng)
        say("masked labels done")
        result["quality"] = {}
        for name in ("yeast", "medical") if quick else SETS:
            if (DATA / name).is_dir():
                result["quality"][name] = quality(name, 1 if quick else 3)
                say(f"{name} done")
            else:
                say(f"{name} is not there; set LABELWISE_SHARED_DATA")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
