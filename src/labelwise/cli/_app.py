"""The Typer application: every command is registered here, and only here."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwise import __version__
from labelwise.cli.ask import ask
from labelwise.cli.cooccurrence import cooccurrence
from labelwise.cli.demo import demo
from labelwise.cli.diagnose import diagnose
from labelwise.cli.exchange import export, import_
from labelwise.cli.labels import labels
from labelwise.cli.new import new
from labelwise.cli.predict import predict
from labelwise.cli.report import report
from labelwise.cli.reproduce import reproduce
from labelwise.cli.serve_worker import serve_worker
from labelwise.cli.simulate import simulate
from labelwise.cli.status import status
from labelwise.cli.stream import stream
from labelwise.cli.tell import tell

app = typer.Typer(
    name="labelwise",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,  # a plain traceback is what a bug report needs
)
app.command()(cooccurrence)
app.command()(demo)
app.command()(diagnose)
app.command()(reproduce)
app.command()(simulate)
app.add_typer(stream, name="stream")
app.command()(new)
app.command()(ask)
app.command()(tell)
app.command()(status)
app.command()(predict)
app.command()(export)
app.command("import")(import_)
app.command()(report)
app.command("serve-worker")(serve_worker)
app.add_typer(labels, name="labels")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"labelwise {__version__}")
        raise typer.Exit


@app.callback()
def labelwise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Bayesian multi-label learning that asks for the fewest labels."""
