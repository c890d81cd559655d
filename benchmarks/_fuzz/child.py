"""The process that reads: one reader, many inputs, limits on time and memory, and coverage as a guide.

An input lies in the file that is read, so that whoever finds this process dead finds the input that killed it.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from mutations import LARGEST, mutate

from targets import is_ours, make_seeds

SECONDS = 2.0  # of processor time for one input
MEMORY = 64 << 20  # bytes, and ten times the input
ROOM = 3 << 30  # bytes of address space beyond what the libraries take: a guard for the machine
TRACED = 8  # one of so many inputs is traced; tracing costs more than reading
SOUND = 0.7  # of the inputs are made from ones that could be read
MOST_KEPT = 1 << 18  # bytes of an input that others are made from
KEPT = 3  # inputs kept of each fault
PROGRESS = struct.Struct("QQQd")  # inputs, refused, edges, when the present one began
PAGE = resource.getpagesize()


class Hang(BaseException):
    """An input took too long."""


class Edges:
    """Pairs of lines of our code that were run one after the other."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.seen: set[tuple[CodeType, int, int]] = set()
        self.ours: dict[CodeType, bool] = {}
        self.found_new = False

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        ours = self.ours.get(code)
        if ours is None:
            ours = self.ours[code] = code.co_filename.startswith(self.package)
        if not ours:
            return None
        before = 0

        def line(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal before
            if event == "line":
                edge = (code, before, frame.f_lineno)
                before = frame.f_lineno
                if edge not in self.seen:
                    self.seen.add(edge)
                    self.found_new = True
            return line

        return line

    def run(self, call: Callable[[], None]) -> bool:
        """Call it traced; whether something new was run."""
        self.found_new = False
        sys.settrace(self.trace)
        try:
            call()
        finally:
            sys.settrace(None)
        return self.found_new


class Reading:
    """Inputs given to one reader, faults written down as they come."""

    def __init__(self, target: Any, folder: Path, package: str) -> None:
        self.target, self.folder, self.package = target, folder, package
        self.path = folder / f"input{target.suffix}"
        for name, content in target.files.items():
            (folder / name).write_bytes(content)
        self.inputs = self.refused = 0
        self.kept: dict[str, int] = {}
        with (folder / "progress").open("r+b") as file:
            self.progress = mmap.mmap(file.fileno(), PROGRESS.size)

    def give(self, data: bytes, *, is_traced: bool = False) -> None:
        """Read one input, and judge what happened; what hangs while it is traced is tried again without."""
        self.path.write_bytes(data)
        PROGRESS.pack_into(self.progress, 0, self.inputs, self.refused, 0, time.time())
        before, peak = resident(), highest()
        error: BaseException | None = None
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            self.target.read(self.path)
        except Hang as hang:
            error = hang
        except Exception as raised:
            error = raised
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if is_traced and isinstance(error, Hang):
            sys.settrace(None)
            self.give(data)
            return
        self.inputs += 1
        if isinstance(error, Hang):
            self.note("hangs", data, error, f"over {SECONDS} s of processor time")
        elif isinstance(error, MemoryError):
            self.note("memory", data, error, "MemoryError")
        elif error is not None:
            self.refused += 1
            wrong = is_ours(error, self.path, self.package)
            if wrong is not None:
                self.note("crashes", data, error, wrong)
        self.check_memory(data, before, peak)
        PROGRESS.pack_into(self.progress, 0, self.inputs, self.refused, 0, 0.0)

    def check_memory(self, data: bytes, before: int, peak: int) -> None:
        now = highest()
        if now > peak and now - before > MEMORY and now - before > 10 * self.target.unpacked(data) + MEMORY:
            self.note("memory", data, None, f"{(now - before) >> 20} MiB for {len(data)} bytes")
        if now - before > MEMORY // 2:
            gc.collect()
            forget_highest()

    def note(self, kind: str, data: bytes, error: BaseException | None, words: str) -> None:
        place = traceback.extract_tb(error.__traceback__) if error is not None else []
        ours = [frame for frame in place if frame.filename.startswith(self.package)]
        spots = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (*ours[-1:], *place[-1:])]
        key = f"{kind} {type(error).__name__} {' '.join(spots)}"
        self.kept[key] = self.kept.get(key, 0) + 1
        number = self.kept[key]
        kept = None
        if number <= KEPT:
            kept = f"{kind}-{self.target.name.replace(' ', '_')}-{abs(hash((key, number, os.getpid()))):x}"
            (self.folder / kept).write_bytes(data)
        record = {"kind": kind, "key": key, "words": words, "error": str(error)[:300], "input": kept}
        with (self.folder / "faults.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def resident() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * PAGE


def highest() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def forget_highest() -> None:
    """Let the highest memory start anew from what it is now."""
    with suppress(OSError):  # where that is not allowed, a later fault as large as an earlier one may go unseen
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def limit_memory() -> None:
    with open("/proc/self/statm", "rb") as file:
        mapped = int(file.read().split()[0]) * PAGE
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ROOM, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def hung(_: int, frame: FrameType | None) -> None:
    raise Hang


def by_tracing(reading: Reading, seeds: list[bytes], inputs: int, rng: random.Random) -> int:
    """Inputs made from those that reached something new, as tracing tells; how many edges were reached."""
    edges, corpus, whole = Edges(reading.package), list(seeds), list(seeds)  # whole: what was read without an error
    for seed in seeds[:inputs]:
        edges.run(lambda seed=seed: reading.give(seed, is_traced=True))
    while reading.inputs < inputs:
        parent = rng.choice(whole if rng.random() < SOUND else corpus)
        data = mutate(rng, parent, corpus, reading.target.words, reading.target.kind)
        refused = reading.refused
        if reading.inputs % TRACED:
            reading.give(data)
        elif edges.run(lambda data=data: reading.give(data, is_traced=True)) and len(data) < MOST_KEPT:
            (whole if reading.refused == refused else corpus).append(data)
    return len(edges.seen)


def by_atheris(reading: Reading, seeds: list[bytes], inputs: int, rng: random.Random) -> None:
    """The same by libFuzzer, which sees every branch and comparison; it ends the process."""
    import atheris

    corpus = reading.folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(seed)

    def changed(data: bytes, most: int, number: int) -> bytes:
        own = random.Random(number)
        if own.random() < 0.5 and reading.target.kind == "text":
            return atheris.Mutate(data, most)
        return mutate(own, data, seeds, reading.target.words, reading.target.kind)[:most]

    options = [
        f"-runs={inputs}",
        f"-seed={1 + rng.randrange(1 << 30)}",
        "-verbosity=0",
        "-timeout=60",
        "-rss_limit_mb=0",
    ]
    options += [f"-max_len={max(LARGEST, *map(len, seeds)) + (1 << 19)}", "-detect_leaks=0", "-handle_xfsz=0"]
    atheris.Setup(["fuzz", str(corpus), *options], reading.give, custom_mutator=changed)
    atheris.Fuzz()


def run(target: Any, folder: Path, inputs: int, seed: int, engine: str) -> None:
    """Give a reader its inputs, in this process; what came of it is in the files of the folder."""
    import labelwise

    warnings.simplefilter("ignore")
    target.prepare()
    reading = Reading(target, folder, str(Path(labelwise.__file__).parent))
    seeds = make_seeds(target)
    for each in seeds:  # what is loaded or compiled once is not the input's
        reading.path.write_bytes(each)
        with suppress(ValueError, MemoryError):
            target.read(reading.path)
    limit_memory()
    forget_highest()
    signal.signal(signal.SIGPROF, hung)
    gc.freeze()
    rng = random.Random(f"{target.name} {seed}")
    if engine == "atheris":
        by_atheris(reading, seeds, inputs, rng)
    else:
        edges = by_tracing(reading, seeds, inputs, rng)
        PROGRESS.pack_into(reading.progress, 0, reading.inputs, reading.refused, edges, 0.0)
