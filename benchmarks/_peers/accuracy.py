"""Accuracy at equal labels: what each package asked, judged on items that nobody is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from labelwise_runner import DEFAULT, Labelwise
from pools import Pool, made_up, real, split
from protocol import Task, load_task, save_task

import labelwise as lw
from labelwise.numerics.metrics import evaluate

START, BATCH, ROUNDS = 30, 10, 7  # items: 100 at the end
SHOWN = ("macro_roc_auc", "macro_f1", "precision_at_1_3")
SLOW_SETS = ("medical",)  # for strategies that ask for one item at a time
SIZES = {"made-up": (1000, 1000), "medical": (600, 378), "enron": (1100, 602)}  # pool, test
SEEDS = 2


@dataclass(frozen=True, eq=False)
class Plan:
    """A run to judge: the job, and the pool it is played on."""

    job: dict[str, Any]
    pool: Pool


def pools(quick: bool, seed: int) -> dict[str, Pool]:
    found = {}
    for name, (n_pool, n_test) in ({"made-up": (200, 100)} if quick else SIZES).items():
        data = made_up(n_pool + n_test, seed) if name == "made-up" else real(name, n_pool + n_test, seed)
        if data is not None:
            found[name] = split(*data, n_test)
    return found


def accuracy_jobs(package: Any, scratch: Path, quick: bool) -> list[Plan]:
    plans = []
    for seed in range(1 if quick else SEEDS):
        for name, pool in pools(quick, seed).items():
            file = scratch / f"judged-{name}-{seed}.npz"
            if not file.exists():
                save_task(file, pool.X, pool.Y, np.arange(START))
            for strategy in package.nearest:
                single = strategy in package.one_at_a_time
                if single and (seed > 0 or name not in SLOW_SETS):
                    continue
                batch = BATCH * (pool.Y.shape[1] if asks_pairs(package, strategy) else 1)
                job = {"strategy": strategy, "case": name, "seed": seed, "data": str(file), "batch": batch}
                plans.append(Plan({**job, "rounds": 2 if quick else ROUNDS}, pool))
    return plans


def asks_pairs(package: Any, strategy: str) -> bool:
    if package.name != "labelwise":
        return False
    return strategy == DEFAULT or strategy.endswith("_pairs")


def judge(scores: dict[str, Any], package: str, played: dict[str, Any], plans: list[Plan]) -> None:
    """Add the figures of one run to `scores`: set, strategy, mean over the seeds so far."""
    if len(played["asked"]) < played["rounds"]:
        return  # it ran out of time
    pool = next(plan.pool for plan in plans if plan.job["data"] == played["data"])
    beliefs = _beliefs(load_task(Path(played["data"])), played, pool, package)
    figures = evaluate(beliefs, pool.Y_test)
    entry = scores.setdefault(played["case"], {}).setdefault(f"{package} {played['strategy']}", [0.0, 0.0, 0.0, 0])
    for place, name in enumerate(SHOWN):
        entry[place] += (figures[name] - entry[place]) / (entry[3] + 1)
    entry[3] += 1


def _beliefs(task: Task, played: dict[str, Any], pool: Pool, package: str) -> Any:
    if package == "labelwise" and played["strategy"] == DEFAULT:
        learner = Labelwise(DEFAULT, task)
        for _ in range(played["rounds"]):
            rows, labels = learner.ask(played["batch"])
            learner.tell(rows, labels, task.Y[rows] if labels is None else task.Y[rows, labels])
        return learner.campaign.believe(pool.X_test).probabilities()
    observed = np.zeros(pool.Y.shape, dtype=bool)
    observed[task.start] = True
    for rows, labels in played["asked"]:
        observed[rows, slice(None) if labels is None else labels] = True
    known = observed.any(axis=1)
    model = lw.BinaryRelevance(scale="none").fit(pool.X[known], pool.Y[known], observed=observed[known])
    return model.predict_proba(pool.X_test)


def stream_figures(streams: dict[str, Any], Y: np.ndarray) -> dict[str, dict[str, float]]:
    """Rows per second, and macro F1 over the second half of the stream."""
    late, figures = slice(len(Y) // 2, None), {}
    for name, stream in streams.items():
        bits = np.unpackbits(np.array(stream["predicted"], dtype=np.uint8))[: Y.size].reshape(Y.shape).astype(bool)
        hits = (bits & Y)[late].sum(axis=0)
        total = bits[late].sum(axis=0) + Y[late].sum(axis=0)
        f1 = float(np.mean(2 * hits[total > 0] / total[total > 0]))
        figures[name] = {"rows_per_second": stream["rows_per_second"], "macro_f1": f1}
    return figures
