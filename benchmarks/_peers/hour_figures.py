"""From campaigns to hours: when each reaches the level of the usual way, and ours over the peers'.

The level is the macro average precision and the mean precision@1-3 of 300 random items with a logistic regression per
label, averaged over seeds and draws; a campaign reaches it when its curve, averaged over seeds, stays above both. Hours
are by the price list short_text:mid. An arm counts on a set if it has finished the same seeds as ours. None is "not
within 340 items".

The best peer is that of each set, chosen by these very hours, or a single one for all sets: of the strategies that were
run on every set the one whose hours ours exceed least, in the median.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

import numpy as np

from _hours import FULL, MIDDLE, mean_curve, seconds, share
from labelwise import Costs

START, BATCH = 20, 20  # items known at the start, and asked in a round
RANDOM, RANDOM_OUR_MODEL = "random items", "random items, our model"
OURS, OURS_LOGISTIC = "labelwise default", "labelwise default, judged by logistic regression"
NAMED = "labelwise default with names"
NO_PEERS = (RANDOM, RANDOM_OUR_MODEL, OURS, OURS_LOGISTIC, NAMED)
PRICES = Costs.named(MIDDLE)
Run = dict[str, Any]  # asked (rounds, 20); curve (rounds, 4): items, labels picked, macro-AP, precision@1-3; seconds
Runs = Mapping[str, Mapping[int, Run]]  # by arm and seed


def summary(runs: Mapping[str, Runs]) -> dict[str, Any]:
    """Hours of every set and arm, and over the sets: ours over each arm, and over the best peer of each set."""
    sets = {name: row for name, of_set in runs.items() if (row := hours_of(of_set)) is not None}
    arms = dict.fromkeys(arm for row in sets.values() for arm in row["hours"])
    best = {name: best_peer(row) for name, row in sets.items()}
    over_best = {
        arm: {name: over(row, arm, best[name]) for name, row in sets.items() if arm in row["hours"] and best[name]}
        for arm in NO_PEERS
    }
    by_arm = {arm: over_sets([row for row in sets.values() if arm in row["hours"]], arm) for arm in arms}
    everywhere = [arm for arm in arms if arm not in NO_PEERS and by_arm[arm]["sets"] == len(sets)]
    single = max(everywhere, key=lambda arm: by_arm[arm]["ours_over"] or np.inf, default=None)
    return {
        "hours_ours_over_best_single_peer": by_arm[single]["ours_over"] if single else None,
        "best_single_peer": single,
        "hours_ours_over_best_peer": middle(over_best[OURS].values()),
        "hours_ours_with_names_over_best_peer": middle(over_best[NAMED].values()),
        "hours_over_best_peer": {arm: middle(ratios.values()) for arm, ratios in over_best.items()},
        "over_best_peer": over_best,
        "best_peer": best,
        "arms": by_arm,
        "sets": sets,
    }


def hours_of(runs: Runs) -> dict[str, Any] | None:
    """Of one set; None where ours is not finished."""
    done = [seed for seed in runs.get(OURS, {}) if seed in runs.get(RANDOM, {})]
    if not done:
        return None
    level = mean_curve([runs[RANDOM][seed]["curve"] for seed in done])[(FULL - START) // BATCH - 1]
    usual = float(seconds(level, PRICES)) / 3600
    found: dict[str, Any] = {"seeds": len(done), "usual_hours": usual, "level": level[2:].tolist()}
    found |= {"hours": {}, "all_hours": {}, "seconds_per_round": {}, "unfinished": []}
    for arm, by_seed in runs.items():
        played = [by_seed[seed] for seed in done if "curve" in by_seed.get(seed, {})]
        if len(played) < len(done):
            found["unfinished"].append(arm)
            continue
        curve = mean_curve([run["curve"] for run in played])
        part = max(share(curve, level, PRICES))
        found["hours"][arm] = part * usual if np.isfinite(part) else None
        found["all_hours"][arm] = float(seconds(curve[-1], PRICES)) / 3600
        if "seconds_per_round" in played[0]:
            found["seconds_per_round"][arm] = float(np.mean([run["seconds_per_round"] for run in played]))
    return found


def best_peer(row: Mapping[str, Any]) -> str | None:
    """The peer that reaches the level first; if none does, the one whose 340 items took the fewest hours."""
    peers = [arm for arm in row["hours"] if arm not in NO_PEERS]
    return min(peers, key=lambda arm: (hours(row, arm), row["all_hours"][arm]), default=None)


def hours(row: Mapping[str, Any], arm: str) -> float:
    found = row["hours"][arm]
    return np.inf if found is None else float(found)


def over(row: Mapping[str, Any], arm: str, other: str) -> float | None:
    """Hours of an arm over another's; None if the arm never reaches the level.

    If the other never does, its hours for all 340 items count: it needs more, so this is not in favour of the arm.
    """
    if row["hours"][arm] is None:
        return None
    return hours(row, arm) / min(hours(row, other), row["all_hours"][other])


def middle(ratios: Iterable[float | None]) -> float | None:
    """The median, with None as infinite; None of nothing."""
    values = [np.inf if ratio is None else ratio for ratio in ratios]
    found = median(values) if values else np.inf
    return found if np.isfinite(found) else None


def over_sets(rows: list[Mapping[str, Any]], arm: str) -> dict[str, Any]:
    """Of one arm, over the sets where it was played."""
    spent = [row["seconds_per_round"][arm] for row in rows if arm in row["seconds_per_round"]]
    return {
        "sets": len(rows),
        "never": sum(row["hours"][arm] is None for row in rows),
        "share_of_usual": middle(
            None if row["hours"][arm] is None else row["hours"][arm] / row["usual_hours"] for row in rows
        ),
        "ours_over": middle(over(row, OURS, arm) for row in rows),
        "seconds_per_round": median(spent) if spent else None,
    }
