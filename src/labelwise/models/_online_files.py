"""`OnlineBayes` on disk: one npz file, its settings in it as JSON. Nothing in it can run."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FORMAT = "labelwise.OnlineBayes"
VERSION = 1

Model = TypeVar("Model")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write beside the target and move it there, so that a reader never meets half a file."""
    state = model.state_
    header = {
        "format": FORMAT,
        "version": VERSION,
        "settings": _plain(model.get_params(deep=False)),
        "block_size": state.block_size,
        "n_features_in": int(model.n_features_in_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", ())],
        **{name: int(getattr(state, name)) for name in ("n_features", "n_labels", "seen", "sweeps")},
    }
    words = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    unfinished = Path(f"{os.fspath(path)}.part")
    with unfinished.open("wb") as file:
        np.savez(file, header=words, **state.arrays())
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def load(cls: type[Model], path: str | os.PathLike[str]) -> Model:
    header, arrays = _read(path)
    if (header.get("format"), header.get("version")) != (FORMAT, VERSION):
        raise ValueError(f"{os.fspath(path)} is no {FORMAT} file of version {VERSION}; write one with save(path)")
    settings = header["settings"]
    if settings["label_prior"] is not None:
        settings["label_prior"] = tuple(settings["label_prior"])
    model: Any = cls(**settings)
    model._start(header["block_size"])
    model.n_features_in_, model.n_labels_ = header["n_features_in"], header["n_labels"]
    if header["feature_names"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model._grow(header["n_features"], header["n_labels"])
    model.state_.restore(arrays)
    model.state_.seen, model.state_.sweeps = header["seen"], header["sweeps"]
    return model


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Header and arrays of a file; the header is empty where there is none or the file is no complete npz."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return json.loads(arrays.pop("header").tobytes()), arrays
    except (ValueError, KeyError, AttributeError, EOFError, zipfile.BadZipFile):
        return {}, {}


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON knows them."""
    plain = {}
    for name, value in settings.items():
        plain[name] = value.item() if isinstance(value, np.generic) else value
        if name == "random_state" and not isinstance(plain[name], int | None):
            raise ValueError(f"random_state must be an int or None to be saved, got {value!r}; use set_params")
    return plain
