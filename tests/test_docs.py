"""The documents are kept true: their Python runs, their links lead somewhere, and no command is left out."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=name)
def test_python_in_the_documents_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "documented"}
    for block in python_blocks(page):
        exec(compile(block, f"{page.name}", "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name(page)} links to {target}, which is not there"


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
def test_examples_run(example, tmp_path):
    done = subprocess.run([sys.executable, example, "--quick"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_command_is_documented():
    typer = pytest.importorskip("typer", reason="needs the extra cli")
    from labelwise.cli import app

    commands = typer.main.get_command(app).commands
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [command for command in commands if f"labelwise {command}" not in text] == []
    assert [command for command, made in commands.items() if not (made.help or "").strip()] == []


@pytest.mark.parametrize(
    "file", sorted((ROOT / "benchmarks" / "results").glob("reproduce_*.json")), ids=lambda f: f.stem
)
def test_reproduced_claims_are_the_saved_ones(file):
    saved = json.loads(file.read_text(encoding="utf-8"))
    text = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    for claim in saved["claims"]:
        assert f"| {claim['says']} | {claim['ours']} | {claim['verdict']} |" in text


def test_figures_of_the_peers_are_the_saved_ones():
    spec = importlib.util.spec_from_file_location("tables", ROOT / "benchmarks" / "_peers" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page = tables.PAGE.read_text(encoding="utf-8")
    if not tables.SAVED.exists():
        assert page.count("-->\n<!-- end -->") == page.count("<!-- end -->") > 0, "figures that were never saved"
        return
    saved = json.loads(tables.SAVED.read_text(encoding="utf-8"))
    assert not saved["quick"] and saved["figures"]["peers"], "the saved figures are not of a full run with peers"
    assert tables.fill(page, saved["figures"]) == page, (
        "run benchmarks/_peers/tables.py to bring docs/peers.md up to date"
    )
