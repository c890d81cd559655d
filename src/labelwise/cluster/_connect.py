"""From what a user calls a cluster to a Dask client, and the workers behind it."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from joblib import parallel_config
from threadpoolctl import threadpool_limits

Cluster: TypeAlias = "Any"  # a distributed.Client, the address of a scheduler, or a number of local workers
PATIENCE = 15.0  # seconds until a scheduler has to answer, or a worker to turn up
DESERTED = 120.0  # seconds without any worker after which a computation is given up
MANY_FRAMES = 2**16  # no greeting has so many parts
LOOK_AGAIN = 2.0  # seconds between two looks at whether there are any
# Dask has its workers give back every page at once; arrays that come and go then cost more in pages than in arithmetic.
MEMORY_IS_KEPT = {"MALLOC_TRIM_THRESHOLD_": str(2**28), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def connected(cluster: Cluster, *, patience: float | None = None) -> Iterator[Any]:
    """A client with at least one worker; what was started here is stopped at the end, a client given stays open.

    Parameters ---------- cluster : `distributed.Client`, the address of a scheduler ("tcp://10.0.0.5:8786"), or a
    number of workers: that number of
        processes on this machine, with one thread each
    patience : seconds to wait for the scheduler to answer and for a first worker; by default 15

    Examples
    --------
    >>> connected(0).__enter__()
    Traceback (most recent call last):
        ...
    ValueError: cluster must be a Dask client, the address of a scheduler or a number of workers, got 0
    """
    distributed, patience = _package("distributed"), PATIENCE if patience is None else patience
    if isinstance(cluster, distributed.Client):
        _wait_for_a_worker(cluster, patience)
        yield cluster
    elif isinstance(cluster, str):
        with _client_at(distributed, cluster, patience) as client:
            _wait_for_a_worker(client, patience)
            yield client
    elif isinstance(cluster, int) and not isinstance(cluster, bool) and cluster > 0:
        with _local(distributed, cluster) as client:
            yield client
    else:
        raise ValueError(
            f"cluster must be a Dask client, the address of a scheduler or a number of workers, got {cluster!r}"
        )


def workers_of(client: Any, *, patience: float = DESERTED) -> list[str]:
    """The addresses of the workers there are now, in a fixed order; of the first to return, where all are gone."""
    if not (workers := sorted(client.nthreads())):
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            raise _deserted(client, patience) from None
        workers = sorted(client.nthreads())
    return workers


def check_client(client: Any) -> None:
    """Refuse what is not an open client."""
    if not isinstance(client, _package("distributed").Client) or client.status != "running":
        raise ValueError(
            f"client must be an open distributed.Client, got {client!r}: "
            "'with labelwise.cluster.connected(ADDRESS_OR_NUMBER) as client:' gives one"
        )


def itself(thing: Any) -> Any:
    """A task whose result is what it was given: it is sent to a worker once and stays there."""
    return thing


def near(workers: list[str], number: int) -> dict[str, Any]:
    """Where to compute piece `number` if that worker still lives, and elsewhere if it does not."""
    return {"workers": [workers[number % len(workers)]], "allow_other_workers": True, "pure": False}


def collect(client: Any, futures: Any, *, patience: float = DESERTED) -> Any:
    """The results of futures, like `client.gather`, but not for ever where all workers are gone.

    A lost worker's tasks are done again by the others; Dask waits without end for the first of them to come back.
    """
    return client.sync(_gathered, client, futures, patience)


async def _gathered(client: Any, futures: Any, patience: float) -> Any:
    results, alone_since = asyncio.ensure_future(client.gather(futures, asynchronous=True)), None
    while not (await asyncio.wait({results}, timeout=LOOK_AGAIN))[0]:
        alone_since = None if await client.nthreads() else alone_since or monotonic()
        if alone_since is not None and monotonic() - alone_since > patience:
            results.cancel()
            raise _deserted(client, patience)
    return results.result()


def _deserted(client: Any, patience: float) -> ConnectionError:
    address = client.scheduler.address
    return ConnectionError(
        f"all workers of {address} are gone, and none has come back in {patience:g} seconds: start some with "
        f"'dask worker {address}'"
    )


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"clusters need {name}: pip install 'labelwise[cluster]'") from error


def _client_at(distributed: Any, address: str, patience: float) -> Any:
    try:
        _check_greeting(address, patience)
        return distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:  # a TimeoutError is an OSError, a malformed address a ValueError
        raise ConnectionError(
            f"no Dask scheduler answers at {address!r} ({error or type(error).__name__}): start one with "
            "'dask scheduler' and workers with 'dask worker ADDRESS', and give the address that the scheduler prints"
        ) from error


def _check_greeting(address: str, patience: float) -> None:
    """Dask's own client waits without end where something else listens; a scheduler without TLS speaks first."""
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    if place.scheme != "tcp" or place.hostname is None or place.port is None:
        return
    with socket.create_connection((place.hostname, place.port), timeout=patience) as line:
        greeting = line.recv(8)
    if not 0 < int.from_bytes(greeting, "little") < MANY_FRAMES:  # a message begins with the number of its parts
        raise OSError("what listens there is no scheduler")


def _wait_for_a_worker(client: Any, patience: float) -> None:
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        address = client.scheduler.address
        raise ConnectionError(
            f"the scheduler at {address} has no workers: start some with 'dask worker {address}'"
        ) from None


@contextmanager
def _local(distributed: Any, n_workers: int) -> Iterator[Any]:
    """Processes of one thread each: the number of workers is the number of cores in use.

    Until it is closed, matrix products of this process have one thread, too: others would wait for work in a loop, on
    the cores of the workers.
    """
    environment = MEMORY_IS_KEPT | dict.fromkeys(ONE_THREAD, "1")
    settings: dict[str, Any] = {
        f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in environment.items()
    }
    settings["distributed.nanny.environ.NUMBA_NUM_THREADS"] = "1"  # read late, and numba here must not see it
    settings["distributed.worker.profile.enabled"] = False
    settings["distributed.deploy.lost-worker-timeout"] = "10 minutes"  # a killed worker comes back, but may be slow
    with (
        _same_environment(environment),
        threadpool_limits(1, user_api="blas"),
        _package("dask").config.set(settings),
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            scheduler_port=0,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _same_environment(names: Iterable[str]) -> Iterator[None]:
    """Afterwards these variables are as before: Dask sets what its workers are to inherit in this process."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def fan_out(cluster: Cluster) -> Iterator[Any]:
    """Within it, runs of `labelwise.studies`, and all of joblib, go to the workers. Gives the client.

    Through joblib's Dask backend: a run lost with its worker is done by another. Results come back to this process and
    are saved here; a folder that the workers share with it gets them even if this process dies.

    Parameters
    ----------
    cluster : see `connected`

    Examples
    --------
    >>> from labelwise.cluster import fan_out
    >>> from labelwise.studies import Plan, run_study
    >>> with fan_out("tcp://10.0.0.5:8786"):  # needs a cluster # doctest: +SKIP
    ...     study = run_study(data, Plan(["label_gp"], ["random", "uncertainty"]), "runs/mine")
    """
    with connected(cluster) as client, parallel_config(backend="dask", client=client):
        yield client
