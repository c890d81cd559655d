"""LabelData, Question and Answer: every way users bring labels in, and every way it can go wrong."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_array_equal

from labelwise import Answer, Block, LabelData, Question
from labelwise.records.label_data import as_features, check_unique

NAN = float("nan")
X3 = np.arange(6.0).reshape(3, 2)
Y3 = np.array([[1.0, 0.0], [NAN, 1.0], [0.0, NAN]])
KNOWN3 = np.array([[True, True], [False, True], [True, False]])
TRUE3 = np.array([[True, False], [False, True], [False, False]])


def repeated(values, row, column, times, shape=(3, 2)):
    """A csr_array that holds `values` and states one entry `times` over, as scipy allows."""
    rows, columns = np.nonzero(values)
    rows, columns = np.append(rows, [row] * times), np.append(columns, [column] * times)
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(shape[0] + 1))
    return sp.csr_array((np.ones(rows.size, dtype=bool), columns[order], starts), shape=shape)


# -- labels in ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "Y",
    [
        Y3,
        Y3.tolist(),
        Y3.astype(np.float32),
        [[True, False], [None, 1], [0, None]],
        pd.DataFrame(Y3),
        pd.DataFrame(Y3).astype("boolean"),
        pd.DataFrame(Y3).astype("Int8"),
        pd.DataFrame({"a": [True, None, False], "b": [0, 1, None]}),
    ],
    ids=["array", "list", "float32", "None", "frame", "nullable bool", "nullable int", "mixed frame"],
)
def test_every_mark_of_the_unknown_becomes_the_mask(Y):
    data = LabelData.from_arrays(X3, Y)
    np.testing.assert_array_equal(data.Y.toarray(), TRUE3)
    np.testing.assert_array_equal(data.observed.toarray(), KNOWN3)
    assert data.Y.dtype == data.observed.dtype == bool
    assert data.n_observed == 4 and data.cardinality == pytest.approx(2 / 3)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float64])
def test_sparse_labels_of_every_kind(kind, dtype):
    data = LabelData.from_arrays(X3, kind(TRUE3.astype(dtype)), observed=kind(KNOWN3.astype(dtype)))
    np.testing.assert_array_equal(data.Y.toarray(), TRUE3)
    np.testing.assert_array_equal(data.observed.toarray(), KNOWN3)
    assert isinstance(data.Y, sp.csr_array) and isinstance(data.observed, sp.csr_array)


def test_without_a_mask_everything_is_known():
    data = LabelData.from_arrays(X3, TRUE3)
    assert data.observed is None and data.n_observed == 6
    np.testing.assert_array_equal(data.observed_mask().toarray(), np.ones((3, 2), dtype=bool))


def test_without_labels_nothing_is_known():
    data = LabelData.from_arrays(X3, label_names=["a", "b", "c"])
    assert (data.n_items, data.n_labels, data.n_observed, data.Y.nnz) == (3, 3, 0, 0)
    with pytest.raises(ValueError, match="label_names"):
        LabelData.from_arrays(X3)


def test_what_the_mask_hides_is_forgotten():
    data = LabelData.from_arrays(X3, np.ones((3, 2)), observed=KNOWN3)
    np.testing.assert_array_equal(data.Y.toarray(), KNOWN3)


def test_nan_and_mask_both_hide():
    mask = np.array([[False, True], [True, True], [True, True]])
    data = LabelData.from_arrays(X3, Y3, observed=mask)
    np.testing.assert_array_equal(data.observed.toarray(), KNOWN3 & mask)
    np.testing.assert_array_equal(data.Y.toarray(), TRUE3 & mask)


def test_labels_never_positive_and_rows_never_answered_are_fine():
    Y = np.array([[0.0, NAN], [NAN, NAN], [0.0, 0.0]])
    data = LabelData.from_arrays(X3, Y)
    assert data.Y.nnz == 0 and data.cardinality == 0 and data.n_observed == 3


def test_no_items_at_all():
    data = LabelData.from_arrays(np.empty((0, 2)), np.empty((0, 3)))
    assert (data.n_items, data.n_labels, data.n_observed, data.cardinality) == (0, 3, 0, 0.0)


def test_explicit_zeros_are_no_labels_and_no_answers():
    Y = sp.csr_array((np.array([1.0, 0.0, 0.0]), np.array([0, 1, 0]), np.array([0, 2, 3, 3])), shape=(3, 2))
    mask = sp.csr_array((np.array([1, 1, 0]), np.array([0, 1, 0]), np.array([0, 2, 3, 3])), shape=(3, 2))
    data = LabelData.from_arrays(X3, Y, observed=mask)
    assert data.Y.nnz == 1 and data.observed.nnz == 2 and data.n_observed == 2
    assert Y.nnz == 3 and mask.nnz == 3  # what was given is left as it was


def test_a_record_made_directly_is_tidied_without_touching_what_was_given():
    Y, observed = repeated(TRUE3, 0, 0, 2), repeated(KNOWN3, 2, 1, 1)
    observed.data[-1] = False  # explicit
    data = LabelData(X3, Y, observed, ("a", "b", "c"), ("x", "y"))
    assert (data.Y.nnz, data.observed.nnz) == (2, 4)
    assert data.observed.has_canonical_format and data.Y.has_canonical_format
    assert Y.nnz == 4 and observed.nnz == 5
    np.testing.assert_array_equal(np.diff(data.observed.indptr), KNOWN3.sum(1))


def test_a_boolean_entry_stated_twice_is_one_label_and_a_number_stated_twice_is_an_error():
    twice = repeated(TRUE3, 0, 0, 1)
    assert LabelData.from_arrays(X3, twice).Y.nnz == 2
    with pytest.raises(ValueError, match=r"0 and 1.*got 2"):
        LabelData.from_arrays(X3, twice.astype(np.int64))
    assert twice.nnz == 3


def test_wide_indices_are_welcome():
    Y = sp.csr_array((np.ones(2, dtype=bool), (np.array([0, 1]), np.array([0, 1]))), shape=(3, 2))
    X = sp.csr_array((np.ones(2), (np.array([0, 1]), np.array([0, 1]))), shape=(3, 2))
    assert Y.indices.dtype == X.indices.dtype == np.int64
    data = LabelData.from_arrays(X, Y)
    assert data.take([1, 0]).Y.toarray().tolist() == [[False, True], [True, False]]


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.int8, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6), elements=st.sampled_from([0, 1, 9]))
)
def test_dense_and_sparse_say_the_same(coded):
    """9 stands for unknown: dense with NaN, sparse with a mask, and the rule read off entry by entry must agree."""
    X = np.zeros((coded.shape[0], 1))
    known, present = coded != 9, coded == 1
    dense = LabelData.from_arrays(X, np.where(known, coded, NAN))
    sparse = LabelData.from_arrays(X, sp.csr_array(present), observed=sp.csr_array(known))
    for data in (dense, sparse):
        np.testing.assert_array_equal(data.Y.toarray(), present)
        np.testing.assert_array_equal(data.observed_mask().toarray(), known)
        assert data.n_observed == known.sum()


@pytest.mark.parametrize(
    ("Y", "observed", "words"),
    [
        (-TRUE3.astype(int), None, r"0 and 1.*got -1"),
        (TRUE3 * 0.5, None, r"0 and 1.*got 0\.5"),
        (np.where(TRUE3, np.inf, 0), None, "0 and 1.*got inf"),
        (sp.csr_array(TRUE3 * 2), None, r"0 and 1.*got 2"),
        (sp.csr_array(Y3), None, "sparse Y cannot hold NaN.*observed"),
        ([["yes", "no"]] * 3, None, "Y must hold numbers.*yes"),
        (pd.DataFrame({"a": ["1", "", "0"], "b": ["1", "0", "0"]}), None, "Y must hold numbers"),
        (np.ones(3), None, "one column per label"),
        (np.ones((3, 2, 1)), None, "one column per label"),
        (np.ones((2, 2)), None, r"Y has shape \(2, 2\)"),
        (TRUE3, np.ones((3, 1)), r"observed has shape \(3, 1\)"),
        (Y3, np.ones((3, 1)), r"observed has shape \(3, 1\)"),
        (Y3, np.ones((1, 2)), r"observed has shape \(1, 2\)"),
        (Y3, np.ones(2), r"observed has shape \(2,\)"),
    ],
)
def test_bad_labels_are_named(Y, observed, words):
    with pytest.raises(ValueError, match=words):
        LabelData.from_arrays(X3, Y, observed=observed)


def test_a_record_made_directly_is_checked():
    ids, names = ("a", "b", "c"), ("x", "y")
    Y, observed = sp.csr_array(TRUE3), sp.csr_array(KNOWN3)
    with pytest.raises(ValueError, match=r"item 'b', label 'y'.*never answered"):
        LabelData(X3, Y, sp.csr_array(KNOWN3 & ~TRUE3 | (np.arange(3) == 0)[:, None]), ids, names)
    with pytest.raises(TypeError, match=r"Y must be a sparse array of bool.*int64.*from_arrays"):
        LabelData(X3, Y.astype(np.int64), observed, ids, names)
    with pytest.raises(TypeError, match="observed must be a sparse array of bool"):
        LabelData(X3, Y, KNOWN3, ids, names)
    with pytest.raises(ValueError, match=r"observed has shape \(2, 2\)"):
        LabelData(X3, Y, observed[:2], ids, names)
    with pytest.raises(ValueError, match="item_ids has 2 entries, but X has 3 rows"):
        LabelData(X3, Y, observed, ids[:2], names)


# -- features in -------------------------------------------------------------------------------------------------------


def test_features_keep_their_precision_and_sparsity():
    for dtype in (np.float32, np.float64):
        assert as_features(X3.astype(dtype)).dtype == dtype
        assert as_features(pd.DataFrame(X3.astype(dtype))).dtype == dtype
        assert as_features(sp.coo_array(X3.astype(dtype))).dtype == dtype
    for other in (X3.astype(int), X3 > 1, X3.astype(np.float16), X3.tolist(), X3.astype(object)):
        assert as_features(other).dtype == np.float64
    made = as_features(sp.csc_matrix(X3.astype(int)))
    assert isinstance(made, sp.csr_array) and made.dtype == np.float64
    np.testing.assert_array_equal(made.toarray(), X3)


@pytest.mark.parametrize("wrong", [NAN, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, pd.DataFrame])
def test_features_must_be_finite_and_the_place_is_named(wrong, kind):
    X = np.zeros((4, 3))
    X[0, 0], X[2, 1] = 1.0, wrong
    with pytest.raises(ValueError, match="row 2, column 1"):
        LabelData.from_arrays(kind(X), np.zeros((4, 2)))


def test_missing_values_in_a_frame_of_features_are_named():
    frame = pd.DataFrame({"a": [1, 2, None], "b": [1, 2, 3]}).convert_dtypes()
    with pytest.raises(ValueError, match="row 2, column 0"):
        LabelData.from_arrays(frame, TRUE3)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros(3), "two dimensions"),
        (sp.coo_array(np.ones(3)), "two dimensions"),
        (pd.DataFrame({"text": ["a", "b", "c"]}), "X must hold numbers"),
    ],
)
def test_bad_features_are_named(X, words):
    with pytest.raises(ValueError, match=words):
        LabelData.from_arrays(X, TRUE3)


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_come_from_data_frames():
    X = pd.DataFrame(X3, columns=["f", "g"], index=["p", "q", "r"])
    data = LabelData.from_arrays(X, pd.DataFrame(Y3, columns=["cat", "dog"], index=X.index))
    assert data.item_ids == ("p", "q", "r")
    assert data.label_names == ("cat", "dog")
    assert data.feature_names == ("f", "g")
    given_names = LabelData.from_arrays(X, Y3, item_ids=[7, 8, 9], label_names=("x", "y"), feature_names=["u", "v"])
    assert (given_names.item_ids, given_names.label_names) == (("7", "8", "9"), ("x", "y"))
    assert given_names.feature_names == ("u", "v")


def test_names_are_counted_where_there_are_none():
    data = LabelData.from_arrays(X3, Y3)
    assert data.item_ids == ("0", "1", "2") and data.label_names == ("label_0", "label_1")
    assert data.feature_names is None and data.items is None


def test_frames_in_another_order_are_not_matched_by_position_in_silence():
    X = pd.DataFrame(X3, index=["p", "q", "r"])
    Y = pd.DataFrame(TRUE3, index=["r", "q", "p"])
    with pytest.raises(ValueError, match=r"different indices.*reindex"):
        LabelData.from_arrays(X, Y)
    np.testing.assert_array_equal(LabelData.from_arrays(X, Y.reindex(X.index)).Y.toarray(), TRUE3[::-1])
    np.testing.assert_array_equal(LabelData.from_arrays(X, Y.to_numpy()).Y.toarray(), TRUE3)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"item_ids": ["a", "b", "a"]}, r"item id 'a' is given twice, at positions 0 and 2"),
        ({"item_ids": [1, "1", 2]}, "item id '1' is given twice"),
        ({"label_names": ["x", "x"]}, r"label name 'x' is given twice, at positions 0 and 1"),
        ({"item_ids": ["a"]}, "item_ids has 1 entries, but X has 3 rows"),
        ({"label_names": ["x"]}, r"Y has shape \(3, 2\)"),
        ({"feature_names": ["f"]}, "feature_names has 1 entries, but X has 2 columns"),
        ({"items": ["text"]}, "items has 1 entries, but X has 3 rows"),
    ],
)
def test_bad_names_are_named(names, words):
    with pytest.raises(ValueError, match=words):
        LabelData.from_arrays(X3, Y3, **names)


def test_check_unique_takes_what_is_unique():
    check_unique("thing", ("a", "b"))
    check_unique("thing", ())


# -- taking, hiding, growing -------------------------------------------------------------------------------------------


@pytest.fixture(params=[np.asarray, sp.csr_array], ids=["dense", "sparse"])
def pool(request):
    return LabelData.from_arrays(
        request.param(X3), Y3, item_ids="abc", label_names=["x", "y"], items=[{"text": i} for i in range(3)]
    )


@pytest.mark.parametrize(
    ("rows", "ids"),
    [
        ([2, 0], "ca"),
        (np.array([False, True, True]), "bc"),
        ([-1], "c"),
        (range(2), "ab"),
        (1, "b"),
        ([], ""),
        (np.empty(0, dtype=int), ""),
        (np.zeros(3, dtype=bool), ""),
    ],
)
def test_take(pool, rows, ids):
    part = pool.take(rows)
    places = ["abc".index(name) for name in ids]
    assert part.item_ids == tuple(ids) and part.label_names == pool.label_names
    assert part.items == tuple(pool.items[i] for i in places)
    X = part.X.toarray() if sp.issparse(part.X) else part.X
    np.testing.assert_array_equal(X, X3[places])
    np.testing.assert_array_equal(part.Y.toarray(), TRUE3[places])
    np.testing.assert_array_equal(part.observed.toarray(), KNOWN3[places])


def test_take_refuses_what_is_not_there(pool):
    with pytest.raises(IndexError):
        pool.take([3])
    with pytest.raises(IndexError):
        pool.take([0.5])
    with pytest.raises(ValueError, match="'b' is given twice"):
        pool.take([1, 1])


def test_hide(pool):
    hidden = pool.hide()
    assert hidden.n_observed == 0 and hidden.Y.nnz == 0
    assert (hidden.item_ids, hidden.items, hidden.label_names) == (pool.item_ids, pool.items, pool.label_names)
    assert pool.n_observed == 4


def test_with_label(pool):
    grown = pool.with_label("z")
    assert grown.label_names == ("x", "y", "z")
    np.testing.assert_array_equal(grown.Y.toarray(), np.hstack([TRUE3, np.zeros((3, 1))]))
    np.testing.assert_array_equal(grown.observed.toarray(), np.hstack([KNOWN3, np.zeros((3, 1))]))
    full = LabelData.from_arrays(X3, TRUE3).with_label("z")
    assert full.n_observed == 6 and full.Y.dtype == bool
    with pytest.raises(ValueError, match="label name 'x' is given twice"):
        pool.with_label("x")


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_with_items(pool, kind):
    more = LabelData.from_arrays(kind(X3[:2] + 10), TRUE3[:2], item_ids=["d", "e"], label_names=["x", "y"])
    grown = pool.with_items(more)
    assert grown.item_ids == tuple("abcde") and grown.items == (*pool.items, None, None)
    assert sp.issparse(grown.X) == sp.issparse(pool.X)
    X = grown.X.toarray() if sp.issparse(grown.X) else grown.X
    np.testing.assert_array_equal(X, np.vstack([X3, X3[:2] + 10]))
    np.testing.assert_array_equal(grown.observed.toarray(), np.vstack([KNOWN3, np.ones((2, 2))]))
    assert more.with_items(LabelData.from_arrays(X3, TRUE3, item_ids="fgh", label_names=["x", "y"])).observed is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label_names": ["y", "x"]}, "labels"),
        ({"item_ids": ["a", "e", "f"]}, "item id 'a' is given twice"),
        ({"X": np.ones((3, 5))}, "5 features, expected 2"),
        ({"feature_names": ["g", "f"]}, "features.*another order"),
    ],
)
def test_items_that_do_not_fit_are_refused(change, words):
    pool = LabelData.from_arrays(X3, Y3, item_ids="abc", label_names=["x", "y"], feature_names=["f", "g"])
    settings = {"X": X3, "Y": Y3, "item_ids": ["d", "e", "f"], "label_names": ["x", "y"], **change}
    with pytest.raises(ValueError, match=words):
        pool.with_items(LabelData.from_arrays(**settings))


# -- questions and answers ---------------------------------------------------------------------------------------------


def test_questions_are_equal_whatever_their_score():
    assert Question("a", ("x",), "control", np.nan) == Question("a", ("x",), "control", float("nan"))
    assert Question("a", ("x",), "control", 1.0) == Question("a", ("x",), "control", 2.0)
    assert Question("a", ("x",), "control") != Question("a", ("x",), "strategy")
    assert len({Question("a", ("x",), score=1.0), Question("a", ("x",), score=2.0)}) == 1


def test_answering_a_question_in_full():
    question = Question("a", ("x", "y", "z"), "control", 0.5)
    answer = Answer.to(question, present=["y"])
    assert answer == Answer("a", {"x": False, "y": True, "z": False}, reason="control")
    assert Answer.to(question, present=()).values == {"x": False, "y": False, "z": False}
    with pytest.raises(ValueError, match=r"\['w'\] were not asked about for item 'a'"):
        Answer.to(question, present={"w", "x"})


def test_an_answer_keeps_what_was_said():
    said = {"x": True}
    answer = Answer("a", said)
    said["x"] = False
    assert answer.values == {"x": True}


def test_an_answer_that_is_no_mapping_is_refused():
    with pytest.raises(TypeError, match=r"label names to True or False.*Answer\.to"):
        Answer("a", {"x"})


def test_records_travel():
    for record in (Question("a", ("x",), "control", 0.5), Answer("a", {"x": True}, "control", correction=True)):
        assert pickle.loads(pickle.dumps(record)) == record
    data = pickle.loads(pickle.dumps(LabelData.from_arrays(X3, Y3)))
    np.testing.assert_array_equal(data.observed.toarray(), KNOWN3)


def test_one_label_may_be_named_alone():
    question = Question("a", ("sports", "politics"))
    assert Answer.to(question, present="sports") == Answer.to(question, present={"sports"})
    with pytest.raises(ValueError, match=r"labels \['s'\] were not asked"):
        Answer.to(question, present="s")


@pytest.mark.parametrize("Y", [[["a", "b"], ["a"], []], [["a"], ["b"], ["b"]], [{"a"}, set(), {"b"}]])
def test_lists_of_names_are_told_how_to_become_columns(Y):
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        LabelData.from_arrays(X3, Y)
    assert LabelData.from_arrays(X3, [["0", "1"]] * 3).Y.sum() == 3


@pytest.mark.parametrize(("names", "words"), [("abc", r"write \['abc'\]"), (["a", ""], "needs a name"), ([""], "name")])
def test_names_of_labels_are_a_list_of_names(names, words):
    with pytest.raises(ValueError, match=words):
        LabelData.from_arrays(X3, label_names=names)


def test_it_shows_its_size_and_not_its_contents():
    data = LabelData.from_arrays(np.zeros((1000, 2)), label_names=[f"l{j}" for j in range(300)])
    assert repr(data) == ("LabelData(1000 items, 2 features, 300 labels ('l0', 'l1', 'l2', 'l3', 'l4', ...), 0% known)")
    assert repr(LabelData.from_arrays(X3, TRUE3)).endswith("100% known)")
    assert "nothing known" in repr(LabelData.from_arrays(np.empty((0, 2)), np.empty((0, 3))))


def in_blocks():
    words = sp.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    data = LabelData.from_arrays(words, label_names=["a"], feature_names=["red", "blue"])
    data = data.with_block(np.array([[0.1], [0.2], [0.3]]), "gpt", "opinions", feature_names=["a by gpt"])
    return data.with_block(np.array([[5.0, 6.0], [7.0, 8.0], [9.0, 1.0]]), "mine", "vectors", encoder="minilm")


def test_blocks_stand_side_by_side_and_go_along():
    data = in_blocks()
    assert [(b.name, b.kind, b.start, b.stop) for b in data.blocks] == [
        ("words", "words", 0, 2),
        ("gpt", "opinions", 2, 3),
        ("mine", "vectors", 3, 5),
    ]
    assert data.feature_names == ("red", "blue", "a by gpt", "mine[0]", "mine[1]")
    assert_array_equal(data.X.toarray()[1], [0, 2, 0.2, 7, 8])
    for other in (data.take([2, 0]), data.hide(), data.with_label("b"), data.take([0]).with_items(data.take([1]))):
        assert other.blocks == data.blocks
    assert data.blocks[2].encoder == "minilm"
    assert_array_equal(data.blocks[2].of(data.X).toarray(), [[5, 6], [7, 8], [9, 1]])


def test_without_opinions_is_what_models_see():
    seen = in_blocks().without_opinions()
    assert seen.feature_names == ("red", "blue", "mine[0]", "mine[1]")
    assert [(b.name, b.start, b.stop, b.encoder) for b in seen.blocks] == [
        ("words", 0, 2, ""),
        ("mine", 2, 4, "minilm"),
    ]
    assert_array_equal(seen.X.toarray()[0], [1, 0, 5, 6])
    assert seen.without_opinions() is seen


def test_the_first_block_of_a_table_without_features_is_the_one_that_is_added():
    empty = LabelData.from_arrays(np.empty((2, 0)), label_names=["a"])
    assert [b.name for b in empty.with_block(np.eye(2), "mine", "vectors").blocks] == ["mine"]


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([("a", "words", 0, 1)], "end at column 1, but X has 2"),
        ([("a", "words", 0, 1), ("a", "numbers", 1, 2)], "two blocks of features are called 'a'"),
        ([("a", "words", 1, 2)], "begins at column 1, expected 0"),
        ([("a", "sounds", 0, 2)], "must be one of words, vectors, numbers, categories, opinions, got 'sounds'"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, message):
    with pytest.raises(ValueError, match=message):
        LabelData.from_arrays(np.eye(2), label_names=["a"], blocks=[Block(*each) for each in blocks])


def test_blocks_of_other_items_must_be_the_same():
    data = in_blocks()
    other = replace(data, blocks=(Block("words", "words", 0, 2), Block("rest", "numbers", 2, 5)))
    with pytest.raises(ValueError, match=r"have the blocks words \(words, 2 columns\), rest .*, expected the blocks"):
        data.with_items(replace(other, item_ids=("x", "y", "z")))
    with pytest.raises(ValueError, match="block 'x' has 2 rows, but there are 3 items"):
        data.with_block(np.eye(2), "x", "vectors")
