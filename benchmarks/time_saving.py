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
import os
import sys
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

import labelwise as lw
from _label_names_sets import BAGS, EMBEDDED, TEXTS
from _label_names_sets import available as available_named
from _label_names_sets import split as split_named
from _label_saving_sets import FILES, available, load, split
from labelwise.numerics.metrics import macro_average_precision, precision_at
from labelwise.studies import Answerer
from labelwise.studies.ranking import holm

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
RUNS = ROOT / "runs" / "time_saving"
PAIRS = ROOT / "benchmarks" / "results" / "label_saving.json"
FULL, START, ROUND, LAST, POOL = 300, 20, 20, 340, 2000
LEVEL = 0.05  # of tests
FROM = 100  # items, from which on two arms are compared
NAMED, EARLY = "named", (0, 6, 12, 20)  # rounds of the campaign that knows names, before those of all
WITH_VECTORS = ("goemotions", "movies_omdb", "valueeval", "cei_exposure")
SETS_OF = {NAMED: (*BAGS, *TEXTS), "named_usual": (*BAGS, *TEXTS), NAMED + EMBEDDED: WITH_VECTORS}  # other arms: all
WITH_CURVES = ("default", "random", NAMED, NAMED + EMBEDDED)  # arms whose curves are saved
LISTS = [f"{kind}:{level}" for kind in ("short_text", "long_text", "picture") for level in ("low", "mid", "high")]
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


def score(beliefs, truth):
    p = beliefs.probabilities()
    return [macro_average_precision(p, truth).value, float(np.mean([precision_at(p, truth, k) for k in (1, 2, 3)]))]


def campaign_curve(pool, test, options, seed, recall, early=()):
    """[items, labels picked, macro-AP, precision@1-3] after each round."""
    campaign = lw.Campaign(pool.hide(), random_state=seed, **options)
    answerer, truth, curve = Answerer(pool, recall=recall, random_state=seed), test.Y.toarray(), []
    for n in sorted({*early, *range(START, min(LAST, pool.n_items) + 1, ROUND)}):
        campaign.tell(answerer.answers(campaign.ask(n - campaign.spent().items)) if n else [])
        if n > START or n in early:
            picked = sum(sum(answer.values.values()) for answer in campaign.answers)
            curve.append([n, picked, *score(campaign.believe(test.X), truth)])
    return curve


def usual_way(pool, test, seed, recall):
    """[items, labels picked, macro-AP, precision@1-3] of 300 random items."""
    rows = np.random.default_rng(seed + 100).permutation(pool.n_items)[:FULL]
    found = Answerer(pool, recall=recall, random_state=seed)
    questions = [lw.Question(pool.item_ids[row], pool.label_names) for row in rows]
    Y = np.array([[answer.values[name] for name in pool.label_names] for answer in found.answers(questions)])
    model = lw.BinaryRelevance().fit(pool.X[rows], Y)
    return [len(rows), int(Y.sum()), *score(model.posterior(test.X), test.Y.toarray())]


def run(name, arm, seed):
    """One campaign, or the usual way, from the disk where it was done before."""
    path = RUNS / f"{name}-{arm}-{seed}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    began = time.perf_counter()
    kind, _, recall = arm.partition("@")
    with threadpool_limits(1):
        is_named = kind.startswith(NAMED)
        if is_named:
            pool, test = split_named(DATA, name + EMBEDDED * kind.endswith(EMBEDDED), seed)
        else:
            pool, test = split(load(DATA, name), seed, POOL)
        if kind.endswith("usual"):
            found = usual_way(pool, test, seed, float(recall or 1))
        else:
            early = EARLY if is_named else ()
            found = campaign_curve(pool, test, ARMS[kind], seed, float(recall or 1), early)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(path)
    print(f"{name} {arm} {seed}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def seconds(points, costs):
    """Of (..., [items, labels picked, ...]) whole items, by a price list."""
    points = np.asarray(points, dtype=float)
    return float(costs.whole_item()) * points[..., 0] + float(costs.pick) * points[..., 1]


def reached(x, y, goal):
    """Where a curve of straight lines is above the goal to its end; infinity where it is not."""
    below = np.flatnonzero(np.asarray(y) < goal)
    if below.size == 0:
        return float(x[0])
    k = below[-1]
    return float(np.interp(goal, y[k : k + 2], x[k : k + 2])) if k + 1 < len(y) else float("inf")


def share(curve, usual, costs):
    """Of the usual way's seconds, for macro-AP and for precision@1-3."""
    x = seconds(curve, costs) / seconds(usual, costs)
    return [reached(x, np.asarray(curve)[:, column], usual[column]) for column in (2, 3)]


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
    length = min(map(len, curves))
    curve, goal = np.mean([each[:length] for each in curves], axis=0), np.mean(usual, axis=0)
    by_list = {which: max(share(curve, goal, lw.Costs.named(which))) for which in LISTS}
    middle = lw.Costs.named("short_text:mid")
    ap, precision = share(curve, goal, middle)
    return {
        "share": rounded(max(by_list.values())),
        "by_list": {which: rounded(value) for which, value in by_list.items()},
        "macro_ap": rounded(ap),
        "precision": rounded(precision),
        "by_seed": [rounded(max(share(c, u, middle))) for c, u in zip(curves, usual, strict=True)],
        "usual": np.round(goal, 4).tolist(),
        **({"curve": np.round(curve, 4).tolist()} if arm in WITH_CURVES else {}),
    }


def gain(name, seeds, ours="default", other="random"):
    """Mean log macro-AP of one arm less another's, from 100 items on, paired by seed, with its standard error."""
    gains = []
    for seed in seeds:
        a, b = (np.array(run(name, arm, seed)) for arm in (ours, other))
        late = a[:, 0] >= FROM
        gains.append(np.log(a[late, 2] / b[late, 2]).mean())
    error = np.std(gains, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else float("nan")
    p = float(stats.ttest_1samp(gains, 0.0).pvalue) if len(gains) > 1 else float("nan")
    return {"gain": rounded(np.mean(gains), 4), "standard_error": rounded(error, 4), "p": rounded(p, 5)}


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


def rounded(value, digits=3):
    return round(float(value), digits) if np.isfinite(value) else None


def over_sets(table, pick):
    """Median and worst of the shares of a table, None being infinite."""
    values = [np.inf if pick(row) is None else pick(row) for row in table.values()]
    return {"median": rounded(np.median(values)), "worst": rounded(max(values))} if values else {}


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
    judged = {name: row for name, row in gains.items() if row["p"] is not None}
    adjusted = dict(zip(judged, holm([row["p"] for row in judged.values()]), strict=True))
    worse = [name for name, row in judged.items() if row["gain"] < 0 and adjusted[name] < LEVEL]
    unadjusted = [name for name, row in judged.items() if row["gain"] < 0 and row["p"] < LEVEL]
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
