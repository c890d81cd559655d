"""What people wait for who label together, and what survives when the processes behind them are killed.

    python benchmarks/labelling_load.py [--quick]

Load: 50 annotators, threads of one process, label a project of 100 000 items and 200 labels whose worker trains all
the while in a process of its own. Each thinks for a second on average, much less than a person; then all of them
answer without thinking at all (burst). Timed is one call: the answer saved on disk and the next question returned.

Kill: 8 clients answer through a service in a process of its own; service and worker are killed (SIGKILL) at random
moments, 50 times, on SQLite and on PostgreSQL. Every acknowledged answer must be there, none twice, the store must
open clean, and the next question must be that of a project that got the same answers without a break.

The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from _labelling_kill import kill_rounds, postgresql_server
from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.store.trainings import read_trainings
from labelwise.labelling.training.worker_process import start_worker

SIZES = {  # items, labels, people, seconds of load, seconds of burst, kill rounds
    "quick": (5_000, 50, 20, 6.0, 3.0, 3),
    "full": (100_000, 200, 50, 25.0, 5.0, 50),
}
START = 300  # items answered before the load begins
THINKING = 1.0  # seconds, on average


class Person(threading.Thread):
    """Answers whatever is asked, at random, until told to stop; notes what it was given and how long it waited."""

    def __init__(self, project: Project, number: int, thinking: float, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.project, self.who, self.thinking, self.stop = project, f"person {number}", thinking, stop
        self.rng = np.random.default_rng(number)
        self.given: list[str] = []
        self.events: list[int] = []
        self.waited: list[float] = []
        self.dry = 0  # times no question was ready

    def run(self) -> None:
        lease = None
        while not self.stop.is_set():
            if lease is None:
                lease = next(iter(self.project.service.ask(self.who)), None)
                if lease is None:
                    self.dry += 1
                    time.sleep(0.05)
                    continue
                self.given.append(lease.question.item)
            if self.thinking:
                time.sleep(self.rng.exponential(self.thinking))
            values = dict(zip(lease.question.labels, (self.rng.random(200) < 0.05).tolist(), strict=False))
            start = time.perf_counter()
            receipt, lease = self.project.service.answer_and_ask(lease.token, values)
            self.waited.append(time.perf_counter() - start)
            self.events.append(receipt.event)
            if lease is not None:
                self.given.append(lease.question.item)


def make_project(path: Path, n_items: int, n_labels: int, seed: int = 0) -> Project:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_items, 32))
    names = [f"label {j}" for j in range(n_labels)]
    data = LabelData.from_arrays(X, label_names=names, item_ids=[f"item {i}" for i in range(n_items)])
    project = Project.create(path, data, control=0.1, ready=5000)
    truth = X[:START] @ rng.standard_normal((32, n_labels)) > 8.0
    answers = [Answer(f"item {i}", dict(zip(names, row.tolist(), strict=True))) for i, row in enumerate(truth)]
    project.tell(answers, who="owner")
    return project


def work(project: Project, people: int, seconds: float, thinking: float) -> list[Person]:
    stop = threading.Event()
    crowd = [Person(project, number, thinking, stop) for number in range(people)]
    for person in crowd:
        person.start()
    time.sleep(seconds)
    stop.set()
    for person in crowd:
        person.join(timeout=60)
    return crowd


def wait_for_questions(project: Project) -> float:
    start = time.perf_counter()
    while not (leases := project.service.ask("first of all")):
        time.sleep(0.2)
    project.service.skip(leases[0].token)
    return time.perf_counter() - start


def measure_load(folder: Path, size: str) -> dict[str, Any]:
    n_items, n_labels, people, seconds, burst, _ = SIZES[size]
    project = make_project(folder / "load.db", n_items, n_labels)
    worker = start_worker(project.store, OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    try:
        print(f"first questions after {wait_for_questions(project):.1f} s", file=sys.stderr, flush=True)
        began = time.time()
        calm = work(project, people, seconds, THINKING)
        trained = training_share(project, began, time.time())
        rush = work(project, people, burst, 0.0)
    finally:
        worker.kill()
        worker.wait()
    crowd = [*calm, *rush]
    given = [item for half in (calm, rush) for person in half for item in person.given]
    saved = {event.id: event for event in project.events()}
    acknowledged = [event for person in crowd for event in person.events]
    waits = 1000 * np.concatenate([person.waited for person in calm])
    rushed = 1000 * np.concatenate([person.waited for person in rush])
    project.close()
    return {
        "items": n_items,
        "labels": n_labels,
        "people": people,
        "seconds": seconds,
        "answers": int(waits.size),
        "p50_ms": round(float(np.quantile(waits, 0.5)), 1),
        "p99_ms": round(float(np.quantile(waits, 0.99)), 1),
        "max_ms": round(float(waits.max()), 1),
        "burst_answers_per_second": round(rushed.size / burst, 1),
        "burst_p99_ms": round(float(np.quantile(rushed, 0.99)), 1),
        "duplicates": len(given) - len(set(given)) - repeated(calm, rush),
        "lost": len(set(acknowledged) - saved.keys()) + len(acknowledged) - len(set(acknowledged)),
        "nothing_ready": sum(person.dry for person in crowd),
        "trainings": trained["trainings"],
        "training_share_of_time": trained["share"],
    }


def repeated(calm: list[Person], rush: list[Person]) -> int:
    """Questions a person held when the first part ended and was shown again in the second: asked once, noted twice."""
    return sum(bool(a.given and b.given and a.given[-1] == b.given[0]) for a, b in zip(calm, rush, strict=True))


def training_share(project: Project, began: float, ended: float) -> dict[str, Any]:
    """How much of the time a training was running."""
    with project.store.reading() as connection:
        rows = read_trainings(connection)
    spans = [(max(row.started_at, began), min(row.finished_at or ended, ended)) for row in rows]
    busy = sum(max(0.0, stop - start) for start, stop in spans)
    finished = sum(row.state == "good" and began <= row.finished_at <= ended for row in rows)
    return {"trainings": finished, "share": round(busy / (ended - began), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    parser.add_argument("--only", choices=["load", "kill"])
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "kill":
            figures |= measure_load(Path(folder), options.size)
            print(json.dumps(figures), file=sys.stderr, flush=True)
        if options.only != "load":
            rounds = SIZES[options.size][-1]
            figures["kill_sqlite"] = kill_rounds(str(Path(folder) / "kill.db"), str(Path(folder) / "again.db"), rounds)
            with postgresql_server(Path(folder)) as addresses:
                figures["kill_postgresql"] = kill_rounds(*addresses, rounds) if addresses else "no server"
    for key in ("duplicates", "lost"):
        kills = [
            figures[kind][key] for kind in ("kill_sqlite", "kill_postgresql") if isinstance(figures.get(kind), dict)
        ]
        figures[key] = figures.get(key, 0) + sum(kills)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
