"""What a study found, in words and in plain rows: the same for the command, the report and machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import Any

import numpy as np

from labelwise.numerics.metrics import LOWER_IS_BETTER
from labelwise.studies.statistics import (
    CONFIDENCE_LEVEL,
    MIN_SETS,
    Comparison,
    Estimate,
    clear_winner,
    compare,
    seconds_per_question,
)
from labelwise.studies.tables import Table

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


def arm_name(model: str, strategy: str) -> str:
    """A strategy with its model, as a reader would write it.

    >>> arm_name("label_gp", "random_pairs")
    'random pairs · label gp'
    """
    return f"{in_words(strategy)} · {in_words(model)}"


def metric_title(metric: str) -> str:
    """A metric in words, with a note where less is better."""
    return in_words(metric) + (" (lower is better)" if metric in LOWER_IS_BETTER else "")


def signed(value: float) -> str:
    """A difference with its sign, three digits, and a proper minus."""
    return f"{value:+.3f}".replace("-", "−")


def interval(estimate: Estimate) -> str:
    """A difference with its interval, or alone where one seed gives none."""
    if isnan(estimate.low):
        return signed(estimate.value)
    return f"{signed(estimate.value)} [{signed(estimate.low)}, {signed(estimate.high)}]"


def sets_won(comparison: Comparison) -> str:
    """On how many sets it gained, and the adjusted p-value where there are enough of them."""
    if comparison.gain is None:
        return ""
    p = f", p {comparison.p_value:.2g}" if comparison.n_sets >= MIN_SETS else ""
    return f"{comparison.better} of {comparison.n_sets}{p}"


def percent(share: float) -> str:
    """A share of labels needed.

    >>> percent(0.42), percent(float("inf")), percent(nan)
    ('42 %', 'never', '—')
    """
    if isnan(share):
        return "—"
    return f"{share:.0%}".replace("%", " %") if isfinite(share) else "never"


def summary(comparisons: Sequence[Comparison]) -> str:
    """The headline, the differences to expect by chance alone, and whether the result holds for other sets."""
    judged = [c for c in comparisons if c.verdict in ("better", "worse", "no difference")]
    beyond = sum(c.verdict != "no difference" for c in judged)
    parts = [headline(find(comparisons))]
    if beyond:
        chance = (1 - CONFIDENCE_LEVEL) * len(judged)
        parts.append(
            f"{beyond} of {len(judged)} differences lie beyond noise; chance alone would bring about {chance:.1f}."
        )
    n_sets = max((c.n_sets for c in judged), default=0)
    if 1 < n_sets < MIN_SETS:
        parts.append(f"The result holds for these {n_sets} sets only: noise is measured over seeds, not over sets.")
    return " ".join(parts)


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
        return (
            "Cannot tell whether these strategies beat random: run at least two seeds (--seeds 3) and include "
            "random in --strategy."
        )
    sentences = [
        f"{_names(by_verdict[verdict])} {words}."
        for verdict, words in (
            ("better", "beat random beyond noise on at least one metric and lost on none"),
            ("mixed", "beat random beyond noise on one metric and lost to it on another"),
            ("worse", "did worse than random beyond noise on at least one metric and better on none"),
        )
        if verdict in by_verdict
    ]
    if not {"better", "mixed"} & set(by_verdict):
        sentences.insert(0, "Nothing beat random beyond noise.")
    return " ".join(sentences)


def result_rows(table: Table, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Every model, strategy and metric as one flat row of plain values; what is unknown or infinite is None."""
    last, seconds = table.where(round=table["round"].max()), seconds_per_question(table)
    rows = []
    for c in compare(table, metrics):
        ends = last.where(model=c.model, strategy=c.strategy)
        row = {
            "metric": c.metric,
            "model": c.model,
            "strategy": c.strategy,
            "sets": c.n_sets,
            "seeds": c.area.n,
            "items_read": float(ends["items_read"].mean()),
            "answers": float(ends["answers"].mean()),
            "final": c.final.value,
            "final_standard_error": c.final.standard_error,
            "area": c.area.value,
            "area_standard_error": c.area.standard_error,
            "control": c.control,
            **_flat("difference", c.difference),
            **_flat("gain", c.gain),
            "verdict": c.verdict,
            "mean_rank": c.mean_rank,
            "critical_difference": c.ranking.critical_difference if c.ranking else nan,
            "friedman_p": c.ranking.p_value if c.ranking else nan,
            "sets_better": c.better,
            "sets_worse": c.worse,
            "holm_p": c.p_value,
            "answers_needed": c.share,
            "items_needed": c.share_items,
            "sets_reached": c.reached,
            "seconds_per_question": float(np.median(list(seconds.get((c.model, c.strategy), {"": nan}).values()))),
        }
        rows.append({k: None if isinstance(v, float) and not isfinite(v) else v for k, v in row.items()})
    return rows


def clear_winners(table: Table, metrics: Sequence[str]) -> set[tuple[str, str, str]]:
    """(model, strategy, metric) that beat all others asking for the same beyond noise: what may be set in bold."""
    rivals = [table.where(target=target).distinct("model", "strategy") for (target,) in table.distinct("target")]
    found = {(clear_winner(table, metric, arms), metric) for metric in metrics for arms in rivals}
    return {(*best, metric) for best, metric in found if best is not None}


def _finding(of_arm: Sequence[Comparison]) -> Finding:
    first = of_arm[0]
    by_verdict: dict[str, list[Comparison]] = {}
    for comparison in of_arm:
        by_verdict.setdefault(comparison.verdict, []).append(comparison)
    if not {"better", "worse", "no difference"} & set(by_verdict):
        reason = (
            "one seed cannot separate gain from noise; run more seeds"
            if first.verdict == "one seed"
            else f"no random strategy in this study to compare with; add {first.control or 'random'} to the strategies"
        )
        return Finding(first.model, first.strategy, first.control, first.verdict, reason + ".")
    parts = [
        f"{words} on {_and([_by_how_much(c) for c in by_verdict[key]])}"
        for key, words in (("better", "beat random"), ("worse", "did worse than random"))
        if key in by_verdict
    ]
    if "no difference" in by_verdict:
        names = _and([in_words(c.metric) for c in by_verdict["no difference"]])
        parts.append(f"no difference beyond noise on {names}")
    decided = [key for key in ("better", "worse") if key in by_verdict]
    overall = "mixed" if len(decided) == 2 else decided[0] if decided else "no difference"
    return Finding(first.model, first.strategy, first.control, overall, "; ".join(parts) + ".")


def _by_how_much(comparison: Comparison) -> str:
    assert comparison.difference is not None
    return f"{metric_title(comparison.metric)} by {interval(comparison.difference)}"


def _names(findings: Sequence[Finding]) -> str:
    text = _and([f"{in_words(f.strategy)} with {in_words(f.model)}" for f in findings])
    return text[0].upper() + text[1:]


def _and(names: Sequence[str]) -> str:
    """a, b and c"""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _flat(name: str, estimate: Estimate | None) -> dict[str, float]:
    parts = {"": "value", "_standard_error": "standard_error", "_low": "low", "_high": "high"}
    return {name + end: nan if estimate is None else getattr(estimate, part) for end, part in parts.items()}
