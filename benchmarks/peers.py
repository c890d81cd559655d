"""Ours beside the peers: a person's hours to the same level, seconds to the next questions, accuracy at equal labels.

    python benchmarks/peers.py --install          # make the peers' environments, once; needs a package index
    python benchmarks/peers.py [--quick] [--environments FOLDER]
    python benchmarks/peers.py --hours [--sets a,b] [--seeds N]     # the campaigns in hours alone

small-text, modAL, libact, scikit-activeml, Potato and river each run in an environment of their own (`_peers/*.txt`
pins them), in a process and on one thread of its own, and so do we; all are fed the same arrays. Everybody has the same
classifier where one can choose it: a logistic regression per label, C = 10, liblinear. Peers are given sparse rows
where they take them.

* Speed: 100 items are answered in full, then batches of 1 or 10 are asked. A round is from answers to the next
  questions, the model refreshed with those answers. Processor seconds, the mean of a few rounds after a rehearsal.
  `fastest_peer_over_ours` is for 10 questions from 4000 items with 50 labels: every strategy of a peer against the
  nearest of ours with the same classifier, and the fastest of all against our default campaign; the least of these
  ratios, over made-up and, where LABELWISE_SHARED_DATA has it, real data.
* Accuracy: from 30 to 100 items, or as many answers, on items nobody asks about; every choice of items is judged by the
  same classifier, our default campaign by its own model.
* Hours: campaigns from 20 to 340 whole items on shared sets, until each is as good as the usual way (`_peers/hours.py`,
  `_peers/hour_figures.py`). `hours_ours_over_best_peer` is our default over the peer that needs the fewest hours on a
  set, as a median over sets. Finished campaigns are kept in runs/peers and not done again.
* Streams: river and `OnlineBayes`, each row predicted, then learnt.

The last line printed is one JSON object. Without any environment --quick measures ours alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # also where this file is loaded from elsewhere
sys.path.insert(0, str(Path(__file__).parent / "_peers"))

from accuracy import accuracy_jobs, judge, stream_figures
from environments import DEFAULT_FOLDER, interpreter, make_all
from hour_figures import NO_PEERS, summary
from hours import WITH_NAMES, WITHOUT_NAMES, campaigns, finished
from pools import made_up, real
from protocol import save_task

HERE = Path(__file__).parent / "_peers"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
ANSWERED = 100  # items at the start of a timed run
LONGEST = 2 * 3600.0  # seconds of one runner, by the clock: a busy machine gives it little time
HOUR_SETS, HOUR_SEEDS = (*WITHOUT_NAMES, *WITH_NAMES), 3  # of the campaigns in hours


@dataclass(frozen=True)
class Package:
    """A package, its strategies and, for each, the nearest of ours."""

    name: str
    environment: str
    runner: str
    nearest: dict[str, str]  # empty where no strategy of ours has the same classifier
    one_at_a_time: tuple[str, ...] = ()
    rounds: int = 3
    judged: bool = True
    slow: tuple[str, ...] = ()  # besides those that ask for one at a time: only in campaigns on small sets
    of_items: tuple[str, ...] = ()  # where a strategy has another name for whole items

    @property
    def campaigns(self) -> tuple[str, ...]:
        """The strategies whose hours are measured."""
        return self.of_items or (*self.nearest, *self.slow)

    def jobs(self, case: str, data: Path, batch: int) -> list[dict[str, Any]]:
        def rounds(strategy: str) -> int:
            return 1 if strategy in self.one_at_a_time and batch > 1 else self.rounds

        return [
            {"strategy": strategy, "case": case, "data": str(data), "batch": batch, "rounds": rounds(strategy)}
            for strategy in self.nearest
        ]


PEERS = (
    Package(
        "small-text",
        "current",
        "small_text_runner.py",
        {"prediction_entropy": "uncertainty", "cvirs": "ranked_inconsistency"},
    ),
    Package(
        "small-text 2",
        "small-text-2",
        "small_text_runner.py",
        {"label_cardinality_inconsistency": "adaptive_margin", "adaptive": "adaptive_margin"},
    ),
    Package(
        "modAL",
        "older",
        "modal_runner.py",
        {
            "SVM_binary_minimum": "binary_minimisation",
            "max_loss": "max_loss",
            "mean_max_loss": "mean_max_loss",
            "min_confidence": "binary_minimisation",
            "avg_confidence": "mean_score",
            "max_score": "mean_score",
            "avg_score": "mean_score",
        },
        one_at_a_time=("SVM_binary_minimum",),
    ),
    Package(
        "libact",
        "older",
        "libact_runner.py",
        {"mmc": "expected_loss_reduction", "binary_minimization": "binary_minimisation"},
        one_at_a_time=("mmc", "binary_minimization"),
    ),
    Package(
        "scikit-activeml",
        "current",
        "skactiveml_runner.py",
        {"entropy": "uncertainty_pairs"},
        judged=False,
        of_items=("items entropy",),
    ),
    Package(
        "Potato",
        "potato",
        "potato_runner.py",
        dict.fromkeys(("uncertainty", "uncertainty_unmixed", "hybrid", "diversity"), ""),
        slow=("badge",),
    ),
)
OTHERS_OF_OURS = ("default", "random", "balanced_pairs")
OUR_DEFAULT = "labelwise default"


@dataclass
class Bench:
    """Where things are, and what came out so far."""

    environments: Path
    scratch: Path
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)  # of the processor, by strategy and case
    wall: dict[str, dict[str, float]] = field(default_factory=dict)  # the least of the rounds
    failed: dict[str, str] = field(default_factory=dict)

    def there(self) -> list[Package]:
        return [peer for peer in PEERS if interpreter(self.environments, peer.environment).exists()]

    def run(self, python: str, runner: str, argument: Path) -> Any:
        """What a runner prints on its last line; None, and a word in `failed`, where it gives nothing."""
        command = [python, str(HERE / runner), str(argument)]
        settings = {**os.environ, **ONE_THREAD, "PYTHONWARNINGS": "ignore"}
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, env=settings, timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            self.failed[runner] = f"took more than {LONGEST / 3600:.0f} hours"
            return None
        lines = done.stdout.strip().splitlines()
        if done.returncode != 0 or not lines:
            self.failed[runner] = f"ended with code {done.returncode}"
            return None
        return json.loads(lines[-1])

    def play(self, peer: Package, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        file = self.scratch / "jobs.json"
        file.write_text(json.dumps(jobs), encoding="utf-8")
        python = sys.executable if peer.environment == "" else str(interpreter(self.environments, peer.environment))
        played = self.run(python, peer.runner, file) or []
        for one in played:
            if "error" in one:
                self.failed[f"{peer.name} {one['strategy']}"] = one["error"]
        return [one for one in played if "error" not in one]

    def time(self, peer: Package, cases: dict[str, Path], batches: tuple[int, ...]) -> None:
        jobs = [job for case, data in cases.items() for k in batches for job in peer.jobs(f"{k} from {case}", data, k)]
        for one in self.play(peer, jobs):
            if one["processor"]:
                name = f"{peer.name} {one['strategy']}"
                self.seconds.setdefault(name, {})[one["case"]] = float(np.mean(one["processor"]))
                self.wall.setdefault(name, {})[one["case"]] = float(np.min(one["wall"]))


OURS = Package(
    "labelwise",
    "",
    "labelwise_runner.py",
    {
        name: name
        for name in (*OTHERS_OF_OURS, *sorted({name for peer in PEERS for name in peer.nearest.values() if name}))
    },
    rounds=9,
)
OURS_QUICK = replace(OURS, nearest={name: name for name in ("default", "uncertainty")}, rounds=2)


def timed_cases(quick: bool, scratch: Path) -> dict[str, Path]:
    """Files of the pools to time on; the last made-up one, and the real one, are of the size that counts."""
    sizes = (300,) if quick else (2000, 4000)
    pools = {f"{n} made-up": made_up(n) for n in sizes}
    found = None if quick else real("bibtex", 4000)
    if found is not None:
        pools["4000 of bibtex"] = found
    files = {}
    for case, (X, Y) in pools.items():
        files[case] = scratch / f"{case.replace(' ', '-')}.npz"
        save_task(files[case], X, Y, np.arange(ANSWERED))
    return files


def ratios(bench: Bench, cases: list[str]) -> dict[str, Any]:
    """How many times as long the peers take, at least, with the same classifier and against our default; see above."""
    theirs = {f"{peer.name} {strategy}" for peer in PEERS for strategy in peer.nearest}
    took = [{name: at[case] for name, at in bench.seconds.items() if case in at} for case in cases]
    fastest = [min(theirs & of_case.keys(), key=of_case.__getitem__, default=None) for of_case in took]
    nearest = {case: over_nearest(bench, case) for case in cases}
    same = [ratio for of_case in nearest.values() for ratio in of_case.values()]
    default = [
        of_case[name] / of_case[OUR_DEFAULT]
        for of_case, name in zip(took, fastest, strict=True)
        if name is not None and OUR_DEFAULT in of_case
    ]
    return {
        "fastest_peer_over_ours": min([*same, *default], default=None),
        "fastest_peer_over_ours_same_classifier": min(same, default=None),
        "fastest_peer_over_our_default": min(default, default=None),
        "fastest_peer": dict(zip(cases, fastest, strict=True)),
        "peer_over_nearest_of_ours": nearest,
    }


def over_nearest(bench: Bench, case: str) -> dict[str, float]:
    """Each strategy of a peer against the nearest of ours, with the same classifier."""
    found = {}
    for peer in PEERS:
        for strategy, nearest in peer.nearest.items():
            theirs = bench.seconds.get(f"{peer.name} {strategy}", {}).get(case)
            own = bench.seconds.get(f"{OURS.name} {nearest}", {}).get(case)
            if theirs and own:
                found[f"{peer.name} {strategy}"] = theirs / own
    return found


def measure(bench: Bench, quick: bool) -> dict[str, Any]:
    cases = timed_cases(quick, bench.scratch)
    peers = bench.there()
    missing = [peer.name for peer in PEERS if peer not in peers]
    if missing:
        print(f"no environment for {', '.join(missing)} in {bench.environments}; --install makes them", file=sys.stderr)
    for package in (*peers, OURS_QUICK if quick else OURS):
        print(f"-- {package.name}", file=sys.stderr, flush=True)
        bench.time(package, cases, (1, 10))
    counted = [f"10 from {case}" for case in cases if case.startswith("4000") or quick]
    figures = ratios(bench, counted)
    figures["peers"] = [peer.name for peer in peers]
    figures["seconds"], figures["wall_seconds"] = bench.seconds, bench.wall
    figures |= judged(bench, peers, quick)
    if not quick:
        figures["hours"] = hours(bench, peers, HOUR_SETS, HOUR_SEEDS)
    figures["failed"] = bench.failed
    return figures


def hours(bench: Bench, peers: list[Package], sets: Sequence[str], seeds: int) -> dict[str, Any]:
    """Campaigns in a person's hours; those that are kept in runs/peers are not done again."""
    campaigns(bench.play, peers, bench.scratch, sets, seeds)
    arms = [*NO_PEERS, *(f"{peer.name} {strategy}" for peer in PEERS for strategy in peer.campaigns)]
    return summary(finished(arms, sets, seeds))


