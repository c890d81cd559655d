from __future__ import annotations

import subprocess
import sys

from typer.testing import CliRunner

from labelwise import __version__
from labelwise.cli import app


def test_the_version_is_printed():
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"labelwise {__version__}\n")


def test_help_lists_every_command_and_shows_examples():
    done = CliRunner().invoke(app, ["--help"])
    assert done.exit_code == 0
    for command in ("demo", "simulate"):
        assert command in done.stdout
        shown = CliRunner().invoke(app, [command, "--help"])
        assert shown.exit_code == 0
        assert "Examples" in shown.stdout and f"labelwise {command}" in shown.stdout


def test_an_unknown_command_is_wrong_usage():
    assert CliRunner().invoke(app, ["simulat"]).exit_code == 2


def test_without_the_extra_the_command_says_what_to_install():
    code = (
        "import sys, importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name in ('typer', 'rich') else real(name, *a)\n"
        "from labelwise.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "the labelwise command needs typer and rich: pip install labelwise[cli]\n"
