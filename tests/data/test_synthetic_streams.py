"""The made-up stream does what it says: frequencies stay, rules change, a label begins late."""

import numpy as np
import pytest

from labelwise.data import make_drifting_stream
from labelwise.data.synthetic_streams import OWN_WORDS, WORDS_PER_LABEL


def own_words(data, rows):
    """(items, labels) how many words of each label's first vocabulary the rows hold."""
    X = data.X[rows][:, : data.n_labels * OWN_WORDS].toarray()
    return X.reshape(len(X), data.n_labels, OWN_WORDS).sum(2)


def test_labels_speak_through_their_words_and_after_the_drift_through_the_next_ones():
    data = make_drifting_stream(400, 5, drift_at=150, random_state=1)
    Y = data.Y.toarray()
    before, after = np.arange(150), np.arange(150, 400)
    np.testing.assert_array_equal(own_words(data, before), WORDS_PER_LABEL * Y[before])
    np.testing.assert_array_equal(own_words(data, after), WORDS_PER_LABEL * np.roll(Y[after], 1, axis=1))


def test_shares_and_the_late_label():
    data = make_drifting_stream(20_000, 4, share=0.2, new_label_at=15_000, random_state=0)
    Y = data.Y.toarray()
    assert not Y[:15_000, -1].any()
    np.testing.assert_allclose(Y[15_000:].mean(0), 0.2, atol=4 * 0.4 / np.sqrt(5000))
    assert (make_drifting_stream(50, random_state=3).X != make_drifting_stream(50, random_state=3).X).nnz == 0


@pytest.mark.parametrize("wrong", [{"n_items": 0}, {"n_labels": 1}, {"share": 1.0}])
def test_wrong_sizes_are_told(wrong):
    with pytest.raises(ValueError, match="n_items must be at least 1"):
        make_drifting_stream(**wrong)
