"""What choosing from a pool that is not in memory costs: a million items on one machine, and on a local Dask cluster.

    python benchmarks/scale.py [--quick] [--picture FILE] [--only machine|cluster|default]

Shards of single precision are written to a temporary folder, which is deleted. Each figure is taken in a process of its
own, whose peak of memory counts, with one thread, by processor time, which the neighbours of a shared machine change
least. `million_ratio_to_passes`: 250 questions against the passes that cannot be avoided, in the same process: one XᵀX
in single precision, and, of every later walk over the pool, the bare product of the rows it read with the directions
picked since, both read from the same shards. `same_picks`: whether 250 picks from 100 000 items are those of the engine
in memory. `slope_time`, `slope_memory`: exponents of n between ten thousand and a million items, of seconds and of the
memory beyond that of the imports. `campaign_*`: 250 questions of `Campaign` with `LabelGP` over the million, whose
features are scaled and mapped on the way. What is measured on the cluster (`two_worker_speedup`, a killed worker,
`OnlineBayes` over a million rows) is told in `_scale_cluster.py`, and `default_*`, a round of the default campaign on a
million texts with vectors, in `_scale_default.py`. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import labelwise as lw
from labelwise.data import ShardedFeatures
from labelwise.numerics.gp.feature_spaces import Part
from labelwise.numerics.information import LowRank, LowRankBlocks, StreamedInformation, greedy_information

CLUSTER, DEFAULT = (Path(__file__).with_name(f"_scale_{part}.py") for part in ("cluster", "default"))
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "scale-growth.png"
NOISE = 0.1
SHARD = 100_000  # items in a file
CHUNK = 20_000  # items made at a time
GROUPS = 200  # of items that are alike
KNOWN = 100  # items labelled before the campaign asks
SIZES = {"quick": ((2_000, 20_000), 60, 50), "full": ((10_000, 100_000, 1_000_000), 500, 250)}  # items, features, picks


def write_pool(folder: Path, n: int, d: int) -> None:
    """Items around centres, with few strong and many weak directions, of lengths between 1 and 1.3."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((GROUPS, d), dtype=np.float32)
    strength = (1 / np.sqrt(1 + np.arange(d) / 20)).astype(np.float32)
    folder.mkdir()
    for number, start in enumerate(range(0, n, SHARD)):
        size = min(SHARD, n - start)
        shard = np.lib.format.open_memmap(folder / f"{number:03d}.npy", "w+", np.float32, (size, d))
        for at in range(0, size, CHUNK):
            rows = min(CHUNK, size - at)
            part = rng.standard_normal((rows, d), dtype=np.float32) + centres[rng.integers(0, GROUPS, rows)]
            part *= strength
            part *= (1 + 0.3 * rng.random((rows, 1), dtype=np.float32)) / np.linalg.norm(part, axis=1, keepdims=True)
            shard[at : at + rows] = part
        shard.flush()


@dataclass(frozen=True, eq=False)
class LinearBlock:
    """A part of a pool whose rows are features themselves, in the precision they come in."""

    part: Part
    noise: float

    @property
    def start(self) -> int:
        return self.part.start

    @property
    def n_rows(self) -> int:
        return self.part.n_rows

    def load(self, rows: npt.NDArray[np.intp] | None = None) -> tuple[Any, npt.NDArray[np.float64]]:
        X = self.part.load(rows)
        return X, np.full(X.shape[0], self.noise)


def pool_of(folder: Path) -> ShardedFeatures:
    return ShardedFeatures.open(sorted(folder.glob("*.npy")))


def select(X: ShardedFeatures, picks: int) -> tuple[StreamedInformation, list[int]]:
    state = StreamedInformation(LowRankBlocks([LinearBlock(part, NOISE) for part in X.parts()]))
    return state, state.pick(picks).indices.tolist()


def timed(task: Callable[[], Any]) -> tuple[float, float, Any]:
    """Processor seconds, wall seconds, and the result."""
    cpu, wall = time.thread_time(), time.perf_counter()
    result = task()
    return time.thread_time() - cpu, time.perf_counter() - wall, result


def gram_pass(X: ShardedFeatures) -> None:
    total = np.zeros((X.shape[1], X.shape[1]))
    for _, rows in X.blocks():
        total += rows.T @ rows


def product_pass(X: ShardedFeatures, n_rows: int, n_moves: int) -> None:
    directions = np.ones((X.shape[1], 2 * n_moves), dtype=np.float32)
    for part, rows in X.blocks():
        if part.start >= n_rows:
            break
        rows[: n_rows - part.start] @ directions


def measure_picks(folder: Path, picks: int) -> dict[str, Any]:
    """Streamed picks, what they cost, and the passes that cannot be avoided."""
    X = pool_of(folder)
    warm = np.random.default_rng(0).standard_normal((500, X.shape[1])).astype(np.float32)
    select(ShardedFeatures.of(warm, warm), 5)  # compiles
    before = peak_gib()
    with threadpool_limits(1):
        cpu, wall, (state, indices) = timed(lambda: select(X, picks))
        peak = peak_gib()
        floor, _, _ = timed(lambda: gram_pass(X))
        for walk in state.walks[1:]:
            floor += timed(lambda walk=walk: product_pass(X, walk.n_rows, walk.n_moves))[0]
    walks = [walk.n_rows for walk in state.walks]
    times = {"cpu_seconds": cpu, "wall_seconds": wall, "passes_cpu_seconds": floor}
    return times | {"peak_gib": peak, "grown_gib": peak - before, "walks": walks, "picks": indices}


