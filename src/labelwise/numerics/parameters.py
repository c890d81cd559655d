"""Checks of the parameters of models and strategies: an error names the parameter, what it may be and what it is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def check_choices(of: Any, **choices: Collection[Any]) -> None:
    """Refuse a word or a number that is not among the choices; arrays and other objects are for others to check.

    >>> from types import SimpleNamespace
    >>> check_choices(SimpleNamespace(scale="big"), scale=("auto", "none"))
    Traceback (most recent call last):
    ValueError: scale must be one of 'auto', 'none', got 'big'
    """
    for name, allowed in choices.items():
        value = getattr(of, name)
        if isinstance(value, str | int | float | None) and value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_positive(of: Any, *names: str) -> None:
    """Refuse what is not above 0; None, where a parameter may be left out, passes."""
    for name in names:
        value = getattr(of, name)
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}")


def check_at_least(of: Any, least: float, *names: str) -> None:
    """Refuse what is below `least`; None, where a parameter may be left out, passes."""
    for name in names:
        value = getattr(of, name)
        if value is not None and not value >= least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")
