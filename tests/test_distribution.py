"""Wheel and sdist as they are built: what is in them, what they say of themselves, which version they are."""

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

pytest.importorskip("hatch_vcs", reason="needs hatch-vcs: pip install -r requirements.lock")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "labelwise"
EXTRAS = {"embed", "postgres", "cluster", "notebook", "dev"}
CORE = {"cli", "serve", "io", "plots", "oidc", "all"}  # extras of old: everybody has what was in them


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as file:
        yield file


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel):
    kept = {name for name in wheel.namelist() if ".dist-info/" not in name}
    listed = subprocess.run(["git", "ls-files", "src/labelwise"], cwd=ROOT, capture_output=True, text=True, check=False)
    ours = {line.removeprefix("src/") for line in listed.stdout.splitlines() if (ROOT / line).exists()}
    if not ours:
        pytest.skip("needs a clone: git lists what belongs to the package")
    assert kept == ours
    assert "labelwise/py.typed" in kept
    for suffix in (".pyi", ".jinja", ".js", ".css", ".json"):
        assert any(name.endswith(suffix) for name in kept), f"no {suffix} in the wheel"


def test_the_wheel_installs_the_command(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "labelwise = labelwise.cli:main" in wheel.read(name).decode()
    assert any(name.endswith("/licenses/LICENSE") for name in wheel.namelist())


def test_the_metadata_says_what_it_is(metadata):
    classifiers = pytest.importorskip("trove_classifiers", reason="comes with hatchling").classifiers
    assert metadata["Name"] == "labelwise"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# labelwise")
    given = metadata.get_all("Classifier")
    assert "Typing :: Typed" in given and set(given) <= set(classifiers)
    extras = set(metadata.get_all("Provides-Extra"))
    assert extras >= EXTRAS and not extras & CORE
    for line in metadata.get_all("Project-URL") or ():
        assert line.split(", ")[1].startswith("https://")


def test_the_command_and_the_page_need_no_extra(metadata):
    needed = {line.split(">")[0] for line in metadata.get_all("Requires-Dist") if "extra ==" not in line}
    assert {"typer", "rich", "sqlalchemy", "fastapi", "uvicorn", "jinja2", "matplotlib", "pandas", "pyarrow"} <= needed


def test_the_version_comes_from_git_or_from_the_fallback(metadata, built):
    major, _, rest = metadata["Version"].partition(".")
    assert major.isdigit() and rest and "+" not in metadata["Version"]  # a local part cannot be published
    assert next(built.glob("*.tar.gz")).name == f"labelwise-{metadata['Version']}.tar.gz"


def test_the_sdist_builds_the_same_wheel_without_git(built, wheel, tmp_path):
    with tarfile.open(next(built.glob("*.tar.gz"))) as file:
        file.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff", "LICENSE", "tests/conftest.py"):
        assert (folder / name).exists(), name
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=folder, check=True)
    with zipfile.ZipFile(next((folder / "dist").glob("*.whl"))) as again:
        assert set(again.namelist()) == set(wheel.namelist())


def test_a_tree_without_git_and_tags_has_a_version(tmp_path):
    """A tarball of the sources: neither git nor the PKG-INFO of an sdist says which version it is."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    code = (
        "from hatchling.metadata.core import ProjectMetadata as P; from hatchling.plugin.manager import PluginManager"
    )
    code += "; print(P('.', PluginManager()).version)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "0.1.0.dev0\n"


def test_release_notes_are_a_section_of_the_changelog():
    code = [sys.executable, ROOT / "deploy" / "release_notes.py", "Unreleased"]
    done = subprocess.run(code, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("### ")
    missing = subprocess.run([*code[:2], "99.9"], capture_output=True, text=True, check=False)
    assert missing.returncode == 1 and "no section '## 99.9'" in missing.stderr


def test_workflows_try_every_python_that_is_promised(metadata):
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    for line in metadata.get_all("Classifier"):
        version = line.rpartition(" :: ")[2]
        if line.startswith("Programming Language :: Python :: 3."):
            assert f'"{version}"' in workflow
