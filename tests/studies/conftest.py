"""Small data with three learnable labels, and a plan that takes a second or two."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.records import LabelData
from labelwise.studies.plans import Arena, Entrant, Plan
from labelwise.studies.simulate import Schedule
from labelwise.studies.sources import Source


def make_small(n: int = 90, seed: int = 0) -> LabelData:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    Y = X @ rng.standard_normal((4, 3)) + 0.3 * rng.standard_normal((n, 3)) > 0.5
    return LabelData.from_arrays(X, Y, label_names=["red", "round", "rough"])


@pytest.fixture
def small() -> LabelData:
    return make_small()


@pytest.fixture
def plan() -> Plan:
    schedule = Schedule(start=6, rounds=3, batch=5)
    return Plan(("binary_relevance",), ("random", "uncertainty"), (0, 1, 2), schedule, "small")


@pytest.fixture
def arena() -> Arena:
    sources = (Source("gaussian", limit=120), Source("shapes", limit=120))
    entrants = (
        Entrant("label_gp", ("random", "uncertainty")),
        Entrant("binary_relevance", ("random", "random_pairs"), {"n_jobs": 1}),
    )
    return Arena(sources, entrants, (0, 1), Schedule(start=6, rounds=2, batch=4, pool_limit=60))