def measure_memory(folder: Path, picks: int) -> dict[str, Any]:
    """The engine in memory on the same pool."""
    X = pool_of(folder)[:]
    with threadpool_limits(1):
        cpu, _, found = timed(lambda: greedy_information(LowRank(X, NOISE), picks))
    return {"cpu_seconds": cpu, "picks": found.indices.tolist()}


def measure_campaign(folder: Path, picks: int) -> dict[str, Any]:
    """A campaign that knows some labels asks for more."""
    X = pool_of(folder)
    data = lw.LabelData.from_arrays(X, label_names=[f"label_{j}" for j in range(10)])
    weights = np.random.default_rng(1).standard_normal((X.shape[1], 10))
    rows = np.random.default_rng(2).choice(X.shape[0], KNOWN, replace=False)
    told = [dict(zip(data.label_names, said, strict=True)) for said in X[rows] @ weights > 0]
    answers = [lw.Answer(str(row), said) for row, said in zip(rows, told, strict=True)]
    strategy = lw.MutualInformation()
    campaign = lw.Campaign(data, model=lw.LabelGP("linear"), strategy=strategy, random_state=0, answers=answers)
    cpu, wall, asked = timed(lambda: campaign.ask(picks))
    return {"wall_seconds": wall, "cpu_seconds": cpu, "peak_gib": peak_gib(), "asked": len(asked)}


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux


MEASURES = {"picks": measure_picks, "memory": measure_memory, "campaign": measure_campaign}


def in_a_process_of_its_own(measure: str, folder: Path, picks: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", measure, str(folder), str(picks)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    shown = {key: value for key, value in found.items() if key != "picks"}
    print(measure, folder.name, json.dumps(shown), file=sys.stderr, flush=True)
    return found


def by_another_script(script: Path, quick: bool) -> dict[str, Any]:
    """What another part prints; workers of a cluster are processes with one thread each."""
    command = [sys.executable, str(script), *(["--quick"] if quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def slope(sizes: list[int], values: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def draw(path: Path, sizes: list[int], seconds: list[float], gib: list[float]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for axis, values, name in zip(axes, (seconds, gib), ("processor seconds", "peak memory, GiB"), strict=True):
        axis.loglog(sizes, values, "o-", label="measured")
        axis.loglog(sizes, [values[-1] * n / sizes[-1] for n in sizes], ":", color="grey", label="in proportion to n")
        axis.set(xlabel="items", ylabel=name)
        axis.legend(frameon=False)
    figure.savefig(path, dpi=110)


def million(sizes: tuple[int, ...], d: int, picks: int, picture: Path | None) -> dict[str, Any]:
    """Everything about one machine; sizes from small to large, the last being the million."""
    found: dict[int, dict[str, Any]] = {}
    figures: dict[str, Any] = {"items": list(sizes), "features": d, "picks": picks}
    with tempfile.TemporaryDirectory() as scratch:
        for n in sizes:
            folder = Path(scratch) / f"items_{n}"
            write_pool(folder, n, d)
            found[n] = in_a_process_of_its_own("picks", folder, picks)
            if n == sizes[-2]:
                memory = in_a_process_of_its_own("memory", folder, picks)
                figures["same_picks"] = memory["picks"] == found[n]["picks"]
            if n == sizes[-1]:
                campaign = in_a_process_of_its_own("campaign", folder, picks)
            for shard in folder.iterdir():
                shard.unlink()
    seconds, gib = ([found[n][key] for n in sizes] for key in ("cpu_seconds", "peak_gib"))
    if picture is not None:
        draw(picture, list(sizes), seconds, gib)
    last = found[sizes[-1]]
    figures |= {
        "million_peak_gib": last["peak_gib"],
        "million_ratio_to_passes": last["cpu_seconds"] / last["passes_cpu_seconds"],
        "million_cpu_seconds": last["cpu_seconds"],
        "million_wall_seconds": last["wall_seconds"],
        "million_walks": last["walks"],
        "slope_time": slope(list(sizes), seconds),
        "slope_memory": slope(list(sizes), gib),
        "cpu_seconds": seconds,
        "peak_gib": gib,
        "campaign_peak_gib": campaign["peak_gib"],
        "campaign_wall_seconds": campaign["wall_seconds"],
        "campaign_asked": campaign["asked"],
    }
    return figures


def rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 3) if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    parser.add_argument(
        "--picture", type=Path, help=f"save time and memory against n here; in full runs {PICTURE.name}"
    )
    parser.add_argument("--only", choices=("machine", "cluster", "default"), help="a part of it")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        name, folder, picks = options.measure
        print(json.dumps(MEASURES[name](Path(folder), int(picks))))
        return
    figures: dict[str, Any] = {}
    if options.only in (None, "machine"):
        figures |= million(*SIZES[options.size], options.picture or (PICTURE if options.size == "full" else None))
    for part, script in (("cluster", CLUSTER), ("default", DEFAULT)):
        if options.only in (None, part):
            figures |= by_another_script(script, options.size == "quick")
    print(json.dumps({key: rounded(value) for key, value in figures.items()}))


if __name__ == "__main__":
    main()
