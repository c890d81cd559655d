from __future__ import annotations

import pytest

from labelwise.studies.demo import run_demo


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    seen = []
    made = run_demo(
        tmp_path_factory.mktemp("demo"), quick=True, jobs=1, on_run=lambda name, done, total: seen.append((name, done))
    )
    return made, seen


def test_the_demo_shows_a_plane_and_real_data_in_one_report(demo):
    made, _ = demo
    html = made.report.read_text(encoding="utf-8")
    assert html.count("<section>") == 2
    assert html.count("<img ") == 6  # map, choices, curves and gains; curves and gains
    assert "2417 items, 103 features, 14 labels" in html
    assert {path.name for path in (made.report.parent / "figures").iterdir()} >= {
        "gaussian-chosen.png",
        "yeast-gains.png",
    }


def test_both_models_and_strategies_are_compared_on_yeast(demo):
    _, yeast = demo[0].studies
    assert yeast.table.distinct("model", "strategy") == [
        ("label_gp", "random"),
        ("label_gp", "uncertainty"),
        ("binary_relevance", "random"),
        ("binary_relevance", "uncertainty"),
    ]


def test_progress_is_told_for_each_set_from_nothing_to_all(demo):
    _, seen = demo
    assert seen == [("gaussian", n) for n in range(7)] + [("yeast", n) for n in range(9)]


def test_a_second_call_only_writes_the_report_again(demo, monkeypatch):
    made, _ = demo
    monkeypatch.setattr("labelwise.studies.study._finish", lambda *a, **k: pytest.fail("ran again"))
    again = run_demo(made.report.parent, quick=True, jobs=1)
    assert [list(s.table["macro_f1"]) for s in again.studies] == [list(s.table["macro_f1"]) for s in made.studies]
