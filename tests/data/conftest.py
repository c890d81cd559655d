"""What the tests of files share: a file from a text, and equality of data to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


@pytest.fixture(scope="session")
def assert_same():
    def check(found, expected, *, but=()):
        assert np.array_equal(dense(found.X), dense(expected.X))
        assert np.array_equal(np.signbit(dense(found.X)), np.signbit(dense(expected.X)))
        assert np.array_equal(dense(found.Y), dense(expected.Y))
        assert np.array_equal(dense(found.observed_mask()), dense(expected.observed_mask()))
        for what in ("item_ids", "label_names", "feature_names", "items"):
            if what not in but:
                assert getattr(found, what) == getattr(expected, what), what

    return check


@pytest.fixture
def file(tmp_path):
    def make(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make
