"""The database is stopped hard and started again beside a real server: 503 in plain words, then all goes on."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from labelling.postgres_server import NoServer, PostgresServer
from labelling.web.browsing import Process, free_port
from labelwise import Answer
from labelwise.labelling import Project, StoreError
from labelwise.labelling.errors import ProjectFileReplaced
from labelwise.labelling.store import Store
from labelwise.labelling.training.locks import only_worker, worker_is_running
from labelwise.labelling.web import server as serving
from labelwise.labelling.web.reach import local_secret

httpx = pytest.importorskip("httpx", reason="needs httpx, a test dependency")

BACK_WITHIN = 10.0  # seconds after the database is back
SAID = {"left": True, "low": False, "far": False}


@pytest.fixture
def database() -> Iterator[PostgresServer]:
    """A server of its own, to be stopped."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    try:
        server = PostgresServer()
    except NoServer as error:
        pytest.skip(str(error))
    yield server
    server.delete()


class Robot(threading.Thread):
    """Somebody who answers without a rest, and looks at a page now and then; keeps what came back."""

    def __init__(self, address: str, secret: str) -> None:
        super().__init__(daemon=True)
        self.address, self.secret = address, secret
        self.statuses: Counter[int] = Counter()
        self.told: set[str] = set()
        self.acknowledged: dict[int, str] = {}
        self.dropped: list[str] = []  # requests that found their connection closed; a browser would send them again
        self.enough = threading.Event()

    def __repr__(self) -> str:
        return f"Robot({dict(self.statuses)}, dropped {self.dropped}, alive {self.is_alive()})"

    def run(self) -> None:
        with httpx.Client(base_url=self.address, timeout=60, follow_redirects=True) as client:
            page = client.post("/enter", data={"secret": self.secret})
            csrf = re.findall(r'name="csrf-token" content="([0-9a-f]+)"', page.text)[0]
            self.asked: list[dict[str, Any]] = []
            while not self.enough.is_set():
                try:
                    self.step(client, csrf)
                except httpx.TimeoutException:
                    raise  # nothing may hang
                except httpx.TransportError as error:
                    self.dropped.append(repr(error))
                    time.sleep(0.1)

    def step(self, client: Any, csrf: str) -> None:
        self.note(client.get("/browse", headers={"accept": "text/html"}))
        self.note(httpx.get(f"{self.address}/label", headers={"accept": "text/html"}, timeout=60))
        path, body = "/api/ask", {}
        if self.asked:
            values = {label["name"]: True for label in self.asked[0]["labels"]}
            path, body = "/api/answer", {"lease": self.asked[0]["lease"], "values": values}
        reply = client.post(path, json=body, headers={"x-csrf-token": csrf})
        self.note(reply)
        if reply.status_code == 200:
            if self.asked:
                self.acknowledged[reply.json()["event"]] = self.asked[0]["item"]
            self.asked = reply.json()["questions"]
        elif reply.status_code == 409:
            self.asked = []

    def note(self, reply: Any) -> None:
        self.statuses[reply.status_code] += 1
        if reply.status_code >= 500:
            self.told.add(reply.text)


def wait_for(what: Any, seconds: float, about: Any = "") -> float:
    """How long it took until something is so; `about` is shown where it does not come."""
    began = time.monotonic()
    while True:
        try:
            if what():
                return time.monotonic() - began
        except StoreError:
            pass
        assert time.monotonic() - began < seconds, f"not within {seconds} s {about}"
        time.sleep(0.05)


