"""The figures of docs/mathematics/guarantees.md: the entropies of theorem 1, and gains that turn negative."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rival_brute import Brute

PAGE = (Path(__file__).parents[2] / "docs" / "mathematics" / "guarantees.md").read_text(encoding="utf-8")
ROWS = [tuple(map(float, row)) for row in re.findall(r"^\| (1e-\d+) \| (\S+) \| (\S+) \|$", PAGE, re.MULTILINE)]
MEAN, VARIANCE = 0.3, 0.25


def entropy(power, rate):
    """Of the density (1), by the trapezoidal rule on both sides of its peak at 0, evenly in log |x|."""
    t = np.linspace(np.log(1e-16), np.log(6.0), 200_001)
    x = np.concatenate([-np.exp(t[::-1]), np.exp(t)])
    density = np.exp(-((x - MEAN) ** 2) / (2 * VARIANCE)) * (1 + x * x / (2 * rate)) ** power
    density /= np.trapezoid(density, x)
    return np.trapezoid(-density * np.log(np.maximum(density, 1e-300)), x)


def test_the_page_has_every_row():
    assert [row[0] for row in ROWS] == [1e-1, 1e-2, 1e-3, 1e-6, 1e-12]
    assert f"Gaussian has {0.5 * np.log(2 * np.pi * np.e * VARIANCE):.3f} nats" in PAGE


@pytest.mark.parametrize(("size", "printed", "own"), ROWS)
def test_entropies_of_theorem_1(size, printed, own):
    assert entropy(-size, size) == pytest.approx(printed, abs=6e-4)
    assert entropy(-(size + 0.5), size) == pytest.approx(own, abs=6e-4)


def test_gains_turn_negative():
    X = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    brute = Brute(np.linalg.cholesky(np.exp(-cdist(X, X, "sqeuclidean") / 2) + 1e-9 * np.eye(30)), 0.1)
    gains = []
    for _ in range(29):
        left, found = brute.open(), brute.gains()
        brute.take(left[np.argmax(found[left])])
        gains.append(found[left].max())
    first = int(np.argmax(np.array(gains) < 0)) + 1
    assert f"negative from the {first}th choice on" in PAGE
    assert all(later < before + 1e-9 for before, later in pairwise(gains))
