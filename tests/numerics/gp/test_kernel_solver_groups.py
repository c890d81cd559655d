"""Which rows a group shares, and that extending it touches only what it must."""

import numpy as np
import pytest

from labelwise.numerics.gp.kernel_solver import LabelGroup, group_labels
from labelwise.numerics.gp.kernels import Kernel
from masked_regression import answer_mask, rival

KERNEL, NOISE = Kernel(rbf=0.8, linear=0.2, bias=0.5), 0.3


def covariance(X):
    def block(rows, columns):
        C = KERNEL(X[rows], X[columns])
        C[rows[:, None] == columns] += NOISE
        return C

    return block


@pytest.fixture
def problem():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    return X, answer_mask(rng, 40, 6), rng.normal(size=(40, 6))


def solved(group, right_side):
    out = np.zeros_like(right_side)
    group.solve(right_side, np.arange(right_side.shape[1]), out)
    return out


def test_the_core_is_what_all_labels_share(problem):
    X, observed, right_side = problem
    labels = np.arange(4)  # without the late and the unanswered one
    group = LabelGroup.factorise(covariance(X), labels, observed, grows_core=True)
    np.testing.assert_array_equal(group.core, np.flatnonzero(observed[:, :4].all(axis=1)))
    assert set(group.others) == set(np.flatnonzero(observed[:, :4].any(axis=1) & ~observed[:, :4].all(axis=1)))
    expected = rival(KERNEL, NOISE, X, observed, right_side, X[:1]).solution
    found = solved(group, right_side)
    np.testing.assert_allclose(found[:, :4], expected[:, :4], atol=1e-12)
    np.testing.assert_array_equal(found[:, 4:], 0)  # labels of no pattern are left alone


def test_labels_on_the_same_rows_share_one_factor(problem):
    X, observed, _ = problem
    observed[:, 1] = observed[:, 0]
    group = LabelGroup.factorise(covariance(X), np.arange(4), observed, grows_core=True)
    assert len(group.patterns) == 3
    assert sorted(map(len, (pattern.labels for pattern in group.patterns))) == [1, 1, 2]


def test_a_pair_answer_extends_one_factor_and_keeps_the_others(problem):
    X, observed, right_side = problem
    observed[:, 4:] = observed[:, :2]  # every label in the group
    group = LabelGroup.factorise(covariance(X), np.arange(6), observed, grows_core=True)
    row = int(np.flatnonzero(~observed[:, 3] & observed.any(axis=1))[0])
    fresh = np.zeros_like(observed)
    fresh[row, 3] = True
    grown = group.extend(covariance(X), fresh)
    old = {tuple(pattern.labels): pattern.factor for pattern in group.patterns}
    kept = [pattern for pattern in grown.patterns if pattern.factor is old.get(tuple(pattern.labels))]
    assert len(kept) == len(group.patterns) - 1
    assert grown.core_factor is group.core_factor
    expected = rival(KERNEL, NOISE, X, observed | fresh, right_side, X[:1]).solution
    np.testing.assert_allclose(solved(grown, right_side), expected, atol=1e-12)


def test_full_rows_join_the_core(problem):
    X, observed, right_side = problem
    observed[:, 4:] = observed[:, :2]
    observed[30:] = True
    before = observed.copy()
    before[30:] = False
    group = LabelGroup.factorise(covariance(X), np.arange(6), before, grows_core=True)
    grown = group.extend(covariance(X), observed & ~before)
    assert set(grown.core) == set(group.core) | set(range(30, 40))
    expected = rival(KERNEL, NOISE, X, observed, right_side, X[:1])
    np.testing.assert_allclose(solved(grown, right_side), expected.solution, atol=1e-12)
    diagonal = np.ones(observed.shape)
    grown.precision_diagonals(np.arange(6), diagonal)
    np.testing.assert_allclose(diagonal, expected.precision, atol=1e-12)


def test_a_row_completed_later_stays_where_it_is(problem):
    X, observed, right_side = problem
    observed[:, 4:] = observed[:, :2]
    group = LabelGroup.factorise(covariance(X), np.arange(6), observed, grows_core=True)
    row = group.others[0]
    fresh = np.zeros_like(observed)
    fresh[row] = ~observed[row]
    grown = group.extend(covariance(X), fresh)
    assert row in grown.others
    expected = rival(KERNEL, NOISE, X, observed | fresh, right_side, X[:1]).solution
    np.testing.assert_allclose(solved(grown, right_side), expected, atol=1e-12)


def test_a_late_label_does_not_take_the_core_apart():
    observed = np.ones((20, 5), dtype=bool)
    observed[10:, 1:3] = np.random.default_rng(0).random((10, 2)) < 0.5
    observed[3:, 4] = False
    together, apart = group_labels(observed)
    np.testing.assert_array_equal(together, [0, 1, 2, 3])
    np.testing.assert_array_equal(apart, [4])


def test_a_late_label_with_many_rows_of_its_own_is_still_apart():
    observed = np.zeros((60, 5), dtype=bool)
    observed[:30, :4] = True
    observed[30:, 4] = True
    together, apart = group_labels(observed)
    np.testing.assert_array_equal(together, [0, 1, 2, 3])
    np.testing.assert_array_equal(apart, [4])


def test_labels_without_rows_in_common_are_one_group():
    together, apart = group_labels(np.random.default_rng(0).random((50, 40)) < 0.5)
    assert together.size == 40
    assert apart.size == 0
