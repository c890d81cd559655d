"""The labels of a whole item, by keys, typing and taps, and “Also?”: what was pressed is what is stored."""

from __future__ import annotations

import numpy as np
import pytest

from labelling.web.browsing import CHROMIUM, LabellingTab, serving
from labelwise import Label, LabelData
from labelwise.labelling import Project
from labelwise.records.asking import VERIFY
from rest_slow import rest_slow

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


@pytest.fixture
def ready(make):
    made = make()
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


@pytest.mark.slow
def test_the_step_is_taken_back_and_a_doubled_enter_does_not_pass_it(context, project):
    with serving(project) as address:
        tab = LabellingTab(context, address)
        item = tab.item
        tab.wait_until_keys_count()
        tab.page.evaluate(TWICE)
        assert len(panel(tab)) == 3 and told(project) == []
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


@pytest.mark.slow
def test_one_by_one_and_labels_left_open_are_not_verified(context, project):
    with serving(project) as address:
        tab = LabellingTab(context, address)
        tab.page.select_option("#rest", "open")
        tab.page.locator(".row .label-name").first.click()
        tab.press("Enter")
        tab.wait_for_saved(1)
    assert [event.reason == VERIFY for event in told(project)] == [False]


# -- the tray, suggestions, and typing ---------------------------------------------------------------------------------

LIKELY = ("engine", "gearbox", "python/web")  # of every item that is known
MANY = (*LIKELY, "python", "pythonic", "big python", "pylon", "3D print", "wheel", *(f"tag {j}" for j in range(40)))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Forty-nine labels, of which three are likely; two are described."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    observed = np.repeat(np.arange(60) < 12, len(MANY)).reshape(60, -1)
    Y = observed & np.isin(MANY, LIKELY)
    meanings = {
        "wheel": {"description": "Round.", "aliases": ["tyre"], "parent": "engine", "examples": ["a flat tyre"]}
    }
    labels = [Label.of({"name": name, **meanings.get(name, {})}) for name in MANY]
    items = [f"text {number}" for number in range(60)]
    data = LabelData.from_arrays(X, Y, observed=observed, labels=labels, items=items)
    where = tmp_path_factory.mktemp("many") / "many.db"
    with Project.create(where, data, model="binary_relevance", strategy="uncertainty", ready=48) as made:
        made.refresh()
        with serving(made) as address:
            yield made, address


def chosen(tab) -> list[str]:
    return [name.removesuffix("×") for name in tab.page.locator("#chosen .chip").all_inner_texts()]


def found(tab) -> list[str]:
    return tab.page.locator(".row:visible .label-name").all_inner_texts()


def stored(project) -> tuple[str, dict]:
    """The item of the last answer, and what was said but no."""
    last = project.events()[-1]
    assert len(last.values) == len(MANY)
    return last.item, {name: value for name, value in last.values.items() if value is not False}


def test_digits_typing_and_saving_need_no_other_key(context, many):
    project, address = many
    tab = LabellingTab(context, address)
    item, keys = tab.item, ["1", *"pylo", "Enter", *"tag 31", "Enter"]
    first = found(tab)[0]
    tab.press(*keys)
    assert chosen(tab) == [first, "pylon", "tag 31"] and tab.page.input_value("#search") == ""
    tab.page.wait_for_timeout(300)  # an Enter at once after it does not count
    tab.press("Enter")
    tab.wait_for_saved(1)
    assert stored(project) == (item, {first: True, "pylon": True, "tag 31": True})
    tab.wait_for_question()
    tab.press(*"tag 7", "Enter")  # letters find from the first key on
    assert chosen(tab) == ["tag 7"] and tab.errors == []


def test_the_line_is_accepted_by_one_key_and_taken_back_by_one(context, many):
    project, address = many
    tab = LabellingTab(context, address)
    item = tab.item
    assert tab.page.inner_text(".groups .line button").startswith("Accept the 3 above this line")
    for key in ("Alt+a", "Space"):
        tab.press(key)
        assert sorted(chosen(tab)) == sorted(LIKELY)
        tab.press("Control+z")
        assert chosen(tab) == []
    tab.press("Escape", "a", "Backspace")  # out of the box letters are keys
    assert len(chosen(tab)) == 2
    row = tab.page.get_attribute(".row[data-here]", "data-name")
    tab.press("ArrowDown", "ArrowDown", "ArrowDown", "x")
    assert tab.page.get_attribute(".row[data-say=no]", "data-name") not in (row, *LIKELY)
    picked = chosen(tab)
    tab.press("Enter")
    tab.wait_for_saved(1)
    assert stored(project) == (item, dict.fromkeys(picked, True))


