"""The runner of benchmarks: figures saved, failures told apart, nothing stopped by them."""

import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "run_all.py"
spec = importlib.util.spec_from_file_location("run_all", SCRIPT)
run_all = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_all)


@pytest.fixture
def folder(tmp_path):
    scripts = {
        "good": "import sys\nprint('a table')\nprint('{\"quick\": %s}' % str('--quick' in sys.argv).lower())",
        "broken": "raise SystemExit(3)",
        "silent": "print('no figures')",
        "listing": "print('[1]')",
        "_helper": "raise SystemExit(1)",
        "run_all": "raise SystemExit(1)",
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
