"""Pieces of a long computation, on all cores, each saved when finished: stopped anywhere, it goes on from there."""

from __future__ import annotations

import hashlib
import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from joblib import Parallel, cpu_count, delayed, parallel_config
from joblib.parallel import DEFAULT_BACKEND, get_active_backend

from labelwise.files import write_text

Outcome = dict[str, Any]
WORKER_IDLE_SECONDS = 10  # that a worker waits for the next piece of work
# A terminal sends Ctrl-C to all processes of a command: the first one stops the others, which need not complain.
_leave_interrupts_to_the_first = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)


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
    notify = on_job or (lambda done, total: None)
    notify(len(jobs) - len(todo), len(jobs))
    by_key = {job.key: job for job in todo}
    work = (delayed(_finish)(job, folder) for job in todo)
    for done, (key, outcome) in enumerate(side_by_side(work, n_jobs), start=len(jobs) - len(todo) + 1):
        outcomes[key] = outcome
        if not (folder / f"{key}.json").exists():  # the worker was on a machine with other disks
            _save(by_key[key], folder, outcome)
        notify(done, len(jobs))
    return [outcome for job in jobs if (outcome := outcomes[job.key]) is not None]


def _finish(job: Job, folder: Path) -> tuple[str, Outcome]:
    outcome = job.function(**job.settings)
    _save(job, folder, outcome)
    return job.key, outcome


def _save(job: Job, folder: Path, outcome: Outcome) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"settings": dict(job.settings), "outcome": outcome})
    write_text(folder / f"{job.key}.json", content + "\n")


def saved_outcome(job: Job, folder: Path) -> Outcome | None:
    """What `run_jobs` saved of a job in this folder; None where it is missing or damaged, and has to be done again."""
    try:
        saved = json.loads((folder / f"{job.key}.json").read_text(encoding="utf-8"))
        return saved["outcome"] if saved["settings"] == json.loads(json.dumps(dict(job.settings))) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def side_by_side(work: Iterable[tuple[Callable[..., Any], Any, Any]], n_jobs: int | None) -> Iterator[Any]:
    """The results of `joblib.delayed` calls as they come, in any order; one job at a time runs here, in order.

    Each process keeps to its share of the cores, so that none waits for another's threads. Nothing is queued ahead and
    idle workers soon leave: when this process is killed, its workers end what they are doing and go. A backend chosen
    outside with `joblib.parallel_config`, say that of a cluster, is used as it is, with all it has.

    Parameters
    ----------
    work : made by `joblib.delayed`; taken one by one, as workers become free
    n_jobs : processes; None for as many as cores
    """
    if _chosen_outside():
        yield from Parallel(-1, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)(work)
        return
    processes = n_jobs or cpu_count()
    if processes == 1:
        yield from Parallel(n_jobs=1, return_as="generator")(work)
        return
    threads = max(1, cpu_count() // processes)
    with parallel_config(
        backend="loky",
        inner_max_num_threads=threads,
        idle_worker_timeout=WORKER_IDLE_SECONDS,
        initializer=_leave_interrupts_to_the_first,
    ):
        parallel = Parallel(processes, return_as="generator_unordered", pre_dispatch="n_jobs", max_nbytes=None)
        results = parallel(work)
    yield from results


def _chosen_outside() -> bool:
    """Whether a surrounding `parallel_config` names a backend other than joblib's default."""
    with parallel_config(backend=DEFAULT_BACKEND):
        default = type(get_active_backend()[0])
    return type(get_active_backend()[0]) is not default
