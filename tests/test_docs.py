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


def test_tables_are_those_of_the_saved_figures(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location("_tables", ROOT / "benchmarks" / "_tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    for page, wanted in tables.wanted().items():
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert [name for name in wanted if f"<!-- {name} -->" not in text] == [], page
        assert tables.fill(text, wanted) == text, f"run benchmarks/_tables.py to bring docs/{page} up to date"


@pytest.mark.parametrize("name", ["peers", "scale", "label_saving"])
def test_saved_figures_are_of_full_runs(name):
    file = ROOT / "benchmarks" / "results" / f"{name}.json"
    saved = json.loads(file.read_text(encoding="utf-8"))
    assert saved["quick"] is False
    assert name != "peers" or saved["figures"]["peers"], "a run without any peer"
