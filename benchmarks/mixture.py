"""What `LabelMixtureGP` costs beside bare LAPACK, how fast `LabelCovariance` scores a pool with it, and how well.

    python benchmarks/mixture.py [--quick]

All with one thread and in CPU seconds, on made-up data:

* `sweep_ratio_to_lapack`: one sweep over all parameters of a mixture of k components, over k times one `potrf` and
  one `trsm` with n right-hand sides, for n = 400 and 800; the worse of the two.
* `fit_ratio_to_label_gp`: `LabelMixtureGP().fit` over `LabelGP().fit` on the same 2000 sparse items of 1000 features
  with 300 labels. `fit_growth_at_max_exact`: the mixture's cost per row with a tenth more rows than `max_exact`, over
  that with a tenth less; about one if there is no jump.
* `component_threads_speedup`: time by the clock of a fit with one restart, over that of the same fit with two threads
  over its components; on a machine that does nothing else.
* `pool_100k_seconds`: seconds of one core to choose ten of 100 000 items by `LabelCovariance.paper()`: all scored
  roughly, the best few per cent closely; 300 training items, one mixture of 20 components with variational gates, 300
  labels. `pool_100k_seconds_default` is the same for model and strategy without any option: four mixtures.
* `top100_overlap`: of the 100 items with the highest exact scores in a pool of 5 000, how many the two passes choose;
  the least over several mixtures.
* `logdet_speedup`: log-determinants of the label covariances of 12 components and 300 labels through k × k matrices,
  over those of dense q × q matrices, per item; `logdet_error` is the largest difference.
"""

import argparse
import json
import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack
from threadpoolctl import threadpool_limits

import labelwise as lw
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.mixture.bernoulli_mixture import (
    MixtureLabels,
    MixtureState,
    mixture_factor,
    mixture_log_determinants,
    own_variances,
    sweep,
)
from labelwise.numerics.mixture.gates import KernelGates


def say(text):
    print(text, file=sys.stderr, flush=True)


def seconds(call, repeats=5):
    """Of one core, the fastest of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def made_up(n, d, q, rng):
    """Items in clumps with label sets of their own, so that a mixture has something to find."""
    centres, rates = rng.standard_normal((25, d)), rng.beta(0.3, 3.0, (25, q))
    group = rng.integers(25, size=n)
    return centres[group] + 0.7 * rng.standard_normal((n, d)), rng.random((n, q)) < rates[group]


def made_up_sparse(n, d, q, rng, n_words=30):
    """Documents of 25 kinds: half of their words are their kind's own."""
    words, rates = rng.dirichlet(np.full(d, 0.05), 25), rng.beta(0.1, 3.0, (25, q))
    group = rng.integers(25, size=n)
    X = np.stack([rng.multinomial(n_words, 0.5 * words[kind] + 0.5 / d) for kind in group])
    return sp.csr_array(X.astype(np.float64)), rng.random((n, q)) < rates[group]


def fit_costs(n, rng):
    """CPU seconds of both models on n rows, and the mixture's growth per row where its gates become inducing ones."""
    X, Y = made_up_sparse(n, 1000, 300, rng)
    model, rival = lw.LabelMixtureGP(random_state=0), lw.LabelGP(random_state=0)
    for each in (model, rival):
        each.fit(X[:100], Y[:100])  # compiles
    ratio = seconds(lambda: model.fit(X, Y), repeats=1) / seconds(lambda: rival.fit(X, Y), repeats=3)
    below, above = (round(share * model.max_exact) for share in (0.9, 1.1))
    low, high = (seconds(lambda m=m: model.fit(X[:m], Y[:m]), repeats=2) / m for m in (below, above))
    one, two = (by_the_clock(lw.LabelMixtureGP(restarts=1, n_jobs=jobs, random_state=0), X, Y) for jobs in (1, 2))
    return {
        "fit_ratio_to_label_gp": ratio,
        "fit_growth_at_max_exact": high / low,
        "component_threads_speedup": one / two,
    }


def by_the_clock(model, X, Y):
    start = time.perf_counter()
    model.fit(X, Y)
    return time.perf_counter() - start


