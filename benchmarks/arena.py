"""The arena: every item strategy, models, features, names and forgetting, in hours of a person's time.

    python benchmarks/arena.py [--quick] [--sets a,b] [--arms groups or names] [--seeds 5] [--jobs 1] [--add FOLDER]
                               [--out FOLDER] [--finished]

A campaign learns after every twenty items, up to 340, from a pool of 2000. The yardstick is the usual way of the same
person: 300 random items, picked by typing, logistic regression on words. An arm is STRATEGY, then what differs from
`Campaign(data)` without names: +label_gp, +binary_relevance, +embedding, +both, +names, +alone, +released, @0.8.
`default+both+names@0.8` has the default strategy and model, words and vectors of MiniLM, labels with their names, and a
person who finds each label with probability 0.8. The strategies have the start and the guard of the default; `alone`
is without both, as its authors run a strategy; `released` computes what their code does. The groups are base,
strategies, names, models, forgetting, features, alone, released, strategies_names, strategies_both and models_both.
Only sets of raw text have vectors, which need `make embed`.

`share`: the part of the usual way's seconds after which a campaign is as good in macro average precision and in
precision@1-3, for the dearest of nine price lists, of curves averaged over seeds. `level`: the mean log of both scores
over the usual way's, from a third of its seconds to all of them (short text, middle prices). Tests compare levels,
paired by seed. `over_random` compares with random items, the same model and features; `better` and `worse` are adjusted
by Holm for the number of sets. `behind_best` says how far the default is behind the best arm of the same features:
chosen for each seed by the other seeds, so that the highest of many noisy figures does not count against it.
`chosen_by_other_sets` chooses the default for each set by the highest mean level on all others.

The first figures are of `Campaign(data)`: with the names of the labels where the set has them. `below_random` counts
sets where it is below random items beyond noise; `median_share_of_time` is over all sets. Both counts
`..._within_noise_of_best` say of how many sets (`sets_judged`).

Sets are the 17 in the folder LABELWISE_SHARED_DATA, or ../shared/data beside the repository, and what --add names: a
folder of files that `labelwise.read` reads, and of folders with `items.jsonl.gz` and `labels.json`. A finished run is
one file in runs/arena and not done again. Runs go seed by seed, and group by group within a seed. `--finished` does
nothing new and sums up. The report is printed, and `report.md` in the folder of the runs; the last line
printed has all figures.
"""

import argparse
import json
import sys
import tempfile
from itertools import product
from pathlib import Path

from joblib import Parallel, delayed

from _arena_arms import Arm, encode, groups, made_up_sets, sets_in, shared_sets
from _arena_figures import Finished, against_random, condition_figures
from _arena_tables import report
from _hours import FULL, ROOT, ROUNDS, campaign_rounds, kept, over_sets, usual_way
from labelwise.files import write_text

RUNS = ROOT / "runs" / "arena"
QUICK_ROUNDS, QUICK_FULL = (10, 20, 30, 40), 30
QUICK_ARMS = "default,random,uncertainty,default+names,random+names"


def path_of(folder, one, arm, seed):
    return folder / f"{one.name}-{arm}-{seed}.json"


def run(folder, one, arm, seed, rounds):
    """One campaign, from the disk where it was done before."""

    def campaign():
        pool, test = one.split(arm.features, seed)
        found = [*campaign_rounds(pool, test, arm.options(), seed, arm.recall, rounds)]
        names = ("curve", "choosing_seconds", "learning_seconds")
        return {name: [row[place] for row in found] for place, name in enumerate(names)}

    kept(path_of(folder, one, arm.name, seed), campaign)


def run_usual(folder, one, arm, seed, full):
    """The usual way that an arm is compared with."""
    make = lambda: usual_way(*one.split("words", seed), seed, arm.recall, full)  # noqa: E731 (a name for a thunk)
    kept(path_of(folder, one, arm.usual, seed), make)


def chosen_arms(text):
    """Arms by groups and names, each with random items beside it, in the order of the groups."""
    known, found = groups(), []
    for word in text.split(","):
        found += known[word] if word in known else [Arm.of(word)]
    with_random = (each for arm in found for each in (arm, arm.random))
    return [*dict.fromkeys(with_random)]


def run_all_of(sets, arms, seeds, options, rounds, full):
    """What is not there yet: seed by seed, and within a seed first what stands first in the list of arms."""
    parallel, folder = Parallel(n_jobs=options.jobs), options.out
    for seed in seeds:
        usual = {(arm.usual, one.name): (one, arm) for arm in arms for one in sets}
        parallel(delayed(run_usual)(folder, one, arm, seed, full) for one, arm in usual.values())
        for stage in stages(arms):
            todo = [(one, arm) for one in sets for arm in stage if one.admits(arm)]
            todo = [(one, arm) for one, arm in todo if not path_of(folder, one, arm.name, seed).exists()]
            texts = dict.fromkeys(one for one, arm in todo if arm.features != "words")
            parallel(delayed(encode)(one) for one in texts)
            parallel(delayed(run)(folder, one, arm, seed, rounds) for one, arm in todo)


