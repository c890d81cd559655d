"""Files that other programs write: workbooks, Hugging Face datasets, spaCy's categories."""

import json

import numpy as np
import pytest

import labelwise as lw
from labelwise.data import FormatError

pa = pytest.importorskip("pyarrow")
TEXTS = ["=1+1 apples", "two\npears", "", "Zürich, 𝄞"]


def make():
    Y = np.array([[1, 0, np.nan], [0, 1, 1], [np.nan, np.nan, np.nan], [0, 0, 0]])
    items = [{"body": text, "n": n} for n, text in enumerate(TEXTS)]
    return lw.LabelData.from_arrays(
        np.zeros((4, 0)), Y, label_names=["fruit", "a;b", "-x"], item_ids=["t1", "7", "t3", "t4"], items=items
    )


def assert_told(back, data):
    assert back.item_ids == data.item_ids and back.label_names == data.label_names
    assert [item["body"] for item in back.items] == [item["body"] for item in data.items]
    assert (back.Y != data.Y).nnz == 0 and (back.observed_mask() != data.observed_mask()).nnz == 0


@pytest.fixture
def openpyxl():
    return pytest.importorskip("openpyxl", reason="needs the extra spreadsheets")


def test_a_workbook_comes_back_unchanged(tmp_path, openpyxl):
    data, path = make(), tmp_path / "x.xlsx"
    lw.write(data, path, labels=None, text="body")
    assert_told(lw.read(path, labels=list(data.label_names), items=["body", "n"], features=[]), data)
    cell = openpyxl.load_workbook(path)["items"]["B2"]
    assert (cell.value, cell.data_type) == ("=1+1 apples", "s")  # a text, no formula


def test_a_workbook_with_one_column_of_labels(tmp_path, openpyxl):
    data = lw.LabelData.from_arrays([[1.5], [2.0]], [[1, 0], [1, 1]], label_names=["red", "round"], feature_names=["w"])
    lw.write(data, tmp_path / "x.xlsx")
    back = lw.read(tmp_path / "x.xlsx")
    assert back.X.tolist() == [[1.5], [2.0]] and (back.Y != data.Y).nnz == 0


def test_sheets_dates_and_blank_rows_of_a_workbook(tmp_path, openpyxl):
    from datetime import date

    book = openpyxl.Workbook()
    book.active.append(["nothing"])
    sheet = book.create_sheet("mine")
    for row in (["id", "when", "tags"], [1, date(2026, 1, 2), "a;b"], [None, None, None], [2, None, "b"]):
        sheet.append(row)
    book.save(tmp_path / "x.xlsx")
    data = lw.read(tmp_path / "x.xlsx", sheet="mine", labels="tags", features=[])
    assert data.item_ids == ("1", "2") and data.items[0]["when"].startswith("2026-01-02")
    assert data.label_names == ("a", "b")
    with pytest.raises(FormatError, match="no sheet 'other'; there are 'Sheet', 'mine'"):
        lw.read(tmp_path / "x.xlsx", sheet="other")
    with pytest.raises(FormatError, match="no column 'labels'"):
        lw.read(tmp_path / "x.xlsx", sheet="mine")


def test_what_is_wrong_with_a_workbook(tmp_path, openpyxl):
    (tmp_path / "x.xlsx").write_bytes(b"PK nonsense")
    with pytest.raises(FormatError, match=r"not a valid \.xlsx file"):
        lw.read(tmp_path / "x.xlsx")
    long = lw.LabelData.from_arrays(np.zeros((1, 0)), [[1]], items=["a" * 40_000])
    with pytest.raises(FormatError, match="40,000 letters, and a cell holds 32,767"):
        lw.write(long, tmp_path / "y.xlsx", text="text")
    odd = lw.LabelData.from_arrays(np.zeros((1, 0)), [[1]], items=["a\x00b"])
    with pytest.raises(FormatError, match="a sign that a workbook cannot hold"):
        lw.write(odd, tmp_path / "y.xlsx", text="text")
    assert not (tmp_path / "y.xlsx").exists()


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"labelwise\[spreadsheets\]"):
        lw.read(tmp_path / "x.xlsx")


