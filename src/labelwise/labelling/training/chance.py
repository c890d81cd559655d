"""Chance that depends on the seed and on what it is about, never on when it is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.labelling.records import Settings

GOLDEN, FIRST, SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def chance(seed: int, purpose: str, *numbers: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A uniform draw in [0, 1) for each entry of the given (broadcast) arrays of numbers: SplitMix64 of all of them.

    >>> chance(0, "control", [1, 2, 3]).round(3).tolist() == chance(0, "control", [3, 2, 1]).round(3).tolist()[::-1]
    True
    """
    state = np.uint64(seed % 2**64)
    mixed: Any = _mix(state ^ np.uint64(int.from_bytes(purpose.encode()[:8], "little")))
    with np.errstate(over="ignore"):
        for number in numbers:
            mixed = _mix(mixed ^ np.asarray(number).astype(np.uint64))
    return (mixed >> np.uint64(11)).astype(np.float64) / 2**53


def copies(settings: Settings, item: int, label: int) -> int:
    """How many people are asked a question."""
    return settings.overlap if settings.overlap > 1 and is_shared(settings, item, label) else 1


def is_shared(settings: Settings, items: npt.ArrayLike, labels: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which questions (items and labels, or WHOLE_ITEM, broadcast) several people are asked: `copies` above 1."""
    drawn = chance(settings.random_state, "overlap", items, labels)
    return (drawn < settings.overlap_share) & (settings.overlap > 1)


def _mix(z: Any) -> Any:
    """Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014."""
    with np.errstate(over="ignore"):
        z = z + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * FIRST
        z = (z ^ (z >> np.uint64(27))) * SECOND
        return z ^ (z >> np.uint64(31))
