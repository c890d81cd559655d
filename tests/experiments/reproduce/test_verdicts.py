"""Verdicts are what the intervals say, told with the figures behind them."""

import pytest

from labelwise.experiments.reproduce.verdicts import beats, not_worse, points, told
from labelwise.experiments.statistics import Estimate

UP, DOWN, RATHER_UP, RATHER_DOWN = (
    Estimate.of(values) for values in ([0.02, 0.03, 0.025], [-0.02, -0.03, -0.025], [0.05, -0.02, 0.01], [-0.05, 0.02])
)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([UP, UP], "holds"),
        ([UP, DOWN], "holds in part"),
        ([UP, RATHER_DOWN], "holds in part"),
        ([RATHER_UP], "undecided"),
        ([RATHER_DOWN], "does not hold"),
        ([RATHER_UP, DOWN], "does not hold"),
    ],
)
def test_beats(differences, verdict):
    assert beats(differences) == verdict


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([UP, RATHER_DOWN], "holds"),
        ([UP, DOWN], "holds in part"),
        ([DOWN, DOWN], "does not hold"),
    ],
)
def test_not_worse(differences, verdict):
    assert not_worse(differences) == verdict


def test_words():
    assert points(UP) == "+2.5 ± 0.3 points"
    assert points(Estimate.of([0.1])) == "+10.0 points"  # one split has no error
    assert told([UP, RATHER_DOWN]) == "+2.5, -1.5 points; beyond noise better on 1, worse on 0 of 2 sets"
