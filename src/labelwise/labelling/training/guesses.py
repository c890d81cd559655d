"""Labels added with a hint: the project keeps the hint and gives it to every campaign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.store.labels import StoredLabels

if TYPE_CHECKING:
    from labelwise.campaign import Campaign

Shares = Mapping[str, float]


def hint_of(name: str, known: tuple[str, ...], like: Shares | None, counts: Shares | None) -> tuple[str, Shares] | None:
    """What was said of a new label, checked: "like" or "counts" and the figures; None where nothing was said.

    >>> hint_of("kittens", ("cats", "dogs"), {"cats": 0.4}, None)
    ('like', {'cats': 0.4})
    """
    if not like and not counts:
        return None
    from labelwise.campaign.new_labels import NewLabel  # brings the numerics along, which no other request needs

    try:
        said = NewLabel.of(name, known, like or None, counts or None)
    except ValueError as error:
        raise ProjectError(str(error)) from None
    return ("like", said.like) if said.like else ("counts", said.counts)


def add_hints(campaign: Campaign, labels: StoredLabels) -> None:
    """Let a campaign guess the labels that were added with a hint, until their answers take over."""
    for name, said in labels.starts.items():
        campaign.guess_label(name, like=said.get("like"), counts=said.get("counts"))
