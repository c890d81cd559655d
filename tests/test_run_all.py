"""The runner of benchmarks: figures saved with what they measured, failures told apart, nothing stopped by them."""

import json
import os
import re
import subprocess
import time

import pytest

import _sources
import run_all
import stale
from labelwise import __version__


@pytest.fixture
def folder(tmp_path):
    scripts = {
        "good": "import sys\nprint('a table')\nprint('{\"quick\": %s}' % str('--quick' in sys.argv).lower())",
        "broken": "raise SystemExit(3)",
        "silent": "print('no figures')",
        "listing": "print('[1]')",
        "_helper": "raise SystemExit(1)",
        "run_all": "raise SystemExit(1)",
        "stale": "raise SystemExit(1)",
    }
    for name, text in scripts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def test_good_figures_are_saved_with_the_machine_and_bad_ones_counted(folder, capfd):
    assert run_all.main([], folder) == 3
    assert [path.name for path in (folder / "results").iterdir()] == ["good.json"]
    record = json.loads((folder / "results" / "good.json").read_text(encoding="utf-8"))
    assert record["figures"] == {"quick": False}
    assert {"cpu", "cores", "memory_gib", "python", "libraries", "date"} <= record["machine"].keys()
    assert record["machine"]["libraries"].keys() >= {"numpy", "scipy", "scikit-learn", "numba"}
    shown = capfd.readouterr()
    assert "a table" in shown.out
    assert "broken failed: it ended with code 3" in shown.err
    assert "silent failed: its last line is no JSON object: 'no figures'" in shown.err
    assert "failed: broken, listing, silent" in shown.err


def test_quick_figures_are_kept_only_where_asked_for(folder):
    assert run_all.main(["--quick", "--only", "good"], folder) == 0
    assert not (folder / "results").exists()
    assert run_all.main(["--quick", "--only", "good", "--out", str(folder / "kept")], folder) == 0
    assert json.loads((folder / "kept" / "good.json").read_text(encoding="utf-8"))["figures"] == {"quick": True}


def test_an_unknown_name_lists_those_there_are(folder, capsys):
    with pytest.raises(SystemExit):
        run_all.main(["--only", "best"], folder)
    assert "there is no benchmark 'best'; there are broken, good, listing, silent" in capsys.readouterr().err


@pytest.fixture
def measured(tmp_path):
    """A folder with one benchmark that loads parts of labelwise and of the folder in two processes."""
    scripts = {
        "speed": (
            "import subprocess, sys\n"
            "import _wheels\n"
            "from labelwise.records import costs\n"
            "child = subprocess.Popen([sys.executable, __file__.replace('speed', '_child')], stdout=subprocess.PIPE)\n"
            "child.stdout.readline(), child.kill()\n"
            "print('{\"wheels\": 4}')\n"
        ),
        "_wheels": "ROUND = True\n",
        "_child": "import time\nfrom labelwise.numerics import arrays\nprint('ready', flush=True)\ntime.sleep(60)\n",
        "_other": "ROUND = False\n",
    }
    for name, text in scripts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert run_all.main([], tmp_path) == 0
    return tmp_path


def code_of(folder):
    return json.loads((folder / "results" / "speed.json").read_text(encoding="utf-8"))["code"]


def test_a_result_says_which_code_it_measured(measured):
    code = code_of(measured)
    assert code["version"] == __version__
    assert {"benchmarks/speed.py", "benchmarks/_wheels.py", "labelwise/records/costs.py"} <= code["sources"].keys()
    assert {"benchmarks/_child.py", "labelwise/numerics/arrays.py"} <= code["sources"].keys(), "of a killed child"
    assert "benchmarks/_other.py" not in code["sources"]
    assert "labelwise/models/auto_model.py" not in code["sources"]
    assert not any("static" in name for name in code["sources"])
    assert all(re.fullmatch("[0-9a-f]{12}", found) for found in code["sources"].values())
    assert stale.stale(measured) == {}


LONG = """
from pathlib import Path
for number in range(DONE):
    kept = Path(__file__).parents[1] / "runs" / "long" / f"{number}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    if not kept.exists():
        kept.write_text(str(number * FACTOR))
print('{"runs": %d}' % len(list(kept.parent.iterdir())))
"""


def test_some_kept_runs_are_done_again_and_none_may_come_out_otherwise(tmp_path, capfd):
    made, kept = tmp_path / "made", tmp_path / "runs" / "long"
    made.mkdir()
    for factor, there in ((2, 0), (2, 20), (3, 20)):
        (made / "long.py").write_text(LONG.replace("FACTOR", str(factor)).replace("DONE", "20"), encoding="utf-8")
        assert run_all.main([], made) == (factor == 3)
        saved = json.loads((made / "results" / "long.json").read_text(encoding="utf-8"))
        assert factor == 3 or saved["code"]["earlier_runs"] == {
            "there": there,
            "again": 12 * (there > 0),
            "same": 12 * (there > 0),
        }
        assert [(kept / f"{number}.json").read_text() for number in range(20)] == [
            str(2 * number) for number in range(20)
        ]
    shown = capfd.readouterr().err
    assert "long failed: kept runs come out otherwise with this code: " in shown and f"; delete {kept}" in shown
    assert saved["code"]["earlier_runs"]["same"] == 12, "what was saved before stays"


