from __future__ import annotations

import numpy as np
import pytest

from labelwise.studies.demo import ARMS, OURS, USUAL, WITHOUT_NAMES, f1_over_minutes, finding, run_demo, time_shares
from labelwise.studies.tables import Table


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    seen = []
    made = run_demo(
        tmp_path_factory.mktemp("demo"), quick=True, jobs=1, on_run=lambda name, done, total: seen.append((name, done))
    )
    return made, seen


def runs(ours, usual=(0.2, 0.4, 0.6), without=(0.2, 0.4, 0.6)) -> Table:
    """Three evaluations, ten minutes apart, of each arm; one list of scores per seed."""
    rows = []
    for (model, strategy), scores in (
        (OURS, ours),
        (WITHOUT_NAMES, [without] * len(ours)),
        (USUAL, [usual] * len(ours)),
    ):
        for seed, of_seed in enumerate(scores):
            for number, score in enumerate(of_seed):
                figures = {"cost": 600.0 * (number + 1), "micro_f1": score, "macro_average_precision": score}
                rows.append({"model": model, "strategy": strategy, "seed": seed, "round": number, **figures})
    return Table.from_rows(rows)


def test_the_demo_shows_the_job_in_one_report(demo):
    made, _ = demo
    html = made.report.read_text(encoding="utf-8")
    assert html.count("<section>") == 2 and html.count("<img ") == 1
    for words in ("minutes", "short_text", "Usual way: random tickets", "150 items", *made.findings):
        assert words in html
    assert (made.report.parent / "figures" / "tickets.png").stat().st_size > 10_000
    assert made.study.table.distinct("model", "strategy") == list(ARMS)


def test_only_the_default_campaign_reads_the_names_of_labels(demo):
    """Before anything else is learnt, names are all the difference: both ask for the same first tickets."""
    results = demo[0].study.results
    for seed in (0, 1):
        first = {arm: results[(*arm, seed)] for arm in ARMS}
        assert len({result.asked[0] for result in first.values()}) == 1
        scores = [result.rows[0]["macro_average_precision"] for result in first.values()]
        assert len(set(scores)) == 3
    assert demo[0].study.plan.hints_for("default") == "auto"
    assert demo[0].study.plan.hints_for("semi_supervised") is None


def test_tickets_are_tagged_that_nobody_was_asked_about(demo):
    made, _ = demo
    asked = set(made.study.results[(*OURS, 0)].items())
    texts = {
        item["text"]
        for name, item in zip(made.study.only.data.item_ids, made.study.only.data.items, strict=True)
        if name in asked
    }
    assert len(made.tickets) == 4 and not texts & {ticket.text for ticket in made.tickets}
    found = sum(len(set(ticket.predicted) & set(ticket.right)) for ticket in made.tickets)
    assert found >= 4, "far more than chance would find of 26 labels"


def test_progress_is_told_from_nothing_to_all(demo):
    assert demo[1] == [("tickets", n) for n in range(7)]


def test_a_second_call_only_writes_the_report_again(demo, monkeypatch):
    made, _ = demo
    monkeypatch.setattr("labelwise.studies.study._finish", lambda *a, **k: pytest.fail("ran again"))
    again = run_demo(made.report.parent, quick=True, jobs=1)
    assert list(again.study.table["micro_f1"]) == list(made.study.table["micro_f1"])


def test_the_time_needed_is_that_after_which_it_stays_as_good():
    assert time_shares(runs([(0.2, 0.6, 0.9)]), OURS, "micro_f1") == pytest.approx([2 / 3])
    assert time_shares(runs([(0.7, 0.5, 0.7)]), OURS, "micro_f1") == pytest.approx([2.5 / 3]), "luck does not count"
    assert time_shares(runs([(0.2, 0.3, 0.4)]), OURS, "micro_f1") == [np.inf]
    assert time_shares(runs([(0.8, 0.8, 0.8)]), OURS, "micro_f1") == pytest.approx([1 / 3])


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        (
            [(0.2, 0.6, 0.9), (0.2, 0.6, 0.8)],
            "the usual way takes 30 min, labelwise 20 min (67 % to 67 % of the time): less",
        ),
        ([(0.2, 0.6, 0.9), (0.2, 0.4, 0.6)], "not beyond noise"),
        ([(0.2, 0.3, 0.4), (0.2, 0.6, 0.9)], "does not get there with as many tickets in 1 of 2 runs"),
        ([(0.2, 0.6, 0.9)], "one run cannot tell this from luck"),
    ],
)
def test_the_words_follow_the_figures(ours, words):
    assert words in finding(runs(ours), OURS, "micro_f1")


def test_f1_is_read_off_at_full_minutes():
    found = f1_over_minutes(runs([(0.2, 0.6, 0.9), (0.4, 0.8, 0.9)]), OURS)
    assert [name for name, _ in found] == ["10 min", "20 min", "30 min"]
    assert [round(estimate.value, 6) for _, estimate in found] == [0.3, 0.7, 0.9]
