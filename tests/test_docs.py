"""The documents are kept true: their Python runs, their links and paths lead somewhere, no command is left out."""

import ast
import doctest
import importlib
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer

from labelwise.cli import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "labelwise"
TOP_PAGES = [ROOT / page for page in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]  # the changelog has old names
PAGES = sorted([*TOP_PAGES, *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TO_BE_WRITTEN = ("my_", "neighbour_vote", "disagreement", "NeighbourVote")  # what a page lets its reader write
MADE = {"runs", "demo-report", "dist"}  # by commands and benchmarks, not in the repository
ROOMS = {path.name for path in (*ROOT.iterdir(), *SOURCE.iterdir()) if path.is_dir()} - MADE | {"labelwise"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def script(path: str):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
        if target.startswith("api/"):  # `make docs` writes these pages
            importlib.import_module(target.removeprefix("api/").removesuffix(".md"))
        elif "://" not in target:
            assert (page.parent / target).exists(), f"{name(page)} links to {target}, which is not there"


def paths_in(text: str) -> set[str]:
    """Files and folders named in inline code: all Python files, and what begins with a folder of ours."""
    code = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    words = {word for quoted in re.findall(r"`([^`\n]+)`", code) for word in re.findall(r"[\w./-]+", quoted)}
    named = {word for word in words if word.endswith(".py") or ("/" in word and word.split("/")[0] in ROOMS)}
    return {word for word in named if not any(new in word for new in TO_BE_WRITTEN)}


def is_there(path: str) -> bool:
    """Whether a file or folder of the repository has this path, from the root or from any folder of source or tests."""
    return any((base / path).exists() for base in FOLDERS)


FOLDERS = [ROOT, ROOT / "src"] + [
    folder for top in ("src", "tests", "benchmarks") for folder in (ROOT / top).rglob("*") if folder.is_dir()
]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_paths_are_there(page):
    assert sorted(path for path in paths_in(page.read_text(encoding="utf-8")) if not is_there(path)) == []


def test_the_check_sees_a_path_that_is_not_there():
    text = "See `numerics/label_mixture.py`, `python benchmarks/run_all.py` and `models/my_model.py`, or `a/b`."
    assert paths_in(text) == {"numerics/label_mixture.py", "benchmarks/run_all.py"}
    assert [path for path in sorted(paths_in(text)) if not is_there(path)] == ["numerics/label_mixture.py"]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_names_of_the_package_are_there(page):
    text = page.read_text(encoding="utf-8")
    named = {found.split(".", 1)[1] for found in re.findall(r"`((?:lw|labelwise)\.[\w.]+)", text)}
    for dotted in sorted(named):
        if not any(new in dotted for new in TO_BE_WRITTEN):
            assert has_name(dotted), f"{name(page)} speaks of labelwise.{dotted}, which is not there"


def has_name(dotted: str) -> bool:
    """Whether labelwise has it at this place: a module must be a file or folder there, not one that has moved."""
    parts, where, found = dotted.split("."), SOURCE, importlib.import_module("labelwise")
    while parts and ((where / parts[0]).is_dir() or (where / f"{parts[0]}.py").exists()):
        where = where / parts.pop(0)
        found = importlib.import_module(".".join(["labelwise", *where.relative_to(SOURCE).parts]))
    for part in parts:
        is_offered = part in getattr(found, "__all__", ())
        found = getattr(found, part, None)
        if found is None or (isinstance(found, ModuleType) and not is_offered):
            return False
    return True


@pytest.mark.filterwarnings("ignore:labelwise.* has moved")
def test_names_at_their_old_places_do_not_count():
    assert has_name("studies.simulate.Answerer") and has_name("Campaign.ask") and has_name("data.FormatError")
    assert not has_name("standing.stand") and not has_name("models.online_bayes.OnlineBayes")


IN_THE_REFERENCE = re.search(r"^ROOMS = (.*)$", (ROOT / "docs" / "conf.py").read_text(encoding="utf-8"), flags=re.M)[1]
PUBLIC = ["labelwise", "labelwise.views", *(f"labelwise.{room}" for room in ast.literal_eval(IN_THE_REFERENCE))]


def without_example(package: str) -> list[str]:
    """The public classes and functions whose own docstring has no example that the tests run."""
    module = importlib.import_module(package)
    named = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    assert len(named) > 5
    ours = {name: made for name, made in named.items() if callable(made) and is_ours(made)}
    return [name for name, made in ours.items() if not examples_in(made.__doc__ or "")]


def is_ours(made: object) -> bool:
    return str(getattr(made, "__module__", "")).startswith("labelwise") and hasattr(made, "__qualname__")


def examples_in(text: str) -> list[doctest.Example]:
    return [each for each in doctest.DocTestParser().get_examples(text) if not each.options.get(doctest.SKIP)]


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_has_an_example(package):
    assert without_example(package) == []


def test_an_example_that_is_skipped_or_missing_does_not_count():
    assert len(examples_in("Sum.\n\n>>> 1 + 1\n2\n")) == 1
    assert examples_in("Sum.") == examples_in(">>> 1 + 1  # doctest: +SKIP\n2\n") == []


READABILITY = script("docs/readability.py")
LONG = "Word " * READABILITY.MAX_WORDS


def test_the_advice_on_prose_finds_long_sentences_and_private_words(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text(f"# {LONG} too\n\nShort, `a {LONG}` one.\n{LONG}\nlast.\n")
    (tmp_path / "docs" / "page.md").write_text(
        f"He walks.\n\n```\n{LONG} code\n```\n\n* Whoever, {LONG[5:]}\n* {LONG}\n"
    )
    (tmp_path / "src" / "a.py").write_text(f'def f():\n    """Add.\n\n    {LONG}more.\n\n    >>> {LONG}1\n    """\n')
    (tmp_path / "CONTRIBUTING.md").write_text("| private | plain |\n| --- | --- |\n| walk*, he | go, they |\n")
    found, words = READABILITY.all_sentences(tmp_path), READABILITY.private_words(tmp_path)
    told = READABILITY.report(found, words).splitlines()
    assert [line.split(": ")[0] for line in told[:-1]] == ["README.md:4", "src/a.py:4", *["docs/page.md:1"] * 2]
    assert [line.split(": ")[1] for line in told[2:-1]] == ["not walk* but go, they", "not he but go, they"]
    assert told[-1].startswith(f"of {len(found)} sentences 2 have more than 34 words, 2 have private words")
    assert READABILITY.report(found, words, 1).count("\n") == 2


def test_the_advice_on_prose_reads_our_own_table_and_examples():
    assert READABILITY.private_words()["foretold"] == "predict"
    assert doctest.testmod(READABILITY).attempted == 4 and doctest.testmod(READABILITY).failed == 0


ALLOWED = script("tests/test_layers.py").ALLOWED


def test_contributing_has_the_table_of_imports():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = re.search(r"^\| room \| may import \|\n\| --- \| --- \|\n((?:\|.*\n)+)", text, flags=re.M)
    rows = [row.split("|")[1:3] for row in table[1].splitlines()]
    written = {re.findall(r"`(\w+)`", room)[0]: set(re.findall(r"`(\w+)`", others)) for room, others in rows}
    wanted = {room: f"| `{room}` | {', '.join(f'`{other}`' for other in sorted(ALLOWED[room]))} |" for room in ALLOWED}
    assert [row for room, row in wanted.items() if written.get(room) != ALLOWED[room]] == []
    assert written.keys() == ALLOWED.keys()


def test_contributing_shows_every_room():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    house = re.search(r"^src/labelwise/\n(.*?)^```", text, flags=re.M | re.S)[1]
    shown = {room.strip("/").removesuffix(".py") for room in re.findall(r"^  (\w+(?:/|\.py)) ", house, flags=re.M)}
    assert shown == {room for room in ALLOWED if not room.startswith("_")}
    assert [folder for folder in re.findall(r"^(\w+)/ ", house, flags=re.M) if not (ROOT / folder).is_dir()] == []
    inner = {f"{room}/{part}" for room, part in rooms_within(house)}
    assert [path for path in inner if not (SOURCE / path).exists()] == []


def rooms_within(house: str) -> list[tuple[str, str]]:
    """(room, folder or file in it) of the drawn house, tests and the like left out."""
    found, room = [], ""
    for line in house.splitlines():
        if not line.startswith("  "):
            break
        if begins := re.match(r"  (\w+)(?:/|\.py) ", line):
            room = begins[1]
        rest = line[begins.end() if begins else 0 :]
        found += [(room, part) for part in re.findall(r"\b(\w+(?:/|\.py))(?=[\s,:;]|$)", rest)]
    return found


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
@pytest.mark.slow
def test_examples_run(example, tmp_path):
    done = subprocess.run([sys.executable, example, "--quick"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_command_is_documented():
    group = typer.main.get_command(app)
    commands = {name: group.get_command(None, name) for name in group.list_commands(None)}
    assert len(commands) > 15
    guides = [page for page in PAGES if page.name != "commands.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in guides)
    assert [command for command in commands if f"labelwise {command}" not in text] == []
    assert [command for command, made in commands.items() if not (made.help or "").strip()] == []


def test_the_reference_of_commands_is_up_to_date():
    commands = script("docs/commands.py")
    assert commands.PAGE.read_text(encoding="utf-8") == commands.page(), (
        "run make docs-commands and commit docs/commands.md"
    )


def test_the_reference_shows_arguments_options_and_defaults():
    house = typer.Typer()

    @house.command()
    def paint(
        walls: list[Path],
        coats: int = 2,
        colour: str | None = typer.Option(None, "--colour", "-c", help="Red | blue."),
        quick: bool = typer.Option(False, "--quick/--careful"),
        secret: bool = typer.Option(False, hidden=True),
    ) -> None:
        """Paint walls."""

    house.command("other")(lambda: None)
    section = script("docs/commands.py")._section("house paint", typer.main.get_command(house).commands["paint"])
    assert section.splitlines()[:6] == ["## house paint", "", "```", "house paint WALLS... [OPTIONS]", "```", ""]
    assert "| `WALLS` |  | required |" in section
    assert "| `--coats INTEGER` |  | `2` |" in section
    assert "| `--colour, -c TEXT` | Red \\| blue. |  |" in section
    assert "| `--quick / --careful` |  |  |" in section
    assert "secret" not in section


def test_tables_are_those_of_the_saved_figures(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    tables = script("benchmarks/_tables.py")
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
