"""What a unit of work costs on this machine: short fits and choices, solved for the constants of `plan_costs`."""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from labelwise import models, queries
from labelwise.campaign import Campaign
from labelwise.data import ShardedFeatures
from labelwise.experiments.plan_costs import MODELS, STRATEGIES, Terms, Workload
from labelwise.experiments.storage import replacing
from labelwise.posterior import MarginalPosterior
from labelwise.records import Answer, LabelData

VERSION = 2  # of the constants: raised when terms change
LINEAR = (  # for models whose time is in proportion to the answers
    Workload(2000, 20, 10, 500),
    Workload(4000, 40, 20, 4000),
    Workload(3000, 200, 20, 2000),
    Workload(2000, 40, 80, 2000),
    Workload(6000, 40, 20, 1000),
)
SQUARE = (  # for kernel matrices
    Workload(1500, 20, 10, 100),
    Workload(1500, 40, 20, 400),
    Workload(3000, 200, 20, 400),
    Workload(1500, 40, 80, 200),
    Workload(1500, 40, 10, 900),
    Workload(4500, 30, 10, 1500),
)
TINY = (  # for what is slow even so
    Workload(1000, 10, 4, 30),
    Workload(1500, 10, 8, 100),
    Workload(1500, 60, 8, 60),
    Workload(3000, 10, 20, 60),
    Workload(1500, 10, 4, 160),
)
SIZES = {
    "binary_relevance": LINEAR,
    "online_bayes": LINEAR,
    "cooccurrence_transfer": LINEAR,
    "label_mixture_gp": TINY,
    "cooccurrence_factors": TINY,
}
POOLS = (
    Workload(8000, 20, 5, 20, batch=10),
    Workload(8000, 200, 5, 20, batch=10),
    Workload(30000, 60, 5, 20, batch=40),
)

PLANS = (  # for what grows with answers and pool
    Workload(1500, 20, 5, 50, batch=10),
    Workload(5000, 20, 5, 100, batch=10),
    Workload(3000, 200, 5, 200, batch=20),
    Workload(3000, 40, 20, 800, batch=10),
    Workload(8000, 40, 5, 400, batch=100),
)
WALKS = (  # for what walks over a pool in shards
    *POOLS,
    Workload(20000, 400, 5, 20, batch=10),
    Workload(4000, 400, 5, 20, batch=40),
    Workload(40000, 200, 5, 20, batch=20),
)
MODELS_OF: Mapping[str, Callable[[], Any]] = {  # of strategies that look at more than probabilities
    "mutual_information": partial(models.LabelGP, "linear"),
    "label_covariance": partial(models.LabelGP, "rbf+linear"),
}
IN_SHARDS = ("mutual_information",)
POOL_SIZES = {"label_covariance": PLANS, "mutual_information": WALKS}

Constants = Mapping[str, Sequence[float]]  # "label_gp.fit": seconds of a unit of each term


@dataclass(frozen=True)
class Calibration:
    """Constants measured on a machine, and on which."""

    constants: Constants
    machine: Mapping[str, Any]

    def seconds(self, what: str, terms: Terms, workload: Workload) -> float:
        """Time expected of `what`, say "label_gp.fit", on one core."""
        return float(sum(c * term(workload) for c, term in zip(self.constants[what], terms, strict=True)))


def machine() -> dict[str, Any]:
    """What the constants depend on."""
    return {
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("numpy", "scipy", "numba")},
        "version": VERSION,
    }


def default_cache() -> Path:
    """Where constants are kept: $LABELWISE_CACHE, or the user's folder for such things."""
    given = os.environ.get("LABELWISE_CACHE")
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labelwise"
    return base / "plan.json"


def calibration(
    cache: Path | None = None, *, again: bool = False, on_step: Callable[[int, int], None] | None = None
) -> Calibration:
    """The constants of this machine: those kept from an earlier time, or measured now, in about half a minute.

    Parameters
    ----------
    cache : file to keep them in; by default `default_cache()`
    again : measure in any case
    on_step : called with how many of the measurements are done, and of how many
    """
    cache, here = cache or default_cache(), machine()
    if not again:
        try:
            kept = json.loads(cache.read_text(encoding="utf-8"))
            if kept["machine"] == here and set(kept["constants"]) == _names():
                return Calibration(kept["constants"], here)
        except (OSError, ValueError, KeyError, TypeError):  # none, or damaged: measured anew
            pass
    with threadpool_limits(1):
        measured = Calibration(measure(on_step), here)
    cache.parent.mkdir(parents=True, exist_ok=True)
    with replacing(cache) as part:
        part.write_text(json.dumps({"machine": here, "constants": dict(measured.constants)}) + "\n", encoding="utf-8")
    return measured


