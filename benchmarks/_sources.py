"""Which code a benchmark exercised: the source files that its processes loaded, each with a hash of its code."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

RECORDING = Path(__file__).with_name("_recording")
LATE = "changed during the run"  # in place of the hash of such a file
DOORS = {f"labelwise/{name}" for name in ("__init__.py", "__init__.pyi", "_lazy.py", "_moved.py", "_moved.txt")}


@contextmanager
def recording(folder: Path) -> Iterator[tuple[dict[str, str], Path]]:
    """The environment to run a benchmark of this folder in, and the file that then lists what it loaded."""
    with tempfile.TemporaryDirectory() as scratch:
        notes = Path(scratch) / "loaded.txt"
        notes.touch()
        path = os.pathsep.join([str(RECORDING), *filter(None, [os.environ.get("PYTHONPATH")])])
        counted = os.pathsep.join(str(each.resolve()) for each in roots(folder).values())
        yield os.environ | {"PYTHONPATH": path, "LABELWISE_LOADED": str(notes), "LABELWISE_SOURCES": counted}, notes


def roots(folder: Path) -> dict[str, Path]:
    """The folders whose files count, by the name that their paths begin with: the package and the benchmarks."""
    spec = find_spec("labelwise")
    places = (spec.submodule_search_locations if spec else None) or []
    return {"benchmarks": folder} | ({"labelwise": Path(places[0])} if places else {})


def hashes(loaded: Iterable[str | Path], folder: Path, start: float) -> dict[str, str]:
    """Path to hash of these files and of what lies beside them (pages, scripts, styles); `start`: of the run."""
    paths = {Path(path).resolve() for path in loaded}
    found = {}
    for name, root in roots(folder).items():
        root = root.resolve()
        own = {path for path in paths if path.is_relative_to(root)}
        own |= _not_python(root, {path.parent for path in own}) if name == "labelwise" else set()
        for path in own:
            late = path.stat().st_mtime > start
            found[f"{name}/{path.relative_to(root).as_posix()}"] = LATE if late else hash_of(path)
    return dict(sorted(found.items()))


def _not_python(root: Path, loaded: set[Path]) -> set[Path]:
    """Files that are no Python but belong to a loaded folder: it is the nearest above them with Python in it."""
    others = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".py"]
    others = [path for path in others if "__pycache__" not in path.parts]  # numba keeps compiled code there
    return {path for path in others if next(each for each in path.parents if any(each.glob("*.py"))) in loaded}


def hash_of(path: Path) -> str:
    """Of a file's contents; of Python only the code counts, not comments, docstrings and layout."""
    return _hash(path, path.stat().st_mtime_ns, path.stat().st_size)


@cache
def _hash(path: Path, changed_at: int, size: int) -> str:
    return _digest(path.read_bytes(), path.suffix)


def _digest(content: bytes, suffix: str) -> str:
    if suffix == ".py":
        with suppress(SyntaxError):
            content = ast.unparse(_without_docstrings(content)).encode()
    return hashlib.sha256(content).hexdigest()[:12]


def _without_docstrings(content: bytes) -> ast.Module:
    tree = ast.parse(content)
    for node in ast.walk(tree):
        is_documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_documented and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def changed(sources: Mapping[str, str], folder: Path, commit: str = "") -> list[str]:
    """Those of the recorded files whose code is another now, or that are gone.

    Where git still has the measured file, what was only added to it since does not count: a new function, method,
    constant or import changes nothing until code that was there calls it, which is a change of that code.
    """
    where, found = roots(folder), []
    for name, before in sources.items():
        if name in DOORS:  # they lead to the code and compute nothing
            continue
        first, _, rest = name.partition("/")
        path = where[first] / rest if first in where else None
        if path is None or not path.is_file():
            found.append(name)
        elif hash_of(path) != before:
            measured = _at(commit, path) if commit and path.suffix in (".py", ".pyi") else None
            is_known = measured is not None and _digest(measured, path.suffix) == before
            if not (is_known and pieces(measured).items() <= pieces(path.read_bytes()).items()):
                found.append(name)
    return found


def pieces(content: bytes) -> dict[str, str]:
    """The definitions, imports and statements of a module, each with its code; a class is its head and its members.

    >>> sorted(pieces(b"import os\\nclass A:\\n    x = 1\\n    def f(self): pass\\n"))
    ['A', 'A.f', 'A.x = 1', 'import os']
    """
    found: dict[str, str] = {}

    def add(body: list[ast.stmt], before: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                add(node.body, f"{before}{node.name}.")
                node.body = []
                found[before + node.name] = ast.unparse(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                overloads = found.get(before + node.name, "")
                found[before + node.name] = overloads + ast.unparse(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for name in node.names:
                    one = (
                        ast.Import([name])
                        if isinstance(node, ast.Import)
                        else ast.ImportFrom(node.module, [name], node.level)
                    )
                    found[before + ast.unparse(one)] = ""
            elif not _is_for_types(node):
                found[before + ast.unparse(node)] = ""

    add(_without_docstrings(content).body, "")
    return found


def _is_for_types(node: ast.stmt) -> bool:
    """`__all__`, and what only type checkers read."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) == "__all__"
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def _at(commit: str, path: Path) -> bytes | None:
    """A file's contents at a commit; None where git does not have it."""
    words = ["git", "-C", str(path.parent), "show", f"{commit}:./{path.name}"]
    done = subprocess.run(words, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def commit_of(folder: Path) -> dict[str, Any]:
    """The git commit of a folder and whether anything was not committed; nothing where there is no git."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return {"commit": commit, "uncommitted_changes": bool(_git(folder, "status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return {}


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()
