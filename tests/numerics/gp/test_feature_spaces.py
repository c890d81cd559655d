"""Covariances as linear models in features, against kernels and posteriors that are formed."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.numerics.feature_scaling import FeatureScaling, learn_scaling
from labelwise.numerics.gp.feature_spaces import (
    LARGEST_RANK,
    Fourier,
    FourierMap,
    Landmarks,
    array_parts,
    feature_blocks,
    space_given,
    span_kernel,
)
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.information import LowRankBlocks, greedy_information

NOISE = 0.2


def rows(n=30, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def posterior_covariance(kernel, known, X):
    """κ(x, x') − κ(x, K) (κ(K, K) + noise)⁻¹ κ(K, x')."""
    C = kernel(known) + NOISE * np.eye(len(known))
    return kernel(X) - kernel(X, known) @ np.linalg.solve(C, kernel(known, X))


def covariance_of(space, X):
    phi, noise = space(X)
    phi = phi.toarray() if sp.issparse(phi) else phi
    return phi @ np.linalg.solve(np.eye(phi.shape[1]) + space.known_gram, phi.T), noise


@pytest.mark.parametrize("sparse", [False, True])
def test_a_linear_kernel_has_its_posterior_exactly(sparse):
    kernel, X, known = Kernel(linear=0.7, bias=1.3), rows(), rows(6, seed=1)
    turn = sp.csr_array if sparse else np.asarray
    feature_map = span_kernel(kernel, None, FeatureScaling(), 4)
    covariance, noise = covariance_of(space_given(feature_map, FeatureScaling(), NOISE, turn(known)), turn(X))
    assert_allclose(covariance, posterior_covariance(kernel, known, X), atol=1e-12)
    assert_array_equal(noise, NOISE)


@pytest.mark.parametrize("kernel", [Kernel(rbf=1.5, length_scale=2.0, bias=0.3), Kernel(linear=1.0, bias=1.0)])
def test_landmarks_that_are_all_items_lose_nothing(kernel):
    X, known = rows(), rows(6, seed=1)
    both = np.vstack([X, known])
    space = space_given(span_kernel(kernel, Landmarks(both), FeatureScaling(), 4), FeatureScaling(), NOISE, known)
    covariance, noise = covariance_of(space, X)
    assert_allclose(covariance, posterior_covariance(kernel, known, X), atol=1e-5)
    assert_allclose(noise, NOISE, atol=1e-5)


def test_what_landmarks_lose_is_noise_of_the_item():
    kernel, X = Kernel(rbf=1.0, length_scale=1.0), rows()
    space = space_given(span_kernel(kernel, Landmarks(X[:5]), FeatureScaling(), 4), FeatureScaling(), NOISE, X[:0])
    phi, noise = space(X)
    assert_allclose(np.sum(phi**2, axis=1) + noise, 1.0 + NOISE, atol=1e-8)
    assert noise[5:].max() > 2 * NOISE
    assert_allclose(noise[:5], NOISE, atol=1e-6)


@pytest.mark.parametrize("linear", [0.0, 0.5])
def test_waves_have_the_kernel_for_their_mean_and_its_diagonal_exactly(linear):
    kernel, X = Kernel(rbf=1.5, linear=linear, bias=0.3, length_scale=2.0), rows(8)
    phi = [FourierMap.of(kernel, 4, 400, seed)(X) for seed in range(60)]
    products = np.array([each @ each.T for each in phi])
    assert_allclose(products[:, np.arange(8), np.arange(8)], np.broadcast_to(kernel.diagonal(X), (60, 8)))
    error = products.mean(0) - kernel(X)
    assert np.abs(error).max() < 5 * 1.5 / np.sqrt(2 * 200 * 60)  # five deviations of a mean of cosines


def test_waves_of_sparse_rows_are_those_of_dense_ones():
    kernel, X = Kernel(rbf=1.0, linear=0.2, bias=0.1), rows(5)
    waves = FourierMap.of(kernel, 4, 10, 0)
    assert_allclose(waves(sp.csr_array(X)), waves(X))


def test_a_kernel_without_features_of_use_has_none():
    prepare = FeatureScaling()
    assert span_kernel(Kernel(rbf=1.0), None, prepare, 4) is None
    assert span_kernel(Kernel(linear=1.0), None, prepare, LARGEST_RANK) is None
    assert span_kernel(lambda A, B=None: A @ A.T, Fourier(10), prepare, 4) is None


def test_spaces_and_blocks_can_be_sent_away():
    X, kernel = rows(), Kernel(rbf=1.0, length_scale=2.0)
    scaling = learn_scaling(X, "auto")
    space = space_given(span_kernel(kernel, Landmarks(X[:9]), scaling, 4), scaling, NOISE, scaling(X[:3]))
    blocks = feature_blocks(array_parts(X, 8), space)
    sent = pickle.loads(pickle.dumps(blocks))
    assert [block.start for block in sent] == [0, 8, 16, 24]
    for mine, theirs in zip(blocks, sent, strict=True):
        for a, b in zip(mine.load(np.array([1])), theirs.load(np.array([1])), strict=True):
            assert_array_equal(a, b)
    picks = greedy_information(LowRankBlocks(blocks, known_gram=space.known_gram), 9)
    covariance, noise = covariance_of(space, X)
    assert_array_equal(picks.indices, greedy_information(covariance + np.diag(noise), 9).indices)
