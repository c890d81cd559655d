"""The part of `scale.py` about the default campaign: refit, and choose 100 of a large pool of texts with vectors.

Made-up texts of 60 words by Zipf's law over a vocabulary of 20 000, with words that a group of texts likes, and vectors
of 384 numbers around the centres of the same groups; 500 labels follow from the vectors by a rule of low rank. Both are
written in shards, a chunk at a time: words as sparse .npz, not compressed, vectors as .npy in single precision.

A round is `Campaign(pool, answers=2000 items).ask(100)` with nothing but defaults: it learns the pool and the names of
the labels, looks after the guard, fits the model and chooses. All of it is new to the process, as after a restart;
`default_next_*` is the same after the 100 are answered. `default_round_ratio_to_passes` is its processor time against
reading every row of every block once and taking one product with 100 directions, as many as the model learns of words;
words are counted as well. The strategy itself looks closely at 1000 candidates, drawn from all items at random, so a
round need not take these products: `default_pool_seconds` is what the whole pool costs in it, learning it block by
block. `default_same_picks`: whether the pool in memory gives the same questions. `scale.py` runs this in a process of
its own; the last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise import Answer, Campaign, LabelData, Question
from labelwise.data import ShardedFeatures
from labelwise.models.semi_supervised import RANK, SemiSupervised
from scale import peak_gib, rounded, slope, timed

SYLLABLES = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu"]
WORDS, LENGTH, VECTOR, LABELS = 20_000, 60, 384, 500
GROUPS, OWN = 200, 50  # of texts, and the words that a group likes
OWN_SHARE = 0.3  # of the words of a text
RULE_RANK = 20
TAGGED, CONTROL, ASKED = 2_000, 0.2, 100  # items answered before the round, share of random ones, questions
SIZES = {"quick": (4_000, 20_000), "full": (10_000, 100_000, 1_000_000)}
SHARD, CHUNK = 100_000, 20_000  # items in a file, and made at a time


class MadeUp:
    """Where the items of a pool come from."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.vocabulary = ["".join(w) for w in np.array(np.meshgrid(*[SYLLABLES] * 5)).reshape(5, -1).T[:WORDS]]
        self.frequency = np.cumsum(1 / np.arange(1, WORDS + 1))
        self.own = rng.integers(WORDS // 100, WORDS, (GROUPS, OWN))
        self.centres = rng.standard_normal((GROUPS, VECTOR), dtype=np.float32)
        self.rule = rng.standard_normal((VECTOR, RULE_RANK)) @ rng.standard_normal((RULE_RANK, LABELS))
        scores = self.items(5_000, rng)[1] @ self.rule
        self.least = np.quantile(scores, 1 - 0.3 / np.sqrt(1 + np.arange(LABELS)), axis=0).diagonal()

    def items(self, n: int, rng: np.random.Generator) -> tuple[sp.csr_array, np.ndarray]:
        """(n, w) counts of words and (n, v) vectors."""
        group = rng.integers(0, GROUPS, n)
        drawn = np.searchsorted(self.frequency, rng.random((n, LENGTH)) * self.frequency[-1])
        liked = rng.random((n, LENGTH)) < OWN_SHARE
        drawn[liked] = self.own[group[np.nonzero(liked)[0]], rng.integers(0, OWN, int(liked.sum()))]
        ones = np.ones(drawn.size, dtype=np.float32)
        words = sp.csr_array((ones, drawn.ravel(), np.arange(0, drawn.size + 1, LENGTH)), shape=(n, WORDS))
        words.sum_duplicates()
        vectors = self.centres[group] + rng.standard_normal((n, VECTOR), dtype=np.float32)
        return words, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def labels(self, vectors: np.ndarray) -> np.ndarray:
        return vectors @ self.rule > self.least


def write_pool(folder: Path, n: int, made: MadeUp) -> None:
    """Both blocks in shards of the same rows."""
    rng = np.random.default_rng(1)
    for name in ("words", "vectors"):
        (folder / name).mkdir(parents=True)
    for number, start in enumerate(range(0, n, SHARD)):
        rows = range(start, min(start + SHARD, n), CHUNK)
        shape = (min(SHARD, n - start), VECTOR)
        vectors = np.lib.format.open_memmap(folder / "vectors" / f"{number:03d}.npy", "w+", np.float32, shape)
        words = []
        for at in rows:
            counts, vectors[at - start : at - start + CHUNK] = made.items(min(CHUNK, n - at), rng)
            words.append(counts)
        sp.save_npz(folder / "words" / f"{number:03d}.npz", sp.vstack(words, format="csr"), compressed=False)


def pool_of(folder: Path, made: MadeUp) -> LabelData:
    words, vectors = (ShardedFeatures.open(sorted((folder / name).iterdir())) for name in ("words", "vectors"))
    data = LabelData.from_arrays(words, label_names=made.vocabulary[100 : 100 + LABELS], feature_names=made.vocabulary)
    return data.with_block(vectors, "vectors", "vectors")


def answers_of(data: LabelData, made: MadeUp, n: int) -> list[Answer]:
    """Answers about n random items, some of them marked as the random share."""
    rng = np.random.default_rng(2)
    rows = rng.choice(data.n_items, n, replace=False)
    reasons = np.where(rng.random(n) < CONTROL, "control", "strategy").tolist()
    return [replace(each, reason=why) for each, why in zip(answers_about(data, made, rows), reasons, strict=True)]


def answers_about(data: LabelData, made: MadeUp, rows: Any) -> list[Answer]:
    labels = made.labels(data.X[:, WORDS:][rows])
    said = (dict(zip(data.label_names, y, strict=True)) for y in labels.tolist())
    return [Answer(str(row), each) for row, each in zip(rows, said, strict=True)]


def bare_passes(data: LabelData) -> None:
    """Every row of both blocks is read once and multiplied with as many directions as the model has of words."""
    words, vectors = data.X[:, :WORDS], data.X[:, WORDS:]
    counts, directions = np.zeros(WORDS), np.ones((WORDS, RANK), dtype=np.float32)
    for _, rows in words.blocks():
        counts += np.bincount(rows.indices, minlength=WORDS)
        rows @ directions
    for _, rows in vectors.blocks():
        rows @ directions[:VECTOR]


def measure_round(folder: Path) -> dict[str, Any]:
    """A round and the next, the learning of the pool alone, and the bare passes."""
    made = MadeUp()
    data = pool_of(folder, made)
    answers = answers_of(data, made, TAGGED)
    before = peak_gib()
    cpu, wall, (campaign, questions) = timed(lambda: first_round(data, answers))
    peak = peak_gib()
    campaign.tell(answers_about(data, made, [int(question.item) for question in questions]))
    following, _, _ = timed(lambda: campaign.ask(ASKED))
    pool, _, _ = timed(lambda: SemiSupervised(blocks=data.blocks).learn_pool(data.X))
    floor, _, _ = timed(lambda: bare_passes(data))
    picks = [int(question.item) for question in questions]
    times = {"cpu_seconds": cpu, "wall_seconds": wall, "next_cpu_seconds": following, "pool_seconds": pool}
    return times | {"passes_cpu_seconds": floor, "peak_gib": peak, "before_gib": before, "picks": picks}


def first_round(data: LabelData, answers: list[Answer]) -> tuple[Campaign, list[Question]]:
    campaign = Campaign(data, answers=answers)
    return campaign, campaign.ask(ASKED)


def measure_memory(folder: Path) -> dict[str, Any]:
    """The same round with the pool in memory."""
    made = MadeUp()
    data = pool_of(folder, made)
    answers = answers_of(data, made, TAGGED)
    data = replace(data, X=data.X[:])
    cpu, _, (_, questions) = timed(lambda: first_round(data, answers))
    return {"cpu_seconds": cpu, "peak_gib": peak_gib(), "picks": [int(question.item) for question in questions]}


MEASURES = {"round": measure_round, "memory": measure_memory}


def in_a_process_of_its_own(measure: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", measure, str(folder)]
    found: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    shown = {key: rounded(value) for key, value in found.items() if key != "picks"}
    print(measure, folder.name, json.dumps(shown), file=sys.stderr, flush=True)
    return found


def measure_default(sizes: tuple[int, ...]) -> dict[str, Any]:
    """All sizes, from small to large; the smallest in memory, too."""
    found: dict[int, dict[str, Any]] = {}
    for n in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / f"items_{n}"
            write_pool(folder, n, MadeUp())
            if n == sizes[0]:
                in_a_process_of_its_own("round", folder)  # compiles
                memory = in_a_process_of_its_own("memory", folder)
            found[n] = in_a_process_of_its_own("round", folder)
    seconds, gib, passes = ([found[n][key] for n in sizes] for key in ("cpu_seconds", "peak_gib", "passes_cpu_seconds"))
    last = found[sizes[-1]]
    return {
        "default_items": list(sizes),
        "default_round_seconds": seconds,
        "default_round_peaks_gib": gib,
        "default_round_passes_seconds": passes,
        "default_round_ratio_to_passes": seconds[-1] / passes[-1],
        "default_round_peak_gib": gib[-1],
        "default_round_slope": slope(list(sizes), seconds),
        "default_round_slope_memory": slope(list(sizes), gib),
        "default_round_wall_seconds": last["wall_seconds"],
        "default_next_seconds": last["next_cpu_seconds"],
        "default_pool_seconds": last["pool_seconds"],
        "default_same_picks": memory["picks"] == found[sizes[0]]["picks"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", default="full")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        name, folder = options.measure
        print(json.dumps(MEASURES[name](Path(folder))))
        return
    print(json.dumps({key: rounded(value) for key, value in measure_default(SIZES[options.size]).items()}))


if __name__ == "__main__":
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    if threads.items() <= os.environ.items():
        main()
    else:  # numpy reads them when it is loaded, which is over
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | threads)
