"""One Gaussian process per target: what sharing a kernel shape saves, what a question costs, how optimisers compare.

    python benchmarks/targets.py [--quick]

Times are CPU seconds of one thread, the best of a few runs. Ratios compare things of the same run:

* `shared_speedup`: variances of 16 targets at 10 000 items after 200 rows, a kernel per target against one shape;
  `shared_spearman` is the rank correlation of the two pool rankings.
* `query_ratio_to_append`: adding an answer, scoring the pool and choosing, against one more row of the Cholesky factor
  and of the pool's whitened kernel, kernel row included; on corel5k with 16 targets, both measured in turns over the
  last quarter of a campaign, medians.
* `optimisers`: seconds and log posterior (nats) per target from a cold start, by rows.
* `campaign_cpu_seconds`: 500 questions on corel5k, hyper-parameters learnt again after every tenth.

Without the published sets, made-up rows take their place and `data` says so.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from labelwise.data import read
from labelwise.models import OrthogonalTargetGP
from labelwise.numerics.gp.pool_variances import PoolVariances
from labelwise.queries import TargetEntropy

SHARED = Path(os.environ.get("LABELWISE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
N_TARGETS = 16
OPTIMIZERS = ("lbfgs", "simplex", "bayes", "gradient")


def say(*words: Any) -> None:
    print(*words, file=sys.stderr, flush=True)


def rows_of(name: str, file: str, n: int) -> tuple[Any, np.ndarray, str]:
    """Features of unit length and labels on at least half a percent of the rows, shuffled."""
    rng = np.random.default_rng(0)
    if (SHARED / file).exists():
        data = read(SHARED / file)
        Y = data.Y.toarray()
        Y = Y[:, Y.mean(0) >= 0.005]
        order = rng.permutation(np.flatnonzero(Y.any(1)))[:n]
        return data.X[order], Y[order], name
    X = sp.random_array((n, 500), density=0.02, rng=rng, format="csr")
    Y = (X @ rng.standard_normal((500, 120))) + 0.02 * rng.standard_normal((n, 120)) > 0.08
    return X, Y, "made up"


def timed(function: Any, repeats: int = 3) -> tuple[float, Any]:
    best, result = np.inf, None
    for _ in range(repeats):
        began = process_time()
        result = function()
        best = min(best, process_time() - began)
    return best, result


def sharing(quick: bool) -> dict[str, Any]:
    X, Y, name = rows_of("delicious", "delicious/delicious.arff.gz", 10_200)
    common: dict[str, Any] = {"projection": "gaussian", "n_compressed": 0.5, "bpca": "pca", "n_targets": N_TARGETS}
    times, scores = {}, {}
    for gp in ("shared", "separate"):
        model = OrthogonalTargetGP(gp=gp, random_state=0, **common).fit(X[:200], Y[:200])
        pool = X[200:]

        def score(model: Any = model, pool: Any = pool) -> np.ndarray:
            model._state.__dict__.pop("regression", None)  # factors are part of scoring
            return np.log(model.posterior(pool).target_variances()) @ model.target_weights_

        times[gp], scores[gp] = timed(score, 2 if quick else 4)
        say(f"scoring, {gp}: {times[gp]:.3f} s")
    return {
        "shared_speedup": times["separate"] / times["shared"],
        "shared_spearman": float(spearmanr(scores["shared"], scores["separate"]).statistic),
        "shared_scoring_cpu_seconds": times["shared"],
        "separate_scoring_cpu_seconds": times["separate"],
        "scored_items": int(X.shape[0] - 200),
        "scored_data": name,
    }


def asking(quick: bool) -> dict[str, Any]:
    X, Y, name = rows_of("corel5k", "corel5k/Corel5k-sparse.arff.gz", 2040)
    n_start, n_queries = 50, 60 if quick else 500
    common: dict[str, Any] = {"n_compressed": 0.5, "bpca": "pca", "n_targets": N_TARGETS, "random_state": 0}
    model = OrthogonalTargetGP("gaussian", **common).fit(X[:n_start], Y[:n_start])
    closed = np.zeros(Y.shape, dtype=bool)
    closed[:n_start] = True
    rng, total, questions, appends = np.random.default_rng(0), 0.0, [], []
    for number in range(n_queries):
        asked, search = sp.csr_array(closed), model._state.search
        floor = append_floor(model, X) if 4 * number >= 3 * n_queries else np.nan
        began = process_time()
        row = TargetEntropy().choose(model.posterior(X), asked, 1, rng).rows
        model.partial_fit(X[row], Y[row])
        spent = process_time() - began
        closed[row] = True
        total += spent
        if model._state.search is search and np.isfinite(floor):
            questions.append(spent)
            appends.append(floor)
    ratio = float(np.median(questions) / np.median(appends))
    say(f"{n_queries} questions: {total:.1f} s; one {1e3 * np.median(questions):.2f} ms, {ratio:.2f} times its floor")
    return {
        "campaign_queries": n_queries,
        "campaign_cpu_seconds": total,
        "campaign_data": name,
        "query_cpu_milliseconds": 1e3 * float(np.median(questions)),
        "append_cpu_milliseconds": 1e3 * float(np.median(appends)),
        "query_ratio_to_append": ratio,
    }


def append_floor(model: OrthogonalTargetGP, X: Any) -> float:
    """Seconds for one more row of the factor and of the pool's whitened kernel, the last of the known rows."""
    state = model._state
    (group,) = state.groups
    pool, kernel, old, new = state.scaling(X), group.kernel, state.X[:-1], state.X[-1:]
    known = PoolVariances.start(kernel.diagonal(pool), float(np.median(group.ratios)))
    known = known.append(np.zeros((0, old.shape[0])), kernel(old), kernel(old, pool))
    began = process_time()
    known.append(kernel(old, new), kernel(new), kernel(new, pool))
    return process_time() - began


def optimisers(quick: bool) -> dict[str, Any]:
    X, Y, name = rows_of("corel5k", "corel5k/Corel5k-sparse.arff.gz", 400)
    table: dict[str, Any] = {}
    for n in (100,) if quick else (100, 200, 300):
        for optimizer in OPTIMIZERS:
            common: dict[str, Any] = {"projection": "gaussian", "n_compressed": 0.5, "bpca": "pca", "n_targets": 8}
            model = OrthogonalTargetGP(gp="separate", optimizer=optimizer, restarts=3, random_state=0, **common)
            seconds, model = timed(lambda model=model, n=n: model.fit(X[:n], Y[:n]), 1)
            found = {
                "cpu_seconds": seconds / model.n_targets_,
                "log_posterior": model.log_posterior_ / model.n_targets_,
            }
            table.setdefault(str(n), {})[optimizer] = {key: round(value, 4) for key, value in found.items()}
            say(n, optimizer, found)
    return {"optimisers": table, "optimisers_data": name}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer questions and rows")
    quick = parser.parse_args().quick
    numba.set_num_threads(1)
    with threadpool_limits(1):
        figures = {**sharing(quick), **asking(quick), **optimisers(quick), "targets": N_TARGETS, "threads": 1}
    print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}))


if __name__ == "__main__":
    main()
