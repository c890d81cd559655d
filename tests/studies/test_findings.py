from __future__ import annotations

import numpy as np
import pytest
from test_statistics import CURVES, make_table

from labelwise.studies.findings import clear_winners, find, headline, interval, result_rows, summary
from labelwise.studies.statistics import Estimate, compare
from labelwise.studies.tables import Table


def told(curves, metric="macro_f1"):
    comparisons = compare(make_table(curves, metric), [metric])
    return find(comparisons), summary(comparisons)


def both_metrics(first, second):
    """One table with two metrics, the second from other curves."""
    one, two = make_table(first, "macro_f1"), make_table(second, "micro_f1")
    return Table({**one.columns, "micro_f1": two["micro_f1"]})


def test_a_gain_beyond_noise_is_said_with_its_interval():
    (finding,), text = told(CURVES)
    assert finding.verdict == "better"
    assert finding.text == "beat random on macro F1 by +0.050 [+0.025, +0.075]."
    assert text.startswith("Clever with m beat random beyond noise on at least one metric and lost on none.")
    assert text.endswith("1 of 1 differences lie beyond noise; chance alone would bring about 0.1.")


def test_a_loss_says_that_nothing_beat_random():
    (finding,), text = told(CURVES, "log_loss")
    assert finding.verdict == "worse"
    assert finding.text == "did worse than random on log loss (lower is better) by +0.050 [+0.025, +0.075]."
    assert text.startswith("Nothing beat random beyond noise. Clever with m did worse than random")


def test_noise_says_so_and_claims_nothing():
    noisy = {**CURVES, ("clever", 2): [0.70, 0.7, 0.7]}
    (finding,), text = told(noisy)
    assert finding.verdict == "no difference"
    assert finding.text == "no difference beyond noise on macro F1."
    assert text == "Nothing beat random beyond noise."


def test_a_gain_here_and_a_loss_there_is_mixed():
    swapped = {(s, seed): CURVES["random" if s == "clever" else "clever", seed] for s, seed in CURVES}
    comparisons = compare(both_metrics(CURVES, swapped), ["macro_f1", "micro_f1"])
    (finding,) = find(comparisons)
    assert finding.verdict == "mixed"
    assert headline([finding]).startswith("Clever with m beat random beyond noise on one metric and lost to it on")
    assert "2 of 2 differences" in summary(comparisons)


def test_one_seed_and_no_control_say_what_is_missing():
    (finding,), text = told({key: values for key, values in CURVES.items() if key[1] == 0})
    assert "one seed cannot separate gain from noise" in finding.text
    assert text.startswith("Cannot tell whether these strategies beat random")
    (finding,), _ = told({key: values for key, values in CURVES.items() if key[0] == "clever"})
    assert "add random to the strategies" in finding.text


def test_a_metric_that_cannot_be_computed_leaves_the_others_judged():
    table = make_table()
    unknown = Table({**table.columns, "macro_roc_auc": np.full(len(table), np.nan)})
    (finding,) = find(compare(unknown, ["macro_roc_auc", "macro_f1"]))
    assert finding.verdict == "better" and finding.text.startswith("beat random on macro F1 by")


def test_rows_for_machines_hold_every_figure():
    control, clever = result_rows(make_table(), ["macro_f1"])
    assert control["difference"] is None and control["verdict"] == "control"
    assert clever["difference"] == pytest.approx(0.05)
    assert clever["final"] == pytest.approx(0.79)
    assert (clever["seeds"], clever["items_read"], clever["answers"]) == (3, 20.0, 41.0)
    assert clever["verdict"] == "better"


def test_only_a_clear_winner_among_those_that_ask_for_the_same_is_set_in_bold():
    table = make_table()
    same = Table({**table.columns, "target": table["strategy"].copy()})
    same.columns["target"][:] = "items"
    assert clear_winners(same, ["macro_f1"]) == {("m", "clever", "macro_f1")}
    apart = Table({**table.columns, "target": table["strategy"]})
    assert clear_winners(apart, ["macro_f1"]) == set()


def test_an_interval_is_written_with_signs_and_left_out_for_one_seed():
    assert interval(Estimate.of([-0.1, -0.1])) == "−0.100 [−0.100, −0.100]"
    assert interval(Estimate.of([0.25])) == "+0.250"
