"""A user's file on its way in: unpacked, in blocks of whole lines, decoded; faults name the file and the line."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import itertools
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from labelwise.data.errors import FormatError
from labelwise.files import AnyPath, split_name

BLOCK = 1 << 20  # bytes read at a time; a file that fits into one is parsed in Python, without loading compiled code
MOST_SWOLLEN = 100  # times its size: what unpacks to more, and to more than the bytes below, is no data of anybody
LEAST_SWOLLEN = {"lines": 1 << 20, "archive": 64 << 20}  # lines cost more to read; arrays of zeros pack well


def line_blocks(path: AnyPath, size: int = BLOCK, offset: int = 0) -> Iterator[bytes]:
    """Read a file, uncompressed on the way, in blocks of whole lines; the last one may lack its newline.

    `offset` is a place to start from in the uncompressed bytes; a compressed file is uncompressed up to there.
    """
    packed = os.path.getsize(path) if split_name(path)[2] else 0
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open, "": open}[split_name(path)[2]]
    with opener(path, "rb") as file:
        _from_file(file.seek, offset, path)
        pieces: list[bytes] = []  # the start of a line whose end has not been read yet
        taken = 0
        while chunk := _from_file(file.read, size, path):
            taken += len(chunk)
            if taken > LEAST_SWOLLEN["lines"] and packed and taken > MOST_SWOLLEN * packed:
                raise FormatError(f"it unpacks to over {MOST_SWOLLEN} times its size; unpack it first", path)
            end = chunk.rfind(b"\n") + 1
            if end:
                yield b"".join([*pieces, chunk[:end]])
                pieces = []
            pieces.append(chunk[end:])
        if rest := b"".join(pieces):
            yield rest


def numbered(*blocks: Iterable[bytes], line: int) -> Iterator[tuple[bytes, int]]:
    """Blocks of whole lines one after another, each with the number of its first line, counted on from `line`.

    >>> list(numbered([b"a\\nb\\n"], [b"c"], line=2))
    [(b'a\\nb\\n', 2), (b'c', 4)]
    """
    for block in itertools.chain(*blocks):
        yield block, line
        line += block.count(b"\n")


def _from_file(method: Callable[[int], Any], argument: int, path: AnyPath) -> Any:
    """Read or seek; an error in the compressed data becomes an error of the file."""
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
        if first_line == 1 and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise FormatError("this is UTF-16 text; save it as UTF-8", path, 1) from None
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


def check_archive(path: AnyPath) -> None:
    """Refuse a zip archive (.npz, .skops) that holds far more than its size lets expect, before it is unpacked."""
    with zipfile.ZipFile(path) as archive:
        size = sum(info.file_size for info in archive.infolist())
        if any(info.header_offset < 0 for info in archive.infolist()):
            raise FormatError("this archive is damaged: a part of it begins before the file", path)
    if size > LEAST_SWOLLEN["archive"] and size > MOST_SWOLLEN * os.path.getsize(path):
        raise FormatError(f"it would unpack to {size:,} bytes, over {MOST_SWOLLEN} times its size: not opened", path)
