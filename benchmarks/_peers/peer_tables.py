"""The tables of docs/peers.md from the saved figures; `_tables.py` puts them there."""

from __future__ import annotations

from typing import Any

from hour_figures import NAMED, OURS, OURS_LOGISTIC, RANDOM, RANDOM_OUR_MODEL

HEADLINE = {
    "fastest_peer_over_ours_same_classifier": "same classifier, strategy by strategy, the least ratio",
    "fastest_peer_over_our_default": "our default campaign against the fastest of all peers",
    "fastest_peer_over_ours": "the smaller of the two",
}


def tables(figures: dict[str, Any]) -> dict[str, str]:
    found = hour_tables(figures["hours"]) if "hours" in figures else {}
    return found | {
        "headline": headline(figures),
        "speed": speed(figures),
        "ours": own_speed(figures),
        "accuracy": accuracy(figures),
        "streams": streams(figures),
    }


def headline(figures: dict[str, Any]) -> str:
    rows = [[words, number(figures[name])] for name, words in HEADLINE.items()]
    return table(["10 questions from 4000 items × 50 labels: how many times as long the peers take", ""], rows)


def speed(figures: dict[str, Any]) -> str:
    """A strategy of a peer per row; seconds for 1 and 10 questions, and the ratio to the nearest of ours."""
    cases = cases_of(figures)
    counted = list(figures["peer_over_nearest_of_ours"])
    head = ["strategy", *cases, *(f"over ours, {case}" for case in counted)]
    rows = []
    for name, seconds in figures["seconds"].items():
        if not name.startswith("labelwise "):
            ratios = [number(figures["peer_over_nearest_of_ours"][case].get(name)) for case in counted]
            rows.append([name, *(number(seconds.get(case)) for case in cases), *ratios])
    return table(head, rows)


def own_speed(figures: dict[str, Any]) -> str:
    cases = cases_of(figures)
    return table(
        ["strategy", *cases],
        [
            [name.removeprefix("labelwise "), *(number(seconds.get(case)) for case in cases)]
            for name, seconds in figures["seconds"].items()
            if name.startswith("labelwise ")
        ],
    )


def accuracy(figures: dict[str, Any]) -> str:
    """Macro AUC / macro F1 / mean precision@1–3 of every strategy, on every set."""
    sets = list(figures["accuracy"])
    names = list(dict.fromkeys(name for of_set in figures["accuracy"].values() for name in of_set))
    rows = []
    for name in names:
        scores = [figures["accuracy"][of].get(name) for of in sets]
        rows.append([name, *("" if each is None else " / ".join(f"{x:.3f}" for x in each[:3]) for each in scores)])
    return table(["strategy", *sets], rows)


def hour_tables(figures: dict[str, Any]) -> dict[str, str]:
    """Hours by set, and by strategy over the sets."""
    arms = [RANDOM, OURS_LOGISTIC, RANDOM_OUR_MODEL, OURS, NAMED]
    rows = []
    for name, row in figures["sets"].items():
        best = figures["best_peer"][name]
        cells = [hours_of(row, arm) for arm in (RANDOM, best, *arms[1:])]
        ratio = ratio_of(figures["over_best_peer"][OURS].get(name))
        rows.append([name, f"{row['usual_hours']:.2f}", cells[0], f"{cells[1]}, {best}", *cells[2:], ratio])
    over = [ratio_of(figures["hours_over_best_peer"][arm]) for arm in arms]
    rows.append(["over the best peer, median", "", over[0], "1", *over[1:], over[3]])
    head = ["set", "usual way", "random items", "best peer of the set", "our questions", "random items, our model"]
    head += ["our default", "with names", "our default over the best peer"]
    by_arm = [
        [
            arm,
            str(row["sets"]),
            str(row["never"]),
            ratio_of(row["share_of_usual"]),
            ratio_of(row["ours_over"]),
            number(row["seconds_per_round"]),
        ]
        for arm, row in sorted(figures["arms"].items(), key=lambda each: each[1]["ours_over"] or 0, reverse=True)
    ]
    heads = ["strategy", "sets", "never", "hours over the usual way's", "our hours over its", "processor s a round"]
    seeds = sorted({row["seeds"] for row in figures["sets"].values()})
    return {
        "hours": table(head, rows),
        "hours by strategy": table(heads, [row for row in by_arm if row[0] != NAMED]),
        "hours seeds": f"Sets: {len(figures['sets'])}. Seeds: {'–'.join(map(str, seeds))}.",
    }


def hours_of(row: dict[str, Any], arm: str | None) -> str:
    if arm not in row["hours"]:
        return ""
    return "never" if row["hours"][arm] is None else f"{row['hours'][arm]:.2f}"


def ratio_of(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f}"


def streams(figures: dict[str, Any]) -> str:
    rows = [
        [name, number(each["rows_per_second"]), f"{each['macro_f1']:.3f}"] for name, each in figures["streams"].items()
    ]
    return table(["", "rows per second", "macro F1"], rows)


def cases_of(figures: dict[str, Any]) -> list[str]:
    return list(next(seconds for name, seconds in figures["seconds"].items() if name.startswith("labelwise ")))


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
