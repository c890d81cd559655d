"""What a study found, in words and in plain rows: the same for the command, the report and machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from labelwise.experiments.metrics import LOWER_IS_BETTER
from labelwise.experiments.statistics import LEVEL, Comparison, Estimate, clear_winner, compare
from labelwise.experiments.tables import Table

DEFAULT_METRICS = ("precision_at_1_3", "macro_roc_auc", "macro_average_precision", "micro_f1")
METRIC_NAMES = {
    "precision_at_1": "precision@1",
    "precision_at_2": "precision@2",
    "precision_at_3": "precision@3",
    "precision_at_1_3": "precision@1–3",
    "macro_roc_auc": "macro ROC AUC",
    "micro_roc_auc": "micro ROC AUC",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "sample_f1": "F1 per item",
}


@dataclass(frozen=True)
class Finding:
    """What can be said of one strategy with one model against random."""

    model: str
    strategy: str
    control: str
    verdict: str  # "better", "worse", "mixed", "no difference", "one seed", "no control"
    text: str


def in_words(name: str) -> str:
    """A metric, model or strategy as a reader would write it.

    >>> in_words("precision_at_1_3"), in_words("binary_relevance")
    ('precision@1–3', 'binary relevance')
    """
    return METRIC_NAMES.get(name, name.replace("_", " "))


def signed(value: float) -> str:
    """A difference with its sign, three digits, and a proper minus."""
    return f"{value:+.3f}".replace("-", "−")


def interval(estimate: Estimate) -> str:
    """A difference with its interval, or alone where one seed gives none."""
    if isnan(estimate.low):
        return signed(estimate.value)
    return f"{signed(estimate.value)} [{signed(estimate.low)}, {signed(estimate.high)}]"


def summary(comparisons: Sequence[Comparison]) -> str:
    """The headline, and how many of the differences chance alone would have brought beyond noise."""
    judged = [c for c in comparisons if c.verdict in ("better", "worse", "no difference")]
    beyond = sum(c.verdict != "no difference" for c in judged)
    text = headline(find(comparisons))
    if not beyond:
        return text
    chance = (1 - LEVEL) * len(judged)
    return (
        f"{text} {beyond} of {len(judged)} differences lie beyond noise; chance alone would bring about {chance:.1f}."
    )


def find(comparisons: Sequence[Comparison]) -> list[Finding]:
    """One finding per model and strategy that is not itself the random control."""
    arms = dict.fromkeys((c.model, c.strategy) for c in comparisons if c.strategy != c.control)
    return [_finding([c for c in comparisons if (c.model, c.strategy) == arm]) for arm in arms]


def headline(findings: Iterable[Finding]) -> str:
    """Plainly: whether anything beat random, and what did worse."""
    by_verdict: dict[str, list[Finding]] = {}
    for finding in findings:
        by_verdict.setdefault(finding.verdict, []).append(finding)
    if not {"better", "worse", "mixed", "no difference"} & set(by_verdict):
        return "Nothing can be said against random here: that takes two seeds or more and random beside the strategy."
    told = [
        f"{_names(by_verdict[verdict])} {words}."
        for verdict, words in (
            ("better", "beat random beyond noise on at least one metric and lost on none"),
            ("mixed", "beat random beyond noise on one metric and lost to it on another"),
            ("worse", "did worse than random beyond noise on at least one metric and better on none"),
        )
        if verdict in by_verdict
    ]
    if not {"better", "mixed"} & set(by_verdict):
        told.insert(0, "Nothing beat random beyond noise.")
    return " ".join(told)


def result_rows(table: Table, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Every model, strategy and metric as one flat row of plain values, for tables and machines."""
    rows = []
    for c in compare(table, metrics):
        last = table.where(model=c.model, strategy=c.strategy, round=table["round"].max())
        rows.append(
            {
                "metric": c.metric,
                "model": c.model,
                "strategy": c.strategy,
                "seeds": c.area.n,
                "items_read": float(last["items_read"].mean()),
                "answers": float(last["answers"].mean()),
                "final": c.final.value,
                "final_standard_error": c.final.standard_error,
                "area": c.area.value,
                "area_standard_error": c.area.standard_error,
                "control": c.control,
                **_flat_difference(c.difference),
                "verdict": c.verdict,
            }
        )
    return rows


def clear_winners(table: Table, metrics: Sequence[str]) -> set[tuple[str, str, str]]:
    """(model, strategy, metric) that beat all others asking for the same beyond noise: what may be set in bold."""
    winners = set()
    for (target,) in table.distinct("target"):
        arms = table.where(target=target).distinct("model", "strategy")
        for metric in metrics:
            best = clear_winner(table, metric, arms)
            if best is not None:
                winners.add((*best, metric))
    return winners


def _finding(of_arm: Sequence[Comparison]) -> Finding:
    first = of_arm[0]
    by_verdict: dict[str, list[Comparison]] = {}
    for comparison in of_arm:
        by_verdict.setdefault(comparison.verdict, []).append(comparison)
    if set(by_verdict) & {"one seed", "no control"}:
        verdict = first.verdict
        reason = {
            "one seed": "one seed only, so noise cannot be told from gain; give more seeds",
            "no control": f"no random control in this study; add {first.control or 'random'} to the strategies",
        }[verdict]
        return Finding(first.model, first.strategy, first.control, verdict, reason + ".")
    parts = [
        f"{words} on {_and([_told(c) for c in by_verdict[key]])}"
        for key, words in (("better", "beat random"), ("worse", "did worse than random"))
        if key in by_verdict
    ]
    if "no difference" in by_verdict:
        names = _and([in_words(c.metric) for c in by_verdict["no difference"]])
        parts.append(f"no difference beyond noise on {names}")
    decided = [key for key in ("better", "worse") if key in by_verdict]
    overall = "mixed" if len(decided) == 2 else decided[0] if decided else "no difference"
    return Finding(first.model, first.strategy, first.control, overall, "; ".join(parts) + ".")


def _told(comparison: Comparison) -> str:
    assert comparison.difference is not None
    hint = " (lower is better)" if comparison.metric in LOWER_IS_BETTER else ""
    return f"{in_words(comparison.metric)}{hint} by {interval(comparison.difference)}"


def _names(findings: Sequence[Finding]) -> str:
    text = _and([f"{in_words(f.strategy)} with {in_words(f.model)}" for f in findings])
    return text[0].upper() + text[1:]


def _and(names: Sequence[str]) -> str:
    """a, b and c"""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _flat_difference(difference: Estimate | None) -> dict[str, float | None]:
    if difference is None:
        return dict.fromkeys(("difference", "difference_standard_error", "difference_low", "difference_high"))
    return {
        "difference": difference.value,
        "difference_standard_error": difference.standard_error,
        "difference_low": difference.low,
        "difference_high": difference.high,
    }
