"""Hours of a person: campaigns of whole items by every package, from the same start to the level of the usual way.

A campaign knows 20 random items in full and asks for 20 more in each of 16 rounds. The usual way is 300 random items
and a logistic regression per label, which also judges what the peers ask. What we ask is judged by our default model,
and by the logistic regression, too. All have the same start and the same rows, of unit length, and no names of labels;
one arm of ours is given names, and says so. `hour_figures.py` sums up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from hour_figures import BATCH, NAMED, OURS, OURS_LOGISTIC, RANDOM, RANDOM_OUR_MODEL, START, Run, Runs
from labelwise_runner import DEFAULT, Labelwise
from pools import Pool
from protocol import Task, save_task
from sklearn.preprocessing import StandardScaler, normalize

import labelwise as lw
from _hours import DATA, kept, score
from _label_names_sets import split as split_named
from _label_saving_sets import load, split

RUNS = Path(__file__).resolve().parents[2] / "runs" / "peers"
WITH_NAMES = ("bibtex", "medical", "enron", "goemotions", "reuters21578", "imdb")
WITHOUT_NAMES = ("emotions", "yeast", "scene", "tmc2007-500")
SMALL = ("emotions", "scene", "yeast")  # for strategies that take seconds for each question
POOL, ROUNDS = 2000, 16
DRAWS = 3  # of random items, for each seed
LIMIT = 300.0  # processor seconds of one campaign
Play = Callable[[Any, list[dict[str, Any]]], list[Run]]  # from a peer and jobs to what it asked


@dataclass(frozen=True, eq=False)
class HourPool:
    """A pool, the items known at the start, and what the labels and features are called, if they have names."""

    pool: Pool
    start: np.ndarray
    named: lw.LabelData | None

    @property
    def task(self) -> Task:
        X = sp.csr_matrix(self.pool.X) if sp.issparse(self.pool.X) else self.pool.X
        return Task(X, self.pool.Y.astype(int), self.start)


@lru_cache(maxsize=1)
def hour_pool(name: str, seed: int) -> HourPool:
    """The pool and test set of `label_names.py` where labels have names, else those of `time_saving.py`."""
    rng = np.random.default_rng(seed)
    if name in WITH_NAMES:
        pool, test = split_named(DATA, name, seed, POOL)
    else:
        pool, test = split(_loaded(DATA, name), seed, POOL)
    X, X_test = pool.X, test.X
    if not sp.issparse(X):
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    arrays = Pool(normalize(X), pool.Y.toarray().astype(bool), normalize(X_test), test.Y.toarray().astype(bool))
    named = None
    if name in WITH_NAMES:
        named = lw.LabelData.from_arrays(arrays.X, labels=list(pool.labels), feature_names=pool.feature_names)
    return HourPool(arrays, rng.permutation(len(arrays.Y))[:START], named)


_loaded = lru_cache(maxsize=1)(load)


def by_logistic(at: HourPool, asked: list[list[int]]) -> list[list[float]]:
    """The curve of a logistic regression per label, of the start and what was asked so far."""
    rows, curve = at.start.tolist(), []
    for batch in asked:
        rows = [*rows, *batch]
        model = lw.BinaryRelevance(scale="none").fit(at.pool.X[rows], at.pool.Y[rows])
        curve.append(point(at, rows, model.posterior(at.pool.X_test)))
    return curve


def by_our_model(at: HourPool, asked: list[list[int]] | None, data: lw.LabelData | None = None) -> Run:
    """A default campaign, which asks, or is told what others asked."""
    learner = Labelwise(DEFAULT, at.task, data)
    rows, batches, curve, spent = at.start.tolist(), [], [], []
    for number in range(ROUNDS):
        began = time.process_time()
        batch = learner.ask(BATCH)[0].tolist() if asked is None else asked[number]
        learner.know(np.array(batch))
        beliefs = learner.campaign.believe(at.pool.X_test)  # which learns the answers first
        spent.append(time.process_time() - began)
        rows = [*rows, *batch]
        batches.append(batch)
        curve.append(point(at, rows, beliefs))
    return {"asked": batches, "curve": curve, "seconds_per_round": float(np.mean(spent))}


def point(at: HourPool, rows: list[int], beliefs: Any) -> list[float]:
    return [len(rows), int(at.pool.Y[rows].sum()), *score(beliefs, at.pool.Y_test)]


def random_batches(at: HourPool, seed: int) -> list[list[int]]:
    rest = np.setdiff1d(np.arange(len(at.pool.Y)), at.start)
    rows = np.random.default_rng(seed).permutation(rest)[: BATCH * ROUNDS]
    return rows.reshape(ROUNDS, BATCH).tolist()


def run_file(name: str, arm: str, seed: int) -> Path:
    return RUNS / f"{name}-{arm.replace(', ', '_').replace(' ', '_')}-{seed}.json"


def run_ours(name: str, seed: int) -> None:
    """Random items, and our default campaign, with what it asked judged by the classifier of the peers, too."""
    at = hour_pool(name, seed)
    draws = [random_batches(at, draw) for draw in range(DRAWS)]
    arms: dict[str, Callable[[], Run]] = {
        RANDOM: lambda: {"curve": np.mean([by_logistic(at, each) for each in draws], axis=0).tolist()},
        RANDOM_OUR_MODEL: lambda: by_our_model(at, draws[0]),
        OURS: lambda: by_our_model(at, None),
        OURS_LOGISTIC: lambda: {"curve": by_logistic(at, read(name, OURS, seed)["asked"])},  # the one before
    }
    if at.named is not None:
        arms[NAMED] = lambda: by_our_model(at, None, at.named)
    for arm, make in arms.items():
        kept(run_file(name, arm, seed), make)


def run_peer(play: Play, peer: Any, name: str, files: dict[int, Path]) -> None:
    """The campaigns of a peer on a set that are not done yet, in one process; `files` is for each seed's data."""
    slow = () if name in SMALL else (*peer.one_at_a_time, *peer.slow)
    jobs = [
        {"strategy": each, "case": name, "seed": seed, "data": str(data), "batch": BATCH, "rounds": ROUNDS}
        for seed, data in files.items()
        for each in peer.campaigns
        if each not in slow and not run_file(name, f"{peer.name} {each}", seed).exists()
    ]
    for seed in {job["seed"] for job in jobs}:
        task = hour_pool(name, seed).task
        save_task(files[seed], task.X, task.Y, task.start)
    for one in play(peer, [{**job, "budget": LIMIT} for job in jobs]) if jobs else ():
        arm, asked = f"{peer.name} {one['strategy']}", [rows for rows, _ in one["asked"]]
        run: Run = {"unfinished": f"{LIMIT:.0f} s of the processor were over"}
        if len(asked) == ROUNDS:
            curve = by_logistic(hour_pool(name, one["seed"]), asked)
            run = {"asked": asked, "curve": curve, "seconds_per_round": float(np.mean(one["processor"]))}
        kept(run_file(name, arm, one["seed"]), partial(dict, run))


def read(name: str, arm: str, seed: int) -> Run:
    found: Run = json.loads(run_file(name, arm, seed).read_text(encoding="utf-8"))
    return found


def campaigns(play: Play, peers: Iterable[Any], scratch: Path, sets: Iterable[str], seeds: int) -> None:
    """Every campaign that is not kept in runs/peers yet: ours, then the peers', set by set."""
    for name in sets:
        if not (DATA / name).exists():
            continue
        for seed in range(seeds):
            run_ours(name, seed)
        files = {seed: scratch / f"hours-{name}-{seed}.npz" for seed in range(seeds)}
        for peer in peers:
            run_peer(play, peer, name, files)


def finished(arms: Iterable[str], sets: Iterable[str], seeds: int) -> dict[str, Runs]:
    """Set to arm to runs by seed, of what is kept."""
    arms = list(arms)
    found: dict[str, Runs] = {}
    for name in sets:
        for arm in arms:
            there = {seed: read(name, arm, seed) for seed in range(seeds) if run_file(name, arm, seed).exists()}
            if there:
                found.setdefault(name, {})[arm] = there
    return found
