"""The yeast data set, from the copy that the package river brings."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from labelwise.data import csv
from labelwise.records import LabelData

N_LABELS = 14


def load_yeast() -> LabelData:
    """Yeast: 2417 genes, 103 features, 14 functional classes. Needs no network, only `pip install labelwise[demo]`.

    References
    ----------
    A. Elisseeff and J. Weston. A kernel method for multi-labelled classification. NIPS 2001.
    """
    package = importlib.util.find_spec("river")  # found, not imported: that takes two seconds
    file = (
        Path(next(iter(package.submodule_search_locations or ()), "")) / "datasets" / "yeast.csv.gz"
        if package
        else None
    )
    if file is None or not file.exists():
        raise ImportError("river, version 0.26 or later, is needed for this: pip install labelwise[demo]")
    return csv.read(file, labels=[f"Class{label}" for label in range(1, N_LABELS + 1)], items=[])
