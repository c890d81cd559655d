"""What a change of the labels would do to the answers, said before it is done."""

from __future__ import annotations

import numpy as np

from labelwise.labelling.browse import Browser
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.store.labels import check_name
from labelwise.labelling.store.schema import NO, YES
from labelwise.labelling.wording import counted

CHANGES = ("rename", "merge", "retire")


def effects_of(browser: Browser, what: str, label: str, to: str = "") -> list[str]:
    """Sentences on what renaming, merging or retiring a label does; raises where it cannot be done.

    Parameters
    ----------
    browser : Browser
    what : "rename", "merge" or "retire"
    label : a label in use
    to : the new name, or the label to merge into
    """
    names, yes, no, codes = browser.label_counts()
    if what not in CHANGES:
        raise ProjectError(f"a label is changed by {', '.join(CHANGES)}, got {what!r}")
    column = _column(names, label)
    has = f"“{label}” is known to be there on {_items(yes[column])} and not to be there on {_items(no[column])}."
    if what == "rename":
        if check_name(to) in names:
            raise ProjectError(f"there is a label {to!r} already; merge {label!r} into it instead")
        return [has, f"All of it stays, under the name “{to}”. Exports and predictions use the new name from then on."]
    if what == "retire":
        if len(names) == 1:
            raise ProjectError(f"label {label!r} is the last one; a project needs at least one")
        return [
            has,
            "Nobody is asked about it any more; it is not learnt, predicted or exported with the labels.",
            "What people said of it is kept with everything else that they did, but no longer used.",
        ]
    other = _column(names, to)
    if other == column:
        raise ProjectError(f"label {label!r} cannot be merged into itself")
    mine, theirs = codes[:, column], codes[:, other]
    return [
        has,
        f"“{to}” is known to be there on {_items(yes[other])} and not to be there on {_items(no[other])}.",
        f"What each person said of “{label}” becomes said of “{to}”: yes to either is yes. "
        f"So “{to}” gains {_items(((mine == YES) & (theirs < 0)).sum())} as there and "
        f"{_items(((mine == NO) & (theirs < 0)).sum())} as not there.",
        f"On {_items(((mine == YES) & (theirs == NO)).sum())} “{label}” is there and “{to}” is not: "
        "whoever said both now says yes, and the majority of people decides.",
        f"“{label}” is not asked about any more. This cannot be taken back.",
    ]


def _column(names: tuple[str, ...], label: str) -> int:
    if label not in names:
        raise ProjectError(f"there is no label {label!r} in use")
    return names.index(label)


def _items(number: int | np.integer) -> str:
    return counted(int(number), "item")
