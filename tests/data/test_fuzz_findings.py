"""Inputs that fuzzing found to break a reader: each is refused now, by an error of ours that names the file."""

import bz2
import gzip
import io
import time
import zipfile
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.data import FormatError, open_stream, read, read_answers
from labelwise.data.cooccurrence import read_cooccurrence
from labelwise.data.formats.shards import read as read_shards
from labelwise.data.reading import check_archive
from labelwise.data.shard_files import open_shard

DIGITS = "1" * 5000
NESTED = "[" * 100_000


@pytest.mark.parametrize("value", [DIGITS, NESTED])
def test_numbers_and_nests_that_json_cannot_read(file, value):
    path = file("x.jsonl", f'{{"x": 1, "labels": ["a"]}}\n{{"x": {value}\n')
    for reader in (read, lambda path: list(open_stream(path)), read_answers):
        with pytest.raises(FormatError, match=r"x\.jsonl, line \d: found "):
            reader(path)


def test_a_whole_number_that_is_no_float(file):
    path = file("x.jsonl", f'{{"x": 1{"0" * 400}, "labels": ["a"]}}\n')
    with pytest.raises(FormatError, match=r"line 1: column 'x': found 1000.*too large for a 64-bit number"):
        read(path)
    path = file("y.jsonl", f'{{"w": {{"a": 1{"0" * 400}}}, "labels": ["a"]}}\n')
    with pytest.raises(FormatError, match=r"line 1.*expected a finite number"):
        list(open_stream(path, features=["w"], hashed_width=8))


def test_counts_that_are_no_csv(file):
    with pytest.raises(FormatError, match=r"c\.csv, line 2: the line cannot be divided into cells"):
        read_cooccurrence(file("c.csv", b"label,other,count\na,b\rc,1\n"))
    with pytest.raises(FormatError, match=r"c\.csv, line \d"):
        read_cooccurrence(file("c.csv", b"label\rother,count\n"))


@pytest.mark.parametrize("text", ["1 3 999999999\n0 0:1\n", "999999998 0:1\n"])
def test_more_labels_than_a_file_can_hold(file, text):
    path = file("x.txt", text)
    with pytest.raises(FormatError, match=r"found 999,999,999 labels in a file that is too small.*give label_names="):
        read(path)
    if "\n0" in text:
        with pytest.raises(FormatError, match="found 999,999,999 labels"):
            open_stream(path)


@pytest.mark.slow
def test_many_labels_may_be_stated_by_hand(file):
    path = file("x.txt", "0 0:1\n")
    assert read(path, shape=(None, 3, 300_000)).n_labels == 300_000
    assert len(open_stream(path, shape=(None, 3, 300_000)).label_names) == 300_000


def test_an_index_of_very_many_digits(file):
    for text in (f"0 {DIGITS}:1\n", f"{DIGITS} 0:1\n", f"{DIGITS} 3 3\n0 0:1\n"):
        path = file("x.txt", text)
        with pytest.raises(FormatError, match=r"x\.txt, line 1: found "):
            read(path)
        with pytest.raises(FormatError, match=r"x\.txt, line 1: found "):
            list(open_stream(path))


