"""Distinct columns against numpy's own."""

import numpy as np
import pytest

from labelwise.numerics.arrays import distinct_columns


@pytest.mark.parametrize("shape", [(5, 9), (1, 4), (20, 1), (9, 0), (0, 3), (17, 40)])
def test_distinct_columns(shape):
    mask = np.random.default_rng(0).random(shape) < 0.5
    mask[:, ::3] = mask[:, :1]  # some alike
    distinct = distinct_columns(mask)
    np.testing.assert_array_equal(distinct.columns[:, distinct.member], mask)
    np.testing.assert_array_equal(mask[:, distinct.first], distinct.columns)
    if mask.size:
        assert distinct.columns.shape[1] == np.unique(mask, axis=1).shape[1]
    groups = distinct.groups()
    for kind, members in enumerate(groups):
        np.testing.assert_array_equal(distinct.member[members], kind)
    if shape[1]:
        assert sum(map(len, groups)) == shape[1]
