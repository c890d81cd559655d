"""ARFF files, Mulan's or MEKA's, by what names the labels."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from labelwise.data.errors import Problem
from labelwise.data.formats.arff import meka, mulan
from labelwise.data.formats.arff.header import Header
from labelwise.data.formats.arff.reader import read_arff
from labelwise.files import AnyPath
from labelwise.records import LabelData


def read(
    path: AnyPath,
    *,
    labels: AnyPath | Sequence[str] | int | None = None,
    dtype: npt.DTypeLike = np.float64,
    encoding: str = "utf-8",
) -> LabelData:
    """Read an ARFF file, dense or sparse, plain or compressed.

    Parameters
    ----------
    path : path of the ARFF file
    labels : what says which attributes are labels
        A path: the XML file that names them, as in Mulan. A list: their names. A number: this number of the first
        attributes, or of the last for a negative one, as in MEKA. None: the XML file beside the ARFF file (see
        `arff.mulan.xml_candidates`), and without one the number behind `-C` in the relation name.
    dtype : float64 or float32, of X
    encoding : of the ARFF file
    """
    if isinstance(labels, int | np.integer):
        return meka.read(path, labels=int(labels), dtype=dtype, encoding=encoding)
    if labels is None and mulan.find_xml(path) is None:
        return read_arff(path, lambda header: _labels_by_relation(header, path), dtype, encoding)
    if labels is None or isinstance(labels, str | os.PathLike):
        return mulan.read(path, labels=labels, dtype=dtype, encoding=encoding)
    names = list(labels)
    return read_arff(path, lambda header: mulan.label_positions(header, names, "labels="), dtype, encoding)


def _labels_by_relation(header: Header, path: AnyPath) -> Sequence[int]:
    if meka.label_count(header.relation) is None:
        tried = ", ".join(candidate.name for candidate in mulan.xml_candidates(path))
        raise Problem(
            f"nothing says which attributes are labels: there is no XML file beside it (looked for {tried}) and no -C "
            "in its relation name; give labels=, a path, a list of names or a number"
        )
    return meka.label_positions(header)


write = mulan.write