def measure(on_step: Callable[[int, int], None] | None = None) -> dict[str, list[float]]:
    """Time every model and strategy on a few small problems and solve for its constants.

    On one thread and by the time of the processor, which other work on the machine changes least.
    """
    tell, total = on_step or (lambda done, total: None), len(MODELS) + len(STRATEGIES)
    constants: dict[str, list[float]] = {}
    for done, (name, cost) in enumerate(MODELS.items()):
        tell(done, total)
        sizes = SIZES.get(name, SQUARE)
        times = [time_model(name, workload) for workload in (sizes[0], *sizes)][1:]  # the first compiles
        constants[f"{name}.fit"] = solve(cost.fit, sizes, [fit for fit, _ in times])
        constants[f"{name}.believe"] = solve(cost.believe, sizes, [believe for _, believe in times])
    for done, (name, strategy) in enumerate(STRATEGIES.items(), start=len(MODELS)):
        tell(done, total)
        pools = POOL_SIZES.get(name, POOLS)
        seconds = [time_strategy(name, workload) for workload in (pools[0], *pools)][1:]
        constants[f"{name}.choose"] = solve(strategy.choose, pools, seconds)
    tell(total, total)
    return constants


def solve(terms: Terms, sizes: Sequence[Workload], seconds: Sequence[float]) -> list[float]:
    """Constants ≥ 0 with which the terms explain the times, in least squares of the relative error."""
    work = np.array([[term(workload) for term in terms] for workload in sizes])
    relative = work / np.maximum(np.asarray(seconds), 1e-6)[:, None]
    scale = relative.max(axis=0)
    return (nnls(relative / scale, np.ones(len(sizes)))[0] / scale).tolist()


def time_model(name: str, workload: Workload) -> tuple[float, float]:
    """Seconds of a fit and of beliefs about the pool."""
    X, Y, pool = problem(workload)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that made-up data are learnt badly is no news
        start = process_time()
        model = models.BY_NAME[name]().fit(X, Y)
        between = process_time()
        for begin in range(0, len(pool), 4096):
            model.posterior(pool[begin : begin + 4096]).probabilities()
    return between - start, process_time() - between


def time_strategy(name: str, workload: Workload) -> float:
    """Seconds to choose a batch; beliefs, where all are needed, are there already."""
    rng = np.random.default_rng(0)
    X, Y, pool = problem(workload)
    names = [f"label {number}" for number in range(workload.labels)]
    if name in MODELS_OF:
        rows = np.vstack([X, pool])
        data = LabelData.from_arrays(ShardedFeatures.of(rows) if name in IN_SHARDS else rows, label_names=names)
        answers = [Answer(str(row), dict(zip(names, one, strict=True))) for row, one in enumerate(Y)]
        campaign = Campaign(data, model=MODELS_OF[name](), strategy=queries.BY_NAME[name](), answers=answers)
        campaign.fitted()
        start = process_time()
        campaign.ask(workload.batch)
        return process_time() - start
    beliefs = MarginalPosterior(rng.random((workload.items, workload.labels)))
    closed = LabelData.from_arrays(pool, label_names=names).observed
    start = process_time()
    strategy: Any = queries.BY_NAME[name]()
    strategy.choose(beliefs, closed, workload.batch, rng)
    return process_time() - start


def _names() -> set[str]:
    return {f"{name}.{part}" for name in MODELS for part in ("fit", "believe")} | {f"{s}.choose" for s in STRATEGIES}


def problem(workload: Workload) -> tuple[Any, Any, Any]:
    """Training items, their labels, and a pool, made up."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(workload.budget, workload.features))
    rule = rng.normal(size=(workload.features, workload.labels))
    Y = X @ rule + rng.normal(size=(workload.budget, workload.labels)) > 0.8 * np.sqrt(workload.features)
    Y[0] = True  # no label without an example
    return X, Y, rng.normal(size=(workload.items, workload.features))
