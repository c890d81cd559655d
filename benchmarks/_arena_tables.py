"""The tables of the arena, for docs/arena.md and for the report of a user's own run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_peers"))

from peer_tables import table

PARTS = ("0.9", "1")
NOT_YET = "Not measured yet."
Figures = dict[str, Any]


def tables(figures: Figures) -> dict[str, str]:
    """Every table by its name; `arena rank` is of words without names, `arena conditions` of all others."""
    words = figures["conditions"].get("words", {"arms": {}})
    return {
        "arena headline": headline(figures),
        "arena rank": ranking(words),
        "arena sets": by_set(words),
        "arena other defaults": chosen(words.get("chosen_by_other_sets")),
        "arena conditions": conditions(figures["conditions"]),
        "arena named": ranking(figures["conditions"].get("words, names", {"arms": {}})),
        "arena both": ranking(figures["conditions"].get("both, names", {"arms": {}})),
    }


def report(figures: Figures) -> str:
    """All of it as one Markdown page."""
    titles = {
        "arena headline": "The arena, in hours",
        "arena rank": "Words, without names of labels",
        "arena sets": "How far the default is behind the best of each set",
        "arena other defaults": "The default chosen by the other sets",
        "arena conditions": "Models, features, names, forgetting",
        "arena named": "Words, with names of labels",
        "arena both": "Words and vectors, with names of labels",
    }
    made = tables(figures)
    return "\n".join(f"## {title}\n\n{made[name]}\n" for name, title in titles.items())


def headline(figures: Figures) -> str:
    seeds = f"{figures['sets']} sets, {figures['seeds']} seeds, {figures['runs']} campaigns."
    rows = [
        ["share of the usual way's time, `Campaign(data)`: median", share(figures["median_share_of_time"])],
        ["the same on the worst set", share(figures["worst_share_of_time"])],
        ["sets on which it is below random items beyond noise", str(figures["below_random"])],
        [
            "sets on which the default is within noise of the best arm: words",
            of(figures["default_within_noise_of_best"], figures["sets_judged"]),
        ],
        [
            "the same with names of labels",
            of(figures["named_within_noise_of_best"], figures["named_sets_judged"]),
        ],
    ]
    return f"{seeds}\n\n{table(['', ''], rows)}"


def ranking(condition: Figures) -> str:
    """Arms by mean rank; those that did not run on every set stand last."""
    rows = sorted(condition["arms"].items(), key=lambda row: row[1]["rank"]["mean"] if row[1]["rank"] else 1e9)
    head = ["arm", "rank", "median share", "worst share", *(f"hours to {part} of the usual way" for part in PARTS)]
    head += ["gain over random, %", "sets better / worse", "worst set, %", "seconds to choose", "to learn"]
    return table(head, [_arm(name, row) for name, row in rows]) if rows else NOT_YET


def _arm(name: str, row: Figures) -> list[str]:
    rank, over = row["rank"], row["over_random"]
    cells = [f"**{name}**" if name.startswith("default") and "alone" not in name else name]
    cells.append(f"{rank['mean']:.1f} ({rank['low']:.1f} to {rank['high']:.1f})" if rank else "—")
    cells += [share(row["share"].get(which)) for which in ("median", "worst")]
    cells += [hours(row["hours"][part].get("median")) for part in PARTS]
    if over is None:
        cells += ["", "", ""]
    else:
        interval = f" ({percent(over['low'])} to {percent(over['high'])})" if over.get("low") is not None else ""
        cells += [percent(over["gain"]) + interval, f"{len(over['better'])} / {len(over['worse'])} of {over['sets']}"]
        cells.append(percent(over["worst_gain"]))
    return cells + [seconds(row[f"{what}_cpu_seconds"]) for what in ("choosing", "learning")]


def by_set(condition: Figures) -> str:
    """Of each set: the default against random items, and against the best arm."""
    best, ours = condition.get("behind_best", {}), condition.get("default")
    rows = []
    for name, row in best.items():
        mine = condition["arms"][ours]
        over = (mine["over_random"] or {"by_set": {}})["by_set"].get(name)
        cells = [name, share(mine["sets"][name]["share"]), with_error(over) if over else ""]
        if row is None:
            cells += ["", "", ""]
        else:
            gap = {"gain": row["gap"], "standard_error": row["standard_error"]}
            cells += [row["highest_mean"], with_error(gap), "yes" if row["within"] else "**no**"]
        rows.append(cells)
    head = [
        "set",
        "share",
        "default over random, %",
        "best mean",
        "best of other seeds over default, %",
        "within noise",
    ]
    return table(head, rows) if rows else NOT_YET


def chosen(found: Figures | None) -> str:
    """The arm that the other sets choose for each set, and what it changes."""
    if not found:
        return NOT_YET
    rows = [
        [name, row["chosen"], percent(row["gain"]), share(row["share"]), share(row["our_share"])]
        for name, row in found["by_set"].items()
    ]
    mean = f"{percent(found['gain'])} ± {100 * found['standard_error']:.1f}"
    rows.append(["mean, median", "", mean, share(found["median_share"]), share(found["our_median_share"])])
    said = (
        f"The present default is chosen for {found['ours_chosen']} of {found['sets']} sets. All sets together choose "
        f"{found['on_all_sets']}."
    )
    head = ["set", "chosen by the others", "over the default, %", "its share", "share of the default"]
    return f"{said}\n\n{table(head, rows)}"


def conditions(found: Figures) -> str:
    """The default and random items in every condition, with every model."""
    rows = []
    for condition, row in found.items():
        for name, arm in row["arms"].items():
            if name.partition("+")[0].partition("@")[0] in ("default", "random") and "alone" not in name:
                over = arm["over_random"]
                beaten = "" if over is None else f"{len(over['better'])} / {len(over['worse'])} of {over['sets']}"
                shares = [share(arm["share"].get(which)) for which in ("median", "worst")]
                gain = "" if over is None else percent(over["gain"])
                rows.append([condition, name, str(len(arm["sets"])), *shares, gain, beaten])
    head = ["features, person", "arm", "sets", "median share", "worst share", "gain over random, %", "better / worse"]
    return table(head, rows) if rows else NOT_YET


def share(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}".removeprefix("0")


def hours(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.1f}"


def with_error(row: Figures) -> str:
    error = "" if row["standard_error"] is None else f" ± {100 * row['standard_error']:.1f}"
    return percent(row["gain"]) + error


def of(count: int | None, all_: int | None) -> str:
    return "—" if count is None else f"{count} of {all_}"
