"""The full arena: published sets × models × strategies × seeds, from 50 to 300 items' worth of answers.

    python benchmarks/arena.py [--quick] [--out FOLDER] [--jobs N] [--saved]

The published sets are read from the folder LABELWISE_SHARED_DATA, or ../shared/data beside the repository; without
them the sets that ship with labelwise are used. Every finished run is kept in the folder (runs/arena unless given): a
stopped benchmark goes on where it was, and --saved tells what came of the runs that are there without doing the others.
Strategies that ask for pairs get as many answers a round as those that ask for items. A full run writes
benchmarks/results/arena.json; the last line printed is the same.
"""

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from labelwise.studies.findings import result_rows
from labelwise.studies.plans import BUILT_IN_SOURCES, DEFAULT_ENTRANT, RIVAL_STRATEGIES, Arena, Entrant
from labelwise.studies.report import report_study
from labelwise.studies.simulate import Schedule
from labelwise.studies.sources import published
from labelwise.studies.study import load_arena, run_sets, saved_study

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
RESULT = ROOT / "benchmarks" / "results" / "arena.json"
METRICS = ("macro_roc_auc", "macro_f1", "precision_at_1_3", "macro_average_precision")
SETS = ("yeast", "emotions", "scene", "medical", "enron", "corel5k", "bibtex", "rcv1sub1", "tmc2007-500")
ENTRANTS = (
    DEFAULT_ENTRANT,
    Entrant("label_gp", ("random", "uncertainty", "mutual_information", "label_covariance", "balanced_pairs")),
    Entrant("orthogonal_target_gp", ("random", "target_entropy")),
    Entrant("binary_relevance", ("random", "uncertainty", *RIVAL_STRATEGIES, "balanced_pairs")),
)


def say(text):
    print(text, file=sys.stderr, flush=True)


def progress(name, done, total):
    say(f"{name}: {done} of {total} runs")


def the_arena(quick):
    sources = published(DATA, SETS) if DATA.is_dir() else []
    if not sources:
        say(f"the published data sets are not in {DATA.name}; set LABELWISE_SHARED_DATA. Using what ships instead.")
    schedule = Schedule(start=50, rounds=5, batch=50, pool_limit=1500, test_limit=1000)
    arena = Arena(tuple(sources) or BUILT_IN_SOURCES, ENTRANTS, (0, 1, 2), schedule, "arena", METRICS)
    if not quick:
        return arena
    few = Schedule(start=20, rounds=2, batch=10, pool_limit=200, test_limit=200)
    return replace(arena, sources=arena.sources[:2], seeds=(0,), schedule=few)


def set_by_set(result):
    """Set to pairing to the mean over seeds of each metric at the end, with the seeds behind it."""
    last = result.table.where(round=result.table["round"].max())
    found = {}
    for data, model, strategy in last.distinct("data", "model", "strategy"):
        rows = last.where(data=data, model=model, strategy=strategy)
        means = {metric: round(float(rows[metric].mean()), 4) for metric in METRICS}
        found.setdefault(data, {})[f"{strategy} · {model}"] = {"seeds": len(rows), **means}
    return found


def rounded(row):
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two sets, one seed, a few questions; no file")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "arena", help="folder of the finished runs")
    parser.add_argument("--jobs", type=int, help="runs side by side; by default as many as cores")
    parser.add_argument("--saved", action="store_true", help="run nothing; tell what is there")
    options = parser.parse_args()
    arena = the_arena(options.quick)
    folder = options.out / "quick" if options.quick else options.out
    loaded = load_arena(arena, check=not options.saved)
    if options.saved:
        result = saved_study(arena.name, loaded, folder, is_scaled=True)
    else:
        result = run_sets(arena.name, loaded, folder, jobs=options.jobs, on_run=progress, is_scaled=True)
    figures = {
        "sets": {name: study.facts["data"] for name, study in result.sets.items()},
        "runs": sum(len(study.results) for study in result.sets.values()),
        "runs_of_the_whole_arena": len(arena.sources) * len(arena.arms()) * len(arena.seeds),
        "standings": [rounded(row) for row in result_rows(result.table, METRICS)],
        "at_the_end": set_by_set(result),
    }
    if not options.quick and arena.sources != BUILT_IN_SOURCES:
        RESULT.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    report_study(result, METRICS, folder)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
