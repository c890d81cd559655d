"""LabelPosterior and its kin: covariances against dense algebra, samples against their moments, walks in blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal, norm

from labelwise.posterior import (
    CorrelatedLabels,
    IgnorantPosterior,
    LabelCovariances,
    LabelPosterior,
    MarginalPosterior,
    TargetGroup,
)


class Coupled(MarginalPosterior):
    """Marginals with a given dependence, as a model with label covariances has it."""

    def __init__(self, probabilities, covariances):
        super().__init__(probabilities)
        self._covariances = covariances

    def label_covariances(self):
        return self._covariances

    def rows(self, rows):
        covariances = LabelCovariances(self._covariances.diagonal[rows], self._covariances.factor[rows])
        return Coupled(self._probabilities[rows], covariances)


def random_covariances(n, q, r, seed=0):
    rng = np.random.default_rng(seed)
    return LabelCovariances(rng.uniform(0.05, 2.0, (n, q)), rng.normal(size=(n, q, r)))


def coupled(n=5, q=4, r=2, seed=1):
    p = np.random.default_rng(seed).uniform(0.1, 0.9, (n, q))
    return Coupled(p, random_covariances(n, q, r, seed))


# -- covariances -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "q", "r"), [(4, 6, 2), (3, 5, 0), (1, 1, 1), (2, 3, 7), (0, 3, 2), (0, 3, 0)])
def test_covariances_against_dense_algebra(n, q, r):
    covariances = random_covariances(n, q, r)
    dense = covariances.dense()
    assert dense.shape == (n, q, q)
    for i in range(n):  # entry by entry, as the definition says
        expected = np.diag(covariances.diagonal[i]) + covariances.factor[i] @ covariances.factor[i].T
        np.testing.assert_allclose(dense[i], expected, rtol=1e-12)
    np.testing.assert_allclose(covariances.variances(), dense.diagonal(axis1=1, axis2=2), rtol=1e-12)
    signs, logs = np.linalg.slogdet(dense)
    assert np.all(signs == 1)
    np.testing.assert_allclose(covariances.log_determinants(), logs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("q", "r", "k"), [(7, 3, 1), (7, 3, 0), (40, 9, 2), (4, 3, 2), (1, 0, 1)])
def test_one_correlation_for_all_items_gives_what_its_factor_gives(q, r, k):
    rng = np.random.default_rng(q)
    n = 70  # more than are factorised side by side
    parts = rng.uniform(0.05, 0.3, (n, q)), rng.uniform(0.1, 0.5, (n, q)), rng.normal(size=(q, r))
    shared = CorrelatedLabels(*parts, 0.2 * rng.normal(size=(n, q, k)))
    plain = LabelCovariances(shared.diagonal, shared.factor)
    dense = np.stack([np.diag(d) + F @ F.T for d, F in zip(plain.diagonal, plain.factor, strict=True)])
    np.testing.assert_allclose(shared.dense(), dense)
    np.testing.assert_allclose(shared.variances(), dense.diagonal(axis1=1, axis2=2))
    np.testing.assert_allclose(shared.log_determinants(), np.linalg.slogdet(dense)[1], rtol=1e-10)
    open_ = rng.random((n, q)) < 0.6
    np.testing.assert_allclose(shared.only(open_, 1e-3).dense(), plain.only(open_, 1e-3).dense())
    np.testing.assert_allclose(shared.only(open_, 1e-3).log_determinants(), plain.only(open_, 1e-3).log_determinants())


def test_log_determinants_survive_where_determinants_underflow():
    q = 500
    covariances = LabelCovariances(np.full((1, q), 1e-12), np.full((1, q, 1), 1e-3))
    expected = q * np.log(1e-12) + np.log1p(q * 1e-6 / 1e-12)
    np.testing.assert_allclose(covariances.log_determinants(), expected, rtol=1e-12)


def test_dense_leaves_the_parts_alone():
    covariances = random_covariances(2, 3, 0)
    before = covariances.diagonal.copy()
    covariances.dense()[:] = 7.0
    np.testing.assert_array_equal(covariances.diagonal, before)


def test_independent_labels_have_bernoulli_variances():
    p = np.array([[0.0, 0.5, 1.0, 0.2]])
    covariances = MarginalPosterior(p).label_covariances()
    assert covariances.factor.shape == (1, 4, 0)
    np.testing.assert_allclose(covariances.variances(), p * (1 - p), atol=1e-11)
    assert np.all(covariances.diagonal > 0)  # so that logarithms exist
    assert np.all(np.isfinite(covariances.log_determinants()))


# -- samples -----------------------------------------------------------------------------------------------------------


def test_copula_samples_have_the_marginals():
    beliefs, s = coupled(), 40_000
    drawn = beliefs.sample_labels(s, np.random.default_rng(0))
    assert drawn.shape == (s, 5, 4) and drawn.dtype == bool
    p = beliefs.probabilities()
    assert np.all(np.abs(drawn.mean(0) - p) < 4.5 * np.sqrt(p * (1 - p) / s))


def test_copula_samples_have_the_dependence_of_cut_normals():
    """P(both) of two cut normals with the labels' correlation, by scipy's bivariate normal."""
    beliefs, s = coupled(n=3), 40_000
    drawn = beliefs.sample_labels(s, np.random.default_rng(0))
    p, dense = beliefs.probabilities(), beliefs.label_covariances().dense()
    for i in range(3):
        for j, k in ((0, 1), (1, 2), (0, 3)):
            correlation = dense[i, j, k] / np.sqrt(dense[i, j, j] * dense[i, k, k])
            cuts = norm.ppf(p[i, [j, k]])
            both = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(cuts)
            assert abs((drawn[:, i, j] & drawn[:, i, k]).mean() - both) < 4.5 * np.sqrt(both * (1 - both) / s) + 1e-4
            excess = (drawn[:, i, j] & drawn[:, i, k]).mean() - p[i, j] * p[i, k]
            if abs(correlation) > 0.2:
                assert np.sign(excess) == np.sign(correlation)


def test_items_are_sampled_independently_of_one_another():
    same = LabelCovariances(np.full((2, 2), 0.01), np.ones((2, 2, 1)))
    drawn = Coupled(np.full((2, 2), 0.5), same).sample_labels(20_000, np.random.default_rng(0)).astype(float)
    across = np.corrcoef(drawn[:, 0, 0], drawn[:, 1, 0])[0, 1]
    within = np.corrcoef(drawn[:, 0, 0], drawn[:, 0, 1])[0, 1]
    assert abs(across) < 4.5 / np.sqrt(20_000) and within > 0.8


def test_independent_beliefs_give_uncorrelated_samples():
    p, s = np.array([[0.5, 0.3, 0.8]]), 40_000
    drawn = MarginalPosterior(p).sample_labels(s, np.random.default_rng(1))[:, 0].astype(float)
    covariance = np.cov(drawn.T)
    np.testing.assert_allclose(np.diag(covariance), (p * (1 - p))[0], atol=0.01)
    off = covariance[~np.eye(3, dtype=bool)]
    assert np.all(np.abs(off) < 4.5 * 0.25 / np.sqrt(s))


def test_certain_labels_are_sampled_as_certain():
    drawn = MarginalPosterior(np.array([[0.0, 1.0]])).sample_labels(1000, np.random.default_rng(0))
    assert not drawn[:, 0, 0].any() and drawn[:, 0, 1].all()


def test_the_same_seed_gives_the_same_samples():
    first = coupled().sample_labels(50, np.random.default_rng(3))
    np.testing.assert_array_equal(first, coupled().sample_labels(50, np.random.default_rng(3)))
    assert np.any(first != coupled().sample_labels(50, np.random.default_rng(4)))


def test_beliefs_without_doubt_about_themselves_sample_their_probabilities():
    p = np.random.default_rng(0).random((3, 2))
    sampled = MarginalPosterior(p).sample_probabilities(4, np.random.default_rng(0))
    assert sampled.shape == (4, 3, 2)
    np.testing.assert_array_equal(sampled, np.stack([p] * 4))


# -- rows and blocks ---------------------------------------------------------------------------------------------------

PLACES = [
    slice(0, 3),
    slice(None),
    slice(2, 2),
    slice(None, None, -2),
    np.array([4, 0, 4]),
    np.array([-1]),
    np.empty(0, dtype=np.intp),
    np.array([True, False, True, False, False]),
]


@pytest.mark.parametrize("rows", PLACES, ids=str)
@pytest.mark.parametrize(
    "beliefs",
    [
        MarginalPosterior(np.random.default_rng(0).random((5, 3))),
        IgnorantPosterior(5, 3),
        coupled(5, 3),
        coupled(5, 3).given(np.ones((5, 3), dtype=bool), np.eye(5, 3, dtype=bool)),
        coupled(5, 3).given(sp.csr_array(np.ones((5, 3), dtype=bool)), sp.csr_array(np.eye(5, 3, dtype=bool))),
    ],
    ids=["marginal", "ignorant", "coupled", "given", "given sparse"],
)
def test_rows_index_like_arrays(beliefs, rows):
    part, expected = beliefs.rows(rows), beliefs.probabilities()[rows]
    assert (part.n_items, part.n_labels) == expected.shape
    np.testing.assert_allclose(part.probabilities(), expected, rtol=1e-12)
    np.testing.assert_allclose(part.label_covariances().dense(), beliefs.label_covariances().dense()[rows], rtol=1e-10)


@pytest.mark.parametrize("beliefs", [MarginalPosterior(np.zeros((5, 2))), IgnorantPosterior(5, 2)], ids=["p", "none"])
def test_rows_outside_are_refused(beliefs):
    with pytest.raises(IndexError):
        beliefs.rows(np.array([5]))


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_blocks_cover_every_item_once_in_order(size):
    beliefs = coupled(5)
    parts = list(beliefs.blocks(size))
    assert all(0 < part.stop - part.start <= size for part, _ in parts)
    assert [i for part, _ in parts for i in range(part.start, part.stop)] == list(range(5))
    np.testing.assert_array_equal(np.vstack([b.probabilities() for _, b in parts]), beliefs.probabilities())


def test_no_items_no_blocks():
    assert list(IgnorantPosterior(0, 3).blocks()) == []


def test_ignorance_is_one_half_and_costs_nothing():
    beliefs = IgnorantPosterior(10**9, 10**6)
    p = beliefs.probabilities()
    assert p.shape == (10**9, 10**6) and p.strides == (0, 0) and p[7, 7] == 0.5
    assert beliefs.rows(slice(5, 8)).n_items == 3


def test_the_defaults_know_no_other_items():
    assert MarginalPosterior(np.zeros((1, 1))).item_covariance() is None
    with pytest.raises(NotImplementedError):
        LabelPosterior(1, 1).probabilities()
    with pytest.raises(NotImplementedError):
        LabelPosterior(1, 1).rows(slice(1))


def test_feature_variances_are_those_of_the_items():
    class Covariance:
        def diagonal(self):
            return np.array([1.0, 2.0])

    class Believed(MarginalPosterior):
        def item_covariance(self):
            return Covariance()

    assert Believed(np.zeros((2, 3))).feature_variances().tolist() == [1.0, 2.0]
    assert MarginalPosterior(np.zeros((2, 3))).feature_variances().tolist() == [0.0, 0.0]


# -- given some labels -------------------------------------------------------------------------------------------------


def linear_prediction(p, covariance, values, known):
    """E[other labels | known ones] of a Gaussian, by a dense solve: the rival of the low-rank form."""
    expected, other = values.astype(float), ~known
    solved = np.linalg.solve(covariance[np.ix_(known, known)], values[known] - p[known])
    expected[other] = np.clip(p[other] + covariance[np.ix_(other, known)] @ solved, 1e-6, 1 - 1e-6)
    left = covariance[np.ix_(other, other)] - covariance[np.ix_(other, known)] @ np.linalg.solve(
        covariance[np.ix_(known, known)], covariance[np.ix_(known, other)]
    )
    return expected, left


def test_given_is_gaussian_conditioning():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.3, 0.7, (6, 5))
    beliefs = Coupled(p, LabelCovariances(rng.uniform(0.1, 0.2, (6, 5)), 0.2 * rng.normal(size=(6, 5, 2))))
    values, known = rng.random((6, 5)) < 0.5, rng.random((6, 5)) < 0.5
    known[:, 0], known[:, 1] = True, False
    after = beliefs.given(values, known)
    dense, left_dense = beliefs.label_covariances().dense(), after.label_covariances().dense()
    for i in range(6):
        expected, left = linear_prediction(p[i], dense[i], values[i], known[i])
        np.testing.assert_allclose(after.probabilities()[i], expected, rtol=1e-9)
        other = ~known[i]
        np.testing.assert_allclose(left_dense[i][np.ix_(other, other)], left, rtol=1e-9, atol=1e-12)
        assert np.all(np.abs(left_dense[i][np.ix_(other, known[i])]) == 0)
    assert after.item_covariance() is None


def test_given_nothing_changes_nothing():
    beliefs = Coupled(np.array([[0.0, 1.0, 1e-9]]), random_covariances(1, 3, 2))
    nothing = np.zeros((1, 3), dtype=bool)
    np.testing.assert_array_equal(beliefs.given(~nothing, nothing).probabilities(), beliefs.probabilities())


def test_given_one_item_does_not_touch_the_others():
    """Also not by rounding them away from 0 and 1, or a walk in blocks would believe otherwise than the whole."""
    p = np.array([[0.5, 0.5], [1e-9, 1.0]])
    beliefs = Coupled(p, random_covariances(2, 2, 1))
    known = np.array([[True, False], [False, False]])
    whole = beliefs.given(known, known)
    np.testing.assert_array_equal(whole.probabilities()[1], p[1])
    blocks = np.vstack([b.probabilities() for _, b in whole.blocks(1)])
    np.testing.assert_array_equal(blocks, whole.probabilities())


def test_given_independent_labels_leaves_the_rest():
    p = np.array([[0.2, 0.7, 0.4]])
    known = np.array([[True, False, False]])
    np.testing.assert_allclose(MarginalPosterior(p).given(known, known).probabilities(), [[1.0, 0.7, 0.4]])


def test_given_needs_the_shape():
    with pytest.raises(ValueError, match=r"observed has shape \(1, 2\), expected \(1, 3\)"):
        IgnorantPosterior(1, 3).given(np.zeros((1, 3)), np.zeros((1, 2)))


class _OnALine(MarginalPosterior):
    """Items with a covariance, three of them."""

    noise = 0.5

    def item_covariance(self):
        return self

    def diagonal(self):
        return np.array([0.1, 1.0, 2.0])


def test_targets_default_to_the_item_covariance():
    beliefs = _OnALine(np.full((3, 2), 0.3))
    (group,) = beliefs.target_groups()
    np.testing.assert_allclose(group.entropies(beliefs.diagonal()), np.log(beliefs.diagonal() + 0.5))
    np.testing.assert_allclose(group.spreads(beliefs.diagonal()), beliefs.diagonal() + 0.5)
    assert MarginalPosterior(np.full((3, 2), 0.3)).target_groups() == ()


def test_entropies_of_a_group_are_weighted_sums():
    scales, noises, weights = np.array([2.0, 0.5]), np.array([0.1, 3.0]), np.array([0.7, 0.2])
    group = TargetGroup(_OnALine(np.full((3, 2), 0.3)), scales, noises, weights)
    v = np.array([0.0, 0.4, 9.0])
    expected = sum(w * np.log(s * v + e) for s, e, w in zip(scales, noises, weights, strict=True))
    np.testing.assert_allclose(group.entropies(v), expected)
    np.testing.assert_allclose(group.spreads(v), weights @ (scales[:, None] * v + noises[:, None]))


def test_rankings_and_counts_default_to_probabilities():
    p = np.array([[0.2, 0.9], [0.5, 0.1]])
    np.testing.assert_array_equal(MarginalPosterior(p).ranking(), p)
    np.testing.assert_allclose(MarginalPosterior(p).label_counts(), p.sum(1))
