from __future__ import annotations

import os
import subprocess
import sys
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

from labelwise import __version__, cli
from labelwise.cli import app, diagnose, simulate, stream
from labelwise.queries.diagnosis import Rule
from labelwise.streams.judge import RULE_NAMES
from labelwise.studies import findings, plans, sources

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pandas", "pyarrow", "matplotlib", "sqlalchemy", "fastapi", "pydantic")


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, env=os.environ | environment
    )


def test_the_version_is_printed():
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"labelwise {__version__}\n")


def test_the_package_is_the_command():
    done = run_python("-m", "labelwise", "--version")
    assert (done.returncode, done.stdout) == (0, f"labelwise {__version__}\n")
    assert "Usage: labelwise" in run_python("-m", "labelwise", "simulat").stderr


def test_help_lists_every_command_and_shows_examples():
    done = CliRunner().invoke(app, ["--help"])
    assert done.exit_code == 0
    assert [name for name in cli.COMMANDS if name not in done.stdout] == []
    for command in ("demo", "simulate"):
        shown = CliRunner().invoke(app, [command, "--help"])
        assert shown.exit_code == 0
        assert "Examples" in shown.stdout and f"labelwise {command}" in shown.stdout


def test_an_unknown_command_is_wrong_usage():
    assert CliRunner().invoke(app, ["simulat"]).exit_code == 2


def test_no_help_loads_what_a_command_works_with():
    """Start-up of half a second: the heavy packages are loaded when a command does its work."""
    code = (
        "import sys; from typer.testing import CliRunner; from labelwise.cli import COMMANDS, app\n"
        "ran = [CliRunner().invoke(app, [*words, '--help']).exit_code for words in ([], *([c] for c in COMMANDS))]\n"
        f"print(len(ran), set(ran), [name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert run_python("-c", code).stdout == f"{len(cli.COMMANDS) + 1} {{0}} []\n"


def test_the_version_loads_no_command():
    code = "import sys; from labelwise.cli import main; sys.argv = ['labelwise', '--version']\n"
    code += "try: main()\nfinally: print([name for name in sys.modules if name.startswith('labelwise.cli.')])"
    assert run_python("-c", code).stdout == f"labelwise {__version__}\n[]\n"


def test_what_the_help_lists_is_what_there_is():
    assert ", ".join(sources.BUILT_IN) == simulate.BUILT_IN
    assert ",".join(findings.DEFAULT_METRICS) == simulate.DEFAULT_METRICS
    options = {one.name: one.help for one in typer.main.get_command(app).get_command(None, "simulate").params}
    assert options["model"] == f"Models, by comma: {', '.join(plans.model_names())}."
    assert options["strategy"] == f"Strategies, by comma: {', '.join(plans.strategy_names())}."
    assert ", ".join(get_args(Rule)) == diagnose.RULES
    assert ", ".join(RULE_NAMES) == stream.RULE_NAMES


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("labelwise se", ["serve", "serve-worker"]),
        ("labelwise user a", ["add", "assign"]),
        ("labelwise new --te", ["--text"]),
    ],
)
def test_a_shell_completes_commands_and_options(words, completed):
    position = str(len(words.split()) - 1)
    asked = {"_LABELWISE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": position}
    assert run_python("-m", "labelwise", **asked).stdout.split() == completed
