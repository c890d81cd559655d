"""Studies on a cluster: what runs side by side on the cores of one machine runs on all workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config

from labelwise.cluster._connect import Cluster, connected


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
