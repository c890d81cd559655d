"""Parameters of which `make test` takes the first and `make check` takes all."""

from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

import pytest


def rest_slow(values: Iterable[Any], n: int = 1) -> list[Any]:
    """The first n as they are, those after them marked as slow."""
    rest = iter(values)
    return list(chain(islice(rest, n), (pytest.param(value, marks=pytest.mark.slow) for value in rest)))
