"""The tables of docs/peers.md from the saved figures; `_tables.py` puts them there."""

from __future__ import annotations

from typing import Any

HEADLINE = {
    "fastest_peer_over_ours_same_classifier": "same classifier, strategy by strategy, the least ratio",
    "fastest_peer_over_our_default": "our default campaign against the fastest of all peers",
    "fastest_peer_over_ours": "the smaller of the two",
}


def tables(figures: dict[str, Any]) -> dict[str, str]:
    return {
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
