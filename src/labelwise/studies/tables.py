"""A small tidy table: named columns of one length. Enough to collect, filter and save results without a data frame."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.files import replacing

Arm = tuple[str, str]  # model, strategy: what is compared in a study


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns, each a one-dimensional array of the same length.

    Examples
    --------
    >>> table = Table.from_rows([{"seed": 0, "f1": 0.5}, {"seed": 1, "f1": 0.75}])
    >>> table["f1"].mean()
    np.float64(0.625)
    >>> len(table.where(seed=1)), table.names
    (1, ('seed', 'f1'))
    """

    columns: Mapping[str, npt.NDArray[Any]]

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Table:
        """Columns in order of first appearance; a figure that a row lacks is NaN."""
        names = list(dict.fromkeys(name for row in rows for name in row))
        return cls({name: np.array([row.get(name, float("nan")) for row in rows]) for name in names})

    @classmethod
    def joined(cls, tables: Sequence[Table]) -> Table:
        """The rows of one or more tables with the same columns."""
        return cls({name: np.concatenate([table[name] for table in tables]) for name in tables[0].names})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self.names)}")
        return self.columns[name]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Row by row, as plain Python values."""
        lists = [column.tolist() for column in self.columns.values()]
        for values in zip(*lists, strict=True):
            yield dict(zip(self.names, values, strict=True))

    def where(self, **equal: Any) -> Table:
        """The rows in which these columns have these values."""
        kept = np.ones(len(self), dtype=bool)
        for name, value in equal.items():
            kept &= self[name] == value
        return Table({name: column[kept] for name, column in self.columns.items()})

    def distinct(self, *names: str) -> list[tuple[Any, ...]]:
        """The different combinations of these columns, in order of first appearance."""
        return list(dict.fromkeys(zip(*(self[name].tolist() for name in names), strict=True)))

    def write_csv(self, path: Path) -> None:
        with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.names)
            writer.writerows(row.values() for row in self.rows())

    def write_parquet(self, path: Path) -> None:
        import pyarrow as pa  # start-up
        import pyarrow.parquet as pq

        with replacing(path) as part:
            pq.write_table(pa.table(dict(self.columns)), part)
