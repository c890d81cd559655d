"""Two ready projects to try things on: support tickets to read, and handwritten digits to look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from labelwise.data import make_digit_pictures, make_tickets
from labelwise.labelling.project import Project
from labelwise.records import LabelData

N_KNOWN = 20  # items of each that are labelled already


def make_demo_projects(path: str | Path, random_state: int = 0) -> list[Path]:
    """Tickets at `path`, digits beside it; both with a few labels known and questions ready. The paths made."""
    tickets = Path(path)
    digits = tickets.with_name(f"{tickets.stem}-digits{tickets.suffix}")
    with Project.create(
        tickets, _started(make_tickets(random_state=random_state)), text="text", strategy="items"
    ) as project:
        project.refresh()
    pictures = _started(make_digit_pictures(random_state=random_state))
    with Project.create(digits, pictures, images="image", strategy="uncertainty_pairs") as project:
        project.refresh()
    return [tickets, digits]


def _started(data: LabelData) -> LabelData:
    """The same items, with the labels of the first few known."""
    known = np.zeros(data.Y.shape, dtype=bool)
    known[:N_KNOWN] = True
    return LabelData.from_arrays(
        data.X,
        data.Y.multiply(known).tocsr(),
        observed=known,
        item_ids=data.item_ids,
        label_names=data.label_names,
        items=data.items,
    )
