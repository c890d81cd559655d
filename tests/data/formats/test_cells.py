"""Cells of text files: numbers, formulas, sparse rows."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labelwise import LabelData, read, write
from labelwise.data.cooccurrence import Cooccurrence, read_cooccurrence, write_cooccurrence
from labelwise.data.errors import Problem
from labelwise.data.formats.cells import check_dtype, format_number, parse_number
from labelwise.data.formats.rows import read_rows, write_rows
from labelwise.data.predictions import prediction_columns, writing_predictions


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_comes_back_unchanged(value):
    back = parse_number(format_number(value))
    assert back == value
    assert np.signbit(back) == np.signbit(value)


@pytest.mark.parametrize("text", ["1_000", " 1", "1e", "e5", ".", "", "0x1", "١", "--1", "1e5.0"])
def test_what_float_may_take_but_is_no_number_here(text):
    with pytest.raises(Problem, match="expected a number"):
        parse_number(text)


@pytest.mark.parametrize("text", ["nan", "-inf", "Infinity", "NaN"])
def test_not_finite(text):
    with pytest.raises(Problem, match="expected a finite number"):
        parse_number(text)


def test_too_large():
    with pytest.raises(Problem, match="too large"):
        parse_number("1e999")


def test_dtypes():
    assert check_dtype("float32") == np.float32
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int64"):
        check_dtype(np.int64)


EVIL = ["=HYPERLINK(1)", "+cmd|' /C calc'!A0", "-1+1", "@SUM(1)", "\t=1", "\r=1", "'=1", "''=1"]
PLAIN = ["a=b", "-5", "+2.5e3", "'tis", "", "1", "'", "x\ty"]
ONE_FILE = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def cells(path) -> list[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def dangerous(rows: list[list[str]]) -> list[str]:
    """Cells that a spreadsheet would take for formulas."""

    def is_number(cell: str) -> bool:
        try:
            float(cell)
        except ValueError:
            return False
        return True

    return [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r") and not is_number(cell)]


def test_rows_come_back_and_are_no_formulas(tmp_path):
    path = str(tmp_path / "rows.csv")
    rows = [{"=who": cell, "said": i} for i, cell in enumerate(EVIL + PLAIN)]
    write_rows(rows, path, ["=who", "said"])
    assert dangerous(cells(path)) == []
    assert [row["=who"] for _, row in read_rows(path, ["=who"])] == EVIL + PLAIN
    assert ["-5", "9"] in cells(path), "a number stays one"
    write_rows(rows, path, ["=who", "said"], raw_csv=True)
    assert [row[0] for row in cells(path)[1:]] == EVIL + PLAIN


@ONE_FILE
@given(st.lists(st.text(alphabet=st.sampled_from("=+-@'\t\r\n1x,;\" "), max_size=6), min_size=1))
def test_any_text_comes_back(tmp_path, texts):
    path = str(tmp_path / "rows.csv")
    write_rows([{"a": text, "b": "x"} for text in texts], path, ["a", "b"])
    assert [row["a"] for _, row in read_rows(path, ["a"])] == texts
    assert dangerous(cells(path)) == []


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize("labels", ["labels", None])
def test_tables_come_back_and_are_no_formulas(tmp_path, suffix, labels):
    evil = [cell for cell in EVIL if suffix == "csv" or not {"\t", "\r"} & set(cell)]
    names = ["=label", "-other", "plain"]
    Y = np.random.default_rng(0).random((len(evil), 3)) < 0.5
    items = [{"=field": cell, "text": cell} for cell in evil]
    ids = [f"={i}" for i in range(len(evil))]
    data = LabelData.from_arrays(-np.ones((len(evil), 1)), Y, label_names=names, item_ids=ids, items=items)
    path = tmp_path / f"table.{suffix}"
    write(data, path, labels=labels)
    if suffix == "csv":
        assert dangerous(cells(path)) == []
    back = read(path, labels=names if labels is None else labels, label_names=names if labels else None)
    assert back.item_ids == data.item_ids and back.label_names == data.label_names
    assert [dict(item) for item in back.items] == [{**item, "x0": "-1"} for item in items]
    assert np.array_equal(back.X, data.X) and (back.Y != data.Y).nnz == 0
    write(data, path, labels=labels, raw_csv=True)
    assert "'=label" not in path.read_text(encoding="utf-8")


def test_counts_come_back_and_are_no_formulas(tmp_path):
    path = tmp_path / "counts.csv"
    counts = Cooccurrence(("=a", "-b", "c"), np.eye(3) + 1)
    write_cooccurrence(counts, path)
    assert dangerous(cells(path)) == [] and read_cooccurrence(path).names == counts.names


def test_predictions_are_no_formulas(tmp_path):
    p = np.array([[0.9, 0.8]])
    for raw in (False, True):
        with writing_predictions(tmp_path / "p.csv", raw_csv=raw) as append:
            append(prediction_columns(["=id"], p > 0.5, p, ["=label", "b"]))
        assert dangerous(cells(tmp_path / "p.csv")) == (["=id", "=label;b"] if raw else [])
