"""Figures of `arena.py` from finished runs: ranks, noise, the best arm of a set, the default chosen by other sets.

Runs are paired: those of a seed share pool, test set and the random items of the start. `levels` are the figures that
tests compare, one for a run: `late_level`. Nothing here runs a campaign.
"""

import numpy as np
from scipy import stats
from scipy.stats import rankdata

import labelwise as lw
from _hours import (
    LEVEL,
    LISTS,
    MIDDLE,
    beyond_noise,
    mean_curve,
    over_sets,
    paired,
    rounded,
    seconds,
    share,
    time_shares,
)
from labelwise.studies.ranking import holm, signed_rank_p
from labelwise.studies.statistics import CONFIDENCE_LEVEL, MIN_SETS, paired_bootstrap

EARLIEST, TIMES = 1 / 3, 21  # from where on levels are averaged, of the usual way's time, and at how many points
LEAST_SCORE = 1e-3  # so that a logarithm is finite
PARTS = (0.9, 1.0)  # of the usual way's scores, to be reached
RESAMPLES = 2000
OURS = "default"


def late_level(curve, usual, costs=None):
    """Mean log of macro-AP and precision@1-3 over the usual way's, from a third of its seconds to all of them.

    At equal times, by straight lines between rounds; 0.05 is 5 % more than 300 random items bring in the end.
    """
    costs = costs or lw.Costs.named(MIDDLE)
    curve = np.asarray(curve, dtype=float)
    times = np.linspace(EARLIEST, 1, TIMES) * seconds(usual, costs)
    logs = []
    for column in (2, 3):
        scores = np.interp(times, seconds(curve, costs), curve[:, column])
        logs.append(np.log(np.maximum(scores, LEAST_SCORE) / max(usual[column], LEAST_SCORE)).mean())
    return float(np.mean(logs))


def gains(levels, others):
    """Paired by the seeds that both have; None without one."""
    shared = sorted(levels.keys() & others.keys())
    return paired([levels[seed] - others[seed] for seed in shared]) if shared else None


def behind_best(levels, ours=OURS):
    """How far an arm of {arm: {seed: level}} is behind the best of all on this set, and whether noise explains it.

    The best is chosen without the seed that it is judged on: the arm with the highest mean over the other seeds. So
    the highest of many noisy figures does not count against ours. `gap` is the mean over seeds of its level less ours,
    0 where ours is chosen; `within` is false where a one-sided t-test finds it above 0 at the level of 5 %. None with
    one seed.
    """
    seeds = sorted(set.intersection(*(set(of) for of in levels.values())))
    if len(seeds) < 2:
        return None
    arms = [ours, *(arm for arm in levels if arm != ours)]  # ours first: it has the ties
    L = np.array([[levels[arm][seed] for seed in seeds] for arm in arms])  # (arms, seeds)
    others = L.sum(axis=1, keepdims=True) - L
    best = others.argmax(axis=0)  # (seeds,)
    gaps = L[best, np.arange(len(seeds))] - L[0]
    mean, error = gaps.mean(), gaps.std(ddof=1) / np.sqrt(len(seeds))
    p = float(stats.t.sf(mean / error, len(seeds) - 1)) if error > 0 else float(mean <= 0)
    highest = gains(levels[arms[int(L.mean(axis=1).argmax())]], levels[ours])
    return {
        "best": [arms[place] for place in best],
        "gap": rounded(mean, 4),
        "standard_error": rounded(error, 4),
        "p": rounded(p, 5),
        "within": bool(p >= LEVEL),
        "highest_mean": arms[int(L.mean(axis=1).argmax())],
        "highest_gap": highest["gain"],
    }


