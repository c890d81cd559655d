"""Items in the system's Chromium: Markdown and HTML, long texts, pictures to zoom, recordings, PDFs, right to left."""

from __future__ import annotations

import io
from contextlib import ExitStack

import numpy as np
import pytest

from labelling.items.attacks import ATTACKS, MARKDOWN_ATTACKS
from labelling.web.browsing import CHROMIUM, PDF, LabellingTab, serving, tone
from labelwise import LabelData
from labelwise.labelling.items.markup import rendered

pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")
LONG = "First words of all. " + "And so it goes on and on for ever. " * 400
SHOW = """async (pages) => {
  const { showItem } = await import("/static/item.js");
  window.ran = 0;
  window.alert = () => (window.ran += 1);
  const words = [["late", "left", 1]];
  const odd = [];
  for (const html of pages) {
    const show = { text: "", pictures: [], media: [], fields: [["more", ""]], words, html: { "": html, more: html } };
    showItem({ item: "x", why: "", show });
    const inside = document.querySelectorAll(".item *").length;
    await new Promise((resolve) => setTimeout(resolve, 0));
    for (const each of document.querySelectorAll("#text *, #fields td *")) {
      const names = [...each.attributes].map(({ name }) => name);
      const may = ["dir", "colspan", "rowspan", "href", "target", "rel"];
      const isOurs = each.tagName === "MARK" || names.every((name) => may.includes(name));
      if (!isOurs || /^(script|img|svg|iframe|style|form|input)$/i.test(each.tagName)) odd.push(each.outerHTML);
      if (each.tagName === "A" && each.href && !/^(https?|mailto):/.test(each.protocol)) odd.push(each.outerHTML);
    }
    if (document.querySelectorAll(".item *").length !== inside) odd.push(`something ran: ${html}`);
  }
  return [window.ran, odd];
}"""


@pytest.fixture
def page(context, make):
    """Open the page to label on, which asks about one item with this content."""

    def show(content, formats=None, labels=("left", "low", "far"), gone=(), window=context):
        data = LabelData.from_arrays(np.zeros((1, 1)), label_names=labels, item_ids=["it"], items=[content])
        project = make(data=data, text="body", formats=formats, start=1)
        assert project.prepare()
        for path in gone:
            path.unlink()
        address = opened.enter_context(serving(project))
        tab = LabellingTab(window, address)
        tab.address, tab.project = address, project
        return tab

    with ExitStack() as opened:
        yield show


def png(side: int = 60) -> bytes:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    out = io.BytesIO()
    image.new("RGB", (4 * side, 2 * side), "navy").save(out, "png")
    return out.getvalue()


# -- Markdown and HTML -------------------------------------------------------------------------------------------------


def test_markdown_and_html_are_shown_as_such_where_the_project_says_so(page):
    content = {"body": "# Late\n\n*very* late", "page": "<ul><li>one<li>two</ul>", "raw": "<b>not bold</b> *nor this*"}
    tab = page(content, {"body": "markdown", "page": "html"})
    assert tab.page.inner_text("#text em") == "very" and tab.page.inner_text("#text h3") == "Late"
    assert tab.page.locator("#fields li").all_inner_texts() == ["one", "two"]
    assert "<b>not bold</b> *nor this*" in tab.page.inner_text("#fields") and tab.page.locator("#fields b").count() == 0
    assert (
        "very late" in tab.page.inner_text("#announced") and "*" not in tab.page.inner_text("#announced").split(".")[0]
    )
    tab.page.goto(f"{tab.address}/browse/item?name=it")
    assert tab.page.inner_text(".content em") == "very" and tab.page.locator(".content li").count() == 2
    tab.page.goto(f"{tab.address}/browse")
    assert "very late" in tab.page.inner_text(".found .text")
    assert tab.errors == []


