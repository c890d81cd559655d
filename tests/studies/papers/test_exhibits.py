"""Every figure and table of the five papers is done again, or listed as absent with its reason."""

import inspect
import re

import pytest

pytest.importorskip("jinja2", reason="needs the extra plots")
pytest.importorskip("matplotlib", reason="needs the extra plots")

from labelwise.studies.papers import PAPERS, load_paper

EXHIBITS = {  # by their numbers in the papers; figures whose parts are of different kinds by part
    "miml": "Figure 1, 2, 3, 4a, 4b, 4c, 4d; Table 1, 2",
    "csbpca": "Figure 1, 2, 3, 4, 5, 6, 7; Table 1, 2",
    "gpb2m": "Figure 1a, 1b, 1c, 2, 3, 4a, 4b, 4c, 4d, 5, 6a-e, 6f, 6g, 7, 8",
    "mllcs": "Figure 1, 2, 3; Table 1, 2, 3, 4",
    "bomc": "Figure 1, 2, 3, 4, 5, 6, 7",
}


def single(name):
    """ "Figure 1a, 1b" is two exhibits."""
    kind, _, numbers = name.partition(" ")
    return [f"{kind} {number}" for number in numbers.split(", ")] if kind in ("Figure", "Table") else [name]


@pytest.mark.parametrize("name", PAPERS)
def test_every_exhibit_is_shown_or_absent_with_a_reason(name):
    paper = load_paper(name)
    shown = {each for maker in paper.makers for what in maker.shows for each in single(what)}
    absent = {each for what in paper.absent for each in single(what)}
    assert not shown & absent
    assert {each for each in shown | absent if each.startswith(("Figure", "Table"))} == {
        each for kind in EXHIBITS[name].split("; ") for each in single(kind)
    }
    assert all(len(reason) > 20 for reason in paper.absent.values())


@pytest.mark.parametrize("name", PAPERS)
def test_every_exhibit_of_the_paper_says_how_it_differs(name):
    for maker in load_paper(name).makers:
        assert not maker.shows or re.search(r"protocol=|\*COMMON", inspect.getsource(maker.make)), maker.shows
