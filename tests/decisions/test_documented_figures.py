"""The figures in docs/decisions.md are those that benchmarks/decisions.py saved."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "benchmarks" / "results" / "decisions.json").read_text(encoding="utf-8"))
SAVED = RECORD.get("figures", RECORD)
PAGE = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
SETS = ("yeast", "enron", "bibtex")


def rows(header):
    """Cells of the table whose header starts so, without the header."""
    table = re.search(rf"^{re.escape(header)}.*\n\|[ |-]+\n((?:\|.*\n)+)", PAGE, flags=re.M)
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.group(1).splitlines()]


def test_scores_of_the_rules():
    table = rows("| rule | macro-F1")
    assert len(table) == 10
    for rule, *cells in table:
        saved = [SAVED["quality"][name]["C=10"][rule][kind] for kind in ("macro_f1", "sample_f1") for name in SETS]
        assert cells == [f"{value:.3f}" for value in saved]


def test_beliefs_about_scores():
    table = rows("| rule | set")
    assert len(table) == 6
    for rule, name, *cells in table:
        saved = [SAVED["quality"][name][C][rule] for C in ("C=1", "C=10", "C=100")]
        assert cells == [f"{found['macro_f1_believed']:.3f} / {found['macro_f1']:.3f}" for found in saved]


def test_cost_of_a_large_batch():
    cost = SAVED["cost"]
    found = cost["rules"]["expected_f1_macro"]
    assert (cost["n_items"], cost["n_labels"]) == (100_000, 300)
    assert f"takes {found['ratio_to_sorting']:.1f} of the time" in PAGE
    assert f"and {found['peak_mib']:.0f} MiB" in PAGE