def sweep_ratio(n, k, q, rng):
    X, Y = made_up(n, 20, q, rng)
    labels = MixtureLabels.of(Y, np.ones(Y.shape, dtype=bool), (np.full(q, 0.5), np.full(q, 3.5)))
    gates, prior_mean = KernelGates.on(Kernel(rbf=4.0, length_scale=5.0), X), np.full(k, -np.log(k - 1))
    state = MixtureState.start(rng.dirichlet(np.ones(k), n), labels, gates, prior_mean)
    B = np.asfortranarray(gates.K + 1.5 * np.eye(n))
    right = np.asfortranarray(gates.K)

    def bare():
        for _ in range(k):
            L, _ = lapack.dpotrf(B, lower=1)
            blas.dtrsm(1.0, L, right, lower=1)

    ours, floor = [], []
    for _ in range(6):  # in turns: both meet the same noise
        ours.append(seconds(lambda: sweep(state, labels, gates, prior_mean), repeats=2))
        floor.append(seconds(bare, repeats=2))
    return min(ours) / min(floor)


def pool_seconds(n_pool, model, strategy, rng):
    X, Y = made_up(n_pool + 300, 50, 300, rng)
    model.fit(X[:300], Y[:300])
    pool, closed = X[300:], sp.csr_array((n_pool, 300), dtype=bool)
    strategy.choose(model.posterior(pool[:2000]), closed[:2000], 10, np.random.default_rng(0))  # compiles
    return seconds(lambda: strategy.choose(model.posterior(pool), closed, 10, np.random.default_rng(0)), repeats=1)


def variational(seed=0):
    return lw.LabelMixtureGP(20, restarts=1, gate="variational", random_state=seed)


def overlap(seed):
    rng = np.random.default_rng(seed)
    X, Y = made_up(5300, 30, 60, rng)
    posterior = variational(seed).fit(X[:300], Y[:300]).posterior(X[300:])
    closed = sp.csr_array((5000, 60), dtype=bool)
    two_passes, exact = (
        lw.LabelCovariance.paper(exact_share=share).choose(posterior, closed, 100, np.random.default_rng(0)).rows
        for share in (0.05, 1.0)
    )
    return len(set(two_passes.tolist()) & set(exact.tolist()))


def log_determinants(n, rng):
    weights, theta = rng.dirichlet(np.ones(12), n), rng.beta(0.3, 3.0, (12, 300)) * 0.98 + 0.01

    def dense(some):
        factor = mixture_factor(weights[:some], theta)
        full = factor @ factor.swapaxes(1, 2)
        full[:, np.arange(300), np.arange(300)] += own_variances(weights[:some], theta)
        return np.linalg.slogdet(full)[1]

    some = n // 10
    error = np.abs(mixture_log_determinants(weights[:some], theta) - dense(some)).max()
    ours, theirs = seconds(lambda: mixture_log_determinants(weights, theta)), seconds(lambda: dense(some), repeats=3)
    return theirs / some / (ours / n), float(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smaller pool, fewer mixtures")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    result = {}
    with threadpool_limits(1):
        ratios = {n: sweep_ratio(n, 10, 50, rng) for n in (400, 800)}
        result["sweep_ratio_to_lapack"] = max(ratios.values())
        result |= {f"sweep_ratio_to_lapack_{n}": ratio for n, ratio in ratios.items()}
        say("sweeps done")
        result |= fit_costs(500 if quick else 2000, rng)
        say("fits done")
        result["logdet_speedup"], result["logdet_error"] = log_determinants(500 if quick else 2000, rng)
        say("determinants done")
        result["top100_overlap"] = min(overlap(seed) for seed in range(1 if quick else 3))
        say("overlap done")
        n_pool = 10_000 if quick else 100_000
        result["pool_items"] = n_pool
        published = lw.LabelCovariance.paper()
        result["pool_100k_seconds"] = pool_seconds(n_pool, variational(), published, rng) * 100_000 / n_pool
        if not quick:
            default = lw.LabelMixtureGP(random_state=0), lw.LabelCovariance()
            result["pool_100k_seconds_default"] = pool_seconds(n_pool, *default, rng)
        say("pool done")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
