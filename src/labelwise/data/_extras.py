"""Packages that only some formats need."""

from __future__ import annotations

import importlib
from typing import Any


def need(package: str, extra: str) -> Any:
    """Import a package of an extra, or say how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"{package} is needed for this: pip install labelwise[{extra}]") from error
