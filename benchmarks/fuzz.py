"""Damaged and malicious inputs to every reader and every route: no crash, no hang, no flood of memory.

    python benchmarks/fuzz.py [--quick] [--inputs N] [--seed S] [--only READER] [--engine tracing] [--jobs N]

Inputs are made from files of our own writers and changed: numbers made huge, negative or not a number, lines doubled,
quotes unbalanced, bytes flipped, files cut, encodings changed, brackets nested, archives swollen. Those that reach new
code of ours are changed further. Each reader runs in a process of its own, so that whatever kills it is seen.

* crash: an error that is not one of ours (a `ValueError` raised by our own code that names the file), or a dead process
* hang: over 2 s of processor time for one input
* memory: over ten times the input and 64 MiB

Coverage is seen by tracing one input of eight; `--engine atheris` takes libFuzzer instead, where atheris is installed.
The last line printed is one JSON object, with the inputs of each reader; faults are kept in the folder of --keep.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_fuzz"))

FULL, QUICK = 1_000_100, 6_000  # shares of the readers are rounded
STUCK = 30.0  # seconds after which a process that reads an input and takes no processor time is ended
MOST_DEATHS = 20  # of processes of one reader
FAULTS = ("crashes", "hangs", "memory")


def plan(inputs: int, only: list[str] | None) -> list[tuple[Any, int]]:
    """Readers and their numbers of inputs."""
    from targets import all_targets  # imported late: atheris has to see it

    found = all_targets()
    whole = sum(target.share for _, target in found)
    chosen = [target for family, target in found if only is None or family in only or target.name in only]
    return [(target, max(20, round(inputs * target.share / whole))) for target in chosen]


def run_reader(target: Any, inputs: int, seed: int, engine: str, keep: Path) -> dict[str, Any]:
    """All inputs of one reader, in as many processes as it takes."""
    from child import PROGRESS

    began, deaths = time.monotonic(), 0
    done: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=memory_disk()) as place:
        folder = Path(place)
        while done["inputs"] < inputs and deaths < MOST_DEATHS:
            (folder / "progress").write_bytes(bytes(PROGRESS.size))
            process = start(target, folder, inputs - done["inputs"], seed + deaths, engine)
            code = wait_for(process, folder / "progress")
            count, refused, edges, present = PROGRESS.unpack((folder / "progress").read_bytes())
            done.update(inputs=count, refused=refused)
            done["edges"] = max(done["edges"], edges)
            if code != 0:
                deaths += 1
                done["inputs"] += 1
                why = "stuck" if code is None else f"ended with code {code}"
                note_death(folder, target.name, why, present > 0, "hangs" if code is None else "crashes")
        faults = read_faults(folder, keep)
    row = {key: done[key] for key in ("inputs", "refused", "edges")}
    row |= {kind: sum(fault["kind"] == kind for fault in faults) for kind in FAULTS}
    return {**row, "seconds": round(time.monotonic() - began, 1), "faults": faults}


def start(target: Any, folder: Path, inputs: int, seed: int, engine: str) -> int:
    """A process of its own that reads; it has everything loaded, because it is a copy of this one."""
    from child import run

    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        run(target, folder, inputs, seed, engine)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait_for(process: int, progress: Path) -> int | None:
    """The exit code of the process, or None where it was ended because one input took it too long."""
    from child import PROGRESS

    pause, busy_until, taken = 0.02, time.time(), 0.0
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if (now := cpu_seconds(process)) > taken:
            busy_until, taken = time.time(), now
        began = PROGRESS.unpack(progress.read_bytes())[3]
        if began and time.time() - max(began, busy_until) > STUCK:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return None
        time.sleep(pause)
        pause = min(0.5, 1.5 * pause)


def cpu_seconds(process: int) -> float:
    """Processor time of a process so far: one that waits for its turn on a busy machine is not stuck."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def note_death(folder: Path, name: str, why: str, in_input: bool, kind: str) -> None:
    said = (folder / "said").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    kept = None
    found = [path for path in folder.glob("input*") if in_input and not path.name.endswith(("-wal", "-shm"))]
    if found:
        kept = f"{kind}-{name.replace(' ', '_')}-{time.time_ns():x}"
        (folder / kept).write_bytes(found[0].read_bytes())
    error = " | ".join(said[-8:])
    record = {"kind": kind, "key": f"{kind} process {why}", "words": why, "error": error[-600:], "input": kept}
    with (folder / "faults.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def read_faults(folder: Path, keep: Path) -> list[dict[str, Any]]:
    """The faults of a reader; the inputs that made them are kept."""
    file = folder / "faults.jsonl"
    faults = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    for fault in faults:
        if fault["input"] is not None:
            (keep / fault["input"]).write_bytes((folder / fault["input"]).read_bytes())
    return faults


def memory_disk() -> str | None:
    """Where files are not written to a disk: there are a million of them."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def show(name: str, row: dict[str, Any]) -> None:
    figures = f"{row['inputs']:>9,} inputs {row['refused']:>9,} refused {row['edges']:>6,} edges {row['seconds']:>7} s"
    print(f"{name:<20}{figures}", *(f"{kind} {row[kind]}" for kind in FAULTS if row[kind]), flush=True)
    first = {fault["key"]: fault for fault in reversed(row["faults"])}
    counts = Counter(fault["key"] for fault in row["faults"])
    for key, fault in first.items():
        print(f"    {counts[key]} × {key}: {fault['words']}: {fault['error']} [{fault['input']}]", flush=True)


def load(engine: str) -> None:
    """Everything that is read with; for atheris, with its counters in our code."""
    if engine == "tracing":
        import targets
    else:
        import atheris

        with atheris.instrument_imports(include=["labelwise"]):
            import targets
    targets.warm_up()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} inputs, under a minute")
    parser.add_argument("--inputs", type=int, metavar="N", help=f"about so many in all; {FULL:,} by default")
    parser.add_argument("--seed", type=int, default=0, help="decides every input")
    parser.add_argument("--only", metavar="READER", action="append", help="a reader or family; may be repeated")
    parser.add_argument("--engine", choices=("tracing", "atheris"), default="tracing")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where inputs that make faults are kept")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="readers at a time; all cores by default")
    options = parser.parse_args()
    keep = options.keep or Path(tempfile.mkdtemp(prefix="labelwise-fuzz-"))
    keep.mkdir(parents=True, exist_ok=True)
    inputs = options.inputs or (QUICK if options.quick else FULL)
    load(options.engine)
    work = plan(inputs, options.only)
    rows = {}
    # A thread for each reader under way; it only waits for the reader's process.
    with ThreadPoolExecutor(options.jobs) as pool:
        running = {
            pool.submit(run_reader, target, count, options.seed, options.engine, keep): target.name
            for target, count in work
        }
        for done in as_completed(running):
            rows[running[done]] = done.result()
            show(running[done], rows[running[done]])
    totals = {key: sum(row[key] for row in rows.values()) for key in ("inputs", *FAULTS)}
    if any(totals[kind] for kind in FAULTS):
        print(f"inputs that made faults: {keep}")
    readers = {name: {key: value for key, value in row.items() if key != "faults"} for name, row in rows.items()}
    print(json.dumps({**totals, "seed": options.seed, "engine": options.engine, "readers": readers}))


if __name__ == "__main__":
    main()
