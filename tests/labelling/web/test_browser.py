"""The labelling view in the system's Chromium: by keyboard, by two people, on a phone, and through a crash."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from labelling.web.browsing import CHROMIUM, PATIENCE, LabellingTab, Process, free_port, serving
from labelwise import LabelData
from labelwise.labelling import web
from rest_slow import rest_slow

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")
LABELS = ("left", "low", "far")
NAME = "e => e.ariaLabel || e.textContent.trim() || [...(e.labels ?? [])].map(l => l.textContent).join()"


@pytest.fixture
def ready(make):
    """A project with forty questions ready, so that nothing waits for a training."""
    project = make(ready=40)
    project.refresh()
    return project


def answers(project) -> list:
    undone = {event.undoes for event in project.events()}
    return [event for event in project.events() if event.kind == "answer" and event.id not in undone]


@pytest.mark.parametrize("n", rest_slow([6, 20]))
def test_many_items_by_keyboard_as_wholes(context, ready, n):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        shown = []
        for number in range(1, n + 1):
            shown.append(tab.item)
            tab.press("y", "ArrowDown", "u", "Enter")  # yes to the first, nothing of the second, unsure of the third
            tab.wait_for_saved(number)
    assert [event.item for event in answers(ready)] == shown and len(set(shown)) == n
    assert all(dict(event.values) == {"left": True, "low": False, "far": None} for event in answers(ready))
    assert tab.errors == []


@pytest.mark.slow
def test_twenty_items_by_keyboard_one_question_after_the_other(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        tab.press("m")
        for number in range(1, 21):
            asked = []
            for key in ("y", "n", "u"):
                asked.append(tab.page.inner_text("#asked"))
                tab.press(key)
            assert asked == list(LABELS)
            tab.wait_for_saved(number)
    assert len({event.item for event in answers(ready)}) == 20
    assert all(dict(event.values) == {"left": True, "low": False, "far": None} for event in answers(ready))


def test_what_was_not_asked_stays_open_one_by_one(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        tab.press("m", "n", "Enter")
        tab.wait_for_saved(1)
    assert dict(answers(ready)[0].values) == {"left": False}


@pytest.mark.slow
def test_pairs_of_one_item_are_asked_one_after_the_other(context, make):
    project = make(strategy="uncertainty_pairs", ready=60)
    project.refresh()
    with serving(project) as address:
        tab = LabellingTab(context, address)
        for number in range(1, 21):
            tab.press("y" if number % 2 else "n")
            tab.wait_for_saved(number)
    assert [list(event.values.values()) for event in answers(project)] == [[True], [False]] * 10
    assert len({(event.item, event.asked) for event in answers(project)}) == 20


def test_undo_brings_the_item_back_with_what_was_said(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        items = []
        for number in (1, 2):
            items.append(tab.item)
            tab.press("y", "Enter")
            tab.wait_for_saved(number)
        for item in reversed(items):
            tab.press("z")
            tab.page.wait_for_selector(f"#item-name:text-is('{item}')")
            marked = tab.page.get_by_role("button", name="yes: left")
            assert marked.get_attribute("aria-pressed") == "true"
            tab.press("z")  # the mark, before the answer that came earlier
            assert marked.get_attribute("aria-pressed") == "false" and tab.item == item
        assert answers(ready) == []
        tab.press("n", "Enter")
        tab.wait_for_saved(3)
        tab.press("s")
        tab.wait_for_saved(4)
        tab.press("z")  # a skip is taken back too
        tab.page.wait_for_selector("#saved:text('Taken back')")
    assert [event.item for event in answers(ready)] == items[:1] and answers(ready)[0].values["left"] is False


def test_a_label_is_found_among_five_hundred(context, make):
    names = [f"{['fruit', 'metal', 'river', 'Städte'][j % 4]}/kind {j}" for j in range(500)]
    X = np.random.default_rng(0).standard_normal((12, 2))
    project = make(data=LabelData.from_arrays(X, label_names=names), ready=6)
    project.refresh()
    with serving(project) as address:
        tab = LabellingTab(context, address)
        assert tab.page.locator(".row").count() == 500
        assert tab.page.locator("summary").all_inner_texts() == [f"{group} · 125" for group in sorted_groups()]
        tab.press("/")
        tab.page.keyboard.type("stadte 443")  # without regard to marks and case
        assert tab.page.locator(".row:visible .label-name").all_inner_texts() == ["Städte/kind 443"]
        tab.press("Enter")
        tab.page.keyboard.type("kind 16")
        assert "metal/kind 165" in tab.page.locator(".row:visible .label-name").all_inner_texts()
        tab.press("Escape", "Escape", "Enter")
        tab.wait_for_saved(1)
    said = answers(project)[0].values
    assert [name for name, value in said.items() if value] == ["Städte/kind 443"] and len(said) == 500


def sorted_groups() -> list[str]:
    return ["fruit", "metal", "river", "Städte"]


@pytest.mark.slow
def test_two_people_at_once_never_get_the_same_item(browser, ready):
    links = {name: ready.people.add(name) for name in ("ann", "bob")}
    with serving(ready, local_user=None) as address:
        contexts = [browser.new_context() for _ in links]
        tabs = []
        for context, (name, secret) in zip(contexts, links.items(), strict=True):
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(f"{address}/enter/{secret}")
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_selector(f"header .who:has-text('{name}')")
            page.close()
            tabs.append(LabellingTab(context, address))
        for number in range(1, 11):
            for tab in tabs:
                tab.press("y", "Enter")
            for tab in tabs:
                tab.wait_for_saved(number)
        for context in contexts:
            context.close()
    said = answers(ready)
    assert Counter(event.who for event in said) == {"ann": 10, "bob": 10}
    assert len({event.item for event in said}) == 20


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_when_the_server_is_killed(context, ready):
    port, shown = free_port(), []
    server = Process(ready.store.location, port)
    tab = LabellingTab(context, server.address)

    def answer() -> None:
        shown.append(tab.item)
        tab.press("y", "Enter")

    for _ in range(2):
        answer()
        tab.page.wait_for_selector('#saved[data-state="saved"]')
        answer()
        server.kill()  # perhaps before, perhaps after the answer reached the disk, or the page heard of it
        answer()
        tab.page.wait_for_selector("#queue:has-text('in this browser and will be sent')")
        server = Process(ready.store.location, port)
        tab.page.wait_for_selector('#saved[data-state="saved"]')
        tab.wait_for_question()
    server.kill()
    assert [event.item for event in ready.events()] == shown and len(set(shown)) == 6
    assert tab.errors == []


def test_without_a_connection_answers_wait_in_sight_and_are_sent_later(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        context.set_offline(True)
        items = []
        for number in (1, 2):
            items.append(tab.item)
            tab.press("y", "Enter")
            words = "1 answer waits" if number == 1 else "2 answers wait"
            tab.page.wait_for_selector(f"#queue:has-text('{words}')")
        assert tab.page.get_attribute("#saved", "data-state") == "waiting" and answers(ready) == []
        assert tab.item not in items  # the next one was here already
        tab.press("z")  # what was not sent is only taken out again
        tab.page.wait_for_selector(f"#item-name:text-is('{items[1]}')")
        tab.press("Enter")
        context.set_offline(False)
        tab.wait_for_saved(2)
        assert not tab.page.is_visible("#queue")
    assert [event.item for event in ready.events()] == items


@pytest.mark.slow
def test_when_the_questions_here_are_used_up_nobody_is_told_to_go_on(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        context.set_offline(True)
        tab.press("y", "Enter")
        tab.page.wait_for_selector("#queue:has-text('you can go on')")
        for _ in range(2):
            tab.press("y", "Enter")
        tab.page.wait_for_selector("#waiting:has-text('Waiting for the connection; your answers are kept.')")
        told = tab.page.inner_text("#queue")
        assert "3 answers wait in this browser and will be sent when the connection is back." in told
        context.set_offline(False)
        tab.wait_for_saved(3)
    assert len(answers(ready)) == 3


def test_answers_that_wait_survive_the_page(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        context.route("**/api/answer", lambda route: route.abort())
        item = tab.item
        tab.press("y", "Enter")
        tab.page.wait_for_selector("#queue:has-text('1 answer waits')")
        tab.page.close()
        context.unroute("**/api/answer")
        assert answers(ready) == []
        LabellingTab(context, address).wait_for_saved(1)
    assert [event.item for event in answers(ready)] == [item]


@pytest.mark.slow
def test_an_answer_that_came_too_late_is_told(context, make):
    project = make(lease_seconds=30.0)
    project.refresh()
    with serving(project) as address:
        tab = LabellingTab(context, address)
        item = tab.item
        before = project.service._clock
        project.service._clock = lambda: before() + 100
        taken = project.service.ask("bob", 10)  # what was ours has gone to somebody else
        assert item in [lease.question.item for lease in taken]
        tab.press("y", "Enter")
        tab.page.wait_for_selector(f"#refused:has-text('Item {item} was not saved')")
    assert answers(project) == []


@pytest.mark.parametrize("guarded", rest_slow([True, False]), ids=["guarded", "unguarded"])
def test_no_script_in_texts_or_names_runs(context, make, guarded):
    attack = "<img src=x onerror=\"document.title='taken over'\">"
    data = LabelData.from_arrays(np.eye(3), label_names=[f"label {attack}", "other"], items=[f"text {attack}"] * 3)
    project = make(data=data, ready=3)
    project.refresh()
    if not guarded:  # the same page, with its text put in as HTML and without its policy

        def weaken(route) -> None:
            reply = route.fetch()
            headers = {
                name: v for name, v in reply.headers.items() if "policy" not in name and name != "content-length"
            }
            body = reply.text().replace("place.replaceChildren(...marked(text, words))", "(place.innerHTML = text)")
            route.fulfill(status=reply.status, headers=headers, body=body)

        context.route(re.compile(r"/label$|\.js$"), weaken)
    with serving(project) as address:
        LabellingTab(context, address).page.close()  # signed in; a page that is led on to is not weakened
        tab = LabellingTab(context, f"{address}/label")
        tab.page.wait_for_timeout(300)
        assert (tab.page.title() == "taken over") is not guarded
        if guarded:
            assert attack in tab.page.inner_text("#text") and attack in tab.page.inner_text(".row .label-name >> nth=0")
            tab.press("m")
            assert attack in tab.page.inner_text("#asked")


TARGETS = ", ".join(f"{each}:visible" for each in ("main button", "main select", "main summary", "main a", "header a"))
TARGETS += ", main input:visible, header button:visible"


@pytest.mark.slow
def test_a_phone_shows_it_all_and_can_be_tapped(browser, ready):
    context = browser.new_context(viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True)
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        for key in (None, "m"):
            if key:
                tab.press(key)
            assert tab.page.locator("html").evaluate("page => page.scrollWidth") <= 390
            for button in tab.page.locator(TARGETS).all():
                box, what = button.bounding_box(), button.evaluate("each => each.outerHTML")
                assert box["height"] >= 44 and box["x"] >= 0 and box["x"] + box["width"] <= 390, what
        tab.press("m")
        tab.page.get_by_role("button", name="yes: left").tap()
        tab.page.get_by_role("button", name="Save").tap()
        tab.wait_for_saved(1)
    context.close()
    assert dict(answers(ready)[0].values) == {"left": True, "low": False, "far": False}


def test_everything_has_a_name_and_help_is_a_key_away(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        for control in tab.page.locator("button:visible, select:visible, input:visible").all():
            name = control.evaluate(NAME)
            assert name.strip(), control.evaluate("e => e.outerHTML")
        tab.press("?")
        assert tab.page.get_by_role("dialog", name="Keys").is_visible()
        tab.press("Escape")
        assert not tab.page.get_by_role("dialog", name="Keys").is_visible()
        tab.press("Shift+Enter")  # keys are the page's again
        tab.wait_for_saved(1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_its_ground(theme):
    """WCAG's contrast of at least 4.5 for text and 3 for the edges of controls, for the colours of the stylesheet."""
    text = (Path(web.__file__).parent / "static" / "page.css").read_text(encoding="utf-8")
    blocks = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root \{(.*?)\}", text, re.S)
    ]
    colours = blocks[0] | (blocks[1] if theme == "dark" else {})
    on_ground = [(name, ground) for name in ("ink", "soft", "accent") for ground in ("ground", "raised")]
    own_ground = [(name, f"{name}-ground") for name in ("yes", "no", "unsure")]
    pairs = [
        *on_ground,
        *own_ground,
        ("yes", "ground"),
        ("no", "ground"),
        ("unsure", "ground"),
        ("on-accent", "accent"),
    ]
    for name, ground in [*pairs, ("ink", "mark"), ("ink", "mark-against")]:
        assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    assert contrast(colours["edge"], colours["ground"]) >= 3


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
