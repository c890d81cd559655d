"""Label codes against singular value decompositions and their defining properties."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.numerics.recovery.label_codes import (
    CompressedLabels,
    KnownLabels,
    addressed_projection,
    back_project,
    centre_labels,
    encode,
    explained_by_known,
    gaussian_projection,
    identity_projection,
    observed_means,
    orthogonal_projection,
    pca_projection,
)


def random_labels(n, q, seed=0, rate=0.3):
    return (np.random.default_rng(seed).random((n, q)) < rate).astype(float)


def test_gaussian_columns_have_unit_length_on_average():
    Phi = gaussian_projection(40, 5000, np.random.default_rng(0))
    lengths = (Phi**2).sum(0)
    assert_allclose(lengths.mean(), 1.0, atol=4 * np.sqrt(2 / 40 / 5000))  # variance of a chi-square over k
    assert_allclose(lengths.var(), 2 / 40, rtol=0.1)


@pytest.mark.parametrize(("k", "q"), [(3, 8), (8, 8), (1, 1)])
def test_orthogonal_rows_are_orthonormal(k, q):
    Phi = orthogonal_projection(k, q, np.random.default_rng(0))
    assert Phi.shape == (k, q)
    assert_allclose(Phi @ Phi.T, np.eye(k), atol=1e-12)


def test_orthogonal_rows_are_uniform():
    draws = np.array([orthogonal_projection(2, 3, np.random.default_rng(seed)) for seed in range(2000)])
    assert_allclose(draws.mean(0), 0.0, atol=5 / np.sqrt(3 * 2000))  # QR alone would fix the signs
    assert_allclose((draws**2).mean(0), 1 / 3, atol=0.04)


def test_orthogonal_cannot_have_more_rows_than_labels():
    with pytest.raises(ValueError, match="n_labels = 3"):
        orthogonal_projection(4, 3, np.random.default_rng(0))


@pytest.mark.parametrize(("n", "q"), [(30, 8), (8, 30), (12, 12)])
def test_pca_is_the_singular_value_decomposition(n, q):
    centred = centre_labels(random_labels(n, q), random_labels(n, q).mean(0))
    Phi = pca_projection(centred, n_compressed=4)
    right = np.linalg.svd(centred)[2][:4]
    assert_allclose(Phi @ Phi.T, np.eye(4), atol=1e-12)
    assert_allclose(np.abs((Phi * right).sum(1)), 1.0, rtol=1e-9)  # equal up to sign
    assert (Phi[np.arange(4), np.abs(Phi).argmax(1)] > 0).all()


@pytest.mark.parametrize(("n", "q"), [(40, 12), (10, 25)])
def test_pca_keeps_the_fewest_rows_that_hold_the_share(n, q):
    centred = centre_labels(random_labels(n, q), random_labels(n, q).mean(0))
    shares = np.linalg.svd(centred, compute_uv=False) ** 2
    shares = np.cumsum(shares) / shares.sum()
    for share in (0.3, 0.9, 0.95):
        k = pca_projection(centred, variance_share=share).shape[0]
        assert shares[k - 1] >= share - 1e-9
        assert k == 1 or shares[k - 2] < share


@pytest.mark.parametrize(("n", "q"), [(5, 9), (9, 5)])
def test_pca_is_cut_to_the_rank(n, q):
    labels = random_labels(n, q, rate=0.5)
    centred = centre_labels(labels, labels.mean(0))
    rank = np.linalg.matrix_rank(centred)
    assert pca_projection(centred, n_compressed=q).shape == (rank, q)
    assert pca_projection(centred, variance_share=1.0).shape == (rank, q)
    assert rank <= min(n - 1, q)


def test_pca_of_equal_rows_still_gives_a_row():
    assert pca_projection(np.zeros((1, 3))).shape == (1, 3)
    assert_allclose((pca_projection(np.zeros((6, 3))) ** 2).sum(1), 1.0)


def test_pca_of_few_rows_never_forms_the_label_covariance():
    labels = random_labels(4, 60_000)  # q × q would take 29 GB
    assert pca_projection(centre_labels(labels, labels.mean(0))).shape == (3, 60_000)


def test_pca_follows_a_permutation_of_the_labels():
    labels = random_labels(20, 7)
    order = np.random.default_rng(1).permutation(7)
    centred = centre_labels(labels, labels.mean(0))
    assert_allclose(pca_projection(centred[:, order]), pca_projection(centred)[:, order], atol=1e-10)


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_pca_refuses_a_share_outside_its_range(share):
    with pytest.raises(ValueError, match=f"got {share}"):
        pca_projection(random_labels(5, 3), variance_share=share)


def test_means_and_centring_read_observed_entries_only():
    rng = np.random.default_rng(0)
    labels, observed = random_labels(30, 6), rng.random((30, 6)) < 0.6
    observed[:, 5] = False
    other = np.where(observed, labels, 1 - labels)
    means = observed_means(labels, observed)
    assert_allclose(means[:5], [labels[observed[:, j], j].mean() for j in range(5)])
    assert means[5] == 0.0
    assert_allclose(means, observed_means(other, observed))
    centred = centre_labels(labels, means, observed)
    assert_allclose(centred, centre_labels(other, means, observed))
    assert_allclose(centred.sum(0), 0.0, atol=1e-12)
    assert_allclose(observed_means(labels), observed_means(labels, np.ones((30, 6), dtype=bool)))


def test_decoding_inverts_encoding_on_the_span():
    rng = np.random.default_rng(0)
    labels, mean = random_labels(6, 9), rng.random(9)
    Phi = orthogonal_projection(4, 9, rng)
    codes = encode(labels, Phi, mean)
    assert_allclose(codes, [Phi @ (y - mean) for y in labels], atol=1e-12)
    assert_allclose(encode(back_project(codes, Phi, mean), Phi, mean), codes, atol=1e-12)
    everything = identity_projection(9)
    assert_allclose(back_project(encode(labels, everything, mean), everything, mean), labels, atol=1e-12)
    assert_allclose(encode(np.zeros((1, 9)), Phi), 0.0)  # a row without labels is a valid code


def test_known_labels_explain_their_part_of_the_code():
    rng = np.random.default_rng(0)
    labels, observed = random_labels(5, 6), rng.random((5, 6)) < 0.5
    Phi = gaussian_projection(3, 6, rng)
    explained, free = explained_by_known(np.zeros((5, 3)), Phi, KnownLabels(labels, observed))
    for i in range(5):
        assert_allclose(explained[i], Phi[:, observed[i]] @ labels[i, observed[i]], atol=1e-12)
    assert (free == ~observed).all()


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(3,\)"):
        CompressedLabels(np.zeros((2, 3)), np.ones(3))
    with pytest.raises(ValueError, match="of int64"):
        KnownLabels(np.zeros((2, 3)), np.ones((2, 3), dtype=np.int64))
    with pytest.raises(ValueError, match="4 dimensions, but the projection has 3"):
        explained_by_known(np.zeros((2, 4)), np.ones((3, 5)), None)
    known = KnownLabels(np.zeros((2, 4)), np.ones((2, 4), dtype=bool))
    with pytest.raises(ValueError, match=r"expected \(items, labels\) = \(2, 5\)"):
        explained_by_known(np.zeros((2, 3)), np.ones((3, 5)), known)
    with pytest.raises(ValueError, match="k = 0"):
        gaussian_projection(0, 3, np.random.default_rng(0))


def test_addressed_projections_are_random_and_stay():
    Phi = addressed_projection(400, 300, seed=3)
    assert abs(float(Phi.mean())) < 5 / np.sqrt(Phi.size) / 20
    assert_allclose((Phi**2).sum(0).mean(), 1.0, atol=0.02)  # columns of unit length on average
    assert np.abs(np.corrcoef(Phi.T) - np.eye(300)).max() < 0.35
    assert_allclose(addressed_projection(400, 310, seed=3)[:, :300], Phi)
    assert not np.allclose(addressed_projection(400, 300, seed=4), Phi)
    assert set(np.unique(addressed_projection(4, 50, 0, "rademacher"))) == {-0.5, 0.5}
