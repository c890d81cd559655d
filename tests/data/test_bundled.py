import importlib.util
import io
import itertools

import numpy as np
import pytest

from labelwise.data import load_yeast
from labelwise.data.bundled import ATTRIBUTES, SCALE, make_digit_pictures, png


def test_a_picture_is_read_as_it_was_drawn():
    image = pytest.importorskip("PIL.Image", reason="needs the package pillow")
    grey = np.random.default_rng(0).integers(0, 256, (5, 9)).astype(np.uint8)
    with image.open(io.BytesIO(png(grey))) as read:
        assert np.array_equal(np.asarray(read), grey)


def test_attributes_tell_the_ten_digits_apart():
    rows = {tuple(digit in members for members in ATTRIBUTES.values()) for digit in range(10)}
    assert len(rows) >= 9


def test_items_are_pictures_with_every_attribute_known():
    digits = make_digit_pictures(50)
    assert (digits.n_items, digits.n_labels, digits.observed) == (50, len(ATTRIBUTES), None)
    assert len(set(digits.item_ids)) == 50
    assert SCALE * 8 == 64


def test_yeast_is_whole():
    data = load_yeast()
    assert (data.X.shape, data.n_labels, data.observed) == ((2417, 103), 14, None)
    assert round(data.cardinality, 3) == 4.237
    assert data.label_names[0] == "Class1"


def test_the_first_rows_are_those_of_river():
    datasets = pytest.importorskip("river.datasets", reason="needs the package river")
    data = load_yeast()
    Y = data.Y.toarray()
    for row, (x, y) in enumerate(itertools.islice(datasets.Yeast(), 20)):
        assert np.array_equal(data.X[row], [x[name] for name in data.feature_names])
        assert np.array_equal(Y[row], [y[name] for name in data.label_names])


def test_without_river_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install 'river>="):
        load_yeast()
