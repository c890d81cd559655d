"""Names of the package that need an extra: looked up when they are first used, so that importing costs nothing."""

from __future__ import annotations

import importlib
from typing import Any

WHERE = {"labelling": None, "Project": "Project"}


def find(name: str) -> Any:
    """`labelwise.Project` and `labelwise.labelling`, or an error that says what to install."""
    if name not in WHERE:
        raise AttributeError(f"module 'labelwise' has no attribute {name!r}")
    try:
        labelling = importlib.import_module("labelwise.labelling")
    except ModuleNotFoundError as error:
        raise ImportError(f"projects need {error.name}: pip install 'labelwise[serve]'") from error
    attribute = WHERE[name]
    return labelling if attribute is None else getattr(labelling, attribute)
