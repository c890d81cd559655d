"""How fast, and in how little memory, a large sparse ARFF file is read: `labelwise.read` against liac-arff.

    python benchmarks/reading.py [--quick]

Reads imdb (120 919 items, 1 001 features, 28 labels, 15 MiB of text in 2.3 MiB of bz2) from LABELWISE_SHARED_DATA, or
from ../shared/data beside the repository; where it is absent, a synthetic file of the same shape. --quick reads an
eighth of the rows. Both readers uncompress the file themselves; what that alone takes is measured too, and reading the
uncompressed file.

All times are CPU seconds of this process. Both readers take turns, and a speedup is the median of its rounds: other
work on the machine does not decide. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arff as liac
import numpy as np

import labelwise
from labelwise.data.formats.arff import meka
from labelwise.data.formats.arff.reader import read_arff

ROWS = 120_919
ROUNDS = 5
MEMORY_SCRIPT = """
import json, sys
sys.path.insert(0, {folder!r})
from reading import READERS, load_kernels, resident_mib
load_kernels({ten_rows!r})   # so that compiled code is not counted as memory of the data
before = resident_mib("VmRSS")
result = READERS[{reader!r}]({path!r})  # kept: the peak includes it
print(json.dumps(resident_mib("VmHWM") - before))
"""


def read_liac(path: str) -> Any:
    """Read by liac-arff, in the faster of its two sparse forms."""
    opener = bz2.open if path.endswith(".bz2") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return liac.load(file, return_type=liac.LOD)


READERS: dict[str, Callable[[str], Any]] = {"labelwise": labelwise.read, "liac-arff": read_liac}


def facts_of(data: labelwise.LabelData) -> tuple[int, int, float]:
    """Items, labels present and the sum of the features: what both readers must agree on."""
    return data.n_items, data.Y.count_nonzero(), float(data.X.sum())


def facts_of_liac(table: Any) -> tuple[int, int, float]:
    n_labels = int(table["relation"].split("-C")[1].split()[0])
    cells = [cell for row in table["data"] for cell in row.items()]
    labels = sum(value == "1" for column, value in cells if column < n_labels)
    return len(table["data"]), labels, float(sum(value for column, value in cells if column >= n_labels))


def uncompress(path: str) -> None:
    with bz2.open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def timed(call: Callable[[str], Any], path: str) -> tuple[float, Any]:
    """CPU seconds of this process, and the result."""
    start = time.process_time()
    result = call(path)
    return time.process_time() - start, result


def in_turn(calls: dict[str, tuple[Callable[[str], Any], str]], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of each call in each round; a result is dropped before the next call."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, (call, path) in calls.items():
            seconds[name].append(timed(call, path)[0])
    return seconds


def speedups(ours: list[float], theirs: list[float]) -> list[float]:
    """Theirs over ours, round by round."""
    return [b / a for a, b in zip(ours, theirs, strict=True)]


def load_kernels(path: str) -> None:
    """Read a small file in the compiled way, which a large one takes by itself."""
    read_arff(path, meka.label_positions, compiled=True)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # starts VmHWM, the peak, from here


def resident_mib(field: str) -> float:
    """Resident memory of this process, now (VmRSS) or at its highest (VmHWM), as Linux counts it."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"this system does not tell {field}")


