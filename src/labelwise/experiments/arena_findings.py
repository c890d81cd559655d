"""What an arena found: ranks, gains over random, labels saved and time, for the command, the report and machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from typing import Any, Literal

import numpy as np

from labelwise.experiments.findings import in_words, interval
from labelwise.experiments.label_saving import Saving, label_savings
from labelwise.experiments.metrics import LOWER_IS_BETTER
from labelwise.experiments.ranking import Ranking, holm, rank_over_sets, signed_rank_p
from labelwise.experiments.statistics import Estimate, areas, paired_bootstrap
from labelwise.experiments.tables import Table

Arm = tuple[str, str]
ByArm = Mapping[Arm, Mapping[str, Mapping[int, float]]]  # arm to set to seed to area
ENOUGH_SETS = 6  # below, not even a gain on every one of them could be told from chance at the 5 % level
EQUAL = 0.01  # answers at the end may differ by this share and still count as equal


@dataclass(frozen=True, eq=False)
class Standing:
    """How one model with one strategy stands on one metric, over all sets.

    Parameters
    ----------
    reference : str
        The random strategy that it is compared with, under the same model.
    mean_rank : float
        1 is best; NaN where it did not run on every set.
    area, final : float
        Mean over sets of the mean curve and of its end.
    gain : Estimate or None
        Area minus that of the reference, better being positive; None for the reference itself and where the model has
        none. With six sets or more its interval says what to expect of other sets (paired bootstrap over sets and
        seeds); with fewer, which can tell nothing of others, what to expect of other seeds on these.
    better, worse : int
        Sets on which the mean over seeds lies above and below the reference.
    p_value : float
        Wilcoxon's over sets, adjusted by Holm for all that were compared; NaN without a gain.
    share, share_items : float
        Median over sets of the answers, and of the items read, needed to reach the reference's end, as a share of what
        that had spent; infinite where more than half of the sets were never reached.
    reached : int
        Sets on which it was reached.
    """

    model: str
    strategy: str
    metric: str
    reference: str
    mean_rank: float
    area: float
    final: float
    gain: Estimate | None
    better: int
    worse: int
    p_value: float
    share: float
    share_items: float
    reached: int
    n_sets: int

    @property
    def verdict(self) -> Literal["reference", "no reference", "better", "worse", "no difference", "one seed"]:
        """Against the reference; a difference counts only where its interval leaves out zero."""
        if self.gain is None:
            return "reference" if self.strategy == self.reference else "no reference"
        if isnan(self.gain.low):
            return "one seed"
        return "better" if self.gain.sign > 0 else "worse" if self.gain.sign < 0 else "no difference"


@dataclass(frozen=True, eq=False)
class League:
    """Arms that may be compared: they gave as many answers, or at least ask for the same."""

    table: Table
    reference: str  # the random strategy to beat, with the same model

    @property
    def arms(self) -> list[Arm]:
        return self.table.distinct("model", "strategy")

    @property
    def sets(self) -> list[str]:
        return [data for (data,) in self.table.distinct("data")]


def leagues(table: Table) -> list[League]:
    """All arms in one league where they end with equal answers on every set; else one league per kind of question."""
    last = table.where(round=table["round"].max())
    ends = [last.where(data=data)["answers"] for (data,) in table.distinct("data")]
    if all(end.max() <= (1 + EQUAL) * end.min() for end in ends):
        return [League(table, _reference(table))]
    return [
        League(part, _reference(part))
        for part in (table.where(target=target) for (target,) in table.distinct("target"))
    ]


def rank(league: League, metric: str) -> Ranking | None:
    """The arms that ran on every set, by area; None where fewer than two did."""
    found = _areas(league, metric)
    sense = -1 if metric in LOWER_IS_BETTER else 1
    whole = [arm for arm in league.arms if set(found[arm]) == set(league.sets)]
    if len(whole) < 2:
        return None
    scores = [[sense * _mean(found[arm][data]) for arm in whole] for data in league.sets]
    return rank_over_sets([arm_name(*arm) for arm in whole], scores)


def stand(league: League, metric: str) -> list[Standing]:
    """Every arm of the league on one metric."""
    found = _areas(league, metric)
    ranking = rank(league, metric)
    ranks = {} if ranking is None else dict(zip(ranking.names, ranking.mean_ranks.tolist(), strict=True))
    differences = {arm: _differences(found, arm, league.reference, metric) for arm in league.arms}
    compared = [arm for arm in league.arms if differences[arm]]
    p_values = holm([signed_rank_p([_mean(of) for of in differences[arm].values()]) for arm in compared])
    answers = label_savings(league.table, metric, "answers", league.reference)
    items = label_savings(league.table, metric, "items_read", league.reference)
    ends = league.table.where(round=league.table["round"].max())
    standings = []
    for arm in league.arms:
        gains = [_mean(of_set) for of_set in differences[arm].values()]
        own = _of(answers, arm)
        standings.append(
            Standing(
                *arm,
                metric,
                league.reference,
                mean_rank=ranks.get(arm_name(*arm), nan),
                area=float(np.nanmean([_mean(of_set) for of_set in found[arm].values()])),
                final=float(np.nanmean(ends.where(model=arm[0], strategy=arm[1])[metric])),
                gain=_gain(differences[arm]),
                better=sum(gain > 0 for gain in gains),
                worse=sum(gain < 0 for gain in gains),
                p_value=dict(zip(compared, p_values, strict=True)).get(arm, nan),
                share=_median_share(own),
                share_items=_median_share(_of(items, arm)),
                reached=sum(saving.reached for saving in own),
                n_sets=len(found[arm]),
            )
        )
    return standings


def seconds_per_question(table: Table) -> dict[Arm, dict[str, float]]:
    """Arm to set to seconds of asking and learning per question, median over rounds and seeds after the start."""
    asked = table["round"] > 0
    kept = Table({name: column[asked] for name, column in table.columns.items()})
    found: dict[Arm, dict[str, float]] = {}
    for model, strategy, data in kept.distinct("model", "strategy", "data"):
        rows = kept.where(model=model, strategy=strategy, data=data)
        seconds = (rows["seconds_asking"] + rows["seconds_fitting"]) / np.maximum(rows["questions"], 1)
        found.setdefault((model, strategy), {})[data] = float(np.median(seconds))
    return found


def arm_name(model: str, strategy: str) -> str:
    """As a reader would write it.

    >>> arm_name("label_gp", "random_pairs")
    'random pairs · label gp'
    """
    return f"{in_words(strategy)} · {in_words(model)}"


def headline(standings: Sequence[Standing]) -> str:
    """In two or three sentences: who beat random, who lost to it, on what, and what that says of other sets."""
    judged = [s for s in standings if s.verdict in ("better", "worse", "no difference")]
    if not judged:
        return "Nothing can be said against random: that takes it beside the strategies, and two seeds or six sets."
    told = []
    for verdict, words in (("better", "Gained on random beyond noise"), ("worse", "Lost to random beyond noise")):
        by_arm: dict[str, list[str]] = {}
        for s in judged:
            if s.verdict == verdict:
                by_arm.setdefault(arm_name(s.model, s.strategy), []).append(in_words(s.metric))
        if by_arm:
            arms = [f"{name} ({', '.join(of)})" for name, of in by_arm.items()]
            told.append(f"{words}: {'; '.join(arms)}.")
    if not any(s.verdict == "better" for s in judged):
        told.insert(0, "Nothing gained on random beyond noise.")
    n_sets = max(s.n_sets for s in judged)
    if n_sets < ENOUGH_SETS:
        told.append(f"{n_sets} sets say nothing of others: noise here is that of the seeds on these.")
    return " ".join(told)


def told(standing: Standing) -> str:
    """The gain with its interval."""
    return "—" if standing.gain is None else interval(standing.gain)


def told_sets(standing: Standing) -> str:
    """On how many sets it gained, and the adjusted p-value where there are enough of them."""
    if standing.gain is None:
        return ""
    sure = f", p {standing.p_value:.2g}" if standing.n_sets >= ENOUGH_SETS else ""
    return f"{standing.better} of {standing.n_sets}{sure}"


def told_share(share: float) -> str:
    """A share of labels needed.

    >>> told_share(0.42), told_share(inf), told_share(nan)
    ('42 %', 'never', '—')
    """
    if isnan(share):
        return "—"
    return f"{share:.0%}".replace("%", " %") if isfinite(share) else "never"


def as_plain(league: League, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Every standing as a flat row for machines; what is unknown or infinite is None."""
    seconds = seconds_per_question(league.table)
    rows = []
    for metric in metrics:
        ranking = rank(league, metric)
        for s in stand(league, metric):
            gain = s.gain
            row = {
                "metric": metric,
                "model": s.model,
                "strategy": s.strategy,
                "reference": league.reference,
                "sets": s.n_sets,
                "mean_rank": s.mean_rank,
                "critical_difference": ranking.critical_difference if ranking else nan,
                "friedman_p": ranking.p_value if ranking else nan,
                "area": s.area,
                "final": s.final,
                "gain": gain.value if gain else nan,
                "gain_low": gain.low if gain else nan,
                "gain_high": gain.high if gain else nan,
                "sets_better": s.better,
                "sets_worse": s.worse,
                "holm_p": s.p_value,
                "verdict": s.verdict,
                "answers_needed": s.share,
                "items_needed": s.share_items,
                "sets_reached": s.reached,
                "seconds_per_question": float(np.median(list(seconds[s.model, s.strategy].values()))),
            }
            rows.append({k: None if isinstance(v, float) and not isfinite(v) else v for k, v in row.items()})
    return rows