def chosen_by_others(levels, shares, ours=OURS):
    """The default chosen for each set without it: the arm of {arm: {set: level}} with the best mean over the others.

    `gain` of a set is the chosen arm's level there less ours, below 0 where the choice would cost; `share` is the
    chosen arm's, `our_share` ours, of the usual way's time.
    """
    sets = sorted(set.intersection(*(set(of) for of in levels.values())))
    if len(sets) < 2:
        return None
    arms = [ours, *(arm for arm in levels if arm != ours)]
    L = np.array([[levels[arm][name] for name in sets] for arm in arms])  # (arms, sets)
    chosen = (L.sum(axis=1, keepdims=True) - L).argmax(axis=0)  # (sets,)
    differences = L[chosen, np.arange(len(sets))] - L[0]
    by_set = {
        name: {
            "chosen": arms[arm],
            "gain": rounded(difference, 4),
            "share": shares[arms[arm]][name],
            "our_share": shares[ours][name],
        }
        for name, arm, difference in zip(sets, chosen, differences, strict=True)
    }
    error = differences.std(ddof=1) / np.sqrt(len(sets))
    return {
        "ours_chosen": int((chosen == 0).sum()),
        "sets": len(sets),
        "gain": rounded(differences.mean(), 4),
        "standard_error": rounded(error, 4),
        "median_share": over_sets(by_set, lambda row: row["share"])["median"],
        "our_median_share": over_sets(by_set, lambda row: row["our_share"])["median"],
        "on_all_sets": arms[int(L.mean(axis=1).argmax())],
        "by_set": by_set,
    }


