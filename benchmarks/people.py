"""Fifty people label through the page's interface for half an hour while the worker trains: how long do they wait?

    python benchmarks/people.py [--quick] [--only sqlite|postgresql]

One `labelwise serve` with its worker, in processes of their own; every person is signed in and keeps a connection, as a
browser does, and thinks for THINKING seconds on average, less than people need. Timed is one request: the answer saved
on disk and the next questions returned. Afterwards every acknowledged answer is looked for in the store. Memory is that
of the server's process, at the end and after a sixth of the time.

The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import psutil

from _fault_processes import Database, Server
from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.store.trainings import read_trainings

SIZES = {"quick": (2_000, 30, 10, 20.0), "full": (20_000, 60, 50, 1800.0)}  # items, labels, people, seconds
THINKING = 8.0  # seconds, on average
START = 200  # items answered beforehand
MIB = 2**20


class Person(threading.Thread):
    """Answers whatever is asked, at random; notes what was acknowledged and how long it waited."""

    def __init__(self, server: Server, secret: str, number: int, until: float) -> None:
        super().__init__(daemon=True)
        self.line, self.secret, self.until = server.connect(60.0), secret, until
        self.rng = random.Random(number)
        self.headers: dict[str, str] = {}
        self.acknowledged: dict[int, tuple[str, dict[str, bool]]] = {}
        self.waited: list[float] = []
        self.refused: list[str] = []
        self.dry = 0

    def run(self) -> None:
        self.sign_in()
        questions = self.post("/api/ask", {"items": 3})["questions"]
        time.sleep(self.rng.uniform(0.0, 2 * THINKING))  # not all at once
        while time.monotonic() < self.until:
            if not questions:
                self.dry += 1
                time.sleep(1.5)  # as the page does
                questions = self.post("/api/ask", {"items": 3})["questions"]
                continue
            question = questions.pop(0)
            time.sleep(self.rng.expovariate(1 / THINKING))
            values = {each["name"]: self.rng.random() < 0.05 for each in question["labels"]}
            body = {"lease": question["lease"], "values": values, "items": 3}
            start = time.perf_counter()
            reply = self.post("/api/answer", {**body, "have": [each["lease"] for each in questions]})
            self.waited.append(time.perf_counter() - start)
            if "event" in reply:
                self.acknowledged[reply["event"]] = (question["item"], values)
                questions += reply["questions"]

    def sign_in(self) -> None:
        form = {"content-type": "application/x-www-form-urlencoded"}
        self.line.request("POST", "/enter", urlencode({"secret": self.secret}), form)
        reply = self.line.getresponse()
        reply.read()
        self.headers = {"cookie": str(reply.headers["set-cookie"]).partition(";")[0]}
        self.line.request("GET", "/api/session", headers=self.headers)
        session = json.loads(self.line.getresponse().read())
        self.headers |= {"x-csrf-token": session["csrf"], "content-type": "application/json"}

    def post(self, path: str, body: Any) -> dict[str, Any]:
        for _ in range(2):  # a server may close a line that was idle; the same request again counts once
            try:
                self.line.request("POST", path, json.dumps(body), self.headers)
                reply = self.line.getresponse()
                text = reply.read().decode()
                if reply.status == 200:
                    return json.loads(text)
                self.refused.append(f"{reply.status} {text[:200]}")
                return {"questions": []}
            except (OSError, http.client.HTTPException):
                self.line.close()
        self.refused.append("no connection")
        return {"questions": []}


def make_project(location: str, n_items: int, n_labels: int) -> Project:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_items, 32))
    names = [f"label {j}" for j in range(n_labels)]
    data = LabelData.from_arrays(X, label_names=names, item_ids=[f"item {i}" for i in range(n_items)])
    project = Project.create(location, data, control=0.1, ready=2000)
    truth = X[:START] @ rng.standard_normal((32, n_labels)) > 8.0
    project.tell(
        [Answer(f"item {i}", dict(zip(names, row.tolist(), strict=True))) for i, row in enumerate(truth)], who="owner"
    )
    project.refresh()
    return project


def measure(location: str, size: str) -> dict[str, Any]:
    n_items, n_labels, number, seconds = SIZES[size]
    project = make_project(location, n_items, n_labels)
    server = Server(location, {})
    server.start()
    if not server.wait_until_up():
        raise RuntimeError("the server did not start")
    assert server.process is not None
    began, until = time.time(), time.monotonic() + seconds
    crowd = [Person(server, project.people.add(f"person {i}"), i, until) for i in range(number)]
    for person in crowd:
        person.start()
    memory = psutil.Process(server.process.pid)
    early = watch(memory, until - seconds * 5 / 6)
    late = watch(memory, until)
    for person in crowd:
        person.join(timeout=120)
    server.kill()
    saved = {event.id: (event.item, dict(event.values)) for event in project.events()}
    acknowledged = {event: said for person in crowd for event, said in person.acknowledged.items()}
    total = sum(len(person.acknowledged) for person in crowd)
    waits = 1000 * np.concatenate([person.waited for person in crowd])
    with project.store.reading() as connection:
        trainings = sum(row.state == "good" and row.started_at >= began for row in read_trainings(connection))
    project.close()
    p50, p95, p99 = np.quantile(waits, [0.5, 0.95, 0.99])
    return {
        "people": number,
        "minutes": round(seconds / 60, 1),
        "answers": int(waits.size),
        "p50_ms": round(float(p50), 1),
        "p95_ms": round(float(p95), 1),
        "p99_ms": round(float(p99), 1),
        "max_ms": round(float(waits.max()), 1),
        "lost": sum(saved.get(event) != said for event, said in acknowledged.items()) + total - len(acknowledged),
        "refused": sum(len(person.refused) for person in crowd),
        "nothing_ready": sum(person.dry for person in crowd),
        "trainings": trainings,
        "memory_early_mib": round(early / MIB, 1),
        "memory_end_mib": round(late / MIB, 1),
        "memory_ratio": round(late / early, 3),
    }


def watch(process: psutil.Process, until: float) -> int:
    """Wait; the most memory of the last ten looks, a second apart."""
    seen: list[int] = []
    while time.monotonic() < until:
        seen.append(process.memory_info().rss)
        time.sleep(1.0)
    return max(seen[-10:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="people") as folder:
        if options.only != "postgresql":
            figures["sqlite"] = measure(str(Path(folder) / "people.db"), options.size)
            print(json.dumps(figures["sqlite"]), file=sys.stderr, flush=True)
        if options.only != "sqlite" and not (options.size == "quick" and options.only is None):
            database = Database(Path(folder))
            try:
                figures["postgresql"] = measure(database.schema(), options.size)
            finally:
                database.kill()
    worst = {name: max(part[name] for part in figures.values()) for name in ("p99_ms", "lost", "memory_ratio")}
    print(json.dumps({**worst, **figures}))


if __name__ == "__main__":
    main()
