"""The notebooks of examples/ run, from the first cell to the last, in an empty folder."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def code_cells(path: Path) -> list[str]:
    return [
        "".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"
    ]


def run_cell(source: str, namespace: dict[str, object]) -> object:
    """Run a cell as a notebook does; what its last line is."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    return None if last is None else eval(compile(last, "cell", "eval"), namespace)


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["compare_strategies", "tag_a_csv", "verify_opinions"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert all(not cell.get("outputs") for cell in notebook["cells"])  # figures of an old version would stay for ever
    namespace: dict[str, object] = {"__name__": "notebook"}
    shown = [run_cell(source, namespace) for source in code_cells(path)]
    for thing in shown:
        drawn = getattr(thing, "_repr_png_", None) or getattr(thing, "_repr_html_", None)
        assert drawn is None or len(drawn()) > 50
    assert sum(thing is not None for thing in shown) >= 2


def test_a_broken_cell_is_noticed():
    with pytest.raises(NameError):
        run_cell("x = 1\nnothing_of_that_name", {})
    assert run_cell("x = 1\nx + 1", {}) == 2
