"""Who may import whom: the table of CONTRIBUTING.md, enforced."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "labelwise"

BELOW_STUDIES = {
    *("campaign", "data", "decisions", "encoders", "files", "models", "posterior", "queries", "records", "views")
}
ALLOWED = {
    "files": set(),
    "numerics": set(),
    "views": {"_lazy"},
    "records": {"_lazy", "numerics", "views"},
    "posterior": {"_lazy", "numerics"},
    "encoders": {"_lazy", "files"},
    "data": {"_lazy", "encoders", "files", "records", "views"},
    "models": {"_lazy", "decisions", "files", "numerics", "posterior"},
    "queries": {"_lazy", "numerics", "posterior", "records"},
    "decisions": {"_lazy", "numerics", "posterior"},
    "hints": {"_lazy", "encoders", "files", "numerics", "records"},
    "campaign": {"_lazy", "decisions", "hints", "models", "numerics", "posterior", "queries", "records", "views"},
    "streams": BELOW_STUDIES | {"numerics", "studies"},
    "studies": BELOW_STUDIES | {"numerics"},
    "labelling": BELOW_STUDIES | {"_lazy"},
    "cluster": {"_lazy", "data", "models", "numerics", "posterior", "queries"},
    "_lazy": set(),
    "_moved": set(),
    "__main__": {"cli"},
    "cli": BELOW_STUDIES | {"_lazy", "cluster", "labelling", "streams", "studies"},
}
ONLY_IN = {  # third-party package: the floors that may import it
    "matplotlib": {"streams", "studies", "views"},
    "jinja2": {"labelling", "studies"},
    "sqlite3": {"labelling"},
    "sqlalchemy": {"labelling"},
    "fastapi": {"labelling"},
    "starlette": {"labelling"},
    "uvicorn": {"labelling"},
    "authlib": {"labelling"},
    "joserfc": {"labelling"},
    "typer": {"cli"},
    "rich": {"cli"},
    "argparse": {"cli"},
    "dask": {"cluster"},
    "distributed": {"cluster"},
}
TOP = (SOURCE / "__init__.py", SOURCE / "__init__.pyi")
FILES = sorted(path for kind in ("*.py", "*.pyi") for path in SOURCE.rglob(kind) if path not in TOP)


def floor_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            found.append((node.lineno, node.module or ""))
            if node.module == "labelwise":  # "from labelwise import models" names a floor too
                found += [(node.lineno, f"labelwise.{alias.name}") for alias in node.names]
    return found


def violations(path: Path) -> list[str]:
    floor, wrong = floor_of(path), []
    for line, module in imported_modules(path):
        parts = module.split(".")
        if parts[0] == "labelwise" and len(parts) > 1:
            other = parts[1]
            if other == "__version__":
                continue
            if other != floor and other not in ALLOWED[floor]:
                wrong.append(f"{path.name}:{line}: {floor} may not import {module}")
        elif parts[0] in ONLY_IN and floor not in ONLY_IN[parts[0]]:
            wrong.append(f"{path.name}:{line}: {parts[0]} lives only in {sorted(ONLY_IN[parts[0]])}")
    return wrong


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_table(path):
    assert floor_of(path) in ALLOWED, f"{path} is on no floor of the table"
    assert violations(path) == []


def test_the_check_sees_a_violation(tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    bad = tmp_path / "models" / "bad.py"
    bad.write_text("def f():\n    from labelwise import queries\n    import matplotlib.pyplot\n")
    monkeypatch.setattr("test_layers.SOURCE" if __name__ == "test_layers" else f"{__name__}.SOURCE", tmp_path)
    assert len(violations(bad)) == 2


def test_sql_is_written_in_the_store_alone():
    words = re.compile(r"\b(sa\.(select|insert|update|delete|exists|text)\(|exec_driver_sql|sqlite3)")
    others = [path for path in FILES if SOURCE / "labelling" / "store" not in path.parents]
    assert [str(path.relative_to(SOURCE)) for path in others if words.search(path.read_text(encoding="utf-8"))] == []


def test_http_is_spoken_in_the_web_package_alone():
    others = [path for path in FILES if SOURCE / "labelling" / "web" not in path.parents]
    words = re.compile(r"^\s*(from|import) (fastapi|starlette|uvicorn)", re.M)
    assert [str(path.relative_to(SOURCE)) for path in others if words.search(path.read_text(encoding="utf-8"))] == []


def test_package_init_files_only_re_export():
    for path in SOURCE.rglob("__init__.py"):
        if floor_of(path) == "cli":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            assert not isinstance(node, ast.FunctionDef), f"{path}:{node.lineno}: a function belongs in a module"


def test_no_file_is_too_long():
    long = {str(path.relative_to(SOURCE)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: lines for name, lines in long.items() if lines > 500} == {}


def test_no_folder_has_too_many_files():
    sizes = {str(folder.relative_to(SOURCE)): len(list(folder.glob("*.py"))) for folder in SOURCE.rglob("*/")}
    assert max(sizes.values()) > 10  # files are counted
    assert {name: size for name, size in sizes.items() if size > 20} == {}
