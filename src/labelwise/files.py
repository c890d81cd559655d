"""The one way to write a file: beside its target, on disk, and then renamed, so that nobody meets half of it."""

from __future__ import annotations

import bz2
import errno
import glob
import gzip
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeAlias

AnyPath: TypeAlias = str | os.PathLike[str]

COMPRESSED = (".gz", ".bz2")


def split_name(path: AnyPath) -> tuple[str, str, str]:
    """The name of a file as stem, suffix in lower case, and suffix of its compression or "".

    >>> split_name("sets/Corel5k-sparse.ARFF.gz")
    ('Corel5k-sparse', '.arff', '.gz')
    """
    name = Path(path).name
    compression = Path(name).suffix.lower()
    if compression in COMPRESSED:
        name = name[: -len(compression)]
    else:
        compression = ""
    suffix = Path(name).suffix
    return name[: len(name) - len(suffix)], suffix.lower(), compression


def cache_folder() -> Path:
    """Where the user keeps what can be computed again; it may not be there."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labelwise"


@contextmanager
def replacing(path: AnyPath, *, overwrite: bool = True, private: bool = False) -> Iterator[Path]:
    """A new, empty file beside `path` to write to; at the end it is synchronised and takes the place of `path`.

    An error in between leaves `path` as it was and nothing beside it. Of two writers at once the later one wins.

    Parameters
    ----------
    path : a link is followed: the file it leads to is replaced
    overwrite : if False, raise `FileExistsError` where there is a file by then
    private : readable by its owner alone, from its first byte on; a link is replaced, wherever it leads
    """
    target = Path(os.path.abspath(path) if private else os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666))
        yield part
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        if overwrite:
            os.replace(part, target)
        else:
            _rename_to_free_name(part, target)
    finally:
        part.unlink(missing_ok=True)
    _synchronise_folder(target.parent)


@contextmanager
def writing(path: AnyPath) -> Iterator[IO[bytes]]:
    """A file to write to that takes its name only once it is complete and on disk; compressed as its suffix says."""
    packing = split_name(os.path.realpath(path))[2]
    with replacing(path) as part, open(part, "wb") as raw, _compressor(raw, packing) as file:
        yield file


def write_bytes(path: AnyPath, content: bytes, *, private: bool = False) -> None:
    """Write a whole file, as it is given: never compressed."""
    with replacing(path, private=private) as part:
        part.write_bytes(content)


def write_text(path: AnyPath, text: str, *, private: bool = False) -> None:
    """Write a whole file as UTF-8; line ends stay as they are."""
    write_bytes(path, text.encode(), private=private)


def remove_unfinished(folder: Path, of: str = "", older_than: float = 0.0) -> None:
    """Remove what killed writers left in a folder: of the file `of` or of any, at least `older_than` seconds old."""
    for part in folder.glob(f".{glob.escape(of)}.*.part" if of else ".*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime >= older_than:
                part.unlink()


@contextmanager
def _compressor(raw: IO[bytes], compression: str) -> Iterator[IO[bytes]]:
    if compression == ".gz":
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:  # no name, no time: the same data, the same bytes
            yield file  # type: ignore[misc]  # a file to all who write, if not to mypy
    elif compression == ".bz2":
        with bz2.BZ2File(raw, "wb") as packed:
            yield packed
    else:
        yield raw


def _rename_to_free_name(part: Path, target: Path) -> None:
    try:
        os.link(part, target)  # unlike a rename it never replaces what appeared meanwhile
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if target.exists():
            raise FileExistsError(errno.EEXIST, "there is such a file already", str(target)) from None
        os.rename(part, target)


def _synchronise_folder(folder: Path) -> None:
    """So that the name outlives a loss of power; not every system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
