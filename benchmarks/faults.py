"""Does a project lose, double, falsify or misattribute an answer when everything around it fails?

    python benchmarks/faults.py [--quick] [--only sqlite|postgresql|histories] [--seed N]

Real processes: people label through `labelwise serve` with a worker beside it while faults happen, alone and together,
chosen by a seed: kill -9 of server, worker and database; power loss (everything after the last sync is gone, or any
part of it); full disk, short writes, failing syncs; the file replaced or deleted; the clock moved; two servers; a slow
or cut network. Overlap of 1 to 3; undo, skip, settle, rename, merge, retire and add in between. Clients log every
acknowledgement, and a plain model (_store_model.py) says what the store must hold.

Histories: the same people without processes, on a simulated disk (_simulated_disk.py), many and short.

The last line printed is one JSON object: `lost` was acknowledged and is not stored; `doubled` stands twice; `falsified`
is stored or counted and nobody gave it; `wrong_author` is stored under somebody else's name.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from _fault_histories import Histories, Tally
from _fault_processes import run_epochs
from _store_model import Findings

SIZES = {"quick": (14, 0, 400), "full": (1000, 1000, 100_000)}  # faults on SQLite, on PostgreSQL, histories
SHOWN = 20  # findings printed


@cache
def histories_of(seed: int) -> Histories:
    """One for each process: once the simulated disk is there, nothing reaches the real one."""
    return Histories(seed)


def play(numbers: range, seed: int) -> Tally:
    """Histories of these numbers, in this process."""
    histories, tally = histories_of(seed), Tally()
    for number in numbers:
        histories.run(number, tally)
    return tally


def play_all(number: int, seed: int) -> tuple[dict[str, Any], Findings]:
    """So many histories, a part of them in each of several processes."""
    jobs = min(os.cpu_count() or 1, 8)
    n_parts = max(jobs, min(number // 500, 100))
    parts = [range(start, number, n_parts) for start in range(n_parts)]
    found, total = Findings(), Tally()
    with ProcessPoolExecutor(jobs) as pool:
        for done, tally in enumerate(pool.map(play, parts, [seed] * len(parts)), start=1):
            total.histories += tally.histories
            total.faults += tally.faults
            total.acknowledged += tally.acknowledged
            found.extend(tally.findings)
            report(f"histories: {done} of {len(parts)} parts, {found.counts()}")
    return {"histories": total.histories, "faults": total.faults, "acknowledged": total.acknowledged}, found


def run_kind(kind: str, number: int, seed: int) -> tuple[dict[str, Any], Findings]:
    """All faults on one database, or all histories: figures and what was found."""
    start = time.perf_counter()
    if kind == "histories":
        figures, found = play_all(number, seed)
    else:
        with tempfile.TemporaryDirectory(prefix="faults") as folder:
            figures, found = run_epochs(Path(folder), kind, number, seed, report)
    return figures | {**found.counts(), "seconds": round(time.perf_counter() - start, 1)}, found


def report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    parser.add_argument("--only", choices=["sqlite", "postgresql", "histories"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--histories", type=int, help="how many, in place of those of the size")
    options = parser.parse_args()
    sizes = dict(zip(("sqlite", "postgresql", "histories"), SIZES[options.size], strict=True))
    if options.histories is not None:
        sizes["histories"] = options.histories
    kinds = [kind for kind, number in sizes.items() if number and options.only in (None, kind)]
    figures: dict[str, Any] = {}
    everything = Findings()
    with ProcessPoolExecutor(len(kinds)) as pool:  # at once: servers that start and stop leave the cores idle
        running = {kind: pool.submit(run_kind, kind, sizes[kind], options.seed) for kind in kinds}
        for kind, done in running.items():
            figures[kind], found = done.result()
            everything.extend(found)
    for each in everything.all()[:SHOWN]:
        report(each)
    totals = {name: sum(part[name] for part in figures.values()) for name in ("faults", "acknowledged")}
    print(json.dumps({**totals, **everything.counts(), **figures}))


if __name__ == "__main__":
    main()
