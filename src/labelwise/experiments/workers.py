"""Processes side by side, for long computations that people stop and start again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from joblib import Parallel, cpu_count, parallel_config
from joblib.parallel import DEFAULT_BACKEND, get_active_backend

IDLE = 10  # seconds a worker waits for the next piece of work
# A terminal sends Ctrl-C to all processes of a command: the first one stops the others, which need not complain.
_leave_interrupts_to_the_first = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)


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
        idle_worker_timeout=IDLE,
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
