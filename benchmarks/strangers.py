"""What strangers can do to a served project, and what those wait for meanwhile who are signed in.

    python benchmarks/strangers.py [--quick]

`labelwise serve` runs in a process of its own that may open 1024 files. An honest person, signed in, asks or answers
every 100 ms, now and then by a new connection. Meanwhile strangers without a session try one way after another to fill
the server's memory, to use up its connections or to keep it busy; the last ones are signed in and ask for pictures that
are small as files and large in memory. All of them come from the honest person's own address, as if behind one proxy.

Told are the server's memory above what it had before (the highest of all attacks, `memory_mib`; at most 64 is wanted),
the honest person's longest wait (`longest_wait_s`; below 1 is wanted) and how many of his requests failed. Only this
machine is attacked. Needs Linux (`/proc`) and Pillow.

The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from labelwise import LabelData
from labelwise.labelling import Project

HERE = "127.0.0.1"
MIB = 2**20
EVERY = 0.1  # seconds between two requests of the honest person
NEW_CONNECTION = 5  # every so many requests
FORM = "application/x-www-form-urlencoded"
SIZES = {"quick": (1, 600, 1.5), "full": (4, 3000, 10.0)}  # large bodies side by side, half requests, seconds


# -- the project and its server ----------------------------------------------------------------------------------------


def make_project(folder: Path) -> tuple[Path, dict[str, str]]:
    """Items that are asked about, and pictures; the links of two people."""
    pictures = []
    for i in range(12):
        path = folder / f"{i}.tiff"
        side = 5_600 if i % 2 else 12_000  # 31 and 144 million pixels
        Image.new("1", (side, side + i)).save(path, compression="group4")
        pictures.append(str(path))
    X = np.random.default_rng(0).standard_normal((3_000, 2))
    items: list[Any] = [{"image": path} for path in pictures] + [{"text": "x"}] * (3_000 - len(pictures))
    data = LabelData.from_arrays(X, label_names=["left", "low"], items=items)
    path = folder / "project.db"
    with Project.create(path, data, model="binary_relevance", strategy="random", control=0.0, ready=3_000) as project:
        project.refresh()
        return path, {name: project.people.add(name) for name in ("ann", "eve")}


@contextmanager
def serve(path: Path, port: int) -> Iterator[int]:
    """The number of the server's process."""
    code = "from labelwise.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", str(path), "--port", str(port), "--no-worker"]
    process = subprocess.Popen(
        command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)), stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(OSError), closing(http.client.HTTPConnection(HERE, port, timeout=5)) as line:
                line.request("GET", "/enter")
                line.getresponse().read()
                break
            time.sleep(0.1)
        yield process.pid
    finally:
        process.kill()
        process.wait()


