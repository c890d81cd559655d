"""Evidence and gradients against dense Gaussians and central differences; shared shapes against separate kernels."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from labelwise.numerics.gp.kernels import squared_distances
from labelwise.numerics.gp.target_kernel import (
    PRIOR_SD,
    RATIO_CENTRE,
    Products,
    ShapeSpectrum,
    as_kernel,
    log_prior,
    separate_evidence,
    shape_kernel,
    shape_start,
    shared_evidence,
    tied_evidence,
    with_noise,
)


def problem(n=40, d=5, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    U = np.sin(3 * X @ rng.standard_normal((d, k))) + 0.3 * rng.standard_normal((n, k))
    return X, (U - U.mean(0)) / U.std(0)


def central(function, x, step=1e-5):
    eye = np.eye(x.size)
    return np.array([(function(x + step * e) - function(x - step * e)) / (2 * step) for e in eye])


def test_separate_evidence_is_the_log_density():
    X, U = problem()
    products = Products.of(X @ X.T)
    centre = products.start()
    phi = centre + np.array([0.3, -0.2, 0.5, 0.1, -0.4])
    kernel = as_kernel(phi)
    C = kernel(X) + np.exp(phi[4]) * np.eye(len(X))
    expected = -multivariate_normal(np.zeros(len(X)), C).logpdf(U[:, 0]) + 0.5 * np.sum(((phi - centre) / 1.5) ** 2)
    assert separate_evidence(products, U[:, 0], phi, centre).value == pytest.approx(expected, abs=1e-9)


def test_separate_gradient_is_the_central_difference():
    X, U = problem()
    products = Products.of(X @ X.T)
    centre = products.start()
    phi = centre + np.array([0.3, -0.2, 0.5, 0.1, -0.4])
    found = separate_evidence(products, U[:, 0], phi, centre).gradient
    numeric = central(lambda x: separate_evidence(products, U[:, 0], x, centre).value, phi)
    np.testing.assert_allclose(found, numeric, atol=1e-7)


def test_shared_gradient_is_the_central_difference():
    X, U = problem()
    products = Products.of(X @ X.T)
    centre = shape_start(products.start())
    psi = centre + np.array([0.4, -0.3, 0.2])
    found = shared_evidence(products, U, psi, centre)[0].gradient
    numeric = central(lambda x: shared_evidence(products, U, x, centre)[0].value, psi, 1e-4)
    np.testing.assert_allclose(found, numeric, atol=1e-5)


def test_scales_and_ratios_are_where_a_slow_search_finds_them():
    X, U = problem(k=4)
    K = shape_kernel(shape_start(Products.of(X @ X.T).start()))(X)
    spectrum = ShapeSpectrum.of(K, U)
    found = spectrum.best_scales()
    for g in range(4):

        def loss(log_ratio, g=g):
            C = K + np.exp(log_ratio) * np.eye(len(X))
            scale = U[:, g] @ np.linalg.solve(C, U[:, g]) / len(X)
            prior = 0.5 * ((log_ratio - np.log(RATIO_CENTRE)) / PRIOR_SD) ** 2
            return -multivariate_normal(np.zeros(len(X)), scale * C).logpdf(U[:, g]) + prior

        slow = minimize_scalar(loss, bounds=(-6, 6), method="bounded", options={"xatol": 1e-10})
        assert found.losses[g] == pytest.approx(slow.fun, abs=1e-8)
        assert np.log(found.ratios[g]) == pytest.approx(slow.x, abs=1e-4)


def test_shared_and_separate_agree_at_equal_hyper_parameters():
    X, U = problem()
    products = Products.of(X @ X.T)
    psi = shape_start(products.start())
    spectrum = ShapeSpectrum.of(shape_kernel(psi)(X), U)
    found = spectrum.best_scales()
    C = shape_kernel(psi)(X) + found.ratios[0] * np.eye(len(X))
    np.testing.assert_allclose(spectrum.weights(found.ratios)[:, 0], np.linalg.solve(C, U[:, 0]), atol=1e-8)
    np.testing.assert_allclose(spectrum.precision_diagonals(found.ratios)[:, 0], np.linalg.inv(C).diagonal(), atol=1e-8)
    theta0 = found.scales[0]
    phi = np.log([theta0, *np.exp(psi[:1]), *(np.exp(psi[1:]) * theta0), found.ratios[0] * theta0])
    bare = separate_evidence(products, U[:, 0], phi, phi).value
    prior = 0.5 * (np.log(found.ratios[0] / RATIO_CENTRE) / PRIOR_SD) ** 2
    assert bare + prior == pytest.approx(found.losses[0], abs=1e-8)


def test_given_ratio_is_kept_and_scaling_a_target_scales_its_scale():
    X, U = problem()
    K = shape_kernel(shape_start(Products.of(X @ X.T).start()))(X)
    kept = ShapeSpectrum.of(K, U).best_scales(noise_ratio=0.7)
    np.testing.assert_array_equal(kept.ratios, 0.7)
    one, ten = ShapeSpectrum.of(K, U).best_scales(), ShapeSpectrum.of(K, 10 * U).best_scales()
    np.testing.assert_allclose(ten.ratios, one.ratios, rtol=1e-6)
    np.testing.assert_allclose(ten.scales, 100 * one.scales, rtol=1e-6)


def test_products_grow_as_if_made_at_once():
    X, _ = problem(30)
    grown = Products.of(X[:12] @ X[:12].T)
    for stop in (13, 20, 30):
        start = grown.inner.shape[0]
        new = X[start:stop]
        grown = grown.grown(new @ X[:start].T, new @ new.T)
    np.testing.assert_allclose(grown.inner, X @ X.T, atol=1e-14)
    np.testing.assert_allclose(grown.distances, squared_distances(X), atol=1e-13)
    np.testing.assert_array_equal(grown.distances.diagonal(), 0.0)


def test_prior_gradient_and_a_covariance_that_is_none():
    phi, centre = np.array([1.0, -2.0]), np.zeros(2)
    np.testing.assert_allclose(log_prior(phi, centre).gradient, central(lambda x: log_prior(x, centre).value, phi))
    X, U = problem()
    products = Products.of(X @ X.T)
    impossible = np.array([20.0, -30.0, 20.0, 20.0, -40.0])
    assert np.isinf(separate_evidence(products, U[:, 0], impossible, impossible).value)


def test_evidence_under_a_given_noise_ratio_is_that_of_the_whole_with_its_gradient():
    X, U = problem()
    products = Products.of(X @ X.T)
    centre = products.start()
    phi = centre[:4] + np.array([0.3, -0.2, 0.5, 0.1])
    full = with_noise(phi, 0.05)
    assert np.exp(full[4]) == pytest.approx(0.05 * np.exp(phi[0]))
    found = tied_evidence(products, U[:, 0], phi, centre, 0.05)
    alone = separate_evidence(products, U[:, 0], full, full).value  # at the centre of its prior: evidence alone
    assert found.value == pytest.approx(alone + log_prior(phi, centre[:4]).value)
    slope = central(lambda x: tied_evidence(products, U[:, 0], x, centre, 0.05).value, phi)
    np.testing.assert_allclose(found.gradient, slope, atol=1e-6)
    psi, prior = shape_start(centre) + 0.2, shape_start(centre)
    shared, scales = shared_evidence(products, U, psi, prior, 0.05)
    slope = central(lambda x: shared_evidence(products, U, x, prior, 0.05)[0].value, psi)
    np.testing.assert_allclose(shared.gradient, slope, atol=1e-5)
    np.testing.assert_array_equal(scales.ratios, 0.05)


def test_values_alone_are_those_that_come_with_a_gradient():
    X, U = problem()
    products = Products.of(X @ X.T)
    phi = products.start()
    psi = shape_start(phi)
    for evidence in (
        lambda **asked: separate_evidence(products, U[:, 0], phi + 0.3, phi, **asked),
        lambda **asked: tied_evidence(products, U[:, 0], phi[:4] + 0.3, phi, 0.05, **asked),
        lambda **asked: shared_evidence(products, U, psi + 0.3, psi, **asked)[0],
    ):
        alone, both = evidence(with_gradient=False), evidence()
        assert alone.value == both.value and alone.gradient.size == 0 < both.gradient.size