def stages(arms):
    """Arms by their group, in the order in which they are done; those of no group last."""
    group_of = {arm: name for name, of in groups().items() for arm in of}
    names = dict.fromkeys([*groups(), None])
    parts = [[arm for arm in arms if group_of.get(arm) == name] for name in names]
    return [part for part in parts if part]


def finished_runs(folder, sets, arms, seeds):
    def of(name_of):
        paths = {
            (one.name, name_of(arm), seed): path_of(folder, one, name_of(arm), seed)
            for one, arm, seed in product(sets, arms, seeds)
        }
        return {key: json.loads(path.read_text(encoding="utf-8")) for key, path in paths.items() if path.exists()}

    return Finished(of(lambda arm: arm.name), of(lambda arm: arm.usual))


def as_given(finished, sets):
    """Of `Campaign(data)` on the sets as they are: with the names of the labels where they have them."""
    ours = {one: Arm(names=one.admits(Arm(names=True))) for one in sets}
    ours = {one: arm for one, arm in ours.items() if finished.seeds(one.name, arm)}
    shares = {one.name: finished.shares(one.name, arm)["share"] for one, arm in ours.items()}
    levels, at_random = (
        {one.name: finished.levels(one.name, each(arm)) for one, arm in ours.items()}
        for each in (lambda arm: arm, lambda arm: arm.random)
    )
    over = against_random(levels, at_random)
    found = over_sets(shares, lambda share: share)
    return {
        "below_random": None if over is None else len(over["worse"]),
        "median_share_of_time": found.get("median"),
        "worst_share_of_time": found.get("worst"),
        "sets": len(ours),
        "below_random_sets": [] if over is None else over["worse"],
        "below_random_unadjusted": [] if over is None else over["worse_unadjusted"],
        "over_random": over,
    }


def summed_up(finished, sets, arms):
    by_condition = {}
    for arm in arms:
        by_condition.setdefault(arm.condition, []).append(arm)
    names = [one.name for one in sets]
    conditions = {key: condition_figures(finished, names, of) for key, of in by_condition.items()}
    conditions = {key: found for key, found in conditions.items() if found["arms"]}
    words = conditions.get("words", {})
    named = conditions.get("words, names", {})
    first = {
        "default_within_noise_of_best": words.get("default_within_noise_of_best"),
        "sets_judged": words.get("sets_judged"),
        "named_within_noise_of_best": named.get("default_within_noise_of_best"),
        "named_sets_judged": named.get("sets_judged"),
    }
    return first | as_given(finished, sets) | {"runs": len(finished.runs), "conditions": conditions}


def arguments(given):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two made-up sets, two seeds, five arms")
    parser.add_argument("--sets", help="names, by comma; all by default")
    parser.add_argument("--arms", help="groups and arms, by comma; all groups by default")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--add", type=Path, action="append", default=[], metavar="FOLDER", help="sets of your own")
    parser.add_argument("--out", type=Path, help="folder of the runs; by default runs/arena")
    parser.add_argument("--finished", action="store_true", help="run nothing; sum up what is there")
    options = parser.parse_args(given)
    options.arms = options.arms or (QUICK_ARMS if options.quick else ",".join(groups()))
    options.seeds = options.seeds or (2 if options.quick else 5)
    try:
        options.arms = chosen_arms(options.arms)
        sets = (made_up_sets() if options.quick else shared_sets()) + [s for f in options.add for s in sets_in(f)]
    except ValueError as error:
        parser.error(str(error))
    wanted = [one.name for one in sets] if options.sets is None else options.sets.split(",")
    options.sets = [one for one in sets if one.name in wanted]
    if not options.sets:
        parser.error("none of these sets is there: set LABELWISE_SHARED_DATA, or use --add FOLDER, or --quick")
    return options


def main(given=None):
    options = arguments(given)
    rounds, full = (QUICK_ROUNDS, QUICK_FULL) if options.quick else (ROUNDS, FULL)
    with tempfile.TemporaryDirectory() as scratch:
        options.out = options.out or (Path(scratch) if options.quick else RUNS)
        seeds = range(options.seeds)
        if not options.finished:
            run_all_of(options.sets, options.arms, seeds, options, rounds, full)
        figures = summed_up(finished_runs(options.out, options.sets, options.arms, seeds), options.sets, options.arms)
        figures |= {"seeds": options.seeds, "arms": [arm.name for arm in options.arms]}
        options.out.mkdir(parents=True, exist_ok=True)
        write_text(options.out / "report.md", report(figures))
        print(report(figures), file=sys.stderr)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