def test_shift_with_a_digit_accepts_all_from_the_first_to_it_and_is_taken_back_as_one(context, many):
    tab = LabellingTab(context, many[1])
    first = tab.page.eval_on_selector_all(".groups .row", "all => all.slice(0, 4).map(each => each.dataset.name)")
    tab.press("2", "Shift+Digit4")
    assert chosen(tab) == [first[1], first[0], first[2], first[3]]
    tab.press("Alt+z")
    assert chosen(tab) == [first[1]]
    tab.press("Shift+Digit2", "Shift+Digit2")
    assert chosen(tab) == [first[1], first[0]] and "from the first to 2" in tab.page.inner_text("#found")
    tab.press("Alt+z", "Alt+z", "x", "Shift+Digit1")
    assert tab.page.input_value("#search") == "x!" and chosen(tab) == []  # in a search it is text
    assert tab.errors == []


@pytest.mark.slow
def test_hits_are_ordered_and_a_found_label_is_never_taken_back(context, many):
    project, address = many
    tab = LabellingTab(context, address)
    for typed, hits in {
        "python": ["python", "python/web", "pythonic", "big python"],  # exact, prefixes, by word
        "pyhton": ["python/web", "python", "pythonic", "big python"],  # one typo, then the likelier first
        "web python": ["python/web"],
        "Tyre": ["wheel"],
        "engine whe": ["wheel"],
        "gearbxo": ["gearbox"],
    }.items():
        tab.page.keyboard.type(typed)
        assert found(tab) == hits
        tab.press("Escape")
    assert tab.page.locator(".row:visible").count() < 20  # the unlikely ones are folded again
    tab.press(*"python", "Enter", *"python", "Enter")
    assert tab.page.inner_text("#found") == "“python” is already marked." and chosen(tab) == ["python"]
    tab.press(*"python", "ArrowDown", "Enter")  # the one that was moved to
    assert chosen(tab) == ["python", "python/web"]
    tab.press("/", *"3d", "Enter")  # a digit is text after /
    assert chosen(tab)[-1] == "3D print"
    tab.press("Backspace", "Backspace")
    assert chosen(tab) == ["python"]
    assert project.events()[-1].item != tab.item


@pytest.mark.slow
def test_backspace_that_deletes_letters_leaves_the_tray_alone(context, many):
    tab = LabellingTab(context, many[1])
    tab.press("1", "p", "y", "Backspace", "Backspace", "Backspace", "Backspace")
    assert len(chosen(tab)) == 1 and tab.page.input_value("#search") == ""


@pytest.mark.slow
def test_every_chosen_label_is_on_screen_when_one_saves(browser, many):
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    tab = LabellingTab(context, many[1])
    for j in range(30, 40):
        tab.press(*f"tag {j}", "Enter")
    tab.page.locator("summary").last.click()
    tab.page.mouse.wheel(0, 4000)
    tab.page.wait_for_timeout(100)
    for chip in tab.page.locator("#chosen .chip").all():
        box = chip.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 720
    tab.page.locator("#chosen .chip").first.click()
    assert chosen(tab) == [f"tag {j}" for j in range(31, 40)]
    context.close()


@pytest.mark.slow
def test_only_the_current_row_has_buttons(context, many):
    project, address = many
    tab = LabellingTab(context, address)
    item = tab.item
    assert tab.page.locator(".groups button[data-say]").count() == 3
    names = found(tab)
    tab.page.hover(f'.row[data-name="{names[4]}"]')
    tab.page.get_by_role("button", name=f"unsure: {names[4]}").click()
    tab.page.hover(f'.row[data-name="{names[5]}"]')
    tab.page.get_by_role("button", name=f"yes: {names[5]}").click()
    assert tab.page.locator(".groups button[data-say]").count() == 3
    tab.press("Enter")
    tab.wait_for_saved(1)
    assert stored(project) == (item, {names[4]: None, names[5]: True})


def test_a_tap_says_yes_of_the_label_that_it_is_on(browser, many):
    context = browser.new_context(viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True)
    tab = LabellingTab(context, many[1])
    for place in (0, 1, 2):
        tab.page.locator(".row .named").nth(place).tap()
    assert chosen(tab) == found(tab)[:3]
    tab.page.locator("#chosen .chip").nth(1).tap()
    assert chosen(tab) == [found(tab)[0], found(tab)[2]] and tab.page.locator("#tray").is_visible()
    context.close()


@pytest.mark.slow
def test_at_400_percent_nothing_covers_the_row_that_has_the_focus(browser, many):
    context = browser.new_context(viewport={"width": 320, "height": 256})
    tab = LabellingTab(context, many[1])
    tab.press("Escape")
    for _ in range(6):
        tab.press("ArrowDown")
        uncovered = """() => {
          const row = document.activeElement, { left, top, bottom } = row.getBoundingClientRect();
          const at = (y) => row.contains(document.elementFromPoint(left + 30, y));
          return row.matches(".row") && at(top + 3) && at(bottom - 3);
        }"""
        assert tab.page.evaluate(uncovered)
    assert tab.page.locator("html").evaluate("page => page.scrollWidth") <= 320
    context.close()


