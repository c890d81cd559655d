"""The head of an ARFF file: relation, attributes, and the quoting rules that its rows share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from labelwise.data.errors import FormatError, Problem, repeated, shown
from labelwise.data.reading import decode
from labelwise.files import AnyPath

CELL = re.compile(r"""((?:[^,'"\\]|\\.|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*)(,|$)""", re.DOTALL)
NAME = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{'"][^\s{]*)\s*(.*)""", re.DOTALL)
VALUES = re.compile(r"""\{((?:[^'"\\}]|\\.|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*)\}\s*(?:%.*)?""", re.DOTALL)
SAFE_NAME = re.compile(r"[A-Za-z0-9_.+-]+")  # may stand unquoted everywhere
BLANKS = " \t\r\n"
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
NUMERIC_TYPES = {"numeric", "real", "integer"}
OTHER_TYPES = {"string", "date", "relational"}


@dataclass(frozen=True)
class Attribute:
    """One declared attribute; `values` are those of a nominal one, None for a numeric one."""

    name: str
    values: tuple[str, ...] | None


@dataclass(frozen=True)
class Header:
    """What stands before the rows; `first_line` is the number of the line behind `@data`."""

    relation: str
    attributes: tuple[Attribute, ...]
    first_line: int


def split_cells(text: str) -> list[str]:
    """Cut at the commas outside quotes.

    >>> split_cells("a, 'b, c' ,d")
    ['a', "'b, c'", 'd']
    """
    if "'" not in text and '"' not in text and "\\" not in text:
        return [piece.strip(BLANKS) for piece in text.split(",")]
    cells, place = [], 0
    while True:
        match = CELL.match(text, place)
        if match is None:
            raise Problem(f"found a quote that is never closed in {shown(text[place:])}")
        cells.append(match[1].strip(BLANKS))
        place = match.end()
        if match[2] == "":
            return cells


def unquote(token: str) -> str:
    r"""The value that a quoted or escaped token stands for.

    >>> unquote(r"'it\'s'"), unquote(r"TAG_dise\~no")
    ("it's", 'TAG_dise~no')
    """
    if "\\" not in token and "'" not in token and '"' not in token:
        return token
    if token[:1] not in ("'", '"'):
        if "'" in token or '"' in token:
            bare = re.sub(r"\\.", "", token, flags=re.DOTALL)
            if "'" in bare or '"' in bare:
                raise Problem(f"found a quote inside {shown(token)}, expected the whole value in quotes")
        return re.sub(r"\\(.)", r"\1", token, flags=re.DOTALL)
    body = re.fullmatch(rf"{token[0]}((?:[^{token[0]}\\]|\\.)*){token[0]}", token, re.DOTALL)
    if body is None:
        raise Problem(f"found {shown(token)}, expected nothing behind the closing quote")
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), body[1], flags=re.DOTALL)


def quote(name: str) -> str:
    r"""A name as it is written: in quotes unless it is plain.

    >>> print(quote("x1"), quote("it's"))
    x1 'it\'s'
    """
    if SAFE_NAME.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    for letter, sign in ESCAPES.items():
        escaped = escaped.replace(sign, "\\" + letter)
    return f"'{escaped}'"


def parse_attribute(declaration: str) -> Attribute:
    """What follows `@attribute`.

    >>> parse_attribute("colour {red, 'light blue'}")
    Attribute(name='colour', values=('red', 'light blue'))
    """
    match = NAME.fullmatch(declaration)
    if match is None:
        raise Problem(f"found {shown(declaration)}, expected @attribute NAME TYPE")
    name, kind = unquote(match[1]), match[2].strip()
    if kind.startswith("{"):
        try:
            return Attribute(name, parse_values(kind))
        except Problem as problem:
            raise Problem(f"attribute {name!r} {problem}") from None
    word = kind.split(maxsplit=1)[0].lower() if kind else ""
    if word in OTHER_TYPES:
        raise Problem(
            f"attribute {name!r} is of type {word}, expected numeric or nominal; "
            "remove it, or read texts from csv, jsonl or parquet with text="
        )
    if kind.split("%")[0].strip().lower() not in NUMERIC_TYPES:
        raise Problem(f"attribute {name!r} has type {shown(kind)}, expected numeric, real, integer or {{a,b,...}}")
    return Attribute(name, None)


@lru_cache(maxsize=256)  # thousands of attributes share the values {0,1}
def parse_values(kind: str) -> tuple[str, ...]:
    """The values `{a,b,...}` of a nominal attribute."""
    match = VALUES.fullmatch(kind)
    if match is None:
        raise Problem(f"has values {shown(kind)}, expected {{a,b,...}} closed on the same line")
    values = tuple(map(unquote, split_cells(match[1])))
    if match[1].strip(BLANKS) == "":
        raise Problem("has an empty list of values")
    if (twice := repeated(values)) is not None:
        raise Problem(f"lists the value {twice!r} twice")
    return values


class _HeaderParser:
    """Takes the lines of the head one by one."""

    def __init__(self) -> None:
        self.relation: str | None = None
        self.attributes: dict[str, Attribute] = {}

    def take(self, line: str) -> bool:
        """True when this is the `@data` line."""
        text = line.strip(BLANKS)
        if not text or text.startswith("%"):
            return False
        keyword, _, rest = text.replace("\t", " ", 1).partition(" ")
        match keyword.lower():
            case "@relation":
                self.relation = unquote(split_cells(rest)[0]) if rest[:1] in ("'", '"') else rest.strip()
            case "@attribute":
                attribute = parse_attribute(rest.strip())
                if attribute.name in self.attributes:
                    raise Problem(f"attribute {attribute.name!r} is declared twice")
                self.attributes[attribute.name] = attribute
            case "@data":
                self._check_complete()
                return True
            case _:
                raise Problem(f"found {shown(text)}, expected @relation, @attribute, @data or a % comment")
        return False

    def _check_complete(self) -> None:
        if self.relation is None:
            raise Problem("found @data, expected @relation before it")
        if not self.attributes:
            raise Problem("found @data, expected at least one @attribute before it")


def read_header(path: AnyPath, blocks: Iterator[bytes], encoding: str) -> tuple[Header, bytes]:
    """The head of a file, and what its last block holds behind the `@data` line."""
    parser, line = _HeaderParser(), 0
    for block in blocks:
        place = 0
        while place < len(block):
            end = block.find(b"\n", place) + 1 or len(block)
            line += 1
            text = decode(block[place:end], encoding, path, line)
            try:
                done = parser.take(text.removeprefix("\ufeff") if line == 1 else text)
            except Problem as problem:
                raise FormatError(str(problem), path, line) from None
            place = end
            if done:
                return Header(parser.relation or "", tuple(parser.attributes.values()), line + 1), block[place:]
    if line == 0:
        raise FormatError("the file is empty, expected an ARFF header", path)
    raise FormatError("the file ends without a @data line", path, line)