def mean_ranks(levels, rng):
    """Of {arm: {set: {seed: level}}}: arm to its mean rank over sets, 1 being best, with an interval of 95 %.

    Sets are drawn again with replacement, then seeds within them, the same for all arms. Arms that lack a set are left
    out; of a set the seeds count that all the others have.
    """
    sets = sorted({name for of in levels.values() for name in of})
    arms = [arm for arm, of in levels.items() if all(of.get(name) for name in sets)]
    if len(arms) < 2:
        return {}
    by_set = []  # (arms, seeds) each
    for name in sets:
        seeds = sorted(set.intersection(*(set(levels[arm][name]) for arm in arms)))
        if seeds:
            by_set.append(np.array([[levels[arm][name][seed] for seed in seeds] for arm in arms]))
    if not by_set:
        return {}
    found = rankdata([-L.mean(axis=1) for L in by_set], axis=1).mean(axis=0)
    drawn = np.empty((RESAMPLES, len(arms)))
    for k in range(RESAMPLES):
        picked = [by_set[place] for place in rng.integers(len(by_set), size=len(by_set))]
        means = [L[:, rng.integers(L.shape[1], size=L.shape[1])].mean(axis=1) for L in picked]
        drawn[k] = rankdata(-np.array(means), axis=1).mean(axis=0)
    outside = (1 - CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(drawn, [outside, 1 - outside], axis=0)
    return {
        arm: {"mean": rounded(found[k], 2), "low": rounded(low[k], 2), "high": rounded(high[k], 2)}
        for k, arm in enumerate(arms)
    }


def against_random(levels, random_levels):
    """An arm's {set: {seed: level}} less that of random items with the same model and features.

    `better` and `worse` name sets beyond noise, adjusted by Holm for the number of sets. The interval is for other
    sets (paired bootstrap, from six sets on); p is Wilcoxon's over sets.
    """
    by_set = {name: gains(of, random_levels[name]) for name, of in levels.items() if random_levels.get(name)}
    by_set = {name: row for name, row in by_set.items() if row}
    if not by_set:
        return None
    worse, worse_unadjusted = beyond_noise(by_set, -1)
    better, better_unadjusted = beyond_noise(by_set, 1)
    means = [row["gain"] for row in by_set.values()]
    found = {"gain": rounded(np.mean(means), 4), "worst_gain": rounded(min(means), 4), "sets": len(by_set)}
    if len(by_set) >= MIN_SETS:
        groups = [
            [of[seed] - random_levels[name][seed] for seed in of.keys() & random_levels[name].keys()]
            for name, of in levels.items()
            if name in by_set
        ]
        estimate = paired_bootstrap(groups, np.random.default_rng(0), RESAMPLES)
        found |= {"low": rounded(estimate.low, 4), "high": rounded(estimate.high, 4)}
        found["p"] = rounded(signed_rank_p(means), 5)
    found |= {"better": better, "worse": worse, "better_unadjusted": better_unadjusted}
    return found | {"worse_unadjusted": worse_unadjusted, "by_set": by_set}


class Finished:
    """The runs that there are: (set, arm, seed) to a run, and (set, usual, seed) to the usual way's figures."""

    def __init__(self, runs, usual):
        self.runs, self.usual, self._seeds = runs, usual, {}
        for name, arm, seed in sorted(runs):
            self._seeds.setdefault((name, arm), []).append(seed)

    def seeds(self, name, arm):
        return [seed for seed in self._seeds.get((name, arm.name), ()) if (name, arm.usual, seed) in self.usual]

    def levels(self, name, arm):
        """Seed to level, of the seeds that have a usual way, too."""
        return {
            seed: late_level(self.runs[name, arm.name, seed]["curve"], self.usual[name, arm.usual, seed])
            for seed in self.seeds(name, arm)
        }

    def shares(self, name, arm):
        """As `time_shares`, with hours to reach parts of the usual way's scores at middle prices, and CPU seconds."""
        seeds = self.seeds(name, arm)
        runs = [self.runs[name, arm.name, seed] for seed in seeds]
        usual = [self.usual[name, arm.usual, seed] for seed in seeds]
        curves, middle = [run["curve"] for run in runs], lw.Costs.named(MIDDLE)
        goal = np.mean(usual, axis=0)
        hours = float(seconds(goal, middle)) / 3600
        to_reach = {f"{part:g}": max(share(mean_curve(curves), goal, middle, part)) * hours for part in PARTS}
        cpu = {
            f"{what}_cpu_seconds": rounded(np.mean([np.mean(run[f"{what}_seconds"][1:]) for run in runs]))
            for what in ("choosing", "learning")
        }
        found = time_shares(curves, usual) | {"hours": {part: rounded(value, 2) for part, value in to_reach.items()}}
        return found | cpu | {"usual_hours": rounded(hours, 2), "seeds": len(seeds)}


def condition_figures(finished, names, arms):
    """Of arms with the same features, names and person, on these sets."""
    arms = [arm for arm in arms if any(finished.seeds(name, arm) for name in names)]
    tables = {arm.name: {n: finished.shares(n, arm) for n in names if finished.seeds(n, arm)} for arm in arms}
    levels = {arm.name: {n: finished.levels(n, arm) for n in tables[arm.name]} for arm in arms}
    ranks = mean_ranks(levels, np.random.default_rng(0))
    rows = {arm.name: _row(arm, tables[arm.name], levels, ranks) for arm in arms}
    compared = [name for name, row in rows.items() if "p" in (row["over_random"] or {})]
    for name, p in zip(compared, holm([rows[name]["over_random"]["p"] for name in compared]), strict=True):
        rows[name]["over_random"]["holm_p"] = rounded(p, 5)
    ours = next((arm.name for arm in arms if arm.is_default), None)
    return {"arms": rows} | (_default_figures(ours, levels, tables) if ours and len(arms) > 1 else {})


def _row(arm, table, levels, ranks):
    cpu = {
        key: rounded(np.median([row[key] for row in table.values()]))
        for key in ("choosing_cpu_seconds", "learning_cpu_seconds")
    }
    is_random = arm.strategy == "random"
    over = None if is_random else against_random(levels[arm.name], levels.get(arm.random.name, {}))
    return {
        "sets": {name: {key: row[key] for key in ("share", "hours", "seeds")} for name, row in table.items()},
        "share": over_sets(table, lambda row: row["share"]),
        "by_list": {which: over_sets(table, lambda row, w=which: row["by_list"][w]) for which in LISTS},
        "hours": {f"{part:g}": over_sets(table, lambda row, p=f"{part:g}": row["hours"][p]) for part in PARTS},
        "rank": ranks.get(arm.name),
        "over_random": over,
        **cpu,
    }


def _default_figures(ours, levels, tables):
    """How the default stands in a condition: behind the best of each set, and chosen by the other sets."""
    best = {}
    for name in levels[ours]:
        there = {arm: levels[arm][name] for arm in levels if len(levels[arm].get(name, ())) > 1}
        best[name] = behind_best(there, ours) if ours in there else None
    judged = {name: row for name, row in best.items() if row}
    whole = [arm for arm in levels if set(levels[arm]) == set(levels[ours])]
    means = {arm: {} for arm in whole}
    for name in levels[ours]:
        seeds = set.intersection(*(set(levels[arm][name]) for arm in whole))  # the same for all
        for arm in whole if seeds else ():
            means[arm][name] = float(np.mean([levels[arm][name][seed] for seed in seeds]))
    shares = {arm: {name: row["share"] for name, row in tables[arm].items()} for arm in whole}
    return {
        "default": ours,
        "behind_best": best,
        "sets_judged": len(judged),
        "default_within_noise_of_best": sum(row["within"] for row in judged.values()),
        "chosen_by_other_sets": chosen_by_others(means, shares, ours) if len(whole) > 1 else None,
    }