def test_kept_runs_that_are_not_done_again_stay_among_the_figures(tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    for done in (20, 10):
        (made / "long.py").write_text(LONG.replace("FACTOR", "2").replace("DONE", str(done)), encoding="utf-8")
        assert run_all.main([], made) == 0
        saved = json.loads((made / "results" / "long.json").read_text(encoding="utf-8"))
        assert saved["figures"] == {"runs": 20}
    assert 2 <= saved["code"]["earlier_runs"]["again"] <= 10


def test_a_result_of_earlier_runs_that_were_not_done_again_is_stale(measured):
    path = measured / "results" / "speed.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    saved["code"]["earlier_runs"] = True
    path.write_text(json.dumps(saved), encoding="utf-8")
    assert stale.stale(measured) == {"speed": "it took over runs of earlier code, and none was done again"}


def test_a_result_is_stale_once_its_code_has_changed(measured, capsys):
    (measured / "_other.py").write_text("ROUND = 0\n", encoding="utf-8")
    (measured / "_wheels.py").write_text('"""Wheels."""\n\nROUND = (True)  # as ever\n', encoding="utf-8")
    assert stale.stale(measured) == {}, "words have changed, and what is not loaded"
    (measured / "_wheels.py").write_text("ROUND = False\n", encoding="utf-8")
    n_files = len(code_of(measured)["sources"])
    assert stale.stale(measured).keys() == {"speed"}
    assert stale.main(measured) == 0
    shown = capsys.readouterr().out
    assert f"1 of {n_files} files changed since {__version__}: benchmarks/_wheels.py\n" in shown
    assert shown.endswith("1 of 1 results are stale\n")
    (measured / "_wheels.py").unlink()
    assert stale.stale(measured).keys() == {"speed"}


def test_what_was_only_added_since_does_not_make_a_result_stale(measured):
    git = ["git", "-C", str(measured), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    wheels = measured / "_wheels.py"
    wheels.write_text("ROUND = True\nclass Wheel:\n    n = 4\n    def turn(self):\n        return self.n\n", "utf-8")
    subprocess.run([*git, "commit", "-aqm", "second"], check=True)
    assert run_all.main([], measured) == 0
    before = wheels.read_text("utf-8")
    wheels.write_text("import os\nSIZE = 3\n" + before + "    def stop(self):\n        return SIZE\n", "utf-8")
    assert stale.stale(measured) == {}
    for old, new in (("self.n", "-self.n"), ("n = 4", "n = 5"), ("ROUND = True", ""), ("Wheel:", "Wheel(int):")):
        wheels.write_text(before.replace(old, new), "utf-8")
        assert stale.stale(measured).keys() == {"speed"}, new


def test_a_result_without_hashes_is_stale(measured):
    (measured / "results" / "older.json").write_text('{"figures": {}}', encoding="utf-8")
    assert stale.stale(measured) == {"older": "it does not say which code it measured"}


def test_a_file_that_changes_during_the_run_makes_its_result_stale(measured):
    later = time.time() + 60
    os.utime(measured / "_wheels.py", (later, later))
    assert run_all.main([], measured) == 0
    assert code_of(measured)["sources"]["benchmarks/_wheels.py"] == _sources.LATE
    assert "1 of" in stale.stale(measured)["speed"]


def test_pages_count_where_the_package_that_shows_them_is_loaded(tmp_path):
    web = _sources.roots(tmp_path)["labelwise"] / "labelling" / "web"
    counted = _sources.hashes([web / "server.py"], tmp_path, time.time())
    assert {"labelwise/labelling/web/server.py", "labelwise/labelling/web/static/page.css"} <= counted.keys()
    assert not any(name.startswith("labelwise/studies") for name in counted)


def test_compiled_code_does_not_count(tmp_path, monkeypatch):
    for name in (
        "tool/__init__.py",
        "tool/page.html",
        "tool/__pycache__/loops.nbi",
        "tool/other/__init__.py",
        "tool/other/a.js",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(_sources, "roots", lambda folder: {"labelwise": tmp_path / "tool"})
    counted = _sources.hashes([tmp_path / "tool" / "__init__.py"], tmp_path, time.time() + 1)
    assert list(counted) == ["labelwise/__init__.py", "labelwise/page.html"]


def test_only_what_is_called_seconds_may_come_out_otherwise():
    before = b'{"outcome": {"f1": [0.5, {"cpu_seconds": 2}], "seconds": {"fit": 1}}}'
    assert run_all._same(before.replace(b"2}", b"3}").replace(b": 1}", b": 9}"), before)
    assert not run_all._same(before.replace(b"0.5", b"0.6"), before)


def test_the_finished_pieces_of_a_paper_are_kept(tmp_path):
    command = run_all.command_of("reproduce_miml", tmp_path / "benchmarks", tmp_path / "scratch", quick=False)
    assert command[-1] == str(tmp_path / "runs" / "reproduce_miml")
    kept = run_all.kept_runs("reproduce_miml", tmp_path / "benchmarks")
    assert kept == tmp_path / "runs" / "reproduce_miml" / "miml" / "jobs"  # where the command puts them


@pytest.mark.slow
def test_a_quick_paper_is_run_by_its_command_in_an_empty_folder(tmp_path):
    command = run_all.command_of("reproduce_miml", tmp_path, tmp_path / "scratch", quick=True)
    words = ["reproduce", "miml", "--json", "--out", str(tmp_path / "scratch" / "paper"), "--quick"]
    assert command[2:] == [run_all.REPRODUCE, *words]
    assert run_all.main(["--only", "reproduce_nothing"], tmp_path) == 1, "the command refuses an unknown paper"


def test_docstrings_do_not_count(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text('"""Says."""\ndef f():\n    """More."""\n    return 1\n', encoding="utf-8")
    two.write_text('"""Tells."""\n\ndef f():\n    """Else."""\n    return 1  # one\n', encoding="utf-8")
    assert _sources.hash_of(one) == _sources.hash_of(two)
    two.write_text('"""Tells."""\n\ndef f():\n    """Else."""\n    return 2\n', encoding="utf-8")
    assert _sources.hash_of(one) != _sources.hash_of(two)
