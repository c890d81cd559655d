"""Bytes in and out: compression by suffix, blocks of whole lines, files that are never half written."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import os
import secrets
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

from labelwise.data.errors import FormatError

AnyPath: TypeAlias = str | os.PathLike[str]

BLOCK = 1 << 20  # bytes read at a time; a file that fits into one is parsed in Python, without loading compiled code
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


def line_blocks(path: AnyPath, size: int = BLOCK, offset: int = 0) -> Iterator[bytes]:
    """Walk a file, uncompressed on the way, in blocks of whole lines; the last one may lack its newline.

    `offset` is a place to start from in the uncompressed bytes; a compressed file is uncompressed up to there.
    """
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open, "": open}[split_name(path)[2]]
    with opener(path, "rb") as file:
        _from_file(file.seek, offset, path)
        pieces: list[bytes] = []  # the start of a line whose end has not been read yet
        while chunk := _from_file(file.read, size, path):
            end = chunk.rfind(b"\n") + 1
            if end:
                yield b"".join([*pieces, chunk[:end]])
                pieces = []
            pieces.append(chunk[end:])
        if rest := b"".join(pieces):
            yield rest


def _from_file(method: Callable[[int], Any], argument: int, path: AnyPath) -> Any:
    """Read or seek; a fault of the compressed data is told as a fault of the file."""
    try:
        return method(argument)
    except EOFError:
        raise FormatError("the compressed data end too early: the file was cut short, fetch it again", path) from None
    except (zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's fault, not the file's
        suffix = split_name(path)[2]
        raise FormatError(f"this is not a valid {suffix} file ({error}); fetch it again or rename it", path) from None


def decode(block: bytes, encoding: str, path: AnyPath, first_line: int) -> str:
    """The block as text; where its bytes are not of this encoding the error names the line."""
    try:
        return block.decode(encoding)
    except LookupError:
        raise ValueError(f"there is no encoding {encoding!r}; try 'latin-1' or 'cp1252'") from None
    except UnicodeDecodeError as error:
        line = first_line + block.count(b"\n", 0, error.start)
        found = block[error.start : error.start + 1]
        raise FormatError(
            f"found the byte {found!r}, which is not {encoding} text; save it as utf-8, or say encoding='latin-1' "
            "if that is what it is",
            path,
            line,
        ) from None


def text_lines(path: AnyPath, encoding: str) -> Iterator[str]:
    """The lines of a text file with their ends, without a byte-order mark."""
    line = 1
    for block in line_blocks(path):
        text = decode(block, encoding, path, line)
        if line == 1:
            text = text.removeprefix("\ufeff")
        yield from io.StringIO(text, newline="\n")
        line += block.count(b"\n")


def read_names(names: Any) -> tuple[str, ...]:
    """Names as given, or, where a path is given, the lines of that file."""
    if isinstance(names, str | os.PathLike):
        return tuple(line.rstrip("\r\n") for line in text_lines(names, "utf-8"))
    return tuple(map(str, names))


@contextmanager
def writing(path: AnyPath) -> Iterator[IO[bytes]]:
    """A file to write to that takes its name only once it is complete and on disk; compressed as its suffix says."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with open(scratch, "xb") as raw:
            with _compressor(raw, split_name(target)[2]) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(scratch, target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


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
