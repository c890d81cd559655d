"""What the people of a project really need: price lists learnt from their times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import sqlalchemy as sa

from labelwise.records.costs import Costs
from labelwise.records.learnt_costs import MeasuredTimes, learn_costs


def measured_times(rows: Sequence[sa.Row], words_of: Callable[[int], float]) -> MeasuredTimes:
    """Stored times as columns; `words_of` says how long an item is, by its number."""
    lengths = {item: words_of(item) for item in {row.item for row in rows}}
    return MeasuredTimes(
        seconds=np.array([row.seconds for row in rows], dtype=np.float64),
        question=np.array([row.question for row in rows], dtype=np.str_),
        words=np.array([lengths[row.item] for row in rows], dtype=np.float64),
        answers=np.array([row.answers for row in rows], dtype=np.intp),
        picked=np.array([row.by_key + row.by_search for row in rows], dtype=np.intp),
        accepted=np.array([row.by_suggestion for row in rows], dtype=np.intp),
    )


def costs_of_people(times: MeasuredTimes, who: Sequence[str], prior: Costs) -> tuple[Costs, dict[str, Costs]]:
    """The list of everybody together, close to `prior` while there is little, and of each, close to that of all."""
    common = learn_costs(times, prior)
    names = np.array(who, dtype=np.str_)
    return common, {name: learn_costs(times.only(names == name), common) for name in dict.fromkeys(who)}
