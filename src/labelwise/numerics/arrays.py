"""Names for the types of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]
IntegerArray = npt.NDArray[np.integer[Any]]  # of any size
