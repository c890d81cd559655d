"""New inputs from old ones: damage that files meet in life, and damage that somebody thinks up."""

from __future__ import annotations

import gzip
import io
import random
import re
import zipfile
from collections.abc import Callable, Sequence

LARGEST = 1 << 16  # bytes of most inputs: small ones are fast, and faults rarely need more
LONG = 1 << 20  # bytes of the few that are long on purpose
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
NUMBERS = (
    *(b"0", b"-0", b"-1", b"1", b"2", b"1.0", b"0.5", b"1e3", b"1e308", b"1e309", b"-1e309", b"1e-400"),
    *(b"2147483647", b"2147483648", b"-2147483649", b"4294967296", b"9223372036854775807", b"9223372036854775808"),
    *(b"999999999", b"1000000000", b"1" * 400, b"1" * 5000, b"0x10", b"1_000", b"00", b"+1", b"1,5", b".", b"1."),
    *(b"nan", b"NaN", b"inf", b"-Infinity", "\u0661".encode(), "\uff11".encode(), b"1e", b"--1", b""),
)
PIECES = (
    *(b'"', b"'", b'""', b"\\", b"\\u0000", b"\\ud800", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b"\xc3"),
    *(b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b" ", b"\x0b", b"\x0c", b"\x1a", "\u2028".encode(), "\u00a0".encode()),
    *(b",", b";", b"|", b":", b"=", b"#", b"%", b"?", b"@", b"{", b"}", b"[", b"]", b"<", b">", b"&", b"-"),
    *(b"null", b"None", b"true", b"false", b"[]", b"{}", b'""', b"NaN", "\U0001f600".encode(), "\u0130".encode()),
)
INTEGERS = (b"\x00", b"\xff", b"\x7f", b"\x80", b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f")
Mutation = Callable[[random.Random, bytes], bytes]


def _place(rng: random.Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def _span(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = _place(rng, data)
    return start, min(len(data), start + rng.choice((1, 1, 2, 4, 16, 100, 1000)))


def number(rng: random.Random, data: bytes) -> bytes:
    found = list(NUMBER.finditer(data, *_window(rng, data)))
    if not found:
        return piece(rng, data)
    match = rng.choice(found)
    return data[: match.start()] + rng.choice(NUMBERS) + data[match.end() :]


def _window(rng: random.Random, data: bytes) -> tuple[int, int]:
    """A part of long data to look for numbers in."""
    start = rng.randrange(max(1, len(data) - 2000))
    return start, start + 4000


def piece(rng: random.Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 2, 3)) + data[at:]


def replaced(rng: random.Random, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:start] + rng.choice(PIECES) + data[stop:]


def flipped(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16)) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwritten(rng: random.Random, data: bytes) -> bytes:
    at, new = _place(rng, data), rng.choice(INTEGERS)
    return data[:at] + new + data[at + len(new) :]


def cut(rng: random.Random, data: bytes) -> bytes:
    return data[: _place(rng, data)]


def without(rng: random.Random, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:start] + data[stop:]


def doubled(rng: random.Random, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:stop] + data[start:stop] * rng.choice((1, 1, 2, 10)) + data[stop:]


def lines(rng: random.Random, data: bytes) -> bytes:
    """A line doubled, dropped, moved, repeated often, or joined with the next."""
    parts = data.split(b"\n")
    at, to = rng.randrange(len(parts)), rng.randrange(len(parts))
    what = rng.randrange(5)
    if what == 0:
        parts.insert(to, parts[at])
    elif what == 1:
        parts.pop(at)
    elif what == 2:
        parts[at], parts[to] = parts[to], parts[at]
    elif what == 3:
        parts[at:at] = [parts[at]] * rng.choice((2, 50, 500))
    else:
        parts[at : at + 2] = [b"".join(parts[at : at + 2])]
    return b"\n".join(parts)


def encoded(rng: random.Random, data: bytes) -> bytes:
    """Other line ends, a byte-order mark, another encoding."""
    what = rng.randrange(5)
    if what == 0:
        return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\r", b"\x00\n")))
    if what == 1:
        return b"\xef\xbb\xbf" * rng.choice((1, 2)) + data
    text = data.decode("utf-8", "replace")
    return text.encode(("utf-16", "utf-32", "latin-1", "utf-7")[what - 1], "replace")


def long(rng: random.Random, data: bytes) -> bytes:
    """A very long line, cell or nest of brackets."""
    at, size = _place(rng, data), rng.choice((1000, 10_000, 100_000, LONG // 4))
    unit = rng.choice((b"a", b"1,", b"[", b'{"a":', b"0 ", b"\x00", b"9", b'"', b";", b"a\n", b"(", b"a b "))
    return data[:at] + unit * (size // len(unit)) + data[at:]


def zipped(rng: random.Random, data: bytes) -> bytes:
    """An archive with one member changed, doubled, dropped, or swollen."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > LONG:
                return flipped(rng, data)
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # damaged in any way
        return flipped(rng, data)
    if not members:
        return flipped(rng, data)
    name = rng.choice(list(members))
    what = rng.randrange(8)
    if what == 0:
        del members[name]
    elif what == 1:
        members[name] = b"\x00" * rng.choice((100, 10_000, LONG))
    elif what == 2:
        members[name] = members[rng.choice(list(members))]
    else:
        change = rng.choice(TEXT if members[name][:1] in (b"{", b"[") else BINARY)
        members[name] = change(rng, members[name])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return made.getvalue()


def repacked(rng: random.Random, data: bytes) -> bytes:
    """A compressed text with the text changed."""
    try:
        text = gzip.decompress(data)
    except Exception:  # damaged in any way
        return flipped(rng, data)
    return gzip.compress(rng.choice(TEXT)(rng, text), 1)


TEXT: tuple[Mutation, ...] = (number, number, piece, replaced, flipped, cut, without, doubled, lines, lines, encoded)
BINARY: tuple[Mutation, ...] = (flipped, flipped, overwritten, overwritten, cut, without, doubled)
ARCHIVE: tuple[Mutation, ...] = (zipped, zipped, zipped, flipped, overwritten, cut)
PACKED: tuple[Mutation, ...] = (repacked, repacked, repacked, flipped, cut)
BY_KIND = {"text": TEXT, "binary": BINARY, "archive": ARCHIVE, "packed": PACKED}


def mutate(rng: random.Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes], kind: str) -> bytes:
    """One to a few changes to an input; `words` are of the format, `others` inputs to take a part from."""
    longest = max(LARGEST, 2 * len(data))
    for _ in range(rng.choice((1, 1, 1, 1, 2, 4))):
        chance = rng.random()
        if chance < 0.15 and words:
            at = _place(rng, data)
            data = data[:at] + rng.choice(words) + data[at + rng.choice((0, 0, 1, 5)) :]
        elif chance < 0.22 and others and kind in ("text", "binary"):
            other = rng.choice(others)
            data = data[: _place(rng, data)] + other[_place(rng, other) :]
        elif chance < 0.223 and kind == "text":
            return long(rng, data)
        else:
            data = rng.choice(BY_KIND[kind])(rng, data)
    return data if kind == "archive" else data[:longest]
