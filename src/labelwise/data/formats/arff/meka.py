"""MEKA's format: an ARFF file whose relation name holds `-C n`, the number of its labels.

The first n attributes are the labels; for a negative n the last −n are.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from labelwise.data.errors import Problem, shown
from labelwise.data.formats.arff.header import Header
from labelwise.data.formats.arff.reader import read_arff, write_arff
from labelwise.files import AnyPath, split_name
from labelwise.records import LabelData

COUNT = re.compile(r"(?:^|[\s:])-C\s+(-?[0-9]{1,15})(?=\s|$)")


def read(
    path: AnyPath,
    *,
    labels: int | None = None,
    dtype: npt.DTypeLike = np.float64,
    encoding: str = "utf-8",
) -> LabelData:
    """Read an ARFF file whose relation name says how many of the first (or last) attributes are labels.

    Parameters
    ----------
    labels : the number to use instead of the one behind `-C`
    path, dtype, encoding : as of every ARFF file, see `arff.files.read`
    """
    return read_arff(path, lambda header: label_positions(header, labels), dtype, encoding)


def write(data: LabelData, path: AnyPath, *, lossy: bool = False) -> None:
    """Write ARFF as `write_arff` does, with the labels first and their number in the relation name."""
    write_arff(data, path, f"{split_name(path)[0]}: -C {data.n_labels}", labels_first=True, lossy=lossy)


def label_count(relation: str) -> int | None:
    """The number behind `-C`, or None.

    >>> label_count("IMDB: -C 28"), label_count("weather")
    (28, None)
    """
    match = COUNT.search(relation)
    return None if match is None else int(match[1])


def label_positions(header: Header, count: int | None = None) -> range:
    """The attributes that are labels."""
    count = label_count(header.relation) if count is None else count
    if count is None:
        raise Problem(
            f"found the relation name {shown(header.relation)}, expected -C and the number of labels in it; "
            "give the number as labels=, or use Mulan's format with an XML file"
        )
    size = len(header.attributes)
    if count == 0 or abs(count) > size:
        raise Problem(f"found -C {count}, expected a number of labels between 1 and {size}, the number of attributes")
    return range(count) if count > 0 else range(size + count, size)
