"""The options for what a person's time costs: a named price list, and single prices with units."""

from __future__ import annotations

import re
from typing import Annotated

import typer

PriceListOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Prices in seconds: short_text, long_text or picture, with :low, :mid or :high, as in long_text:high.",
    ),
]
ReadCostOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Price of reading an item, as 8s, 2min or 8 for seconds; pair strategies weigh it."
    ),
]
AnswerCostOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Price of one yes or no, as 1.7s or 1.7 for seconds.")
]
IN_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0}
TIME = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-z]*)\s*")


def seconds(option: str, text: str | None) -> float | None:
    """A time in seconds, by its unit; None where none was given.

    >>> seconds("--read-cost", "8s"), seconds("--read-cost", "1.5 min"), seconds("--read-cost", "20")
    (8.0, 90.0, 20.0)
    """
    if text is None:
        return None
    match = TIME.fullmatch(text)
    if match is None or match[2] not in IN_SECONDS:
        raise ValueError(f"{option} {text!r} is no time; write seconds, as 8 or 8s, or another unit: 500ms, 2min, 1h")
    return float(match[1]) * IN_SECONDS[match[2]]
