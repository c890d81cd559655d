"""Reading a mixture: against a loop over its arrays, and on items whose kinds are known."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from labelwise.models import LabelMixtureGP
from labelwise.models._mixture_components import describe_components


def test_components_are_what_the_arrays_say():
    rng = np.random.default_rng(0)
    theta, phi = rng.random((4, 6)), rng.dirichlet(np.ones(4), size=9)
    sizes = phi.sum(0)
    rates = [sum(sizes[k] * theta[k, j] for k in range(4)) / 9 for j in range(6)]
    found = describe_components(theta, phi, n_labels=3, n_items=2)
    assert sum(part.share for part in found) == pytest.approx(1)
    for part, k in zip(found, sorted(range(4), key=lambda k: -sizes[k]), strict=True):
        labels = sorted(range(6), key=lambda j: -theta[k, j])[:3]
        items = sorted(range(9), key=lambda i: -phi[i, k])[:2]
        assert part.size == pytest.approx(sizes[k])
        assert part.labels.tolist() == labels and part.items.tolist() == items
        np.testing.assert_allclose(part.probabilities, theta[k, labels])
        np.testing.assert_allclose(part.base_rates, [rates[j] for j in labels])
        np.testing.assert_allclose(part.responsibilities, phi[items, k])


def kinds(seed=0):
    """Three kinds of items, each with two labels of its own."""
    rng = np.random.default_rng(seed)
    kind = np.repeat([0, 1, 2], [50, 30, 20])
    X = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[kind] + rng.normal(size=(100, 2))
    return X, np.repeat(np.eye(3, dtype=bool), 2, axis=1)[kind], kind


def test_known_kinds_are_found():
    X, Y, kind = kinds()
    model = LabelMixtureGP(n_components=3, restarts=2, random_state=0).fit(X, Y)
    found = model.components(n_labels=2, n_items=4)
    assert [round(part.size) for part in found] == [50, 30, 20]
    for number, part in enumerate(found):
        assert set(part.labels) == {2 * number, 2 * number + 1}
        assert np.all(part.probabilities > 0.75) and np.all(part.base_rates < 0.6)
        assert np.all(kind[part.items] == number)


def test_the_restart_with_the_highest_bound_is_read():
    X, Y, _ = kinds()
    model = LabelMixtureGP(n_components=3, restarts=3, random_state=1).fit(X, Y)
    found = model.components()
    assert len(found) == 3 and sum(part.size for part in found) == pytest.approx(100)
    bounds = [restart.bounds[-1] for restart in model._fitted.restarts]
    part = model._fitted.parts[int(np.argmax(bounds))]
    np.testing.assert_allclose(sorted(model.component_sizes_[part]), sorted(each.size for each in found))


def test_wrong_wishes():
    with pytest.raises(NotFittedError):
        LabelMixtureGP().components()
    X, Y, _ = kinds()
    with pytest.raises(ValueError, match="n_labels must not be negative, got -1"):
        LabelMixtureGP(2, restarts=1).fit(X, Y).components(n_labels=-1)
