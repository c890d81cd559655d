"""Made-up streams whose rules change on the way: what online learning has to cope with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from labelwise.records import LabelData

OWN_WORDS = 20  # that speak of one label
WORDS_PER_LABEL = 3  # drawn for each label of a row
COMMON_WORDS = 10  # drawn for each row


def make_drifting_stream(
    n_items: int = 10_000,
    n_labels: int = 12,
    *,
    share: float = 0.15,
    noise: float = 0.2,
    drift_at: int | Sequence[int] = (),
    new_label_at: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> LabelData:
    """Rows of words in the order in which they come; each label speaks through words of its own.

    A row has each label with probability `share`, a few words from each label's own vocabulary, and common words.

    Parameters
    ----------
    n_items, n_labels : int
    share : float
    noise : float
        Share of a label's words that are drawn from those of all labels instead.
    drift_at : int or several
        From these rows on each label speaks with the words of the next one: labels and words are as frequent as before,
        but what was learnt is wrong.
    new_label_at : int, optional
        The last label does not occur before this row.
    random_state : int, Generator or None

    Examples
    --------
    >>> data = make_drifting_stream(1000, drift_at=500, new_label_at=600, random_state=0)
    >>> data.X.shape, data.n_labels, int(data.Y[:600, [-1]].sum())
    ((1000, 540), 12, 0)
    """
    if n_items < 1 or n_labels < 2 or not (0 < share < 1 and 0 <= noise < 1):
        raise ValueError(
            "n_items must be at least 1, n_labels at least 2, share and noise between 0 and 1, "
            f"got {n_items!r}, {n_labels!r}, {share!r} and {noise!r}"
        )
    rng = np.random.default_rng(random_state)
    Y = rng.random((n_items, n_labels)) < share
    if new_label_at is not None:
        Y[:new_label_at, -1] = False
    rows, labels = np.nonzero(Y)
    drifts = np.searchsorted(np.sort(np.atleast_1d(drift_at)), rows, side="right")  # before each row
    own = ((labels + drifts) % n_labels)[:, None] * OWN_WORDS + rng.integers(
        OWN_WORDS, size=(len(rows), WORDS_PER_LABEL)
    )
    own = np.where(rng.random(own.shape) < noise, rng.integers(n_labels * OWN_WORDS, size=own.shape), own)
    n_common = 25 * n_labels
    frequency = 1 / np.arange(1, n_common + 1)
    common = rng.choice(n_common, size=(n_items, COMMON_WORDS), p=frequency / frequency.sum())
    common += n_labels * OWN_WORDS
    places = np.concatenate([np.repeat(rows, WORDS_PER_LABEL), np.repeat(np.arange(n_items), COMMON_WORDS)])
    words = np.concatenate([own.ravel(), common.ravel()])
    X = sp.coo_array((np.ones(len(words)), (places, words)), shape=(n_items, n_labels * OWN_WORDS + n_common))
    return LabelData.from_arrays(X.tocsr(), sp.csr_array(Y))
