"""Environments for the peers, apart from ours: they pin, or count on, versions that we and the others do not."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("current", "small-text-2", "older", "potato")
DEFAULT_FOLDER = Path(os.environ.get("LABELWISE_PEERS") or HERE.parents[1] / ".venv-peers")  # ignored by git
SOURCE_SETTINGS = {"LIBACT_BUILD_HINTSVM": "0", "LIBACT_BUILD_VARIANCE_REDUCTION": "0"}


def interpreter(folder: Path, name: str) -> Path:
    return folder / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make(folder: Path, name: str) -> str | None:
    """Make one environment from its pinned list; what could not be built is left out, and why is returned."""
    python = interpreter(folder, name)
    if not python.exists():
        venv.create(folder / name, with_pip=True)
    _pip(python, "-r", str(HERE / f"{name}.txt"))
    source = HERE / f"{name}-source.txt"
    if not source.exists():
        return None
    try:
        _pip(python, "--no-build-isolation", "--no-deps", "-r", str(source), extra=SOURCE_SETTINGS)
    except RuntimeError as error:
        return str(error)
    return None


def _pip(python: Path, *arguments: str, extra: dict[str, str] | None = None) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(extra or {})}, check=False)
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise RuntimeError(f"pip install {' '.join(arguments)} failed:\n{last}")


def make_all(folder: Path) -> None:
    for name in NAMES:
        print(f"making {folder.name}/{name} from {name}.txt", file=sys.stderr, flush=True)
        trouble = make(folder, name)
        if trouble:
            print(f"{name}: {trouble}", file=sys.stderr, flush=True)
