import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.labelling.cold_start import most_telling_items


@pytest.mark.parametrize("sparse", [False, True])
def test_one_of_each_group_is_asked_first(sparse):
    groups = np.repeat(np.eye(6) * 3, 20, axis=0) + 0.05 * np.random.default_rng(0).random((120, 6))
    X = sp.csr_array(groups) if sparse else groups
    rows, _ = most_telling_items(X, sp.csr_array((120, 4), dtype=bool), 5 if sparse else 6, random_state=0)
    assert len(set(rows // 20)) == rows.size


def test_closed_items_are_not_chosen_and_the_draw_is_repeatable():
    X = np.random.default_rng(1).standard_normal((50, 3))
    closed = sp.csr_array(np.repeat(np.arange(50) < 30, 2).reshape(50, 2))
    first, again = (most_telling_items(X, closed, 10, random_state=4)[0] for _ in range(2))
    assert first.min() >= 30
    assert first.tolist() == again.tolist()
