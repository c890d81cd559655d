from __future__ import annotations

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from labelwise.records import LabelData
from labelwise.studies.findings import clear_winners, in_words
from labelwise.studies.plans import Arena, Entrant
from labelwise.studies.report import Cell, Section, report_study, write_report
from labelwise.studies.simulate import Schedule
from labelwise.studies.sources import Source
from labelwise.studies.study import run_arena, run_study

METRICS = ["macro_f1", "log_loss"]
VOID = {"meta", "img"}


class Reader(HTMLParser):
    """Collects addresses and checks that every element is closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(path):
    reader = Reader()
    html = path.read_text(encoding="utf-8")
    reader.feed(html)
    assert reader.open == []
    return html, reader


@pytest.fixture
def study(tmp_path, small, plan):
    return run_study(small, plan, tmp_path / "runs", jobs=1)


def test_the_report_needs_nothing_from_outside(tmp_path, study, small):
    html, reader = read(report_study(study, METRICS, tmp_path))
    without_pictures = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "", html)
    assert not re.search(r"https?:|//|@import|url\(", without_pictures)
    assert "script" not in reader.tags and "link" not in reader.tags
    assert reader.addresses and all(a.startswith("data:image/png;base64,") for a in reader.addresses)


def test_the_figures_are_in_it_and_beside_it(tmp_path, study, small):
    _, reader = read(report_study(study, METRICS, tmp_path))
    inside = [base64.b64decode(address.partition(",")[2]) for address in reader.addresses]
    beside = [path.read_bytes() for path in (tmp_path / "figures").iterdir()]
    assert sorted(inside) == sorted(beside)
    assert {p.name for p in (tmp_path / "figures").iterdir()} == {
        "small-curves-items.png",
        "small-gains.png",
        "savings.png",
        "seconds.png",
    }


def test_it_states_settings_seeds_errors_and_verdicts(tmp_path, study, small):
    html, _ = read(report_study(study, METRICS, tmp_path))
    for words in (
        "90 items, 4 features, 3 labels",
        "3 rounds of 5 questions",
        "6 random items answered in full",
        "mean over 3 seeds, band: one standard error",
        "95% Student-t interval over 3 seeds",
        "Every item read costs 3 answers",
        "<strong>uncertainty with binary relevance</strong>:",
        "numpy " + study.facts["versions"]["numpy"],
        "chance alone" if "beyond noise; chance" in html else "Nothing beat random beyond noise",
    ):
        assert words in html, words


def test_bold_is_kept_for_clear_winners(tmp_path, study, small):
    html, _ = read(report_study(study, METRICS, tmp_path))
    body = html[html.index("<tbody>") : html.index("</tbody>")]
    assert body.count("<td><strong>") == len(clear_winners(study.table, METRICS))
    assert in_words("log_loss") + " (lower is better)" in html


def test_pairs_are_also_drawn_against_answers_and_one_seed_admits_it(tmp_path, small, plan):
    plan = replace(plan, strategies=("random_pairs", "uncertainty_pairs"), seeds=(0,))
    html, _ = read(report_study(run_study(small, plan, tmp_path, jobs=1), METRICS, tmp_path))
    assert (tmp_path / "figures" / "small-curves-answers.png").exists()
    assert "one seed, so no error bands" in html
    assert "one seed cannot separate gain from noise" in html
    assert "±" not in html[html.index("<tbody>") : html.index("</tbody>")]


@pytest.mark.parametrize(("n_labels", "words"), [(2, "label by label"), (30, "each outline the region")])
@pytest.mark.slow
def test_data_in_the_plane_get_maps(tmp_path, plan, n_labels, words):
    rng = np.random.default_rng(0)
    X = rng.random((90, 2))
    plane = LabelData.from_arrays(X, X @ rng.standard_normal((2, n_labels)) > 0.2)
    html, _ = read(report_study(run_study(plane, plan, tmp_path, jobs=1), METRICS, tmp_path))
    assert words in html
    assert (tmp_path / "figures" / "small-chosen.png").exists()


def test_names_are_escaped(tmp_path):
    section = Section("<b>bold & brave</b>", rows=[("<i>", [Cell("<u>")])], header=["<s>"])
    write_report(tmp_path / "r.html", "<script>alert(1)</script>", "a < b", [section], {})
    html, reader = read(tmp_path / "r.html")
    assert not {"script", "b", "i", "u", "s"} & set(reader.tags)
    assert "&lt;b&gt;bold &amp; brave" in html


@pytest.mark.slow
def test_the_report_of_an_arena_is_one_file_with_everything(tmp_path):
    entrants = (Entrant("binary_relevance", ("random", "uncertainty", "random_pairs")),)
    sources = (Source("gaussian", limit=90), Source("shapes", limit=90))
    arena = Arena(sources, entrants, (0, 1), Schedule(start=6, rounds=2, batch=4), "small & quick", ("macro_f1",))
    path = report_study(run_arena(arena, tmp_path, jobs=1), arena.metrics, tmp_path)
    html = path.read_text()
    assert "small &amp; quick" in html and "<script" not in html and "http" not in html.replace("http://www.w3.org", "")
    for words in ("Did any strategy beat random?", "How many labels does it save?", "Time per question", "Set by set"):
        assert words in html
    assert html.count("<img") == 5
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {
        "ranks.png",
        "gains.png",
        "savings.png",
        "curves-binary-relevance-macro-f1.png",
        "seconds.png",
    }
    apart = replace(arena, schedule=replace(arena.schedule, pair_batch=3))
    report_study(run_arena(apart, tmp_path / "apart", jobs=1), arena.metrics, tmp_path / "apart")
    assert {"ranks-random.png"} == {file.name for file in (tmp_path / "apart" / "figures").glob("ranks*")}