def _reference(table: Table) -> str:
    """The random strategy in the table; that for whole items before that for pairs."""
    controls = [
        (target != "items", strategy)
        for strategy, control, target in table.distinct("strategy", "control", "target")
        if strategy == control
    ]
    return min(controls)[1] if controls else str(table["control"][0])


def _areas(league: League, metric: str) -> dict[Arm, dict[str, dict[int, float]]]:
    found: dict[Arm, dict[str, dict[int, float]]] = {arm: {} for arm in league.arms}
    for data in league.sets:
        of_set = league.table.where(data=data)
        for arm in of_set.distinct("model", "strategy"):
            found[arm][data] = areas(of_set, metric, *arm)
    return found


def _differences(found: ByArm, arm: Arm, reference: str, metric: str) -> dict[str, dict[int, float]]:
    """Set to seed to gain over the reference with the same model, better being positive."""
    model, strategy = arm
    rival = found.get((model, reference))
    if strategy == reference or rival is None:
        return {}
    sense = -1 if metric in LOWER_IS_BETTER else 1
    gains = {
        data: {seed: sense * (own[seed] - rival[data][seed]) for seed in own if seed in rival[data]}
        for data, own in found[arm].items()
        if data in rival
    }
    known = {data: {seed: gain for seed, gain in of.items() if isfinite(gain)} for data, of in gains.items()}
    return {data: of for data, of in known.items() if of}


def _gain(differences: Mapping[str, Mapping[int, float]]) -> Estimate | None:
    if not differences:
        return None
    if len(differences) >= ENOUGH_SETS:
        return paired_bootstrap([list(of.values()) for of in differences.values()], np.random.default_rng(0))
    seeds = set.intersection(*(set(of) for of in differences.values()))
    if not seeds:
        return None
    return Estimate.of(float(np.mean([of[seed] for of in differences.values()])) for seed in sorted(seeds))


def _of(savings: Sequence[Saving], arm: Arm) -> list[Saving]:
    return [saving for saving in savings if (saving.model, saving.strategy) == arm]


def _median_share(savings: Sequence[Saving]) -> float:
    """Between a set that was reached and one that never was, never: what was not seen is not promised."""
    if not savings:
        return nan
    shares = sorted(saving.share for saving in savings)
    low, high = shares[(len(shares) - 1) // 2], shares[len(shares) // 2]
    return inf if high == inf else (low + high) / 2


def _mean(by_seed: Mapping[int, float]) -> float:
    return float(np.mean(list(by_seed.values()))) if by_seed else nan
