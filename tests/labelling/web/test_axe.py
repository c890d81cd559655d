"""No page has a serious or moderate barrier by axe-core: light and dark, from a phone to a wide screen."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from labelling.web import test_browser_review
from labelling.web.browsing import CHROMIUM, PATIENCE, SECRETS, serving

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python, which brings axe-core")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with"),
]
PAGES = (
    "/label",
    "/help",
    "/sweep",
    "/sweep?label=red",
    "/browse",
    "/browse?view=table",
    "/browse?show=people",
    "/browse/item?name=p0",
    "/disagreements?names=true",
    "/notes?every=true",
    "/people",
    "/vocabulary",
    "/progress",
)
RUN = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .filter(({ impact }) => impact !== "minor")
    .map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.slice(0, 3).map((each) => each.html).join(" | ")}`)"""
filled = test_browser_review.filled


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("width", "height"),
    [(320, 256), (390, 900), (1280, 900), (1920, 900)],
    ids=["1280 at 400 %", "390", "1280", "1920"],
)
def test_axe_finds_nothing_serious_or_moderate(browser, copied, scheme, width, height):
    folder = find_spec("axe_playwright_python").submodule_search_locations[0]
    source = next(Path(folder).rglob("axe*.js")).read_text(encoding="utf-8")
    copied.notes.add("p0", "bob", "what is this?")
    found = {}
    with serving(copied, "ann") as address:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{address}/local/{SECRETS[address]}")
        page.wait_for_url("**/label")
        for path in PAGES:
            page.goto(f"{address}{path}")
            if path == "/label":
                page.wait_for_selector("#desk:not([hidden])")
                page.wait_for_function("() => 'ready' in document.documentElement.dataset")
                page.keyboard.press("1")
            if path == "/sweep?label=red":
                page.wait_for_function("() => 'ready' in document.documentElement.dataset")
                page.keyboard.press("1")
            page.evaluate(source)
            problems = page.evaluate(RUN)
            if problems:
                found[path] = problems
        context.close()
    assert found == {}
