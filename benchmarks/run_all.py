"""Run every benchmark of this folder and save its figures with the facts of the machine.

    python benchmarks/run_all.py [--quick] [--only NAME] [--out FOLDER]

A benchmark is a script that prints one JSON object as its last line. Figures go to results/NAME.json; with --quick they
are only printed, unless --out says where to keep them, since quick figures are not for the record. One that fails does
not stop the others; the exit code is the number that failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARIES = ("labelwise", "numpy", "scipy", "scikit-learn", "numba", "pandas", "liac-arff")
HOUR = 3600.0


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
    """The benchmarks of a folder: its scripts but this one and those that start with an underscore."""
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "run_all" and not path.stem.startswith("_"))


def run(script: Path, quick: bool) -> dict[str, Any]:
    """Run one benchmark and return its figures; RuntimeError says why there are none."""
    command = [sys.executable, str(script), *(["--quick"] if quick else [])]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=HOUR, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError("it took more than an hour") from None
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        raise RuntimeError(f"it ended with code {done.returncode}")
    last = (done.stdout.strip().splitlines() or [""])[-1]
    try:
        figures = json.loads(last)
    except json.JSONDecodeError:
        raise RuntimeError(f"its last line is no JSON object: {last[:80]!r}") from None
    if not isinstance(figures, dict):
        raise RuntimeError(f"its last line is no JSON object: {last[:80]!r}")
    return figures


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
        if name not in known:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(known)}")
    out = options.out or (None if options.quick else folder / "results")
    failed = []
    for name in options.only or known:
        print(f"== {name}", flush=True)
        facts, start = machine(), time.perf_counter()
        try:
            figures = run(folder / f"{name}.py", options.quick)
        except RuntimeError as error:
            print(f"{name} failed: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        seconds = round(time.perf_counter() - start, 1)
        if out is not None:
            record = {
                "benchmark": name,
                "quick": options.quick,
                "seconds": seconds,
                "figures": figures,
                "machine": facts,
            }
            save(out / f"{name}.json", record)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
