import numpy as np
import pytest

from labelwise.labelling import krippendorff_alpha


def alpha_by_pairs(votes: list[list[int]]) -> float:
    """1 − observed / expected disagreement, over all ordered pairs of votes within items and over all items."""
    votes = [item for item in votes if len(item) > 1]
    everything = [vote for item in votes for vote in item]
    observed = sum(
        a != b for item in votes for i, a in enumerate(item) for j, b in enumerate(item) if i != j for _ in [0]
    )
    weighted = sum(
        sum(a != b for i, a in enumerate(item) for j, b in enumerate(item) if i != j) / (len(item) - 1)
        for item in votes
    )
    n = len(everything)
    expected = sum(a != b for i, a in enumerate(everything) for j, b in enumerate(everything) if i != j) / (n - 1)
    assert observed >= weighted
    return 1 - weighted / expected


def test_equals_the_definition_by_pairs():
    rng = np.random.default_rng(0)
    for _ in range(20):
        votes = [rng.integers(0, 2, size=rng.integers(1, 5)).tolist() for _ in range(12)]
        yes, no = [sum(item) for item in votes], [len(item) - sum(item) for item in votes]
        assert krippendorff_alpha(yes, no) == pytest.approx(alpha_by_pairs(votes))


def test_known_value():
    # Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section A: two observers, ten binary units.
    a, b = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    yes = [x + y for x, y in zip(a, b, strict=True)]
    assert krippendorff_alpha(yes, [2 - count for count in yes]) == pytest.approx(0.095, abs=5e-4)


@pytest.mark.parametrize(("yes", "no"), [([], []), ([1, 0], [0, 1]), ([2, 2], [0, 0])])
def test_nothing_to_tell(yes, no):
    assert np.isnan(krippendorff_alpha(yes, no))