def peak_mib(reader: str, path: Path, ten_rows: Path) -> float | None:
    """Memory that a read adds at its peak: highest minus present resident size, in a fresh process."""
    if platform.system() != "Linux":
        return None
    script = MEMORY_SCRIPT.format(
        folder=str(Path(__file__).parent), reader=reader, path=str(path), ten_rows=str(ten_rows)
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return round(float(json.loads(done.stdout)), 1)


def write_synthetic(path: Path, rows: int) -> None:
    """A MEKA file shaped like imdb: 28 labels with 2 present, 1 001 words with 19.4 present."""
    rng = np.random.default_rng(0)
    names = [f"label{k}" for k in range(28)], [f"word{k}" for k in range(1001)]
    head = "@relation 'made up: -C 28'\n\n"
    head += "".join(f"@attribute {name} {{0,1}}\n" for name in names[0])
    head += "".join(f"@attribute {name} numeric\n" for name in names[1])
    odds = np.concatenate([np.full(28, 2 / 28), 19.4 * (zipf := 1 / (np.arange(1001) + 30)) / zipf.sum()])
    with bz2.open(path, "wt", encoding="utf-8") as file:
        file.write(head + "\n@data\n")
        for start in range(0, rows, 1000):
            present = rng.random((min(1000, rows - start), len(odds))) < odds
            file.writelines("{" + ",".join(f"{k} 1" for k in np.flatnonzero(row)) + "}\n" for row in present)


def first_rows(source: Path, target: Path, rows: int) -> None:
    """The head of a file and its first rows."""
    with bz2.open(source, "rt", encoding="utf-8") as file, bz2.open(target, "wt", encoding="utf-8") as part:
        for line in file:
            part.write(line)
            rows -= line.startswith("{")
            if rows == 0:
                return


def prepare(folder: Path, quick: bool) -> tuple[Path, str]:
    """The file to read and a word on where it is from."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    source = Path(os.environ.get("LABELWISE_SHARED_DATA", beside)) / "imdb" / "Imdb.arff.bz2"
    rows = ROWS // 8 if quick else ROWS
    if not source.exists():
        print("imdb is not here: a synthetic file of its shape takes its place")
        write_synthetic(folder / "synthetic.arff.bz2", rows)
        return folder / "synthetic.arff.bz2", "synthetic"
    if not quick:
        return source, "imdb"
    first_rows(source, folder / "part.arff.bz2", rows)
    return folder / "part.arff.bz2", "an eighth of imdb"


def check_agreement(path: str) -> tuple[float, int]:
    """CPU seconds of the first read in this process, and the items; both readers must find the same."""
    first, data = timed(labelwise.read, path)
    ours, theirs = facts_of(data), facts_of_liac(read_liac(path))
    if ours != theirs:
        raise AssertionError(f"the readers disagree: {ours} and {theirs}")
    return first, data.n_items


def measure(path: Path, source: str, ten_rows: Path, rounds: int) -> dict[str, Any]:
    """All figures of a file."""
    plain = ten_rows.with_name("plain.arff")
    plain.write_bytes(bz2.decompress(path.read_bytes()))
    first, n_items = check_agreement(str(path))
    seconds = in_turn(
        {
            "ours": (labelwise.read, str(path)),
            "theirs": (read_liac, str(path)),
            "uncompressing": (uncompress, str(path)),
            "ours_plain": (labelwise.read, str(plain)),
            "theirs_plain": (read_liac, str(plain)),
        },
        rounds,
    )
    median = {name: statistics.median(each) for name, each in seconds.items()}
    faster = speedups(seconds["ours"], seconds["theirs"])
    return {
        "speedup_over_liac_arff": round(statistics.median(faster), 2),
        "speedup_of_each_round": [round(each, 2) for each in faster],
        "plain_text_speedup": round(statistics.median(speedups(seconds["ours_plain"], seconds["theirs_plain"])), 2),
        "peak_mib": peak_mib("labelwise", path, ten_rows),
        "liac_arff_peak_mib": peak_mib("liac-arff", path, ten_rows),
        "cpu_seconds": round(median["ours"], 3),
        "cpu_seconds_of_first_read": round(first, 3),
        "liac_arff_cpu_seconds": round(median["theirs"], 3),
        "uncompressing_cpu_seconds": round(median["uncompressing"], 3),
        "uncompressing_share": round(median["uncompressing"] / median["ours"], 3),
        "plain_text_cpu_seconds": round(median["ours_plain"], 3),
        "liac_arff_plain_text_cpu_seconds": round(median["theirs_plain"], 3),
        "rounds": rounds,
        "text_mib": round(plain.stat().st_size / 2**20, 1),
        "items": n_items,
        "source": source,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="read an eighth of the rows")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        path, source = prepare(Path(folder), quick)
        ten_rows = Path(folder) / "ten_rows.arff.bz2"
        write_synthetic(ten_rows, 10)
        figures = measure(path, source, ten_rows, 3 if quick else ROUNDS)
    shown = {name: f"{value:.2f}" for name, value in figures.items() if "cpu_seconds" in name}
    rows = [
        ("", "labelwise", "liac-arff"),
        ("CPU seconds", shown["cpu_seconds"], shown["liac_arff_cpu_seconds"]),
        ("  of which to uncompress", *[shown["uncompressing_cpu_seconds"]] * 2),
        ("CPU seconds, plain file", shown["plain_text_cpu_seconds"], shown["liac_arff_plain_text_cpu_seconds"]),
        ("first read in the process", shown["cpu_seconds_of_first_read"], ""),
        ("peak memory added, MiB", str(figures["peak_mib"]), str(figures["liac_arff_peak_mib"])),
    ]
    print(f"{figures['items']} items, {figures['text_mib']} MiB of text, {source}")
    for name, ours, theirs in rows:
        print(f"{name:28}{ours:>12}{theirs:>12}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
