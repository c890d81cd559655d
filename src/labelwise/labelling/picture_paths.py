"""Where pictures lie: beside the project as paths from its folder, so that both can be moved together; else in full."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelwise.labelling.pictures import is_picture


def portable(content: Any, folder: Path | None) -> Any:
    """The content of an item as it is kept: paths of pictures in the project's folder begin there, others are whole.

    Parameters
    ----------
    content : what an item shows; paths in it are seen from where we are now
    folder : of the project's file, in full; None for a project in a database
    """
    return _with_paths(content, lambda path: _kept(path, folder))


def located(content: Any, folder: Path | None) -> Any:
    """The content of an item as it is used: paths of pictures in full, wherever the project's folder is now."""
    return content if folder is None else _with_paths(content, lambda path: _found(path, folder))


def _kept(path: str, folder: Path | None) -> str:
    whole = Path(os.path.abspath(path))  # a link stays what it is
    if not whole.is_file():
        return path
    if folder is not None and whole.is_relative_to(folder):
        return whole.relative_to(folder).as_posix()
    return str(whole)


def _found(path: str, folder: Path) -> str:
    return path if os.path.isabs(path) or not (folder / path).is_file() else str(folder / path)


def _with_paths(content: Any, change: Any) -> Any:
    if isinstance(content, Mapping):
        return {key: _with_path(value, change) for key, value in content.items()}
    return _with_path(content, change)


def _with_path(value: Any, change: Any) -> Any:
    return change(value) if is_picture(value) and not value.startswith("data:") else value
