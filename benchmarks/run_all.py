"""Run every benchmark of this folder and save its figures with the facts of the machine.

    python benchmarks/run_all.py [--quick] [--only NAME] [--out FOLDER]

A benchmark is a script that prints one JSON object as its last line. Figures go to results/NAME.json; with --quick they
are only printed, unless --out says where to keep them, since quick figures are not for the record. One that fails does
not stop the others; the exit code is the number that failed. `--only reproduce_PAPER` runs `labelwise reproduce PAPER`,
which takes hours: it runs only if it is named.

Each result says which code it measured: the version, the commit, and a hash of every source file of labelwise and of
this folder that the benchmark or one of its child processes loaded. stale.py lists the results whose code has changed.
A benchmark that keeps finished runs in runs/NAME takes them as they are, whatever code made them. So twelve of those
that are there at the start, drawn by chance, are done again. If one comes out otherwise, but for its seconds, nothing
is saved: delete the folder to measure everything with the present code. The result says how many were there and how
many came out the same.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # also where this file is loaded from elsewhere

from _sources import commit_of, hashes, recording

LIBRARIES = ("labelwise", "numpy", "scipy", "scikit-learn", "numba", "pandas", "liac-arff")
NO_BENCHMARKS = ("run_all", "stale")
PAPER = "reproduce_"  # a name that begins so is a paper's
REPRODUCE = "import sys; from labelwise.cli import main; sys.argv[0] = 'labelwise'; main()"
REPEATED = 12  # kept runs that are done again
LONGEST_HOURS = 4  # for one benchmark; fifty people label for half an hour on each database


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "memory_gib": memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := version_of(name)) is not None},
        "load_at_start": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


def version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def names_in(folder: Path) -> list[str]:
    """The benchmarks of a folder: its scripts but the runner, the lister and those that start with an underscore."""
    names = (path.stem for path in folder.glob("*.py"))
    return sorted(name for name in names if name not in NO_BENCHMARKS and not name.startswith("_"))


def command_of(name: str, folder: Path, scratch: Path, quick: bool) -> list[str]:
    """What to run: a script of the folder, or the reproduction of a paper; a quick one leaves nothing behind."""
    options = ["--quick"] if quick else []
    if not name.startswith(PAPER):
        return [sys.executable, str(folder / f"{name}.py"), *options]
    kept = scratch / "paper" if quick else folder.parent / "runs" / name
    words = ["reproduce", name.removeprefix(PAPER), "--json", "--out", str(kept)]
    return [sys.executable, "-c", REPRODUCE, *words, *options]


def run(name: str, folder: Path, quick: bool) -> dict[str, Any]:
    """Run one benchmark and return its record; RuntimeError says why there is none."""
    facts, start, started = machine(), time.perf_counter(), time.time()
    with recording(folder) as (environment, notes):
        command = command_of(name, folder, notes.parent, quick)
        with some_again(kept_runs(name, folder), quick) as earlier:
            figures = figures_of(command, environment)
        if earlier["again"] < min(REPEATED, earlier["there"]):  # what was put back belongs to the figures
            figures = figures_of(command, environment)
        loaded = {*notes.read_text(encoding="utf-8").splitlines()}
    script = folder / f"{name}.py"
    sources = hashes(loaded | ({str(script)} if script.exists() else set()), folder, started)
    code = {"version": version_of("labelwise"), **commit_of(folder), "earlier_runs": earlier, "sources": sources}
    record = {"benchmark": name, "quick": quick, "seconds": round(time.perf_counter() - start, 1), "machine": facts}
    return record | (figures if name.startswith(PAPER) else {"figures": figures}) | {"code": code}


def kept_runs(name: str, folder: Path) -> Path:
    """Where a benchmark keeps its finished runs, one file each."""
    kept = folder.parent / "runs" / name
    return kept / name.removeprefix(PAPER) / "jobs" if name.startswith(PAPER) else kept


def without_seconds(value: Any) -> Any:
    """A run without what it says about time, which never comes out the same."""
    if isinstance(value, dict):
        return {key: without_seconds(inner) for key, inner in value.items() if "seconds" not in key}
    return [without_seconds(inner) for inner in value] if isinstance(value, list) else value


@contextmanager
def some_again(kept: Path, quick: bool) -> Iterator[dict[str, int]]:
    """Take some kept runs away, so that they are done again; what is yielded says in the end how many were the same.

    RuntimeError where one did not. Those that were not done again are put back.
    """
    runs = [] if quick else sorted(kept.glob("*.json"))
    earlier = {"there": len(runs), "again": 0, "same": 0}
    if not runs:
        yield earlier
        return
    print(f"{kept} has {len(runs)} runs of earlier code", file=sys.stderr, flush=True)
    before = {run: run.read_bytes() for run in random.sample(runs, min(REPEATED, len(runs)))}
    for run in before:
        run.unlink()
    try:
        yield earlier
    finally:
        after = {run: run.read_bytes() for run in before if run.exists()}
        for run, content in before.items():
            run.write_bytes(content)
    otherwise = [run.name for run, content in after.items() if not _same(content, before[run])]
    earlier |= {"again": len(after), "same": len(after) - len(otherwise)}
    if otherwise:
        raise RuntimeError(f"kept runs come out otherwise with this code: {', '.join(otherwise)}; delete {kept}")


def _same(after: bytes, before: bytes) -> bool:
    return after == before or without_seconds(json.loads(after)) == without_seconds(json.loads(before))


def figures_of(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """The JSON object that a command prints as its last line, or as all it prints."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, timeout=3600 * LONGEST_HOURS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it took more than {LONGEST_HOURS} hours") from None
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        raise RuntimeError(f"it ended with code {done.returncode}")
    last = (done.stdout.strip().splitlines() or [""])[-1]
    for text in (last, done.stdout):
        try:
            figures = json.loads(text)
        except json.JSONDecodeError:
            continue
        if isinstance(figures, dict):
            return figures
    raise RuntimeError(f"its last line is no JSON object: {last[:80]!r}")


def save(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    scratch.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    scratch.replace(path)


def main(arguments: Sequence[str] | None = None, folder: Path = Path(__file__).parent) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller runs, under a minute each")
    parser.add_argument("--only", metavar="NAME", action="append", help="run this one; may be repeated")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="where to save the figures")
    options = parser.parse_args(arguments)
    known = names_in(folder)
    for name in options.only or ():
        if name not in known and not name.startswith(PAPER):
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(known)}")
    out = options.out or (None if options.quick else folder / "results")
    failed = []
    for name in options.only or known:
        print(f"== {name}", flush=True)
        try:
            record = run(name, folder, options.quick)
        except RuntimeError as error:
            print(f"{name} failed: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        if out is not None:
            save(out / f"{name}.json", record)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
