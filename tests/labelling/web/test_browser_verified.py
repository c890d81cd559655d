"""“Also …?” on the page: what is stored is what was pressed, in Chromium."""

from __future__ import annotations

import numpy as np
import pytest

from labelling.web.browsing import CHROMIUM, LabellingTab, serving
from labelwise import LabelData
from labelwise.records.asking import VERIFY

pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")
NAMES = ("a", "b", "c", "d", "e")
TWICE = """() => {
  const how = { key: "Enter", shiftKey: true, bubbles: true, cancelable: true };
  for (let press = 0; press < 2; press += 1) document.body.dispatchEvent(new KeyboardEvent("keydown", how));
}"""


@pytest.fixture
def project(make):
    """Fifty points in one corner that all have their labels: the model expects them of the others, too."""
    X = np.random.default_rng(0).standard_normal((50, 2))
    observed = np.repeat(np.arange(50) < 12, 5).reshape(50, 5)
    Y = observed & np.array([True, True, True, True, False])
    items = [f"point {number}" for number in range(50)]
    made = make(data=LabelData.from_arrays(X, Y, observed=observed, label_names=NAMES, items=items), verify=True)
    made.refresh()
    return made


def told(project):
    return [event for event in project.events() if event.reason != "given"]


def panel(tab):
    """The labels that are asked about once more, as they are on screen, once keys count there."""
    tab.page.wait_for_selector("#also:not([hidden])")
    tab.page.wait_for_timeout(400)
    return [text.split(" ", 1)[1] for text in tab.page.locator("#also-labels button").all_inner_texts()]


def test_what_is_pressed_is_what_is_stored(context, project):
    with serving(project) as address:
        tab = LabellingTab(context, address)
        item = tab.item
        marked = tab.page.locator(".row .label-name").first.inner_text()
        tab.press("1", "Enter")
        names = panel(tab)
        assert len(names) == 3 and marked not in names and tab.item == item and told(project) == []
        tab.press("1", "3", "3", "2", "2", "2")  # the first and the second are there
        assert tab.page.locator("#also-labels [aria-pressed=true]").count() == 2
        tab.press("Enter")
        tab.wait_for_saved(1)
        tab.wait_for_question()
        assert tab.item != item and tab.page.locator("#also").is_hidden() and tab.errors == []
    whole, further = told(project)
    assert (whole.item, further.item, further.reason) == (item, item, VERIFY)
    assert further.values == {name: name in names[:2] for name in names}
    assert whole.values == {name: name == marked for name in NAMES if name not in names}
    assert (whole.timing.question, further.timing.question) == ("item", "further")
    assert 0.3 < further.timing.seconds < 30 and further.timing.by_suggestion == 2


def test_the_step_is_taken_back_and_a_doubled_enter_does_not_pass_it(context, project):
    with serving(project) as address:
        tab = LabellingTab(context, address)
        item = tab.item
        tab.wait_until_keys_count()
        tab.page.evaluate(TWICE)
        assert len(panel(tab)) == 4 and told(project) == []
        tab.press("z")
        assert tab.page.locator("#also").is_hidden() and tab.page.locator("#groups").is_visible()
        tab.press("Shift+Enter")
        names = panel(tab)
        tab.press("Escape", "Shift+Enter")
        assert panel(tab) == names
        tab.press("2", "Enter")
        tab.wait_for_saved(1)
        tab.wait_for_question()
        tab.press("z")
        tab.page.wait_for_function("item => document.getElementById('item-name').innerText === item", arg=item)
        assert tab.page.locator("#also").is_hidden() and tab.errors == []
    whole, further, *undone = told(project)
    assert {event.undoes for event in undone} == {whole.id, further.id}
    assert further.values == {name: name == names[1] for name in names}


def test_one_by_one_and_labels_left_open_are_not_verified(context, project):
    with serving(project) as address:
        tab = LabellingTab(context, address)
        tab.page.select_option("#rest", "open")
        tab.page.locator(".row .label-name").first.click()
        tab.press("Enter")
        tab.wait_for_saved(1)
    assert [event.reason == VERIFY for event in told(project)] == [False]
