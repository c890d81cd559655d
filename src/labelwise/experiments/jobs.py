"""Pieces of a long computation, on all cores, each saved when finished: stopped anywhere, it goes on from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joblib import delayed

from labelwise.experiments.storage import replacing
from labelwise.experiments.workers import side_by_side

Outcome = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A function at the top level of a module, called with `settings` as keywords; it returns plain JSON values.

    `version` is raised when the function changes its meaning: what was saved under another version is done again.
    """

    function: Callable[..., Outcome]
    settings: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1

    @property
    def key(self) -> str:
        """The name of its outcome on disk: a digest of everything that decides it."""
        what = f"{self.function.__module__}.{self.function.__qualname__}"
        content = json.dumps([what, self.version, dict(self.settings)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]


def run_jobs(
    jobs: Sequence[Job],
    folder: Path,
    *,
    n_jobs: int | None = None,
    on_job: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """The outcomes, in order; those already in the folder are not computed again.

    Parameters
    ----------
    jobs : jobs with different keys
    folder : gets one JSON file per finished job, written whole or not at all
    n_jobs : side by side; by default as many as cores, each keeping to its share of the threads
    on_job : called with the number of finished jobs and of all, at the start and after each
    """
    folder = folder.resolve()  # a worker may have another working directory
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = {job.key: saved_outcome(job, folder) for job in jobs}
    todo = [job for job in jobs if outcomes[job.key] is None]
    tell = on_job or (lambda done, total: None)
    tell(len(jobs) - len(todo), len(jobs))
    by_key = {job.key: job for job in todo}
    work = (delayed(_finish)(job, folder) for job in todo)
    for done, (key, outcome) in enumerate(side_by_side(work, n_jobs), start=len(jobs) - len(todo) + 1):
        outcomes[key] = outcome
        if not (folder / f"{key}.json").exists():  # the worker was on a machine with other disks
            _save(by_key[key], folder, outcome)
        tell(done, len(jobs))
    return [outcome for job in jobs if (outcome := outcomes[job.key]) is not None]


def _finish(job: Job, folder: Path) -> tuple[str, Outcome]:
    outcome = job.function(**job.settings)
    _save(job, folder, outcome)
    return job.key, outcome


def _save(job: Job, folder: Path, outcome: Outcome) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / f"{job.key}.json") as part:
        part.write_text(json.dumps({"settings": dict(job.settings), "outcome": outcome}) + "\n", encoding="utf-8")


def saved_outcome(job: Job, folder: Path) -> Outcome | None:
    """What `run_jobs` saved of a job in this folder; None where it is missing or damaged, and has to be done again."""
    try:
        saved = json.loads((folder / f"{job.key}.json").read_text(encoding="utf-8"))
        return saved["outcome"] if saved["settings"] == json.loads(json.dumps(dict(job.settings))) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