class Memory(threading.Thread):
    """The most memory that a process had, and that its children had, since it was looked at last."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.most = self.children = 0.0
        self.start()

    def run(self) -> None:
        while Path(f"/proc/{self.pid}").exists():
            self.most = max(self.most, resident(self.pid))
            with suppress(OSError):  # a process belongs to the thread that began it
                tasks = Path(f"/proc/{self.pid}/task").glob("*/children")
                found = [int(child) for task in tasks for child in task.read_text().split()]
                self.children = max(self.children, sum(map(resident, found)))
            time.sleep(0.02)

    def look(self) -> float:
        """The highest since the last look, in MiB."""
        most = self.most
        with suppress(OSError):  # the system's own mark is exact
            status = Path(f"/proc/{self.pid}/status").read_text()
            most = max(most, int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024)
            Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        self.most = 0.0
        return most


def resident(pid: int) -> float:
    """MiB of memory that a process has now."""
    try:
        found = re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[0]) / 1024 if found else 0.0


# -- the honest person -------------------------------------------------------------------------------------------------


def sign_in(port: int, secret: str) -> tuple[str, str]:
    """The cookie and the token of a person."""
    with closing(http.client.HTTPConnection(HERE, port, timeout=30)) as line:
        line.request("POST", "/enter", f"secret={secret}", {"content-type": FORM})
        reply = line.getresponse()
        reply.read()
        cookie = (reply.getheader("set-cookie") or "").partition(";")[0]
        line.request("GET", "/api/session", headers={"cookie": cookie})
        return cookie, json.loads(line.getresponse().read())["csrf"]


def be_honest(port: int, cookie: str, csrf: str, waits: Any, stop: Any) -> None:
    """Ask, answer, and note when each request was sent, how long it took, and whether it went well."""
    headers = {"cookie": cookie, "x-csrf-token": csrf, "content-type": "application/json"}
    line, lease, number = http.client.HTTPConnection(HERE, port, timeout=30), None, 0
    while not stop.is_set():
        number += 1
        began = time.monotonic()
        if number % NEW_CONNECTION == 0:
            line.close()
        try:
            body = {"lease": lease, "values": {"left": True, "low": False}} if lease else {}
            line.request("POST", "/api/answer" if lease else "/api/ask", json.dumps(body), headers)
            reply = line.getresponse()
            said = json.loads(reply.read())
            is_good = reply.status == 200
            lease = said["questions"][0]["lease"] if is_good and said["questions"] else None
        except (OSError, http.client.HTTPException, ValueError):
            is_good = False
            line.close()
        waits.send((began, time.monotonic() - began, is_good))
        time.sleep(max(0.0, EVERY - (time.monotonic() - began)))


# -- the strangers -----------------------------------------------------------------------------------------------------


@dataclass
class Field:
    """What strangers know: where the server is, and how hard to try."""

    port: int
    many: int
    half: int
    seconds: float
    cookie: str = ""  # of one who is signed in
    told: dict[str, Any] = field(default_factory=dict)

    def connect(self) -> socket.socket:
        return socket.create_connection((HERE, self.port), timeout=20)

    def send(self, method: str, path: str, *headers: str, body: bytes = b"") -> int:
        """One request by a connection of its own; the status, 0 where there was none."""
        lines = [f"{method} {path} HTTP/1.1", f"host: {HERE}:{self.port}", "connection: close", *headers]
        if body:
            lines.append(f"content-length: {len(body)}")
        with suppress(OSError, ValueError, IndexError), self.connect() as line:
            line.sendall("\r\n".join([*lines, "", ""]).encode() + body)
            return int(line.makefile("rb").readline().split()[1])
        return 0


def side_by_side(threads: int, work: Callable[[int], None]) -> None:
    crowd = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()


def for_a_while(field: Field, threads: int, work: Callable[[int], Any]) -> None:
    until = time.monotonic() + field.seconds

    def repeat(number: int) -> None:
        while time.monotonic() < until:
            work(number)

    side_by_side(threads, repeat)


def pour(field: Field, path: str, head: str, frame: Callable[[bytes], bytes], size: int = 400 * MIB) -> None:
    """Send a body of 400 MB for as long as it is taken, or 20 s."""
    piece, until = frame(b"x" * (MIB // 4)), time.monotonic() + 20
    with suppress(OSError), field.connect() as line:
        line.sendall(f"POST {path} HTTP/1.1\r\nhost: {HERE}:{field.port}\r\n{head}\r\n\r\n".encode())
        for _ in range(size // (MIB // 4)):
            if time.monotonic() > until:
                return
            line.sendall(piece)
        line.recv(1000)


PATHS = ("/enter", "/api/answer", "/label-studio/webhook", "/browse/item")
LENGTH = f"content-length: {400 * MIB}"
CHUNKED = "transfer-encoding: chunked"


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n" % len(piece) + piece + b"\r\n"


def bodies_with_length(field: Field) -> None:
    head = f"{LENGTH}\r\ncontent-type: {FORM}"
    side_by_side(field.many, lambda number: pour(field, PATHS[number % len(PATHS)], head, bytes))


def bodies_in_chunks(field: Field) -> None:
    head = f"{CHUNKED}\r\ncontent-type: application/json"
    side_by_side(field.many, lambda number: pour(field, PATHS[number % len(PATHS)], head, chunk))


def bodies_of_parts(field: Field) -> None:
    part = '--x\r\ncontent-disposition: form-data; name="secret"; filename="a"\r\n\r\n'
    head = f"{LENGTH}\r\ncontent-type: multipart/form-data; boundary=x\r\n\r\n{part}"
    side_by_side(field.many, lambda number: pour(field, "/enter", head, bytes))


def bodies_of_looks(field: Field) -> None:
    """A GET with a body."""
    piece, until = b"x" * (MIB // 4), time.monotonic() + field.seconds
    with suppress(OSError), field.connect() as line:
        line.sendall(f"GET /enter HTTP/1.1\r\nhost: {HERE}\r\n{LENGTH}\r\n\r\n".encode())
        while time.monotonic() < until:
            line.sendall(piece)


def half_requests(field: Field) -> None:
    """Heads that never end; how many of them are still open after 12 s."""
    lines = []
    for _ in range(field.half):
        with suppress(OSError):
            line = socket.create_connection((HERE, field.port), timeout=2)
            line.sendall(f"GET /label HTTP/1.1\r\nhost: {HERE}\r\nx-slow: ".encode())
            lines.append(line)
    until = time.monotonic() + 12
    while time.monotonic() < until:
        for line in lines[::10]:
            with suppress(OSError):
                line.send(b"a")
        time.sleep(1)
    field.told["half_requests_open_after_12_s"] = sum(map(is_open, lines))
    for line in lines:
        line.close()


def is_open(line: socket.socket) -> bool:
    line.setblocking(False)
    try:
        while line.recv(10_000):  # a reply that says why
            pass
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def slow_bodies(field: Field) -> None:
    lines = []
    for _ in range(field.half // 4):
        with suppress(OSError):
            line = socket.create_connection((HERE, field.port), timeout=2)
            head = (
                f"POST /enter HTTP/1.1\r\nhost: {HERE}\r\ncontent-type: {FORM}\r\ncontent-length: 9000\r\n\r\nsecret="
            )
            line.sendall(head.encode())
            lines.append(line)
    until = time.monotonic() + 12
    while time.monotonic() < until:
        for line in lines:
            with suppress(OSError):
                line.send(b"a")
        time.sleep(1)
    field.told["slow_bodies_open_after_12_s"] = sum(map(is_open, lines))
    for line in lines:
        line.close()


def wrong_links(field: Field) -> None:
    def guess(number: int) -> None:
        body = f"secret=guess-{number}-{time.monotonic()}".encode()
        field.send("POST", "/enter", f"content-type: {FORM}", body=body)

    for_a_while(field, 8, guess)


def wrong_tokens(field: Field) -> None:
    def guess(number: int) -> None:
        field.send("POST", "/label-studio/webhook", f"authorization: Token {number} {time.monotonic()}", body=b"{}")

    for_a_while(field, 8, guess)


def wrong_cookies(field: Field) -> None:
    name = field.cookie.partition("=")[0]
    for_a_while(field, 16, lambda number: field.send("GET", "/label", f"cookie: {name}={time.monotonic()}"))


def many_looks(field: Field) -> None:
    places = ("/enter", "/label", "/static/label.js", "/api/openapi.json", "/enter/abc", "/pictures/1")
    for_a_while(field, 32, lambda number: field.send("GET", places[number % len(places)]))


def deep_json(field: Field) -> None:
    deep = b"[" * 900_000

    def send(number: int) -> None:
        field.send("POST", PATHS[1 + number % 2], "content-type: application/json", body=deep)

    for_a_while(field, 4, send)


def large_heads(field: Field) -> None:
    """Heads of 60 kB that end, and many of 30 kB that do not."""
    for_a_while(field, 4, lambda number: field.send("GET", "/enter", f"x-large: {'a' * 60_000}"))
    lines = []
    for _ in range(field.half // 3):
        with suppress(OSError):
            line = socket.create_connection((HERE, field.port), timeout=2)
            line.sendall(f"GET /enter HTTP/1.1\r\nhost: {HERE}\r\nx-large: {'a' * 30_000}".encode())
            lines.append(line)
    time.sleep(field.seconds / 2)
    for line in lines:
        line.close()


def slow_readers(field: Field) -> None:
    """Many requests in a row whose replies nobody takes."""
    lines, asked = [], f"GET /static/label.js HTTP/1.1\r\nhost: {HERE}\r\n\r\n".encode() * 200
    for _ in range(field.half // 10):
        with suppress(OSError):
            line = socket.create_connection((HERE, field.port), timeout=2)
            line.setblocking(False)
            with suppress(BlockingIOError):
                line.send(asked)
            lines.append(line)
    time.sleep(field.seconds)
    for line in lines:
        line.close()


def pictures_by_strangers(field: Field) -> None:
    for_a_while(field, 8, lambda number: field.send("GET", f"/pictures/{number}?field=image"))


def pictures_by_a_user(field: Field) -> None:
    def look(number: int) -> None:
        status = field.send("GET", f"/pictures/{number % 12}?field=image", f"cookie: {field.cookie}")
        counts = field.told.setdefault("pictures_by_a_user", {})
        counts[str(status)] = counts.get(str(status), 0) + 1

    side_by_side(48, look)
    for_a_while(field, 4, look)


ATTACKS = (
    bodies_with_length,
    bodies_in_chunks,
    bodies_of_parts,
    bodies_of_looks,
    half_requests,
    slow_bodies,
    wrong_links,
    wrong_tokens,
    wrong_cookies,
    many_looks,
    deep_json,
    large_heads,
    slow_readers,
    pictures_by_strangers,
    pictures_by_a_user,
)


# -- all together ------------------------------------------------------------------------------------------------------


def measure(size: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, closing(socket.socket()) as probe:
        path, links = make_project(Path(folder))
        probe.bind((HERE, 0))
        port = int(probe.getsockname()[1])
        probe.close()
        with serve(path, port) as pid:
            return attack(size, port, pid, links)


def attack(size: str, port: int, pid: int, links: dict[str, str]) -> dict[str, Any]:
    honest = sign_in(port, links["ann"])
    field = Field(port, *SIZES[size], cookie=sign_in(port, links["eve"])[0])
    context = get_context("spawn")
    heard, waits = context.Pipe(duplex=False)
    stop = context.Event()
    person = context.Process(target=be_honest, args=(port, *honest, waits, stop), daemon=True)
    person.start()
    seen = Collector(heard)
    while seen.figures()["requests"] < 40:  # everything is loaded that ever will be
        time.sleep(0.1)
    memory = Memory(pid)
    memory.look()
    before, calm = resident(pid), seen.figures()
    print(f"before: {before:.0f} MiB, longest wait {calm['longest_wait_s']} s", flush=True)
    each: dict[str, Any] = {}
    for work in ATTACKS:
        seen.clear()
        memory.look()
        work(field)
        time.sleep(1)
        each[work.__name__] = {"memory_mib": round(max(0.0, memory.look() - before), 1), **seen.figures()}
        print(f"{work.__name__:24} {each[work.__name__]}", flush=True)
    stop.set()
    person.join(30)
    return {
        "memory_mib": max(found["memory_mib"] for found in each.values()),
        "longest_wait_s": max(found["longest_wait_s"] for found in each.values()),
        "attacks": len(ATTACKS),
        "refused_honest": sum(found["refused"] for found in each.values()),
        "honest_requests": sum(found["requests"] for found in each.values()),
        "calm_longest_wait_s": calm["longest_wait_s"],
        "memory_kept_mib": round(max(0.0, resident(pid) - before), 1),
        "memory_of_converting_mib": round(memory.children, 1),
        **field.told,
        "each": each,
    }


class Collector(threading.Thread):
    """What the honest person tells of his waits."""

    def __init__(self, heard: Any) -> None:
        super().__init__(daemon=True)
        self._heard, self._waits = heard, list[tuple[float, float, bool]]()
        self._last = time.monotonic()
        self.start()

    def run(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._waits.append(self._heard.recv())
                self._last = time.monotonic()

    def clear(self) -> None:
        self._waits = []

    def figures(self) -> dict[str, Any]:
        waits = list(self._waits)
        unanswered = max(0.0, time.monotonic() - self._last - EVERY)  # he waits still
        longest = max((wait for _, wait, _ in waits), default=0.0)
        longest = max(longest, unanswered if unanswered > 2 * EVERY else 0.0)
        refused = sum(not is_good for _, _, is_good in waits)
        return {"longest_wait_s": round(longest, 3), "requests": len(waits), "refused": refused}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    options = parser.parse_args()
    if not Path("/proc/self/status").exists():
        raise SystemExit("the server's memory is read from /proc, which this system does not have")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard > 0 else 8192, hard))
    print(json.dumps(measure(options.size)))


if __name__ == "__main__":
    main()
