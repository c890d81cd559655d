"""From the size of a campaign to what it will cost, which model to take, and how many workers to hire."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from joblib import cpu_count

from labelwise.campaign import PAIRS_FROM
from labelwise.experiments.plan_calibration import Calibration
from labelwise.experiments.plan_costs import DOUBLE, MODELS, PREFERRED, STRATEGIES, ModelCost, Workload

USABLE = 0.7  # of the memory: the rest is for the system and what is not counted
SHARED_WELL = 0.8  # of another core's, or worker's, time that comes to something
DEFAULT_ITEMS, DEFAULT_PAIRS = ("auto", "label_covariance"), ("label_gp", "balanced_pairs")  # as in `defaults`
INTERPRETER = 250e6  # bytes of Python and the libraries


@dataclass(frozen=True)
class Machine:
    """What there is to compute with: this machine unless told otherwise."""

    cores: int
    memory: float  # bytes

    @classmethod
    def here(cls) -> Machine:
        try:
            memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        except (AttributeError, ValueError, OSError):
            memory = 8e9
        return cls(cpu_count(), memory)


@dataclass(frozen=True)
class Expectation:
    """What a model with a strategy takes in its last and dearest round."""

    model: str
    strategy: str
    memory: float  # bytes
    fit_seconds: float
    round_seconds: float  # fit, beliefs where needed, choice
    fits: bool  # into memory
    workers: int | None  # for the wanted time; None where no number is enough


@dataclass(frozen=True)
class Advice:
    """All expectations, and the one to take."""

    workload: Workload
    machine: Machine
    seconds: float | None  # wanted for a round
    expectations: tuple[Expectation, ...]
    chosen: Expectation | None
    why: str

    def as_plain(self) -> dict[str, Any]:
        """For JSON."""
        rows = [vars(one) for one in self.expectations]
        chosen = None if self.chosen is None else vars(self.chosen)
        sizes = {"workload": vars(self.workload), "machine": vars(self.machine), "wanted_seconds": self.seconds}
        return {**sizes, "expected": rows, "chosen": chosen, "why": self.why}


def advise(
    workload: Workload, calibration: Calibration, *, machine: Machine | None = None, seconds: float | None = None
) -> Advice:
    """What to expect of the models with the strategies that have formulas, and which to choose.

    Parameters
    ----------
    workload : sizes
    calibration : what a unit of work costs on one core; cores share it, at some loss
    machine : by default this one
    seconds : wanted for a round
    """
    if seconds is not None and not seconds > 0:
        raise ValueError(f"seconds must be positive, got {seconds!r}")
    machine = machine or Machine.here()
    expectations = tuple(
        expect(model, strategy, workload, calibration, machine, seconds)
        for model in MODELS
        for strategy, cost in STRATEGIES.items()
        if not cost.models or model in cost.models
    )
    chosen, why = _choose(expectations, workload, machine, seconds)
    return Advice(workload, machine, seconds, expectations, chosen, why)


def expect(
    model: str, strategy: str, workload: Workload, calibration: Calibration, machine: Machine, seconds: float | None
) -> Expectation:
    cost, choosing = MODELS[model], STRATEGIES[strategy]
    share = 1 / (1 + SHARED_WELL * (machine.cores - 1))
    fit = share * calibration.seconds(f"{model}.fit", cost.fit, workload)
    pool = share * calibration.seconds(f"{strategy}.choose", choosing.choose, workload)
    if choosing.believes:
        pool += share * calibration.seconds(f"{model}.believe", cost.believe, workload)
    memory = model_bytes(model, workload, believes=choosing.believes) + choosing.choose_bytes(workload)
    workers = workers_for(fit, pool, cost, seconds)
    return Expectation(
        model, strategy, INTERPRETER + memory, fit, fit + pool, INTERPRETER + memory <= USABLE * machine.memory, workers
    )


def model_bytes(model: str, workload: Workload, *, believes: bool = True) -> float:
    """At the peak of a fit, or of beliefs, without the interpreter; answers are held as one byte each."""
    cost = MODELS[model]
    held = workload.budget * (workload.item_bytes + 2 * workload.labels) + DOUBLE * workload.items
    return held + max(cost.fit_bytes(workload), cost.believe_bytes(workload) if believes else 0.0)


def workers_for(fit: float, pool: float, cost: ModelCost, seconds: float | None) -> int | None:
    """Workers, each like this machine, with which a round takes at most so long; None where none are enough.

    The pool is always shared out, a fit only where the model can be split.
    """
    alone, shared = (0.0, fit + pool) if cost.splits else (fit, pool)
    if seconds is None or alone + shared <= seconds:
        return 1
    if alone >= seconds:
        return None
    return max(2, math.ceil(shared / (seconds - alone) / SHARED_WELL))


def _choose(
    expectations: tuple[Expectation, ...], workload: Workload, machine: Machine, seconds: float | None
) -> tuple[Expectation | None, str]:
    """What a campaign does by itself, if it fits; else the most preferred model that does, with a strategy for it."""
    possible = [one for one in expectations if one.fits and one.workers is not None]
    if not possible:
        if not any(one.fits for one in expectations):
            return None, f"nothing fits into {machine.memory / 2**30:.3g} GiB: fewer features or labels, or more memory"
        return None, f"no number of workers makes a round in {seconds:g} s: the fit alone takes longer"
    quick = {(one.model, one.strategy): one for one in possible if seconds is not None or one.round_seconds < 600}
    default = DEFAULT_PAIRS if workload.labels >= PAIRS_FROM else DEFAULT_ITEMS
    if default in quick:
        fits = _fits(quick[default])
        return quick[default], f"what a campaign of so many labels does by itself, and it fits memory and time{fits}"
    for strategy in ("mutual_information", "uncertainty"):
        for model in PREFERRED:
            if (model, strategy) in quick:
                one = quick[model, strategy]
                return one, f"the first of {', '.join(PREFERRED)} that fits memory and time{_fits(one)}"
    cheapest = min(possible, key=lambda one: one.round_seconds)
    return cheapest, "the fastest, as the usual ones take more than ten minutes for a round; say --seconds for workers"


def _fits(one: Expectation) -> str:
    return f", with {one.workers:,} workers" if one.workers and one.workers > 1 else ""
