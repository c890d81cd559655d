"""Where files that are derived from a project are kept: beside it, or in the user's cache. May be deleted any time."""

from __future__ import annotations

from pathlib import Path

from labelwise.files import cache_folder
from labelwise.labelling.store import Store
from labelwise.labelling.store.engine import read_value

MODEL, SNAPSHOT = "model.skops", "snapshot.npz"
DERIVED = (MODEL, SNAPSHOT)


def derived_path(store: Store, name: str) -> Path:
    """The path of one such file; it may not be there."""
    if store.is_file:
        return Path(f"{store.location}.derived") / name
    with store.reading() as connection:
        identity = read_value(connection, "identity")
    return cache_folder() / identity / name