@pytest.mark.slow
def test_everything_survives_a_restart_of_the_database(make, database, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = make(database.address(), ready=20)
    project.refresh()
    with open(tmp_path / "log", "w+b") as log:
        page = Process(database.address(), free_port(), worker=True, log=log)
        secret = local_secret(serving.secret_folder(project))
        robots = [Robot(page.address, secret) for _ in range(4)]
        try:
            wait_for(lambda: worker_is_running(project.store), 60)
            for robot in robots:
                robot.start()
            for _ in range(3):
                wait_for(lambda: all(robot.statuses[200] > 5 for robot in robots), 60, robots)
                time.sleep(0.3)
                for robot in robots:
                    robot.statuses[503] = 0
                database.stop_hard()
                wait_for(lambda: all(robot.statuses[503] > 3 for robot in robots), 60, robots)
                database.start()
                for robot in robots:
                    robot.statuses[200] = 0
                wait_for(lambda: worker_is_running(project.store), BACK_WITHIN)
                project.tell(Answer("p39", SAID, correction=True), who="owner")
                wait_for(lambda: project.is_settled or all(r.statuses[200] > 5 for r in robots), 60, robots)
            for robot in robots:
                robot.enough.set()
                robot.join(60)
            wait_for(lambda: project.is_settled, 60)
        finally:
            page.stop()
    said = (tmp_path / "log").read_text()
    for robot in robots:
        assert not {status for status in robot.statuses if status >= 500} - {503}, robot.statuses
        assert len(robot.dropped) < 5, robot
        assert all("the database does not answer" in told.lower() for told in robot.told), robot.told
        assert not any(str(database.folder) in told or "postgresql" in told for told in robot.told)
    assert "Exception in thread" not in said and str(database.folder) in said, "the log says where the database is"
    saved = {event.id: event.item for event in project.events()}
    acknowledged = {event: item for robot in robots for event, item in robot.acknowledged.items()}
    assert acknowledged and all(saved.get(event) == item for event, item in acknowledged.items())


@pytest.mark.slow
def test_a_worker_that_died_with_the_database_is_started_again(make, database, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = make(database.address())
    keeper = serving.WorkerKeeper(project)
    try:
        wait_for(lambda: worker_is_running(project.store), 60)
        first = keeper._process
        database.stop_hard()
        os.kill(first.pid, signal.SIGKILL)
        time.sleep(3 * serving.WORKER_DELAY)
        database.start()
        wait_for(lambda: keeper._process not in (None, first), BACK_WITHIN)
        wait_for(lambda: worker_is_running(project.store), 60)  # what it loads takes seconds on a busy machine
    finally:
        keeper.stop()


@pytest.mark.slow
def test_the_lock_of_the_worker_is_taken_anew(make, database):
    """It is lost with the restart: another could be the worker then."""
    store = make(database.address()).store
    with only_worker(store) as check_lock:
        check_lock()
        assert worker_is_running(store)
        database.stop_hard()
        database.start()
        assert not worker_is_running(store)  # other connections are made anew, without a word
        with pytest.raises(StoreError, match="does not answer"):
            check_lock()
    with only_worker(store) as check_lock:
        check_lock()


@pytest.mark.slow
def test_connections_from_before_a_restart_are_not_used(make, database):
    project = make(database.address())
    project.tell(Answer("p0", SAID))
    database.stop_hard()
    with pytest.raises(StoreError, match="the database does not answer") as raised:
        project.tell(Answer("p1", SAID))
    assert raised.value.public.startswith("the database does not answer")
    database.start()
    project.tell(Answer("p1", SAID))
    assert len(project.events()) == 2


def test_tasks_saved_together_all_learn_that_the_connection_is_lost(make, database):
    store = make(database.address()).store
    began, release, told = threading.Event(), threading.Event(), []

    def slow(connection):
        began.set()
        release.wait(30)

    def cut(connection):
        database.stop_hard()
        connection.exec_driver_sql("SELECT 1")

    def write(task):
        try:
            store.write(task)
        except Exception as error:
            told.append(error)

    tasks = [slow, cut, lambda c: c.exec_driver_sql("SELECT 1"), lambda c: c.exec_driver_sql("SELECT 2")]
    threads = [threading.Thread(target=write, args=(task,)) for task in tasks]
    threads[0].start()
    began.wait(30)
    for thread in threads[1:]:
        thread.start()
    while len(store._waiting) < 3:
        time.sleep(0.01)
    release.set()
    for thread in threads:
        thread.join()
    assert [type(error) for error in told] == [StoreError] * 3, told
    assert all("does not answer" in error.public for error in told)


# -- without a server --------------------------------------------------------------------------------------------------


def test_the_keeper_survives_a_database_that_cannot_be_reached(project, monkeypatch):
    troubles = iter([StoreError("gone"), StoreError("gone"), OSError("no more processes"), None])
    started = []

    def running(store: Store) -> bool:
        trouble = next(troubles, None)
        if trouble is not None:
            raise trouble
        return False

    class Lives:
        def __init__(self, store: Store) -> None:
            started.append(store)

        def poll(self) -> int | None:
            return None

        def terminate(self) -> None: ...

        def wait(self) -> None: ...

    monkeypatch.setattr(serving, "worker_is_running", running)
    monkeypatch.setattr(serving, "start_worker", Lives)
    monkeypatch.setattr(serving, "WORKER_DELAY", 0.01)
    keeper = serving.WorkerKeeper(project)
    wait_for(lambda: started, 20)
    keeper.stop()


def test_a_worker_that_lived_well_is_started_again_soon(project, monkeypatch):
    monkeypatch.setattr(serving, "WORKER_DELAY", 0.5)
    keeper = serving.WorkerKeeper(project)
    keeper._stopped.set()
    keeper._thread.join()
    for code, delay in ((1, 1.0), (1, 2.0), (StoreError.exit_code, 4.0), (StoreError.exit_code, 4.0), (1, 8.0)):
        keeper._began = time.monotonic()
        keeper._note_death(code)
        assert keeper._delay == delay
    keeper._began = time.monotonic() - 2 * serving.LIVED_WELL
    keeper._note_death(1)
    assert keeper._delay == 0.5
    keeper._delay = 40.0
    keeper._began = time.monotonic()
    keeper._note_death(1)
    assert keeper._delay == serving.LONGEST_DELAY


@pytest.mark.parametrize("said", ["database is locked", "database or disk is full", "disk I/O error"])
def test_a_worker_waits_for_a_file_that_cannot_be_written(make, monkeypatch, said):
    import sqlite3

    project, told = make(), []
    worker = project.worker(on_event=told.append)
    monkeypatch.setattr("labelwise.labelling.training.worker.FIRST_RETRY", 0.01)
    writing, failures = type(project.store).writing, iter([1, 1, 1])

    def fails(self):
        if next(failures, None):
            with self._translate_errors():
                raise sqlite3.OperationalError(said)
        return writing(self)

    monkeypatch.setattr(type(project.store), "writing", fails)
    worker.run(until=lambda: project.is_settled)
    assert project.is_settled
    assert sum("trying again" in line for line in told) == 3
    project.tell(Answer("p0", SAID))
    failures = iter([1])
    with pytest.raises(StoreError):
        worker.run(until=lambda: project.is_settled, patient=False)


def test_a_worker_does_not_wait_for_a_file_that_was_replaced(make):
    project = make()
    os.unlink(project.store.location)
    with pytest.raises(ProjectFileReplaced):
        Project.worker(project).run()
