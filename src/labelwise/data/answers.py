"""Answers as JSON lines, one per line: the record that everything else can be rebuilt from.

`{"item": "doc7", "values": {"sports": true, "politics": false}, "reason": "strategy", "correction": false}`
"""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Iterable
from typing import IO, Any

from labelwise.data.errors import FormatError, Problem, shown
from labelwise.data.formats.jsonl import parse_object
from labelwise.data.reading import decode, line_blocks
from labelwise.files import AnyPath, split_name, writing
from labelwise.records import Answer

FIELDS = {"item": str, "values": dict, "reason": str, "correction": bool}


def read_answers(path: AnyPath) -> list[Answer]:
    """Read answers in the order they were given.

    A last line without its newline that is not a whole answer was torn by a crash while it was written: it is
    ignored, with a warning. Anything else that is not an answer is an error.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/answers.jsonl"
    >>> append_answers([Answer("doc7", {"sports": True})], path)
    >>> read_answers(path)
    [Answer(item='doc7', values={'sports': True}, reason='strategy', correction=False)]
    """
    answers: list[Answer] = []
    number = 1
    for block in line_blocks(path):
        for raw in io.BytesIO(block):
            try:
                answers.append(_parse(raw, path, number))
            except FormatError as error:
                if raw.endswith(b"\n"):
                    raise
                warnings.warn(
                    f"{error}. The line is incomplete, probably because writing was interrupted, and is ignored",
                    stacklevel=2,
                )
            number += 1
    return answers


def write_answers(answers: Iterable[Answer], path: AnyPath) -> None:
    """Write answers to a new file, which takes its name, and the place of an old one, only once it is complete.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_answers([lw.Answer("a", {"cat": True, "dog": False})], f"{folder}/answers.jsonl")
    ...     print(lw.data.read_answers(f"{folder}/answers.jsonl")[0].values)
    {'cat': True, 'dog': False}
    """
    with writing(path) as file:
        for answer in answers:
            file.write(_line(answer))


def append_answers(answers: Iterable[Answer], path: AnyPath) -> None:
    """Add answers to a file, made if it is not there, and return when they are on disk.

    An incomplete last line, see `read_answers`, is removed first, with a warning. One process may append at a time.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for item in ("a", "b"):
    ...         append_answers([lw.Answer(item, {"cat": True})], f"{folder}/answers.jsonl")
    ...     print([answer.item for answer in lw.data.read_answers(f"{folder}/answers.jsonl")])
    ['a', 'b']
    """
    if split_name(path)[2]:
        raise FormatError("answers cannot be appended to a compressed file; leave out .gz or .bz2", path)
    lines = b"".join(map(_line, answers))
    with open(path, "ab+") as file:
        if _mend(file, path):
            lines = b"\n" + lines
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


def _mend(file: IO[bytes], path: AnyPath) -> bool:
    """Cut a torn last line off; True where the last line is whole and only lacks its newline."""
    size = file.seek(0, os.SEEK_END)
    start, tail = size, b""
    while start > 0 and b"\n" not in tail:
        start = max(0, start - 65536)
        file.seek(start)
        tail = file.read(size - start)
    last = tail[tail.rfind(b"\n") + 1 :]
    if not last:
        return False
    try:
        _parse(last, path, None)
    except FormatError:
        warnings.warn(f"{path}: the incomplete last line {shown(last)} is removed", stacklevel=3)
        file.truncate(size - len(last))
        return False
    return True


def _parse(raw: bytes, path: AnyPath, line: int | None) -> Answer:
    text = decode(raw, "utf-8", path, line or 1)
    try:
        found = parse_object(text)
        strange = sorted(found.keys() - FIELDS.keys())
        if strange:
            raise Problem(f"found the key {strange[0]!r}, expected {', '.join(FIELDS)}")
        for key in ("item", "values"):
            if key not in found:
                raise Problem(f"found no {key!r} in {shown(text.strip())}")
        for key, value in found.items():
            if not isinstance(value, FIELDS[key]):
                raise Problem(f"found {shown(value)} as {key!r}, expected a {FIELDS[key].__name__}")
        for name, value in found["values"].items():
            if not isinstance(value, bool):
                raise Problem(f"found {shown(value)} for the label {name!r}, expected true or false")
    except Problem as problem:
        raise FormatError(str(problem), path, line) from None
    return Answer(**found)


def _line(answer: Answer) -> bytes:
    record: dict[str, Any] = {
        "item": answer.item,
        "values": {name: bool(value) for name, value in answer.values.items()},
        "reason": answer.reason,
        "correction": answer.correction,
    }
    return (json.dumps(record, ensure_ascii=False) + "\n").encode()
