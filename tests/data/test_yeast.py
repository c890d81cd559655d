"""The yeast set that river brings, against river's own reading of it."""

import importlib.util
import itertools

import numpy as np
import pytest

from labelwise.data import load_yeast


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
    with pytest.raises(ImportError, match=r"pip install labelwise\[demo\]"):
        load_yeast()
