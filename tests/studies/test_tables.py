from __future__ import annotations

import csv
import math

import pyarrow.parquet as pq
import pytest

from labelwise.studies.tables import Table

ROWS = [
    {"model": "a", "seed": 0, "f1": 0.5},
    {"model": "b", "seed": 0, "f1": 1 / 3},
    {"model": "a", "seed": 1, "auc": 0.25},
]


def test_rows_become_columns_and_what_is_missing_is_nan():
    table = Table.from_rows(ROWS)
    assert table.names == ("model", "seed", "f1", "auc")
    assert math.isnan(table["f1"][2]) and math.isnan(table["auc"][0])
    assert list(table.rows())[1]["model"] == "b"


def test_where_and_distinct():
    table = Table.from_rows(ROWS)
    assert table.where(model="a")["seed"].tolist() == [0, 1]
    assert len(table.where(model="a", seed=7)) == 0
    assert table.distinct("model") == [("a",), ("b",)]
    assert table.distinct("model", "seed") == [("a", 0), ("b", 0), ("a", 1)]


def test_an_unknown_column_is_named_with_those_there_are():
    with pytest.raises(KeyError, match="no column 'f2'; there are model, seed"):
        Table.from_rows(ROWS)["f2"]


def test_csv_keeps_every_digit(tmp_path):
    Table.from_rows(ROWS).write_csv(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        back = list(csv.DictReader(file))
    assert float(back[1]["f1"]) == 1 / 3
    assert [row["model"] for row in back] == ["a", "b", "a"]


def test_parquet_holds_the_same(tmp_path):
    Table.from_rows(ROWS).write_parquet(tmp_path / "t.parquet")
    back = pq.read_table(tmp_path / "t.parquet").to_pydict()
    assert back["model"] == ["a", "b", "a"]
    assert back["f1"][1] == 1 / 3
