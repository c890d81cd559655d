"""A user's labels: the same through every door, and told alike where they are wrong."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from labelwise.decisions import ClassMass
from labelwise.models import BinaryRelevance
from labelwise.numerics.user_input import as_numbers, dense_labels, sparse_labels
from labelwise.records import LabelData

Y = np.array([[1, np.nan], [0, 1], [1, 0]])
KNOWN = ~np.isnan(Y)
TRUE = Y == 1
DOORS = {
    "records": lambda Y, observed: LabelData.from_arrays(np.ones((3, 2)), Y, observed=observed),
    "models": lambda Y, observed: BinaryRelevance().fit(np.ones((3, 2)), Y, observed),
    "decisions": ClassMass.from_labels,
}


@pytest.mark.parametrize(
    "given",
    [
        (Y, None),
        (Y.tolist(), None),
        (Y.astype(object), None),
        (pd.DataFrame(Y), None),
        (pd.DataFrame(Y).astype("Int64"), None),
        (Y, np.ones((3, 2))),
        (np.where(KNOWN, Y, 7), KNOWN),  # what is hidden may be anything
        (TRUE, sp.csr_array(KNOWN)),
        (sp.csr_array(TRUE), KNOWN),
        (sp.csr_array(np.where(KNOWN, Y, 7)), sp.csr_array(KNOWN)),
        (sp.coo_array(TRUE.astype(np.int8)), KNOWN.tolist()),
    ],
)
def test_dense_and_sparse_say_the_same(given):
    for labels, known in (dense_labels(*given), tuple(each.toarray() for each in sparse_labels(*given))):
        assert labels.dtype == known.dtype == bool
        np.testing.assert_array_equal(labels, TRUE)
        np.testing.assert_array_equal(known, KNOWN)


def test_what_is_given_is_not_changed_and_not_shared():
    given, observed = TRUE.copy(), KNOWN.copy()
    for labels, known in (dense_labels(given), dense_labels(given, observed)):
        labels[:], known[:] = True, False
    np.testing.assert_array_equal(given, TRUE)
    np.testing.assert_array_equal(observed, KNOWN)


@pytest.mark.parametrize("Y", [TRUE, TRUE.astype(float), sp.csr_array(TRUE)])
def test_there_is_no_mask_where_everything_is_known(Y):
    labels, mask = sparse_labels(Y)
    assert mask is None and labels.nnz == 3
    assert sparse_labels(Y, np.ones((3, 2)))[1].nnz == 6


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("Y", "observed", "words"),
    [
        (TRUE * 2, None, r"Y must hold 0 and 1 \(NaN for unknown\), got 2"),
        (sp.csr_array(TRUE * 0.5), None, r"Y must hold 0 and 1 \(NaN for unknown\), got 0\.5"),
        (np.where(TRUE, np.inf, 0), None, "got inf"),
        (np.ones(3), None, r"one column per label, got shape \(3,\); use Y\.reshape\(-1, 1\)"),
        (np.ones((3, 2, 1)), None, r"one column per label, got shape \(3, 2, 1\)"),
        ([["cat"], ["dog", "cat"], []], None, "it lists names such as 'cat'.*MultiLabelBinarizer"),
        ([["yes", "no"]] * 3, None, "Y must hold numbers.*yes"),
        ([[1, 0], [1], [0]], None, "Y must hold numbers"),
        (TRUE, np.ones((3, 1)), r"observed has shape \(3, 1\), but Y has \(3, 2\)"),
        (sp.csr_array(TRUE), np.ones((3, 1)), r"observed has shape \(3, 1\), but Y has \(3, 2\)"),
    ],
)
def test_every_door_tells_what_is_wrong(door, Y, observed, words):
    with pytest.raises(ValueError, match=words):
        DOORS[door](Y, observed)


def test_a_sparse_matrix_of_nan_is_refused_where_it_would_have_to_stay_sparse():
    with pytest.raises(ValueError, match=r"a sparse Y cannot hold NaN.*observed"):
        sparse_labels(sp.csr_array(Y))
    np.testing.assert_array_equal(dense_labels(sp.csr_array(Y))[1], KNOWN)


def test_numbers_of_a_data_frame():
    np.testing.assert_array_equal(
        as_numbers("X", pd.DataFrame({"a": [1, None], "b": [None, 2]}, dtype="Int64")), [[1, np.nan], [np.nan, 2]]
    )
