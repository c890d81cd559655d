"""Made-up sets and streams against sampling, bisection and the figures of their specification."""

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.metrics import roc_auc_score

from labelwise.data import make_drifting_stream, make_gaussian_labels, make_shapes, shapes_probabilities
from labelwise.data.made_up.synthetic import OWN_WORDS, WORDS_PER_LABEL, nearest_pairs


def test_gaussian_labels_are_balls_around_their_centres():
    data = make_gaussian_labels(2000, random_state=3)
    assert (data.X.shape, data.Y.shape, data.cardinality) == ((2000, 2), (2000, 35), 7.0)
    Y = data.Y.toarray()
    for label in range(35):  # a label's items lie in a disc that holds hardly any other item
        inside = data.X[Y[:, label]]
        centre = inside.mean(axis=0)
        for _ in range(200):  # towards the centre of the smallest enclosing disc
            far = inside[np.argmax(np.linalg.norm(inside - centre, axis=1))]
            centre = centre + 0.02 * (far - centre)
        radius = np.linalg.norm(inside - centre, axis=1).max()
        within = np.linalg.norm(data.X - centre, axis=1) <= radius
        assert (within & ~Y[:, label]).sum() <= 0.1 * within.sum()


def test_the_threshold_is_what_bisection_finds():
    distances = np.random.default_rng(0).random((50, 8))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (distances <= middle).sum() < 130 else (low, middle)
    assert np.array_equal(nearest_pairs(distances, 130), distances <= high)
    assert nearest_pairs(distances, 0).sum() == 0
    assert nearest_pairs(distances, 400).all()


def test_items_come_from_all_gaussians_alike():
    few = make_gaussian_labels(3000, n_labels=1, mean_labels=0.5, random_state=0)
    spread = few.X.std(axis=0)
    assert np.all((spread > 0.45) & (spread < 1.6))
    standard = (few.X - few.X.mean(axis=0)) / spread
    assert kstest(standard.ravel(), "norm").pvalue > 0.001
    distance = np.linalg.norm(few.X - few.X.mean(axis=0), axis=1)
    assert distance[few.Y.toarray()[:, 0]].max() < distance[~few.Y.toarray()[:, 0]].min() + 0.2


@pytest.mark.parametrize("make", [make_gaussian_labels, make_shapes])
def test_seeds_decide_everything(make, assert_same):
    assert_same(make(100, random_state=5), make(100, random_state=np.random.default_rng(5)))
    assert not np.array_equal(make(100, random_state=5).X, make(100, random_state=6).X)


def test_shapes_obey_their_definitions():
    data = make_shapes(5000, random_state=0)
    Y = dict(zip(data.label_names, data.Y.toarray().T, strict=True))
    inside = sum(Y[f"G{k}"].astype(int) for k in range(1, 9))
    assert np.array_equal(Y["C1"], inside == 1)
    assert np.array_equal(Y["C2"], inside >= 2)
    for k in range(1, 5):
        assert np.array_equal(Y[f"O{k}"], Y[f"G{2 * k - 1}"] & Y[f"G{2 * k}"])
        assert Y[f"O{k}"].any()
    assert not (Y["E2"] | Y["E3"])[~Y["E1"]].any()
    assert np.array_equal(Y["E4"], Y["E3"] & ~Y["E2"])


def test_areas_of_the_shapes():
    grid = (np.arange(500) + 0.5) / 500
    X = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    share = shapes_probabilities(X).mean(axis=0)
    discs = {0: 0.17, 1: 0.17, 4: 0.18, 7: 0.16}
    for label, radius in discs.items():
        assert share[label] == pytest.approx(np.pi * radius**2, abs=5e-4)
    for label, area in {2: 0.25 * 0.35, 3: 0.27 * 0.30, 5: 0.25 * 0.24, 6: 0.23 * 0.28}.items():
        assert share[label] == pytest.approx(area, abs=2e-3)
    assert share[14] == pytest.approx(np.pi * 0.38 * 0.30, abs=5e-4)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_probabilities_are_the_frequencies(noise):
    data = make_shapes(60_000, noise=noise, random_state=1)
    p, Y = shapes_probabilities(data.X, noise), data.Y.toarray()
    for label in range(18):
        for value in np.unique(p[:, label]):
            here = Y[p[:, label] == value, label]
            assert abs(here.mean() - value) <= 4.5 * np.sqrt(value * (1 - value) / len(here)) + 1e-12


def test_the_ceiling_of_the_shapes():
    data = make_shapes(40_000, random_state=2)
    p, Y = shapes_probabilities(data.X), data.Y.toarray()
    auc = [roc_auc_score(Y[:, label], p[:, label]) for label in range(18)]
    assert np.mean(auc) == pytest.approx(0.977, abs=0.002)
    assert np.mean(auc[14:]) == pytest.approx(0.895, abs=0.004)
    assert auc[17] == pytest.approx(0.852, abs=0.006)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_gaussian_labels, {"n_items": 0}, "n_items must be at least 1, got 0"),
        (make_gaussian_labels, {"n_labels": 0}, "n_labels must be at least 1"),
        (make_gaussian_labels, {"n_labels": 3}, "mean_labels must be between 0 and n_labels = 3, got 7"),
        (make_shapes, {"n_items": -1}, "n_items must be at least 1"),
        (make_shapes, {"noise": 0.5}, "noise must be between 0 and 0.5, got 0.5"),
    ],
)
def test_wrong_wishes(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def own_words(data, rows):
    """(items, labels) how many words of each label's first vocabulary the rows hold."""
    X = data.X[rows][:, : data.n_labels * OWN_WORDS].toarray()
    return X.reshape(len(X), data.n_labels, OWN_WORDS).sum(2)


def test_labels_speak_through_their_words_and_after_the_drift_through_the_next_ones():
    data = make_drifting_stream(400, 5, noise=0.0, drift_at=(300, 150), random_state=1)
    Y = data.Y.toarray()
    for drifts, rows in enumerate((range(150), range(150, 300), range(300, 400))):
        speaking = np.roll(Y[rows], drifts, axis=1)
        np.testing.assert_array_equal(own_words(data, rows), WORDS_PER_LABEL * speaking)


def test_noise_is_the_share_of_words_from_other_labels():
    data = make_drifting_stream(20_000, 5, noise=0.5, random_state=1)
    Y = data.Y.toarray()
    alone = Y.sum(1) == 1
    right = (own_words(data, alone) * Y[alone]).sum() / own_words(data, alone).sum()
    assert right == pytest.approx(0.5 + 0.5 / 5, abs=0.02)


def test_shares_and_the_late_label():
    data = make_drifting_stream(20_000, 4, share=0.2, new_label_at=15_000, random_state=0)
    Y = data.Y.toarray()
    assert not Y[:15_000, -1].any()
    np.testing.assert_allclose(Y[15_000:].mean(0), 0.2, atol=4 * 0.4 / np.sqrt(5000))
    assert (make_drifting_stream(50, random_state=3).X != make_drifting_stream(50, random_state=3).X).nnz == 0


@pytest.mark.parametrize("wrong", [{"n_items": 0}, {"n_labels": 1}, {"share": 1.0}, {"noise": 1.0}])
def test_wrong_sizes_are_told(wrong):
    with pytest.raises(ValueError, match="n_items must be at least 1"):
        make_drifting_stream(**wrong)