def judged(bench: Bench, peers: list[Package], quick: bool) -> dict[str, Any]:
    """Accuracy at equal labels, and streams."""
    scores: dict[str, dict[str, list[float]]] = {}
    for package in (*(peer for peer in peers if peer.judged), OURS_QUICK if quick else OURS):
        print(f"-- accuracy of {package.name}", file=sys.stderr, flush=True)
        plans = accuracy_jobs(package, bench.scratch, quick)
        for one in bench.play(package, [plan.job for plan in plans]):
            judge(scores, package.name, one, plans)
    online = bench.scratch / "stream.npz"
    X, Y = (None if quick else real("bibtex", 3000)) or made_up(300 if quick else 3000, seed=1)
    save_task(online, X, Y, np.arange(0))
    streams = bench.run(sys.executable, "online_runner.py", online) or {}
    river = interpreter(bench.environments, "current")
    if river.exists():
        streams |= bench.run(str(river), "river_runner.py", online) or {}
    return {"accuracy": scores, "streams": stream_figures(streams, Y)}


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small pools, one seed; runs without any peer")
    parser.add_argument("--install", action="store_true", help="make the environments and stop")
    parser.add_argument(
        "--environments",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="FOLDER",
        help="where they are; LABELWISE_PEERS, or .venv-peers",
    )
    parser.add_argument("--hours", action="store_true", help="only the campaigns in hours, the missing ones")
    parser.add_argument("--sets", default=",".join(HOUR_SETS), metavar="A,B", help="of --hours")
    parser.add_argument("--seeds", type=int, default=HOUR_SEEDS, metavar="N", help="of --hours")
    options = parser.parse_args()
    if options.install:
        make_all(options.environments)
        return
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.environments, Path(scratch))
        if not options.quick and not bench.there():
            parser.exit(2, f"there is no peer in {options.environments}: make them with --install, or use --quick\n")
        if options.hours:
            figures = hours(bench, bench.there(), options.sets.split(","), options.seeds) | {"failed": bench.failed}
        else:
            figures = measure(bench, options.quick)
        print(json.dumps(rounded(figures)))


if __name__ == "__main__":
    main()
