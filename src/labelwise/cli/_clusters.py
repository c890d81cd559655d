"""The option `--cluster` of commands that run many things."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated

import typer

from labelwise.cli._common import user_errors

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS", help="Run on a Dask cluster: its address, or a number of workers here."
    ),
]


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """What runs side by side within goes to the cluster, where one is named."""
    with ExitStack() as stack:
        if address is not None:
            with user_errors():
                from labelwise.cluster import fan_out  # loads Dask, which most commands do without

                stack.enter_context(fan_out(int(address) if address.isdigit() else address))
        yield