@pytest.mark.slow
def test_hostile_markdown_and_html_do_nothing_even_without_the_policy(browser, page):
    """The policy of the page would stop most of it: here it is switched off, so that the sanitiser stands alone."""
    tab = page({"body": "late"})
    context = browser.new_context(bypass_csp=True, storage_state=tab.page.context.storage_state())
    bare = context.new_page()
    asked = []
    bare.on("request", lambda request: asked.append(request.url))
    bare.goto(f"{tab.address}/label")
    bare.wait_for_selector("#desk:not([hidden])")
    pages = [rendered(attack, "html") for attack in ATTACKS]
    pages += [rendered(attack, "markdown") for attack in MARKDOWN_ATTACKS]
    assert bare.evaluate(SHOW, pages) == [0, []]
    assert [url for url in asked if not url.startswith(tab.address)] == []
    dangerous = ["<img src=x onerror=alert(1)>"]  # that the test can fail
    assert bare.evaluate(SHOW, dangerous)[1] != []
    context.close()


# -- long texts, right to left -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 1180])
@pytest.mark.slow
def test_long_texts_open_at_their_beginning_and_are_scrolled_by_keys_from_the_box(browser, page, width):
    names = [f"label {number}" for number in range(25)]  # so many that letters find: the focus is in the box
    window = browser.new_context(viewport={"width": width, "height": 700})
    tab = page({"body": LONG}, labels=names, window=window)
    top = "() => document.getElementById('text').getBoundingClientRect().top"
    start = tab.page.evaluate(top)
    assert 0 < start < 500 and tab.page.evaluate("() => scrollY") == 0
    tab.page.focus("#search")
    for key, moved in (("PageDown", True), ("PageUp", False)):
        tab.press(key)
        tab.page.wait_for_function(f"([start, moved]) => (({top})() < start - 100) === moved", arg=[start, moved])
    assert tab.page.evaluate("() => document.activeElement.id") == "search"
    tab.page.click("#mode-single")
    tab.page.focus("#add")
    tab.press("PageDown")
    tab.page.wait_for_function(f"start => ({top})() < start - 100", arg=start)
    assert tab.page.evaluate("() => document.activeElement.id") == "add" and tab.errors == []
    window.close()


def test_texts_from_right_to_left_are_set_so(page):
    tab = page({"body": "שלום עולם, this is late", "title": "مرحبا"}, labels=("חדש", "new"))
    tab.project.notes.add("it", "me", "הערה")
    direction = "element => getComputedStyle(element).direction"
    assert tab.page.locator("#text").evaluate(direction) == "rtl"
    assert tab.page.locator("#fields td").evaluate(direction) == "rtl"
    assert tab.page.locator("#fields th").evaluate(direction) == "ltr"
    names = {name: tab.page.get_by_text(name, exact=True).first.evaluate(direction) for name in ("חדש", "new")}
    assert names == {"חדש": "rtl", "new": "ltr"}
    tab.page.goto(f"{tab.address}/browse/item?name=it")
    assert tab.page.locator(".content .text").evaluate(direction) == "rtl"
    assert tab.page.get_by_text("הערה").evaluate(direction) == "rtl"
    tab.page.goto(f"{tab.address}/notes")
    assert tab.page.get_by_text("הערה").evaluate(direction) == "rtl"


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_pictures_are_zoomed_and_moved_by_keys_wheel_pointer_and_buttons(page, tmp_path):
    (tmp_path / "photo.png").write_bytes(png())
    tab = page({"body": "a sea", "photo": str(tmp_path / "photo.png")})
    frame = tab.page.locator(".picture")
    width = frame.bounding_box()["width"]

    def scale() -> float:
        return float(frame.get_attribute("data-scale"))

    def left() -> float:
        return tab.page.locator(".picture img").bounding_box()["x"]

    tab.press("+", "+")
    assert scale() == 2.25 and tab.page.locator(".picture img").bounding_box()["width"] == pytest.approx(2.25 * width)
    before = left()
    tab.press("Shift+ArrowRight")
    assert left() == pytest.approx(before - 0.2 * width, abs=1)
    for _ in range(9):
        tab.press("Shift+ArrowRight")
    box = tab.page.locator(".picture img").bounding_box()
    assert box["x"] + box["width"] == pytest.approx(
        frame.bounding_box()["x"] + width, abs=1
    )  # no farther than its edge
    tab.press("-")
    assert scale() == 1.5
    tab.press("0")
    assert scale() == 1 and left() == pytest.approx(frame.bounding_box()["x"], abs=1)
    frame.get_by_role("button", name="Zoom in").click()
    assert scale() == 1.5
    middle = [
        frame.bounding_box()[side] + frame.bounding_box()[size] / 2 for side, size in (("x", "width"), ("y", "height"))
    ]
    tab.page.mouse.move(*middle)
    before = left()
    tab.page.mouse.down()
    tab.page.mouse.move(middle[0] + 20, middle[1], steps=2)
    tab.page.mouse.up()
    assert left() == pytest.approx(before + 20, abs=1)
    tab.page.keyboard.down("Control")
    tab.page.mouse.wheel(0, -200)
    tab.page.keyboard.up("Control")
    tab.page.wait_for_function("() => Number(document.querySelector('.picture').dataset.scale) > 2")
    frame.get_by_role("button", name="Show all of it").click()
    assert scale() == 1 and tab.errors == []
    tab.page.keyboard.press("1")  # keys of labels are what they were
    tab.press("Enter")
    tab.wait_for_saved(1)
    tab.page.goto(f"{tab.address}/browse/item?name=it")
    tab.page.wait_for_selector(".picture")
    tab.page.keyboard.press("+")
    assert scale() == 1.5


