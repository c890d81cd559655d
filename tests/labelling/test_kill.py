"""kill -9 of service and worker while clients answer: a short form of benchmarks/labelling_load.py."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
def test_every_acknowledged_answer_survives_and_none_is_there_twice(location, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)  # the processes to be killed look for it there too
    kill = importlib.import_module("_labelling_kill")
    verdict = kill.kill_rounds(location, str(tmp_path / "unbroken.db"), rounds=3)
    assert verdict["acknowledged"] >= 10
    assert (verdict["lost"], verdict["duplicates"], verdict["same_next_question"]) == (0, 0, True)
