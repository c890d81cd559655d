"""Packages that look names up late: every name of the stub is there, tools see it, and what is light stays light."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import labelwise
from labelwise._lazy import names_in

SOURCE = Path(labelwise.__file__).parent
STUBS = sorted(SOURCE.rglob("__init__.pyi"))
PACKAGES = [".".join(("labelwise", *stub.parent.relative_to(SOURCE).parts)) for stub in STUBS]
HEAVY = ("sklearn", "numba", "pandas", "matplotlib", "scipy.stats", "labelwise.models", "labelwise.studies")


def test_the_packages_with_stubs():
    assert {"labelwise", "labelwise.data", "labelwise.models", "labelwise.queries"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_there_and_no_other(package):
    module = importlib.import_module(package)
    assert len(module.__all__) > 5
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_a_new_notebook_lists_the_names(package):
    code = f"import {package} as it; print(*dir(it))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    module = importlib.import_module(package)
    assert {name for name in listed if not name.startswith("_")} == set(module.__all__) - {"__version__"}
    assert {"__doc__", "__file__"} <= set(listed)


def test_the_version_is_listed():
    assert "__version__" in dir(labelwise)


@pytest.mark.parametrize("stub", STUBS, ids=PACKAGES)
def test_type_checkers_see_what_the_stub_names(stub):
    """In a stub `import a` is private, `import a as a` is public."""
    lines = [line for line in stub.read_text(encoding="utf-8").splitlines() if "import" in line and "labelwise" in line]
    assert len(lines) == len([name for name, module in names_in(stub).items() if module])
    assert [line for line in lines if line.split()[-1] != line.split()[-3] or line.split()[-2] != "as"] == []


def test_the_stubs_are_in_the_wheel():
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling").WheelBuilder(
        str(SOURCE.parents[1])
    )
    packed = {Path(file.distribution_path) for file in wheel.recurse_included_files()}
    assert {Path("labelwise") / stub.relative_to(SOURCE) for stub in STUBS} <= packed


@pytest.mark.parametrize("package", ["models", "queries", "decisions"])
def test_a_registry_loads_nothing_until_something_is_made(package):
    code = f"import sys, labelwise.{package}; print(*[name for name in sys.modules if name.startswith('labelwise.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"labelwise._lazy", "labelwise._moved", f"labelwise.{package}"}


@pytest.mark.parametrize("module", ["labelwise", "labelwise.labelling.web.server", "labelwise.cli.serve"])
def test_what_serves_the_first_question_loads_nothing_to_train_with(module):
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
