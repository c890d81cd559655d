"""From a suffix to a format; every registered one gives back what it was given."""

import numpy as np
import pytest
import scipy.sparse as sp

import labelwise
from labelwise.data import BY_NAME, BY_SUFFIX, FormatError, read, write
from labelwise.data.formats.registry import mulan, xmc
from labelwise.records import LabelData


def sample(sparse, named):
    """A few items with everything that every format can say."""
    rng = np.random.default_rng(1)
    X = np.where(rng.random((8, 3)) < 0.5, rng.standard_normal((8, 3)), 0)
    names = {"label_names": ["b label", "a", "c,d"], "feature_names": ["f", "g h", "i"]} if named else {}
    return LabelData.from_arrays(sp.csr_array(X) if sparse else X, rng.random((8, 3)) < 0.5, **names)


PACKED = (".parquet.gz", ".parquet.bz2", ".xlsx.gz", ".xlsx.bz2")  # compressed inside
SUFFIXES = [(suffix, packed) for suffix in BY_SUFFIX for packed in ("", ".gz", ".bz2") if suffix + packed not in PACKED]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("suffix", "packed"), SUFFIXES)
def test_round_trip_of_every_suffix(tmp_path, assert_same, suffix, packed, sparse):
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl", reason="needs the extra spreadsheets")
    of_numbers, is_arff = BY_SUFFIX[suffix] is xmc or suffix == ".dat", suffix == ".arff"
    data, path = sample(sparse, named=not of_numbers), tmp_path / f"set{suffix}{packed}"
    write(data, path)
    options = {} if of_numbers or is_arff else {"label_names": data.label_names, "items": []}
    assert_same(read(path, **options), data)


@pytest.mark.parametrize("suffix", BY_SUFFIX)
def test_every_format_refuses_an_empty_file(file, suffix):
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl", reason="needs the extra spreadsheets")
    with pytest.raises(FormatError, match=r"set\.\w+"):
        read(file(f"set{suffix}", ""))


def test_a_given_format_goes_before_the_suffix(tmp_path, assert_same):
    data, path = sample(False, True), tmp_path / "set.data"
    write(data, path, format="mulan")
    assert_same(read(path, format="mulan"), data)
    assert BY_NAME["mulan"] is mulan
    with pytest.raises(ValueError, match=r"format must be one of arff, csv, .*, got 'xls'"):
        read(path, format="xls")
    with pytest.raises(ValueError, match=r"got 'jsnl'; did you mean 'jsonl'"):
        read(path, format="jsnl")
    with pytest.raises(ValueError, match=r"the suffix '\.data' of '.*' says no format; known are \.arff"):
        read(path)


def test_every_format_has_its_name(tmp_path, assert_same):
    assert list(BY_NAME) == [
        "arff",
        "csv",
        "jsonl",
        "parquet",
        "xmc",
        "mulan",
        "meka",
        "shards",
        "xlsx",
        "datasets",
        "spacy",
        "rcv1",
    ]
    data = sample(False, True)
    for name in ("arff", "meka", "shards"):
        write(data, tmp_path / name, format=name)
        back = read(tmp_path / name, format=name)
        if name == "shards":
            assert back.label_names == data.label_names and np.array_equal(back.X[:], data.X)
        else:
            assert_same(back, data)


def test_tables_share_options_to_write(tmp_path):
    for suffix in (".csv", ".jsonl", ".parquet"):
        with pytest.raises(TypeError, match=r"files have no option 'lables'; they have .*labels, text, id$"):
            write(sample(False, True), tmp_path / f"x{suffix}", lables=None)


def test_unknown_options_are_named_with_those_there_are(tmp_path):
    with pytest.raises(TypeError, match="arff files have no option 'lables'; they have labels, dtype, encoding"):
        read(tmp_path / "x.arff", lables=["a"])
    with pytest.raises(TypeError, match=r"csv files have no option 'one_based'; they have delimiter, .*vectorizer"):
        read(tmp_path / "x.csv", one_based=True)
    with pytest.raises(TypeError, match="xmc files have no option 'separator'"):
        write(sample(False, False), tmp_path / "x.txt", separator=";")


def test_the_package_offers_both():
    assert (labelwise.read, labelwise.write) == (read, write)
