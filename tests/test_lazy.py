"""Packages that look names up late: the lists agree, every name is there, and what is light stays light."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import labelwise
from labelwise._lazy import WHERE, lazily

SOURCE = Path(labelwise.__file__).parent
HEAVY = ("sklearn", "numba", "pandas", "matplotlib", "scipy.stats", "labelwise.models", "labelwise.experiments")


def names_for_tools(path: Path) -> dict[str, str]:
    """The names imported for type checkers, each with its module."""
    blocks = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.If)]
    return {alias.name: node.module for node in blocks[0].body for alias in node.names}


def test_names_for_tools_are_the_names_at_runtime():
    told = {name: module for name, module in names_for_tools(SOURCE / "__init__.py").items() if module != "labelwise"}
    assert told == {name: module for module, names in WHERE.items() for name in names.split()}
    assert set(told) | {"data", "decisions", "experiments", "labelling", "models", "queries"} == set(labelwise.__all__)


@pytest.mark.parametrize("package", ["labelwise", "labelwise.data", "labelwise.labelling"])
def test_every_name_is_there_and_no_other(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("package", ["data", "labelling"])
def test_packages_have_the_names_that_tools_see(package):
    path = SOURCE / package / "__init__.py"
    table = dict(re.findall(r'"(labelwise\.\w+\.\w+)": "([^"]+)"', path.read_text(encoding="utf-8")))
    told = {name: module for module, names in table.items() for name in names.split()}
    assert names_for_tools(path) == told
    assert set(told) == set(importlib.import_module(f"labelwise.{package}").__all__)


def test_a_missing_extra_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "labelwise.labelling.project", None)
    find = lazily("labelwise.labelling", {"labelwise.labelling.project": "Project"})
    with pytest.raises(ImportError, match="labelwise\\[serve\\]"):
        find("Project")


@pytest.mark.parametrize("module", ["labelwise", "labelwise.labelling.web.server", "labelwise.cli.serve"])
def test_what_serves_the_first_question_loads_nothing_to_train_with(module):
    pytest.importorskip("fastapi", reason="needs the extra serve")
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
