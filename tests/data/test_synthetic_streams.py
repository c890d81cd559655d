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
