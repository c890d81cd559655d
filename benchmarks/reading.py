"""How fast, and in how little memory, a large sparse ARFF file is read: `labelwise.read` against liac-arff.

    python benchmarks/reading.py [--quick]

Reads imdb (120 919 items, 1 001 features, 28 labels, 15 MiB of text in 2.3 MiB of bz2) from LABELWISE_SHARED_DATA, or
from ../shared/data beside the repository; where it is absent, a synthetic file of the same shape. --quick reads an
eighth of the rows. Both readers uncompress the file themselves; what that alone takes is measured too, and reading the
uncompressed file. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import platform
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
from labelwise.data import meka
from labelwise.data._arff import read_arff

ROWS = 120_919
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


def timed(call: Callable[[str], Any], path: str) -> tuple[float, float, Any]:
    """Seconds on the wall and of the processor, and the result."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call(path)
    return time.perf_counter() - wall, time.process_time() - processor, result


def fastest(call: Callable[[str], Any], path: str, times: int) -> tuple[float, float]:
    """The least of several times, on the wall and of the processor: what is above it is the machine's other work."""
    walls, processors, _ = zip(*(timed(call, path) for _ in range(times)), strict=True)
    return min(walls), min(processors)


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


def measure(path: Path, source: str, ten_rows: Path) -> dict[str, Any]:
    """All figures; our reads stand on both sides of the rival's, so that a busy machine burdens both."""
    name = str(path)
    first, _, data = timed(labelwise.read, name)
    before = fastest(labelwise.read, name, 3)
    *rival_times, table = timed(read_liac, name)
    if facts_of(data) != facts_of_liac(table):
        raise AssertionError(f"the readers disagree: {facts_of(data)} and {facts_of_liac(table)}")
    del table
    wall, processor = map(min, before, fastest(labelwise.read, name, 3))
    rival, rival_processor = map(min, rival_times, fastest(read_liac, name, 1))
    unpack, unpack_processor = fastest(uncompress, name, 5)
    plain = ten_rows.with_name("plain.arff")
    plain.write_bytes(bz2.decompress(path.read_bytes()))
    plain_wall, plain_processor = fastest(labelwise.read, str(plain), 5)
    plain_rival, plain_rival_processor = fastest(read_liac, str(plain), 1)
    return {
        "speedup_over_liac_arff": round(rival / wall, 2),
        "peak_mib": peak_mib("labelwise", path, ten_rows),
        "speedup_in_processor_time": round(rival_processor / processor, 2),
        "seconds": round(wall, 3),
        "processor_seconds": round(processor, 3),
        "seconds_of_first_read": round(first, 3),
        "liac_arff_seconds": round(rival, 3),
        "liac_arff_processor_seconds": round(rival_processor, 3),
        "uncompressing_seconds": round(unpack, 3),
        "uncompressing_share": round(unpack_processor / processor, 3),
        "plain_text_seconds": round(plain_wall, 3),
        "plain_text_speedup": round(plain_rival / plain_wall, 2),
        "plain_text_speedup_in_processor_time": round(plain_rival_processor / plain_processor, 2),
        "liac_arff_peak_mib": peak_mib("liac-arff", path, ten_rows),
        "text_mib": round(plain.stat().st_size / 2**20, 1),
        "items": data.n_items,
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
        figures = measure(path, source, ten_rows)
    plain_rival = figures["plain_text_seconds"] * figures["plain_text_speedup"]
    rows = [
        ("", "labelwise", "liac-arff"),
        ("seconds", f"{figures['seconds']:.2f}", f"{figures['liac_arff_seconds']:.2f}"),
        ("  of which to uncompress", *[f"{figures['uncompressing_seconds']:.2f}"] * 2),
        ("seconds, uncompressed file", f"{figures['plain_text_seconds']:.2f}", f"{plain_rival:.2f}"),
        ("first read in the process", f"{figures['seconds_of_first_read']:.2f}", ""),
        ("peak memory added, MiB", str(figures["peak_mib"]), str(figures["liac_arff_peak_mib"])),
    ]
    print(f"{figures['items']} items, {figures['text_mib']} MiB of text, {source}")
    for name, ours, theirs in rows:
        print(f"{name:28}{ours:>12}{theirs:>12}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
