"""kill -9 of service and worker while clients answer: a short form of benchmarks/labelling_load.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "_labelling_kill.py"
spec = importlib.util.spec_from_file_location("_labelling_kill", SCRIPT)
kill = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kill)


def test_every_acknowledged_answer_survives_and_none_is_there_twice(location, tmp_path, monkeypatch):
    monkeypatch.setattr(kill, "LEASE", 2.0)
    verdict = kill.kill_rounds(location, str(tmp_path / "unbroken.db"), rounds=2 if "://" not in location else 1)
    assert verdict["acknowledged"] >= 10
    assert (verdict["lost"], verdict["duplicates"], verdict["same_next_question"]) == (0, 0, True)
