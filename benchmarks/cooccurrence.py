"""Factors of labels and counts: batched conjugate gradients in single precision against every row's own Gram matrix.

    python benchmarks/cooccurrence.py [--quick]

Bibtex, half of its labels seen, 80 factors: CPU seconds of one EM sweep with one thread, by the default solver and by
exact solves in float64, medians over 15 sweeps of the same fit, and how far apart the objectives end. The matrix
products of a sweep alone are timed too, as the floor. Delicious, half of its labels seen, 500 factors: CPU seconds of
100 sweeps, and the peak of memory. Last, the CPU seconds with one thread that a sketched
Gaussian process takes to fit delicious, choosing its settings included, the better of two runs. The sets are read from
the folder LABELWISE_SHARED_DATA, or ../shared/data beside the repository; without it made-up sets of the same shape are
used, and `data` says so.
"""

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import labelwise as lw
from labelwise.models import CooccurrenceTransfer
from labelwise.numerics.factors.model import Counts, FactorData, FactorFit, Penalties, start_factors
from labelwise.numerics.gp.feature_regression import FeatureRegression
from labelwise.numerics.weighted_ridge import RowSolver

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
SHAPES = {"bibtex": (4880, 1836, 159, 68, 2.4), "delicious": (12920, 500, 983, 18, 19.0)}  # n, d, q, words, labels


def say(text):
    print(text, file=sys.stderr, flush=True)


def load(name):
    """Training features and labels of a set, and where they are from."""
    source = DATA / name / f"{name}-train.arff.gz"
    if source.exists():
        data = lw.read(source)
        return data.X, data.Y.toarray().astype(bool), name
    say(f"{name} is not there; set LABELWISE_SHARED_DATA. Using a made-up set of the same shape instead.")
    return *made_up(*SHAPES[name]), "made up"


def made_up(n, d, q, words, labels, topics=60):
    """Items of three topics; a topic makes some words and some labels likely."""
    rng = np.random.default_rng(0)
    mixture = np.zeros((n, topics))
    np.put_along_axis(mixture, np.argsort(rng.random(mixture.shape), axis=1)[:, :3], 1.0, axis=1)
    rates = [mixture @ rng.gamma(0.05, 1.0, (topics, size)) for size in (d, q)]
    shares = [
        np.minimum(rate * mean / rate.sum(1).mean(), 0.9) for rate, mean in zip(rates, (words, labels), strict=True)
    ]
    X, Y = (rng.random(share.shape) < share for share in shares)
    return sp.csr_array(X.astype(float)), Y


def half_seen(Y, seed=0):
    """Labels of the first half of a random order, and their counts with all labels; the diagonal is unknown."""
    order = np.random.default_rng(seed).permutation(Y.shape[1])
    s = -(-Y.shape[1] // 2)
    seen = Y[:, order[:s]]
    values = seen.T.astype(float) @ Y[:, order]
    known = np.ones(values.shape, dtype=bool)
    known[np.arange(s), np.arange(s)] = False
    return seen, Counts(np.where(known, values, 0.0), known), order


def make_fit(X, seen, counts, penalty, solver):
    data = FactorData.of(seen, np.ones_like(seen), counts)
    return FactorFit(data, Penalties(features=penalty), FeatureRegression(X, penalty), solver)


def sweep_seconds(fit, k, n_sweeps):
    """Seconds of every sweep, and the objective at the end."""
    factors = start_factors(fit.data, k, fit.regression.X.shape[1], dtype=fit.regression.X.dtype)
    seconds = []
    for _ in range(n_sweeps):
        begin = time.process_time()
        factors = fit.sweep(factors)
        seconds.append(time.process_time() - begin)
    return seconds, fit.objective(factors)


def products_seconds(fit, k):
    """CPU seconds of the matrix products of a sweep: eight of n × s × k for the items and eight for the labels, and
    the two of the regression on features."""
    n, s = fit.data.labels.shape
    rng = np.random.default_rng(0)
    U, V = (rng.standard_normal((size, k), dtype=np.float32) for size in (n, s))
    X, inverse = fit.regression.X, np.ones((fit.regression.X.shape[1],) * 2, dtype=np.float32)
    weights, psi, transposed = inverse[:, :k].copy(), U @ V.T, V @ U.T
    back = sp.csr_array(X.T)
    begin = time.process_time()
    for _ in range(4):
        _ = U @ V.T, psi @ V, V @ U.T, transposed @ U
    _ = inverse @ (back @ U), X @ weights
    return time.process_time() - begin


def bibtex(k, n_sweeps, rows):
    X, Y, name = load("bibtex")
    X, Y = X[:rows], Y[:rows]
    seen, counts, _ = half_seen(Y)
    found = {}
    with threadpool_limits(1):
        for way, dtype, solver in (("default", np.float32, RowSolver()), ("gram", np.float64, RowSolver("exact"))):
            fit = make_fit(X.astype(dtype), seen, counts, 30.0, solver)
            sweep_seconds(fit, k, 1)  # compile, warm up
            found[way] = sweep_seconds(fit, k, n_sweeps)
            say(f"{way}: {np.median(found[way][0]):.3f} s per sweep, objective {found[way][1]:.1f}")
            if way == "default":
                floor = np.median([products_seconds(fit, k) for _ in range(5)])
    default, gram = (float(np.median(found[way][0])) for way in ("default", "gram"))
    return {
        "speedup_over_gram": gram / default,
        "objective_gap": abs(found["default"][1] - found["gram"][1]) / abs(found["gram"][1]),
        "sweep_over_matrix_products": default / floor,
        "sweep_cpu_seconds": default,
        "gram_sweep_cpu_seconds": gram,
        "factors": k,
        "sweeps": n_sweeps,
        "items": len(Y),
        "seen_labels": seen.shape[1],
        "data": name,
    }


def delicious(k, n_sweeps, rows):
    X, Y, name = load("delicious")
    X, Y = X[:rows], Y[:rows]
    seen, counts, order = half_seen(Y)
    begin = time.process_time()
    fit = make_fit(X.astype(np.float32), seen, counts, 5.0, RowSolver())
    setup = time.process_time() - begin
    seconds, _ = sweep_seconds(fit, k, n_sweeps)
    say(f"delicious: {np.median(seconds):.2f} s per sweep")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # in GiB: the system counts in KiB
    together = Y.T.astype(np.float64) @ Y
    unseen = order[seen.shape[1] :]
    together[np.ix_(unseen, unseen)] = np.nan
    observed = np.zeros(Y.shape, dtype=bool)
    observed[:, order[: seen.shape[1]]] = True
    sketched = []
    with threadpool_limits(1):
        for _ in range(2):
            begin = time.process_time()
            CooccurrenceTransfer(cooccurrence=together, random_state=0).fit(X, Y, observed)
            sketched.append(time.process_time() - begin)
    return {
        "sketched_seconds": min(sketched),
        "large_cpu_seconds": setup + sum(seconds),
        "large_peak_gib": peak,
        "large_factors": k,
        "large_sweeps": n_sweeps,
        "large_items": len(Y),
        "large_data": name,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows, factors and sweeps")
    options = parser.parse_args()
    rows = 800 if options.quick else None
    result = bibtex(40 if options.quick else 80, 5 if options.quick else 15, rows)
    result |= delicious(50 if options.quick else 500, 2 if options.quick else 100, rows)
    result = {key: round(value, 6) if isinstance(value, float) else value for key, value in result.items()}
    for key, value in result.items():
        say(f"{key:36s} {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
