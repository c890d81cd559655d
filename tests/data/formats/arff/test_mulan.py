"""ARFF with an XML file of labels."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise.data import FormatError, read, write
from labelwise.data.formats.arff import mulan
from labelwise.records import LabelData

ARFF = r"""@relation tags
@attribute word {0,1}
@attribute TAG_dise\~no {0,1}
@attribute size numeric
@attribute 'TAG_m\'usica' {0,1}
@data
1,0,2.5,1
0,1,3,?
"""
XML = r"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="TAG_m\'usica"><label name="TAG_dise\~no"></label></label>
</labels>
"""


def test_labels_by_xml_nested_escaped_and_in_the_order_of_the_arff(file):
    path = file("tags.arff", ARFF)
    file("tags.xml", XML)
    data = read(path)
    assert data.label_names == ("TAG_dise~no", "TAG_m'usica")
    assert data.feature_names == ("word", "size")
    assert data.X.tolist() == [[1, 2.5], [0, 3]]
    assert data.Y.toarray().tolist() == [[False, True], [True, False]]
    assert data.observed.toarray().tolist() == [[True, True], [True, False]]
    assert data.item_ids == ("0", "1")


@pytest.mark.parametrize(
    "name", ["tags.arff", "tags-train.arff", "tags-test.ARFF", "tags-train-sparse.arff", "tags_test.arff"]
)
def test_the_xml_of_the_whole_set_serves_its_parts(file, name):
    file("tags.xml", XML)
    assert read(file(name, ARFF)).n_labels == 2


def test_the_nearest_xml_wins_and_labels_overrides_it(file):
    path = file("tags-test.arff", ARFF)
    file("tags.xml", XML)
    file("tags-test.xml", XML.replace(r'<label name="TAG_dise\~no"></label>', ""))
    assert read(path).label_names == ("TAG_m'usica",)
    assert mulan.read(path, labels=path.with_name("tags.xml")).n_labels == 2


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("", r"x\.xml, line 1: this is not well-formed XML"),
        ("<labels><label name='a'></labels>", r"x\.xml, line 1: this is not well-formed XML"),
        ("<tags/>", r"x\.xml: found <tags> as the root of the XML, expected <labels>"),
        ("<labels/>", r"x\.xml: it names no label"),
        ("<labels><label/></labels>", "found <label> without a name"),
        ("<labels><label name='word'/><label name='word'/></labels>", r"x\.xml: the label 'word' is named twice"),
        ("<labels><label name='word'/><label name='w\\ord'/></labels>", r"the label 'word' is named twice in .*x\.xml"),
        (
            "<labels><label name='word'/><label name='none'/></labels>",
            r"x\.arff: 1 of the labels named in .*: \['none'\]",
        ),
    ],
)
def test_wrong_xml(file, xml, message):
    path = file("x.arff", ARFF)
    file("x.xml", xml)
    with pytest.raises(FormatError, match=message):
        read(path)


def test_no_xml_says_where_it_was_looked_for(file):
    with pytest.raises(FormatError, match=r"looked for x-train\.xml, x\.xml\); give its path as labels="):
        read(file("x-train.arff", ARFF), format="mulan")


names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1, max_size=6
)


@settings(max_examples=60, deadline=None)
@given(st.lists(names, min_size=4, max_size=4, unique=True), st.booleans(), st.integers(0, 2**32 - 1))
def test_round_trip(tmp_path_factory, assert_same, names, sparse, seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((7, 2)) < 0.6, rng.standard_normal((7, 2)) * 10.0 ** rng.integers(-300, 300, (7, 2)), 0)
    Y = np.where(rng.random((7, 2)) < 0.2, np.nan, rng.random((7, 2)) < 0.5)
    features = sp.csr_array(X) if sparse else X
    data = LabelData.from_arrays(features, Y, feature_names=names[:2], label_names=names[2:])
    path = tmp_path_factory.mktemp("mulan") / "set.arff.gz"
    write(data, path)
    found = read(path)
    assert sp.issparse(found.X) == sparse
    assert_same(found, data)


def test_what_arff_cannot_say_is_refused(tmp_path):
    path = tmp_path / "x.arff"
    data = LabelData.from_arrays([[1.0]], [[1]], feature_names=["a"], label_names=["l"])
    with pytest.raises(FormatError, match="ARFF has no place for item_ids and items; pass lossy=True"):
        write(LabelData.from_arrays([[1.0]], [[1]], item_ids=["doc7"], items=["a text"]), path)
    with pytest.raises(FormatError, match="the name 'a' stands for two attributes"):
        write(LabelData.from_arrays([[1.0]], [[1]], feature_names=["a"], label_names=["a"]), path)
    with pytest.raises(FormatError, match="holds a character that XML cannot"):
        write(LabelData.from_arrays([[1.0]], [[1]], label_names=["bell\x07"]), path)
    with pytest.raises(FormatError, match="there is no item to write"):
        write(data.take([]), path)
    assert list(tmp_path.iterdir()) == []
    write(LabelData.from_arrays([[1.0]], [[1]], item_ids=["doc7"]), path, lossy=True)
    assert read(path).item_ids == ("0",)


def test_a_failed_write_keeps_both_old_files(tmp_path, monkeypatch):
    path = tmp_path / "x.arff"
    data = LabelData.from_arrays([[1.0]], [[1]], feature_names=["a"], label_names=["l"])
    write(data, path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    monkeypatch.setattr(mulan, "write_arff", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write(LabelData.from_arrays([[2.0]], [[0]], feature_names=["b"], label_names=["m"]), path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
