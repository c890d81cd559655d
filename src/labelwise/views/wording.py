"""Numbers in words, the same on the command line, on the page, in reports and in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def counted(number: float, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "item"), counted(2000, "item"), counted(0, "person", "people")
    ('1 item', '2,000 items', '0 people')
    """
    whole = round(number)
    return f"{whole:,} {one if whole == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(4.25), duration(75), duration(3600 * 2 + 60 * 7), duration(0)
    ('4.2 s', '1 min 15 s', '2 h 07 min', '0 s')
    """
    if seconds < 59.5:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s".replace(" 00 s", "")
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min".replace(" 00 min", "")


def first_few(names: Sequence[str], most: int) -> str:
    """The first names of a list, and how many more there are.

    >>> first_few(["a", "b", "c", "d"], 2), first_few([], 2)
    ('a, b and 2 more', 'none')
    """
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown or "none"


def cut(text: str, most: int) -> str:
    """A text on one line, cut where it is long.

    >>> cut("to be, or\\nnot to be", 12)
    'to be, or n…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What to add to an error about a name that is not there, if one is like it.

    >>> did_you_mean("labelgp", ["label_gp", "auto"]), did_you_mean("nothing", ["label_gp", "auto"])
    ("; did you mean 'label_gp'?", '')
    """
    close = get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
