"""How much of a person's time the default campaign needs to be as good as the usual way, on every set.

    python benchmarks/time_saving.py [--quick] [--sets a,b] [--seeds 8] [--arms default,random] [--jobs 1] [--finished]

The usual way: 300 random items are read, their labels picked by typing, and one logistic regression per label is
fitted to the set's features. A campaign is given the same pool and a person who does the same. `share` is the part of
the usual way's seconds after which it is at least as good in macro average precision and in mean precision@1-3 on a
test set: the larger of the two, of curves averaged over seeds, by straight lines between rounds of twenty items; null
where it was not as good after 340 items. `by_seed` has the shares of single seeds, which are noisy. Seconds are by the
price lists short text, long text and picture, each low, mid and high: `Costs`. All lists are applied to all sets;
they weigh the same runs, since no arm but `pairs` looks at prices. `median_share` and `worst_share` are over sets, for
the dearest of the nine lists; `sets_worse_than_random` counts sets where the default needs more time than random items
with the same model beyond noise: by a paired t-test over seeds at the level of 5 %, adjusted by Holm for the number of
sets. It is in mean log macro average precision from 100 items on. `worse_unadjusted` names the sets without that
adjustment: with 17 sets, one in two runs names one by chance.

`named`: the default campaign on sets whose labels have names or descriptions, which it is given (the sets and test
items of `label_names.py`), from no answer on; the usual way on the same items does not look at names.
`named_embedded`: the same with vectors of MiniLM beside the words, on the sets of raw text; it needs `make embed`.

`forgetting` arms end in `@0.8`: the person finds each true label with that probability, in the usual way, too.
`pairs` is read from the saved curves (first seed) of `label_saving.py`, whose pools have 3000 items.

Sets come from the folder LABELWISE_SHARED_DATA, or ../shared/data beside the repository. A finished run is kept in
runs/time_saving and not done again; `--finished` does nothing new and sums up what is there. Other arms with finished
runs are summed up, too; `runs` says how many seeds each has.
"""

import argparse
import json

import numpy as np
from joblib import Parallel, delayed

import labelwise as lw
from _hours import (
    DATA,
    FULL,
    LISTS,
    POOL,
    ROOT,
    ROUNDS,
    START,
    beyond_noise,
    campaign_rounds,
    kept,
    mean_curve,
    over_sets,
    paired,
    reached,
    rounded,
    seconds,
    time_shares,
    usual_way,
)
from _label_names_sets import BAGS, EMBEDDED, TEXTS
from _label_names_sets import available as available_named
from _label_names_sets import split as split_named
from _label_saving_sets import FILES, available, load, split

RUNS = ROOT / "runs" / "time_saving"
PAIRS = ROOT / "benchmarks" / "results" / "label_saving.json"
FROM = 100  # items, from which on two arms are compared
NAMED, EARLY = "named", (0, 6, 12, 20)  # rounds of the campaign that knows names, before those of all
WITH_VECTORS = ("goemotions", "movies_omdb", "valueeval", "cei_exposure")
SETS_OF = {NAMED: (*BAGS, *TEXTS), "named_usual": (*BAGS, *TEXTS), NAMED + EMBEDDED: WITH_VECTORS}  # other arms: all
WITH_CURVES = ("default", "random", NAMED, NAMED + EMBEDDED)  # arms whose curves are saved
MODEL = "semi_supervised"
ARMS = {
    "default": {},
    "random": {"strategy": "random", "model": MODEL, "start": START},
    "random_logistic": {"strategy": "random", "model": "binary_relevance", "start": START, "hints": None},
    NAMED: {},
    NAMED + EMBEDDED: {},
    "unguarded": {"control": 0.05},
    **{
        name: {"strategy": name, "model": MODEL, "start": START, "control": lw.Guard()}
        for name, make in lw.queries.BY_NAME.items()
        if name != "random" and make().target == "items"
    },
}


def run(name, arm, seed):
    """One campaign, [items, labels picked, macro-AP, precision@1-3] after each round, or the usual way."""
    kind, _, recall = arm.partition("@")
    is_named, found = kind.startswith(NAMED), float(recall or 1)

    def make():
        if is_named:
            pool, test = split_named(DATA, name + EMBEDDED * kind.endswith(EMBEDDED), seed)
        else:
            pool, test = split(load(DATA, name), seed, POOL)
        if kind.endswith("usual"):
            return usual_way(pool, test, seed, found)
        early = EARLY if is_named else ()
        points = campaign_rounds(pool, test, ARMS[kind], seed, found, sorted({*early, *ROUNDS}))
        return [point for point, *_ in points if point[0] > START or point[0] in early]

    return kept(RUNS / f"{name}-{arm}-{seed}.json", make)


def usual_of(arm):
    """The usual way that an arm is compared with: the same person, the same items.

    >>> usual_of("default@0.8"), usual_of("named"), usual_of("named_embedded")
    ('usual@0.8', 'named_usual', 'named_usual')
    """
    kind, at, recall = arm.partition("@")
    return f"{'named_usual' if kind.startswith(NAMED) else 'usual'}{at}{recall}"