def test_a_dataset_comes_back_unchanged(tmp_path):
    data, path = make(), tmp_path / "set"
    lw.write(data, path, format="datasets", labels=None, text="body")
    assert_told(lw.read(path, labels=list(data.label_names), items=["body", "n"], features=[]), data)
    lw.write(data.hide(), path, format="datasets", labels=None, text="body")  # in the place of the old one
    assert lw.read(path, labels=list(data.label_names), features=[]).n_observed == 0
    (tmp_path / "other").mkdir()
    with pytest.raises(FormatError, match="no dataset; choose another name"):
        lw.write(data, tmp_path / "other", format="datasets", labels=None, text="body")


def test_numbers_of_classes_become_names_by_split(tmp_path):
    for split, labels in (("train", [[0, 2], [], None]), ("test", [[1]])):
        folder = tmp_path / split
        folder.mkdir()
        table = pa.table({"text": ["x"] * len(labels), "labels": pa.array(labels, pa.list_(pa.int64()))})
        with pa.OSFile(str(folder / "data-0.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
        kind = {"feature": {"names": ["joy", "fear", "love"], "_type": "ClassLabel"}, "_type": "Sequence"}
        (folder / "dataset_info.json").write_text(json.dumps({"features": {"labels": kind}}))
        (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-0.arrow"}]}))
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    data = lw.read(tmp_path, features=[])
    assert data.label_names == ("joy", "love") and data.n_items == 3 and data.n_observed == 4
    assert lw.read(tmp_path, split="test", features=[]).label_names == ("fear",)
    with pytest.raises(FormatError, match=r"no split 'dev'.*'train', 'test'"):
        lw.read(tmp_path, split="dev", features=[])


def test_the_package_datasets_agrees(tmp_path):
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    data = make()
    lw.write(data, tmp_path / "ours", format="datasets", labels=None, text="body")
    theirs = datasets.load_from_disk(str(tmp_path / "ours"))
    assert theirs["body"][:] == TEXTS and theirs["fruit"][:] == [1, 0, None, 0]
    theirs.save_to_disk(str(tmp_path / "theirs"))
    assert_told(lw.read(tmp_path / "theirs", labels=list(data.label_names), items=["body"], features=[]), data)
    kinds = datasets.Features(
        {"text": datasets.Value("string"), "labels": [datasets.ClassLabel(names=["joy", "fear"])]}
    )
    made = datasets.Dataset.from_dict({"text": ["a", "b"], "labels": [[1], [0, 1]]}, features=kinds)
    datasets.DatasetDict({"train": made}).save_to_disk(str(tmp_path / "splits"))
    back = lw.read(tmp_path / "splits", features=[])
    assert back.label_names == ("fear", "joy") and back.Y.toarray().tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.jsonl.gz"])
def test_spacy_categories_come_back_unchanged(tmp_path, name):
    Y = np.array([[1, np.nan], [0, 1], [np.nan, np.nan]])
    data = lw.LabelData.from_arrays(np.zeros((3, 0)), Y, label_names=["A", "B"], items=["red car", "blue\ncar", "sky"])
    lw.write(data, tmp_path / name, format="spacy")
    back = lw.read(tmp_path / name, format="spacy", items="text")
    assert back.items == data.items and back.item_ids == data.item_ids
    assert (back.Y != data.Y).nnz == 0 and (back.observed != data.observed).nnz == 0
    assert back.n_features > 0  # words of the texts


def test_spacy_as_spacy_writes_it(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "red car", "cats": {"X": 0.9, "Y": 0.2}}\n{"text": "sky", "cats": {"X": 0}, "m": 1}\n')
    data = lw.read(path, format="spacy", threshold=0.1)
    assert data.Y.toarray().tolist() == [[True, True], [False, False]] and data.n_observed == 3
    path.write_text('{"text": "a", "cats": ["X"]}\n')
    with pytest.raises(FormatError, match=r"line 1: found \['X'\] as 'cats', expected an object"):
        lw.read(path, format="spacy")
    path.write_text('{"text": "a"}\n')
    with pytest.raises(FormatError, match="no item has a category"):
        lw.read(path, format="spacy")
    with pytest.raises(FormatError, match=r"x\.spacy: this is spaCy's binary form; write it as json by spaCy: \["):
        lw.read(tmp_path / "x.spacy", format="spacy")
