"""Progress, browse and labels in the system's Chromium: found, corrected, managed, on a phone and in the dark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelling.web.browsing import CHROMIUM, PATIENCE, SECRETS, serving
from labelwise import Answer, LabelData
from labelwise.labelling import Project

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")

PAGES = (
    "/progress",
    "/browse",
    "/browse?view=table",
    "/browse/item?name=p1",
    "/vocabulary",
    "/vocabulary/change?what=retire&label=label+1",
    "/sweep?label=label+1",
    "/disagreements",
    "/notes",
    "/people",
)
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def filled(tmp_path_factory, few_are_enough) -> Path:
    """Sixty items, twenty labels, two people, one of whom errs."""
    path, rng = tmp_path_factory.mktemp("browser") / "filled.db", np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    Y = X @ rng.standard_normal((5, 20)) > 1
    data = LabelData.from_arrays(
        X,
        label_names=[f"label {i}" for i in range(20)],
        item_ids=[f"p{i}" for i in range(60)],
        items=[f"point number {i} " + "and much more to say of it " * 8 for i in range(60)],
    )
    settings = {"strategy": "uncertainty", "control": 0.3, "overlap": 2, "ready": 60, "model": "binary_relevance"}
    with Project.create(path, data, **settings) as project:
        for who in ("ann", "bob"):
            project.tell(Answer("p1", {f"label {i}": bool(Y[1, i]) for i in range(20)}), who=who)
        for turn in range(40):
            if turn % 5 == 0:
                project.refresh()
            for lease in project.service.ask(("ann", "bob")[turn % 2]):
                row = int(lease.question.item[1:])
                wrong = rng.random(20) < 0.1 * (turn % 2)
                said = {name: bool(Y[row, i] ^ wrong[i]) for i, name in enumerate(data.label_names)}
                project.service.answer(lease.token, {name: said[name] for name in lease.question.labels})
        project.refresh()
    return path


@pytest.fixture
def project(copied) -> Project:
    return copied


@pytest.fixture
def open_page(browser, project):
    """A page of the one who works alone; what goes wrong in it fails the test."""
    made, wrong = [], []
    with serving(project, "ann") as address:

        def opened(path: str, **options):
            context = browser.new_context(**options)
            made.append(context)
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
            page.goto(f"{address}/local/{SECRETS[address]}")
            page.wait_for_url("**/label")
            page.goto(f"{address}{path}")
            return page

        yield opened
        for context in made:
            context.close()
    assert wrong == [], "scripts ran into errors, or the policy refused something of our own"


@pytest.mark.slow
def test_pictures_come_first_and_can_be_read_in_the_dark(open_page):
    for scheme in ("light", "dark"):
        page = open_page("/progress", color_scheme=scheme)
        assert page.locator("svg.drawing").count() == 6
        first_table = page.locator("table").first.bounding_box()
        boxes = [page.locator("svg.drawing").nth(i).bounding_box() for i in range(6)]
        assert all(box["width"] > 200 and box["y"] + box["height"] <= first_table["y"] for box in boxes)
        ink, ground = page.evaluate(
            "() => [getComputedStyle(document.querySelector('.drawing text')).fill,"
            " getComputedStyle(document.body).backgroundColor]"
        )
        shades = [sum(int(part) for part in colour.strip("rgb()").split(",")) for colour in (ink, ground)]
        assert (shades[0] < shades[1]) == (scheme == "light")


def test_an_answer_is_found_and_corrected_by_keyboard_with_its_history(open_page, project):
    page = open_page("/browse")
    page.get_by_label("Words").fill("number 1 ")
    page.keyboard.press("Enter")
    page.wait_for_url("**words=number**")
    page.get_by_role("link", name="p1", exact=True).press("Enter")
    page.wait_for_selector("#history")
    before = project.events()
    said = next(event for event in before if event.item == "p1" and event.who == "ann").values["label 3"]
    page.get_by_label("Find a label").fill("label 3")
    assert page.locator("#label-rows tr:visible th").all_inner_texts() in (
        ["label 3", "label 13"],
        ["label 13", "label 3"],
    )
    page.get_by_role("button", name=f"label 3: {'no' if said else 'yes'}").press("Enter")
    page.wait_for_selector(f"text=no. {before[-1].id + 1}")
    event = project.events()[-1]
    assert (event.who, event.item, dict(event.values)) == ("ann", "p1", {"label 3": not said})
    assert page.locator(".history li").count() == 3
    assert "ann answered" in page.locator(".history li").first.inner_text()
    pressed = page.get_by_role("button", name=f"label 3: {'no' if said else 'yes'}")
    assert pressed.get_attribute("aria-pressed") == "true"


def test_filters_and_pages(open_page, project):
    page = open_page("/browse")
    page.get_by_role("link", name="Next").first.click()
    page.wait_for_selector("text=page 2 of 3")
    page.get_by_label("Show").select_option("unanswered")
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**show=unanswered**")
    answered = {event.item for event in project.events() if event.kind == "answer"}
    assert page.get_by_role("status").inner_text() == f"{60 - len(answered)} items"
    names = page.locator(".found h2").all_inner_texts()
    assert names and not answered & set(names)


@pytest.mark.slow
def test_labels_are_added_renamed_merged_and_retired(open_page, project):
    page = open_page("/vocabulary")
    page.get_by_label("Name", exact=True).fill("brand new")
    page.get_by_label("It goes with").fill("label 1 = 30%")
    page.get_by_label("Items that have it").fill("p5")
    page.get_by_role("button", name="Add").click()
    page.wait_for_selector("text=guessed from 30 % of “label 1”")
    assert project.label_names()[-1] == "brand new"

    def change(label: str, field: str | None, to: str, button: str) -> str:
        row = page.locator("#label-rows tr", has=page.get_by_role("link", name=label, exact=True))
        row.locator("summary").press("Enter")
        if field:
            row.get_by_label(field).fill(to)
        row.get_by_role("button", name=f"{button}…").click()
        page.wait_for_selector("h1:has-text('?')")
        told = page.locator("main").inner_text()
        page.get_by_role("button", name=button, exact=True).click()
        page.wait_for_url("**/vocabulary")
        return told

    assert "All of it stays" in change("label 2", "New name", "second", "Rename")
    assert "yes to either is yes" in change("second", "Merge into", "label 1", "Merge")
    assert "Nobody is asked about it" in change("label 4", None, "", "Retire")
    assert {"label 2", "second", "label 4"}.isdisjoint(project.label_names())
    assert "merged “second” into “label 1”" in page.locator("main").inner_text()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.slow
def test_nothing_is_wider_than_a_phone(open_page, path):
    page = open_page(path, viewport={"width": 360, "height": 740})
    assert page.evaluate(OVERFLOW) == 0


@pytest.mark.slow
def test_drawings_and_names_fit_a_phone(open_page):
    page = open_page("/progress", viewport={"width": 390, "height": 800})
    right = "all => all.map(each => each.getBoundingClientRect().right)"
    drawn, framed = (page.eval_on_selector_all(which, right) for which in ("svg.drawing", "figure:has(svg)"))
    assert len(drawn) == len(framed) >= 4 and all(inner < outer for inner, outer in zip(drawn, framed, strict=True))
    page = open_page("/vocabulary", viewport={"width": 390, "height": 800})
    heights = page.eval_on_selector_all("details > summary", "all => all.map(each => each.offsetHeight)")
    assert max(heights) < 36  # pixels: one line, not two
    page.evaluate("document.querySelector('#label-rows a').textContent = 'circumstances'")
    assert page.eval_on_selector("#label-rows a", "each => each.getClientRects().length") == 1  # one word, one line


@pytest.mark.slow
def test_who_is_no_admin_finds_nothing_to_change(browser, project):
    secret = project.people.add("bob")
    with serving(project, None) as address:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{address}/enter/{secret}")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/label")
        page.goto(f"{address}/vocabulary")
        assert page.locator("#label-rows tr").count() == 20
        assert page.locator("summary").count() == page.get_by_role("button", name="Add").count() == 0
        page.goto(f"{address}/vocabulary/change?what=retire&label=label+1")
        assert "This is for admins" in page.content()
        context.close()