FOCUSED = """() => {
  const focused = document.activeElement, box = focused.getBoundingClientRect();
  const sticks = (each) => getComputedStyle(each).position === "sticky" && !each.contains(focused);
  const bars = [...document.querySelectorAll("#actions, #label-head")].filter(sticks);
  const under = bars.filter((bar) => {
    const { top, bottom, left, right } = bar.getBoundingClientRect();
    return box.top < bottom - 1 && box.bottom > top + 1 && box.left < right && box.right > left;
  });
  const seen = box.top < innerHeight && box.bottom > 0;
  const what = `${focused.tagName} ${focused.id} ${focused.className} ${focused.textContent.trim().slice(0, 20)}`;
  return { what, isBody: focused === document.body, isLarge: box.height > innerHeight / 2, seen, under: under.length };
}"""


@pytest.mark.parametrize(
    "size", rest_slow([(320, 256), (390, 780), (320, 180), (640, 512), (640, 600), (1280, 800)], 2), ids=str
)
@pytest.mark.slow
def test_what_has_the_focus_is_never_under_a_bar(browser, many, size):
    """1280 by 1024 and 1280 by 720 at 400 %, 1280 by 1024 at 200 %, a phone, a desk; there and back by Tab."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    tab = LabellingTab(context, many[1])
    assert not tab.page.evaluate(FOCUSED)["under"]
    hidden, steps = [], 0
    for key in ("Tab", "Shift+Tab"):
        for _ in range(40):
            tab.page.keyboard.press(key)
            at = tab.page.evaluate(FOCUSED)
            if at["isBody"]:
                break
            steps += 1
            if not at["seen"] or (at["under"] and not at["isLarge"]):
                hidden.append((key, at["what"]))
    assert steps > 20 and hidden == []
    context.close()


def test_type_can_be_larger_or_denser_and_stays_so(context, many):
    tab = LabellingTab(context, many[1])
    size = "() => parseFloat(getComputedStyle(document.documentElement).fontSize)"
    row = "() => document.querySelector('.row').getBoundingClientRect().height"
    usual, high = tab.page.evaluate(size), tab.page.evaluate(row)
    for chosen, factor in (("large", 1.25), ("dense", 0.875)):
        tab.page.goto(f"{many[1]}/help")
        tab.page.locator("select.type-size").select_option(chosen)
        assert tab.page.evaluate(size) == usual * factor
        tab.page.goto(f"{many[1]}/label")
        tab.wait_for_question()
        assert tab.page.evaluate(size) == usual * factor
        assert (tab.page.evaluate(row) > high) is (chosen == "large") and tab.page.evaluate(row) != high
    tab.page.set_viewport_size({"width": 390, "height": 780})
    assert tab.page.evaluate(size) == usual, "targets on a phone stay as large as they are"
    tab.page.evaluate("() => localStorage.removeItem('labelwise-type')")


def test_the_notes_on_an_item_are_a_click_away(context, many):
    tab = LabellingTab(context, many[1])
    with context.expect_page() as opened:
        tab.page.click("#item-notes")
    assert opened.value.url.endswith("#notes") and tab.item in opened.value.inner_text("h1")
    assert opened.value.locator("#notes").is_visible()


def test_a_new_item_is_announced(context, many):
    tab = LabellingTab(context, many[1])
    assert tab.page.get_attribute("#announced", "aria-live") == "polite"
    told = tab.page.inner_text("#announced")
    assert tab.item in told and tab.page.inner_text("#text") in told and f"{len(MANY)} open labels" in told


# -- what labels mean, guidelines, and a person's own keys -------------------------------------------------------------


def test_what_a_label_means_is_shown_and_it_may_have_a_key_of_its_own(context, many):
    project, address = many
    tab = LabellingTab(context, address)
    item = tab.item
    tab.press(*"tyre")
    assert tab.page.inner_text("#about") == "Round." and tab.page.inner_text(".row .path") == "engine"
    tab.press("Alt+i")
    told = tab.page.inner_text("#meaning")
    assert all(words in told for words in ("wheel", "engine", "Round.", "tyre", "a flat tyre"))
    tab.page.fill("#own-key", "s")
    tab.page.press("#own-key", "Tab")
    assert tab.page.inner_text("#own-key-trouble") == "“s” does something already: skip."
    tab.page.fill("#own-key", "w")
    tab.page.press("#own-key", "Tab")
    tab.leave_dialog()
    tab.press("Escape", "Alt+w")
    assert chosen(tab) == ["wheel"]
    tab.press("Enter")
    tab.wait_for_saved(1)
    assert stored(project) == (item, {"wheel": True})
    tab.page.reload()
    tab.wait_for_question()
    tab.press("Alt+w")  # it is kept
    assert chosen(tab) == ["wheel"] and tab.errors == []


def test_single_keys_are_switched_off_and_changed(context, many):
    project, address = many
    tab = LabellingTab(context, address)
    item, first = tab.item, found(tab)[0]
    tab.press("?")
    tab.page.uncheck("#single-keys")
    tab.leave_dialog()
    tab.press("1")  # text, as every character is now
    assert chosen(tab) == [] and tab.page.input_value("#search") == "1"
    tab.press("Escape", "Escape", "a", "s", "z", "m", "2")
    assert chosen(tab) == [] and tab.item == item and tab.page.is_visible("#whole")
    tab.page.click("#help-open")
    tab.page.check("#single-keys")
    accept = tab.page.locator("#own-keys input[data-command=accept]")
    accept.fill("x")
    accept.press("Tab")
    assert (
        tab.page.inner_text("#key-trouble") == "“x” does something already: reject the current label."
        and accept.input_value() == "a"
    )
    accept.fill("!")
    accept.press("Tab")
    tab.leave_dialog()
    tab.press("Escape", "a")
    assert chosen(tab) == []
    tab.press("!", "Enter")
    tab.wait_for_saved(1)
    assert first in LIKELY and stored(project) == (item, dict.fromkeys(LIKELY, True))


def test_labels_are_a_tree_that_keys_open_and_close(context, many):
    project, address = many
    tab = LabellingTab(context, address)
    item = tab.item
    tab.page.select_option("#group-by", "tree")
    assert tab.page.locator("summary").all_inner_texts() == ["engine · 2", "python · 2"]
    assert found(tab)[-4:] == ["engine", "wheel", "python", "python/web"]
    tab.page.focus("#search")
    tab.press("Escape")
    for _ in range(len(found(tab)) + 1):
        tab.press("ArrowDown")  # to the last one
    tab.press("ArrowLeft")
    assert tab.page.inner_text("summary[data-here]") == "python · 2" and "python/web" not in found(tab)
    tab.press("ArrowUp", "y", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowLeft")
    assert "wheel" not in found(tab)
    tab.press("ArrowRight", "ArrowDown", "u", "Enter")
    tab.wait_for_saved(1)
    assert stored(project) == (item, {"wheel": True, "engine": None})


@pytest.mark.slow
def test_guidelines_are_shown_beside_the_item_and_run_nothing(context, ready):
    attack = (
        "<img src=x onerror=\"document.title='taken over'\"> [run](javascript:alert(1)) ![x](https://example.org/x.png)"
    )
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        assert not tab.page.locator("#guidelines-open").count()
        tab.page.goto(f"{address}/vocabulary")
        tab.page.get_by_label("How to label").fill(f"# How\n\n* *first* thing\n\n{attack}")
        tab.page.get_by_role("button", name="Save guidelines").click()
        tab.page.goto(f"{address}/label")
        tab.wait_for_question()
        tab.press("g")
        panel = tab.page.locator("#guidelines")
        assert panel.locator("h2").inner_text() == "How" and panel.locator("li em").inner_text() == "first"
        assert panel.locator("img, script").count() == 0 and "onerror" in panel.inner_text()
        assert [link.get_attribute("href") for link in panel.locator("a").all()] == ["https://example.org/x.png"]
        tab.page.reload()
        tab.wait_for_question()
        assert panel.is_visible() and tab.page.title() != "taken over"
        tab.press("g", "1", "Enter")
        tab.wait_for_saved(1)
        assert not panel.is_visible()


def test_one_typo_is_found_as_by_brute_force(context, many):
    """The rival: some beginning of the word is at most one edit from what was typed."""
    letters = np.random.default_rng(0).integers(0, 3, (400, 2, 6))
    lengths = np.random.default_rng(1).integers(1, 7, (400, 2))
    pairs = [
        ["".join("abc"[k] for k in row[:n]) for row, n in zip(both, ns, strict=True)]
        for both, ns in zip(letters, lengths, strict=True)
    ]
    tab = LabellingTab(context, many[1])
    load = "async (pairs) => { const { beginsNearly } = await import('/static/label/search.js');"
    script = f"{load} return pairs.map(([word, typed]) => beginsNearly(word, typed)); }}"
    expected = [any(edits(word[:end], typed) <= 1 for end in range(len(word) + 1)) for word, typed in pairs]
    assert tab.page.evaluate(script, pairs) == expected and 0.1 < np.mean(expected) < 0.9


def edits(one: str, other: str) -> int:
    """Insertions, deletions, changes and swaps of neighbours."""
    table = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(other) + 1)}
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            change = table[i - 1, j - 1] + (one[i - 1] != other[j - 1])
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, change)
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(one), len(other)]