def test_damaged_parquet(tmp_path, file):
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'labelwise[io]'")
    import pyarrow.parquet as parquet

    made = io.BytesIO()
    parquet.write_table(arrow.table({"id": ["a", "b"], "x": [1.0, 2.0], "labels": [["r"], []]}), made)
    whole = made.getvalue()
    refused = 0
    for place in range(4, len(whole) - 8, 17):  # of its pages and of what it says of them
        path = file("x.parquet", whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        for reader in (read, lambda path: list(open_stream(path)), lambda path: open_shard(path, ("x",))):
            told = None
            with suppress(FormatError):  # nothing else may come
                reader(path)
                told = "read"
            refused += told is None
    assert refused > 10


def npz(**arrays):
    made = io.BytesIO()
    np.savez(made, **arrays)
    return made.getvalue()


def with_member(archive, name, content):
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for each in old.namelist():
            new.writestr(each, content if each == name else old.read(each))
    return made.getvalue()


def test_damaged_arrays(file):
    made = io.BytesIO()
    np.save(made, np.eye(2))
    broken = made.getvalue().replace(b"'shape': (2, 2), }", b"'shape': (2, 2(, }")
    with pytest.raises(FormatError, match=r"x\.npy: this is not a whole \.npy file"):
        open_shard(file("x.npy", broken))
    for content in (b"no array", broken):
        with pytest.raises(FormatError, match=r"y\.npz: "):
            open_shard(file("y.npz", with_member(npz(X=np.eye(2)), "X.npy", content)))


def test_archives_and_texts_that_swell(file):
    bomb = with_member(npz(X=np.eye(2)), "X.npy", b"\x00" * (80 << 20))
    path = file("x.npz", bomb)
    with pytest.raises(FormatError, match=r"x\.npz: it would unpack to 83,886,\d+ bytes, over 100 times its size"):
        check_archive(path)
    with pytest.raises(FormatError, match="over 100 times its size"):
        open_shard(path)
    with pytest.raises(FormatError, match="unpacks to over 100 times its size; unpack it first"):
        read(file("x.csv.gz", gzip.compress(b"x" * (80 << 20), 1)))


def test_damaged_files_beside_shards(tmp_path):
    np.save(tmp_path / "0.npy", np.eye(2))
    sp.save_npz(tmp_path / "labels.npz", sp.csr_array(np.eye(2, dtype=bool)))
    (tmp_path / "names.json").write_text(NESTED, encoding="utf-8")
    with pytest.raises(FormatError, match=r"names\.json: this is not valid JSON"):
        read_shards(tmp_path)
    (tmp_path / "names.json").write_text('{"label_names": ["a", "b"]}', encoding="utf-8")
    (tmp_path / "items.jsonl").write_text('"a"\n{\n', encoding="utf-8")
    with pytest.raises(FormatError, match=r"items\.jsonl, line 2: this is not valid JSON"):
        read_shards(tmp_path)


def test_a_meka_file_with_very_many_labels(file):
    text = f"@relation 'x: -C {DIGITS}'\n@attribute a {{0,1}}\n@attribute b numeric\n@data\n1,2\n"
    with pytest.raises(FormatError, match=r"x\.arff.*expected -C and the number of labels"):
        read(file("x.arff", text), format="meka")


def test_a_number_of_very_many_digits_is_read_in_no_time(file):
    start = time.process_time()
    with pytest.raises(FormatError, match=r"x\.txt, line 1: found "):
        read(file("x.txt", f"0 0:{'9' * 200_000}x\n"))
    assert time.process_time() - start < 1  # it took minutes: every digit was tried in two places


@pytest.mark.parametrize("column", [999_999_999, -5])
def test_a_sparse_shard_whose_columns_lie_outside(tmp_path, column):
    parts = {"format": np.array("csr"), "shape": np.array([2, 2]), "data": np.ones(2), "indptr": np.array([0, 1, 2])}
    np.savez_compressed(tmp_path / "x.npz", indices=np.array([0, column]), _is_array=np.array(True), **parts)
    with pytest.raises(FormatError, match=r"x\.npz: this is not a whole \.npz file"):
        open_shard(tmp_path / "x.npz")  # it ended the process when rows were read
    np.savez(tmp_path / "mapped.npz", indices=np.array([0, column]), _is_array=np.array(True), **parts)
    shard = open_shard(tmp_path / "mapped.npz")
    assert shard.rows([0]).toarray().tolist() == [[1, 0]]
    with pytest.raises(FormatError, match=rf"mapped\.npz: a row has an entry in column {column}, but there are 2"):
        shard.rows(slice(None))


@pytest.mark.parametrize(
    "part", [{"indptr": np.array([0, 2, 1])}, {"data": np.array([{}, {}])}, {"indptr": np.ones(3)}]
)
def test_a_sparse_shard_that_is_not_mapped_as_it_is_not_in_order(tmp_path, part):
    parts = {"format": np.array("csr"), "shape": np.array([2, 2]), "data": np.ones(2), "indptr": np.array([0, 1, 2])}
    np.savez(tmp_path / "x.npz", indices=np.array([0, 1]), _is_array=np.array(True), **parts | part)
    with pytest.raises(FormatError, match=r"x\.npz: this is not a whole \.npz file"):
        open_shard(tmp_path / "x.npz")


def test_an_archive_whose_part_begins_before_it(file):
    whole = npz(X=np.eye(2))
    at = whole.index(b"PK\x05\x06") + 16  # where the list of parts is said to begin
    with pytest.raises((FormatError, zipfile.BadZipFile)):
        check_archive(file("x.npz", whole[:at] + b"\xff\xff\x00\x00" + whole[at + 4 :]))
    with pytest.raises(FormatError, match=r"x\.npz"):
        open_shard(file("x.npz", whole[:at] + b"\xff\xff\x00\x00" + whole[at + 4 :]))


def test_a_name_of_a_feature_that_no_file_could_hold(file):
    path = file("x.jsonl", '{"w": {"a\\ud800": 1}, "labels": "a;b"}\n')
    with pytest.raises(FormatError, match=r"x\.jsonl, line 1: column 'w': found the name 'a\\ud800', half of a char"):
        list(open_stream(path, features=["w"], hashed_width=8))


def test_a_small_file_that_unpacks_to_very_much(file):
    path = file("x.csv.bz2", bz2.compress(b"a,b\n" + b"\n" * (40 << 20)))
    start = time.process_time()
    with pytest.raises(FormatError, match=r"x\.csv\.bz2: it unpacks to over 100 times its size"):
        read(path)
    assert time.process_time() - start < 5  # of a generous machine's; it was read up to 64 MiB