def summary(name, arm, seeds):
    """Shares of a set and arm by price list, and at the middle one for each metric and seed."""
    usual = [run(name, usual_of(arm), seed) for seed in seeds]
    curves = [run(name, arm, seed) for seed in seeds]
    curve = {"curve": np.round(mean_curve(curves), 4).tolist()} if arm in WITH_CURVES else {}
    return time_shares(curves, usual) | curve


def gain(name, seeds, ours="default", other="random"):
    """Mean log macro-AP of one arm less another's, from 100 items on, paired by seed, with its standard error."""
    gains = []
    for seed in seeds:
        a, b = (np.array(run(name, arm, seed)) for arm in (ours, other))
        late = a[:, 0] >= FROM
        gains.append(np.log(a[late, 2] / b[late, 2]).mean())
    return paired(gains)


def pair_shares():
    """Of the pair campaign, from the saved curves of `label_saving.py`, by price list: answers one by one."""
    saved = json.loads(PAIRS.read_text(encoding="utf-8"))["figures"]["arms"]["default"] if PAIRS.exists() else {}
    found = {}
    for name, row in saved.items():
        usual, curve = row["first_seed"]["usual"], np.array(row["first_seed"]["curve"])
        path = RUNS / f"{name}-usual-0.json"
        if not path.exists():
            continue
        items, picked = json.loads(path.read_text(encoding="utf-8"))[:2]
        q = N_LABELS.get(name)
        by_list = {}
        for which in LISTS:
            costs = lw.Costs.named(which)
            paid = curve[:, 3] * float(costs.reading()) + curve[:, 0] * FULL * q * costs.answer
            x = paid / float(seconds([items, picked], costs))
            by_list[which] = rounded(max(reached(x, curve[:, column], usual[column - 1]) for column in (1, 2)))
        found[name] = by_list
    return found


N_LABELS = {
    "medical": 45,
    "enron": 53,
    "bibtex": 159,
    "corel5k": 374,
    "tmc2007-500": 22,
    "imdb": 28,
    "rcv1sub1": 101,
    "reuters21578": 118,
    "goemotions": 28,
    "delicious": 150,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="emotions and medical, one seed, the default and random")
    parser.add_argument("--sets", default=",".join(FILES))
    parser.add_argument("--arms", default="default,random,named,named_embedded")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--finished", action="store_true")
    options = parser.parse_args()
    sets = available(DATA, ("emotions", "medical") if options.quick else tuple(options.sets.split(",")))
    arms, seeds = options.arms.split(","), range(1 if options.quick else options.seeds)
    if NAMED + EMBEDDED in arms and not available_named(DATA, [name + EMBEDDED for name in WITH_VECTORS]):
        arms.remove(NAMED + EMBEDDED)
    todo = [
        (name, each, seed)
        for seed in seeds
        for name in sets
        for each in dict.fromkeys(each for arm in arms for each in (usual_of(arm), arm))
        if name in SETS_OF.get(each.partition("@")[0], sets)
    ]
    if not options.finished:
        Parallel(n_jobs=options.jobs)(delayed(run)(*each) for each in todo)

    def done(name, *needed):
        return [s for s in seeds if all((RUNS / f"{name}-{arm}-{s}.json").exists() for arm in needed)]

    there = {path.stem.rsplit("-", 2)[1] for path in RUNS.glob("*.json")}
    arms += sorted(arm for arm in there - set(arms) if arm.partition("@")[0] in ARMS)
    tables = {}
    for arm in arms:
        tables[arm] = {name: summary(name, arm, found) for name in sets if (found := done(name, arm, usual_of(arm)))}
    gains = {name: gain(name, found) for name in sets if (found := done(name, "default", "random"))}
    worse, unadjusted = beyond_noise(gains, -1)
    result = {
        "seeds": len(seeds),
        "runs": {arm: {name: len(done(name, arm)) for name in sets} for arm in arms},
        "arms": tables,
        "over_random": gains,
        "by_list": {
            arm: {which: over_sets(table, lambda row, w=which: row["by_list"][w]) for which in LISTS}
            for arm, table in tables.items()
        },
        "pairs": pair_shares(),
        "arms_over_sets": {arm: over_sets(table, lambda row: row["share"]) for arm, table in tables.items()},
    }
    for name in tables.get("default", {}):
        others = {arm: table[name]["share"] for arm, table in tables.items() if name in table}
        print(f"{name:15}", *(f"{arm} {'never' if share is None else share:<7}" for arm, share in others.items()))
    ours = over_sets(tables.get("default", {}), lambda row: row["share"])
    last = {"median_share": ours.get("median"), "worst_share": ours.get("worst"), "sets_worse_than_random": len(worse)}
    named = {
        arm: over_sets(tables[arm], lambda row: row["share"]) for arm in (NAMED, NAMED + EMBEDDED) if arm in tables
    }
    named |= {"worse": worse, "worse_unadjusted": unadjusted, "sets": len(tables.get("default", {}))}
    print(json.dumps({**last, **named, **result}))


if __name__ == "__main__":
    main()