@pytest.mark.slow
def test_zooming_works_while_the_focus_is_in_the_search_box(page, tmp_path):
    (tmp_path / "photo.png").write_bytes(png())
    names = [f"label {number}" for number in range(24)] + ["+ plus"]
    tab = page({"body": "a sea", "photo": str(tmp_path / "photo.png")}, labels=names)
    assert tab.page.evaluate("() => document.activeElement.id") == "search"
    tab.press("+", "Shift+ArrowLeft")
    assert tab.page.get_attribute(".picture", "data-scale") == "1.50" and tab.page.input_value("#search") == ""
    tab.page.keyboard.type("la+")
    assert tab.page.input_value("#search") == "la+" and tab.page.get_attribute(".picture", "data-scale") == "1.50"


@pytest.mark.slow
def test_what_is_missing_is_said_in_its_place(page, tmp_path):
    (tmp_path / "photo.png").write_bytes(png())
    (tmp_path / "a.pdf").write_bytes(PDF)
    content = {"body": "a sea", "photo": str(tmp_path / "photo.png"), "call": tone(tmp_path / "a.wav")}
    content["paper"] = str(tmp_path / "a.pdf")
    tab = page(content, gone=[tmp_path / name for name in ("photo.png", "a.wav", "a.pdf")])
    for said in (
        "Picture of item it: it cannot be shown",
        "call: a.wav: it cannot be shown",
        "paper: a.pdf: it cannot",
    ):
        tab.page.get_by_text(said).wait_for()
    assert tab.page.locator(".picture, audio").count() == 0
    tab.press("1", "Enter")  # and the item can be answered
    tab.wait_for_saved(1)
    tab.page.goto(f"{tab.address}/browse/item?name=it")
    tab.page.get_by_text("Picture of item it: it cannot be shown").wait_for()
    tab.page.goto(f"{tab.address}/browse")
    tab.page.locator("[aria-label='The picture cannot be shown']").wait_for()


# -- recordings and PDFs -----------------------------------------------------------------------------------------------


def test_recordings_are_played_from_any_place_and_pdfs_are_shown(page, tmp_path):
    (tmp_path / "a.pdf").write_bytes(PDF)
    tab = page({"body": "a call", "call": tone(tmp_path / "a.wav"), "paper": str(tmp_path / "a.pdf")})
    seek = """async (audio) => {
      if (audio.readyState < 1) await new Promise((resolve) => audio.addEventListener("loadedmetadata", resolve));
      audio.currentTime = 2;
      await new Promise((resolve) => audio.addEventListener("seeked", resolve));
      return [audio.duration, audio.currentTime];
    }"""
    assert tab.page.locator("audio").evaluate(seek) == [3, 2]
    pdf = tab.page.locator("object[type='application/pdf']")
    assert (
        pdf.locator(".missing").evaluate("element => element.getClientRects().length") == 0
    )  # the viewer has its place
    assert pdf.bounding_box()["height"] > 300 and tab.errors == []
    tab.press("1", "Enter")
    tab.wait_for_saved(1)
    tab.page.goto(f"{tab.address}/browse/item?name=it")
    assert tab.page.locator("audio").evaluate(seek) == [3, 2]
