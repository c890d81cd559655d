"""Recovering 983 labels from 491 codes: the sequential form against 15 sweeps of the paper's variational updates.

    python benchmarks/recovery.py [--quick]

Delicious, 500 random training rows and 2000 others; a Gaussian projection with k = q // 2; a Gaussian process with a
linear kernel and bias on rows of unit length, its noise chosen by the evidence. Then the labels of the 2000 rows are
recovered by `recover_fast` with `smoothed_score`, and those of some of them by `recover_vb` with 15 iterations, whose
time is scaled to 2000: its cost per item is the same for all. CPU seconds, both with one thread. Precision at 1, 2 and
3 is compared on the rows that both have recovered. The set is read from the folder LABELWISE_SHARED_DATA, or
../shared/data beside the repository; without it a made-up set of the same shape is used. The last line
printed is one JSON object.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numba
import numpy as np
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

import labelwise as lw
from labelwise.numerics.recovery.fast_recovery import recover_fast, smoothed_score
from labelwise.numerics.recovery.gaussian_recovery import ridge_prior
from labelwise.numerics.recovery.label_codes import CompressedLabels, encode, gaussian_projection
from labelwise.numerics.recovery.sparse_recovery import recover_vb

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
N_TRAIN, N_TEST, SWEEPS = 500, 2000, 15


def say(text):
    print(text, file=sys.stderr, flush=True)


def load(rng):
    """Features, labels and a name: 2500 random rows of delicious, or made-up ones."""
    source = DATA / "delicious" / "delicious.arff.gz"
    if not source.exists():
        say("delicious is not there; set LABELWISE_SHARED_DATA. Using a made-up set of the same shape instead.")
        return *made_up(rng), "made up"
    data = lw.read(source)
    rows = rng.permutation(data.n_items)[: N_TRAIN + N_TEST]
    return np.asarray(data.X[rows].todense(), dtype=float), data.Y[rows].toarray(), "delicious"


def made_up(rng, d=500, q=983, topics=60):
    """Items of three topics; a topic makes some words and some labels likely. About 19 labels per item."""
    mixture = np.zeros((N_TRAIN + N_TEST, topics))
    np.put_along_axis(mixture, np.argsort(rng.random(mixture.shape), axis=1)[:, :3], 1.0, axis=1)
    words, labels = (rng.gamma(0.03, 4.0, (topics, size)) for size in (d, q))
    X = rng.random((mixture.shape[0], d)) < np.minimum(0.2 * mixture @ words, 0.9)
    Y = rng.random((mixture.shape[0], q)) < np.minimum(0.055 * mixture @ labels, 0.9)
    return X.astype(float), Y


def regress(X, Z, X_new):
    """Codes of new rows under amplitude (X Xᵀ + 1) + noise, its evidence in closed form over one eigendecomposition."""
    n, k = Z.shape
    eigenvalues, U = np.linalg.eigh(X @ X.T + 1)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    energy = ((U.T @ Z) ** 2).sum(1)  # (n,)
    ratios = eigenvalues.mean() * np.logspace(-7, 4, 111)  # noise / amplitude
    spectrum = eigenvalues + ratios[:, None]  # (111, n)
    amplitudes = (energy / spectrum).sum(1) / (n * k)
    best = np.argmax(-np.log(spectrum).sum(1) - n * np.log(amplitudes))
    amplitude, ratio = amplitudes[best], ratios[best]
    across = (X_new @ X.T + 1) @ U  # (n*, n)
    mean = (across / spectrum[best]) @ (U.T @ Z)
    own = (X_new**2).sum(1) + 1
    return CompressedLabels(mean, amplitude * (own - (across**2 / spectrum[best]).sum(1) + ratio))


def precisions(score, Y):
    """(n, 3) precision at 1, 2 and 3 of each row."""
    hits = np.take_along_axis(Y, np.argsort(-score, axis=1, kind="stable")[:, :3], axis=1)
    return np.cumsum(hits, axis=1) / np.arange(1, 4)


def cpu_seconds(call):
    start = time.process_time()
    value = call()
    return time.process_time() - start, value


def fast_scores(compressed, projection):
    recovery = recover_fast(compressed, projection)
    return recovery, smoothed_score(recovery, compressed, ridge_prior(projection))


def compare(n_vb):
    rng = np.random.default_rng(1)
    X, Y, name = load(rng)
    X = normalize(X)
    projection = gaussian_projection(Y.shape[1] // 2, Y.shape[1], rng)
    compressed = regress(X[:N_TRAIN], encode(Y[:N_TRAIN], projection), X[N_TRAIN:])
    few = CompressedLabels(compressed.mean[:n_vb], compressed.variance[:n_vb])
    fast_scores(few, projection)  # compile
    timings = [cpu_seconds(lambda: fast_scores(compressed, projection)) for _ in range(3)]
    fast_time, (recovery, score) = sorted(timings, key=lambda timing: timing[0])[1]
    vb_time, vb = cpu_seconds(lambda: recover_vb(few, projection, n_iterations=SWEEPS))
    vb_scaled = vb_time * N_TEST / n_vb
    Y_test = Y[N_TRAIN:]
    fast, alone, slow = (precisions(s, Y_test[: len(s)]) for s in (score, recovery.score, vb.mean))
    change = (fast[:n_vb] - slow).mean(1)
    return {
        "speedup_over_vb": vb_scaled / fast_time,
        "precision_change": change.mean(),
        "precision_change_standard_error": change.std() / np.sqrt(n_vb),
        "precision_change_without_smoothing": (alone[:n_vb] - slow).mean(),
        "precision_fast": fast[:n_vb].mean(0).tolist(),
        "precision_vb": slow.mean(0).tolist(),
        "precision_fast_all_items": fast.mean(0).tolist(),
        "fast_cpu_seconds": fast_time,
        "vb_cpu_seconds_scaled": vb_scaled,
        "vb_items_timed": n_vb,
        "items": N_TEST,
        "labels": Y.shape[1],
        "dimensions": projection.shape[0],
        "mean_active_labels": np.isfinite(recovery.precision).sum(1).mean(),
        "mean_steps": recovery.n_steps.mean(),
        "data": name,
        "threads": 1,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the variational updates on 20 rows, not 1000")
    quick = parser.parse_args().quick
    numba.set_num_threads(1)
    with threadpool_limits(1):
        result = compare(20 if quick else 1000)
    result = {
        key: np.round(value, 5).tolist() if isinstance(value, float | list) else value for key, value in result.items()
    }
    for key, value in result.items():
        say(f"{key:36s} {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
