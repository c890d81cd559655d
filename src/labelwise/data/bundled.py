"""Sets that come with other packages: scikit-learn's handwritten digits as pictures, and yeast of river."""

from __future__ import annotations

import base64
import importlib.util
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from labelwise.data.formats import csv
from labelwise.records import LabelData

ATTRIBUTES: dict[str, tuple[int, ...]] = {
    "even": (0, 2, 4, 6, 8),
    "prime": (2, 3, 5, 7),
    "above four": (5, 6, 7, 8, 9),
    "closed loop": (0, 6, 8, 9),
    "two loops": (8,),
    "straight strokes only": (1, 4, 7),
    "curve": (0, 2, 3, 5, 6, 8, 9),
    "open to the left": (2, 3, 5, 7, 9),
}
SCALE = 8  # each dot of the 8 × 8 originals becomes so many pixels wide


def make_digit_pictures(n_items: int = 600, random_state: int = 0) -> LabelData:
    """Digits drawn at random from scikit-learn's 1797, each with its attributes, as PNG pictures in data: addresses.

    Examples
    --------
    >>> digits = make_digit_pictures(20)
    >>> digits.n_labels, digits.items[0]["image"][:22]
    (8, 'data:image/png;base64,')
    """
    pictures, digits = load_digits(return_X_y=True)
    picked = np.random.default_rng(random_state).permutation(len(digits))[:n_items]
    Y = np.array([[digits[i] in members for members in ATTRIBUTES.values()] for i in picked])
    return LabelData.from_arrays(
        pictures[picked],
        Y,
        item_ids=[f"digit-{i:04d}" for i in picked.tolist()],
        label_names=list(ATTRIBUTES),
        items=[{"image": as_data_address(pictures[i].reshape(8, 8))} for i in picked],
    )


def as_data_address(dots: npt.NDArray[Any]) -> str:
    """A picture of dots between 0 (paper) and 16 (ink) as the address of a PNG file."""
    grey = (255 - dots.repeat(SCALE, 0).repeat(SCALE, 1) * (255 / 16)).astype(np.uint8)
    return "data:image/png;base64," + base64.b64encode(png(grey)).decode()


def png(grey: npt.NDArray[np.uint8]) -> bytes:
    """A grey picture (height, width) as a PNG file: signature, header, one block of data, end."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in grey)  # each row is led by its filter, none
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def load_yeast() -> LabelData:
    """Yeast: 2417 genes, 103 features, 14 functional classes. Needs no network, only `pip install river`.

    References
    ----------
    A. Elisseeff and J. Weston. A kernel method for multi-labelled classification. NIPS 2001.

    Examples
    --------
    >>> load_yeast().label_names[:2]
    ('Class1', 'Class2')
    """
    package = importlib.util.find_spec("river")  # found, not imported: that takes two seconds
    file = (
        Path(next(iter(package.submodule_search_locations or ()), "")) / "datasets" / "yeast.csv.gz"
        if package
        else None
    )
    if file is None or not file.exists():
        raise ImportError("yeast comes with river: pip install 'river>=0.26'")
    return csv.read(file, labels=[f"Class{label}" for label in range(1, 15)], items=[])
