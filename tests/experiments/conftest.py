"""Small data with three learnable labels, and a plan that takes a second or two."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.experiments.simulate import Schedule
from labelwise.experiments.study import Plan
from labelwise.records import LabelData


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
