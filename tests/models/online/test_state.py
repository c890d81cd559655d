"""Growing weights: what was learnt stays, what is new is at the prior, memory is what is used."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.models.online import state as _online_state
from labelwise.models.online.state import OnlineState
from labelwise.numerics.ep.online_learning import Prior

PRIOR = Prior(weight_precision=4.0, local_precision=2.0, hub_precision=0.01, half_life=0.0, local_bias=True)


def grown(n_features=50, n_labels=20, block_size=None):
    state = OnlineState(PRIOR, block_size, with_hubs=True, dtype="float32")
    state.grow(n_features, n_labels)
    return state


def test_everything_starts_at_the_prior():
    state = grown()
    mean, variance = state.weights_of(np.array([3, 7]))
    assert mean.shape == (2, 20) and not mean.any() and np.all(variance == 0.25)
    np.testing.assert_array_equal(state.local_bias()[1], 0.5)
    np.testing.assert_array_equal(state.bias, [[0.0, 100.0]])
    (block,) = state.blocks
    assert block.columns == 24 and block.weights.ctypes.data % 64 == 0


def test_growing_keeps_what_was_learnt():
    state = grown()
    state.admit(sp.csr_array(([1.0, 1.0], ([0, 0], [5, 9])), shape=(1, 50)))
    (block,) = state.blocks
    block.weights[1:3, 0, :20] = np.arange(40).reshape(2, 20)
    block.weights[0, :, :20] = 7
    block.counts[:, 3] = 4
    state.grow(80, 45)
    mean, variance = state.weights_of(np.array([9, 5, 79]))
    np.testing.assert_array_equal(mean[:, :20], [np.arange(20, 40), np.arange(20), np.zeros(20)])
    assert not mean[:, 20:].any() and np.all(variance == 0.25)
    np.testing.assert_array_equal(state.local_bias()[0], [7] * 20 + [0] * 25)
    assert state.counts[0, 3] == 4 and state.counts.sum() == 8


@pytest.mark.parametrize("block_size", [None, 16])
def test_new_rows_beyond_the_reserve(block_size, monkeypatch):
    monkeypatch.setattr(_online_state, "RESERVE", 1000)
    state = grown(n_features=5000, block_size=block_size)
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = sp.random_array((5, 5000), density=0.02, random_state=rng, format="csr")
        features = np.unique(X.indices)
        state.admit(X)
        for block in state.blocks:
            block.weights[state.row_of[features], 0, : block.n_labels] = features[:, None]
    seen = np.flatnonzero(state.row_of >= 0)
    for block in state.blocks:
        assert state.n_rows == len(seen) + 1 < block.weights.shape[0] < 1.6 * state.n_rows
    np.testing.assert_array_equal(state.weights_of(seen)[0], np.tile(seen[:, None], (1, 20)))
    assert len(set(state.row_of[seen])) == len(seen)


def test_new_labels_get_the_current_bias():
    state = grown(n_labels=20, block_size=16)
    assert state.bias.shape == (2, 2)
    state.bias[1] = 3.0, 0.5
    state.grow(50, 40)
    np.testing.assert_array_equal(state.bias, [[0.0, 100.0], [3.0, 0.5], [3.0, 0.5]])
    np.testing.assert_array_equal(state.hub_of(), [0] * 16 + [1] * 16 + [2] * 8)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
def test_copies_leave_the_reserve_behind_and_can_grow(again):
    state = grown(n_features=10_000)
    state.admit(sp.csr_array(([1.0], ([0], [5])), shape=(1, 10_000)))
    state.blocks[0].weights[1, 0] = 2
    assert state.blocks[0].weights.shape[0] == 10_001  # reserved
    other = again(state)
    assert other.blocks[0].weights.shape[0] == 2
    other.admit(sp.csr_array(([1.0], ([0], [8])), shape=(1, 10_000)))
    np.testing.assert_array_equal(other.weights_of(np.array([5, 8]))[0][:, 0], [2, 0])
