"""Many items at once, disagreements, notes and people in the system's Chromium, by keyboard."""

from __future__ import annotations

import numpy as np
import pytest

from labelling.web.browsing import CHROMIUM, PATIENCE, SECRETS, serving
from labelwise import Answer, LabelData
from labelwise.labelling import Project

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")
NAMES = ("red", "round", "old")


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Thirty items; ann and bob disagree on the second label of every fifth."""
    data = LabelData.from_arrays(
        np.random.default_rng(0).standard_normal((30, 3)),
        label_names=NAMES,
        item_ids=[f"p{i}" for i in range(30)],
        items=[f"thing {i} {'green' if i % 3 else 'blue'}" for i in range(30)],
    )
    path = tmp_path_factory.mktemp("review") / "filled.db"
    with Project.create(path, data, model="binary_relevance", strategy="uncertainty", overlap=2) as project:
        for place in range(0, 20, 5):
            for who in ("ann", "bob"):
                said = {"red": True, "round": who == "ann", "old": False}
                project.tell(Answer(f"p{place}", said), who=who)
        project.refresh()
    return path


@pytest.fixture
def page(browser, copied):
    wrong = []
    with serving(copied, "ann") as address:
        context = browser.new_context(viewport={"width": 1180, "height": 900})
        opened = context.new_page()
        opened.set_default_timeout(PATIENCE)
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        opened.goto(f"{address}/local/{SECRETS[address]}")
        opened.wait_for_url("**/label")
        opened.base = address
        yield opened
        context.close()
    wrong = [each for each in wrong if "400 (Bad Request)" not in each]  # what a person wanted and cannot have
    assert wrong == [], "scripts ran into errors, or the policy refused something of our own"


def said_by(project, who, label):
    """What stands, by item, from the events alone."""
    undone = {event.undoes for event in project.events()}
    events = [event for event in project.events() if event.who == who and event.kind == "answer"]
    return {event.item: event.values[label] for event in events if label in event.values and event.id not in undone}


def test_chosen_items_get_a_label_and_lose_it_again_in_one_step(page, copied):
    before = said_by(copied, "ann", "old")
    page.goto(f"{page.base}/browse?view=table&words=thing")
    assert page.locator("table.dense tbody tr").count() == 30
    for name in ("p0", "p1", "p2"):
        page.get_by_label(f"Choose {name}", exact=True).press("Space")
    assert page.inner_text("#chosen") == "3 chosen"
    page.locator("input[name=to]").fill("old")
    page.get_by_role("button", name="Add it").press("Enter")
    page.wait_for_selector("h1:has-text('Add “old” to 3 items?')")
    assert "On 1 item you said something else before" in page.inner_text("main")
    assert said_by(copied, "ann", "old") == before
    page.get_by_role("button", name="Add", exact=True).press("Enter")
    page.wait_for_selector("text=3 answers saved.")
    assert said_by(copied, "ann", "old") == {**before, "p0": True, "p1": True, "p2": True}
    assert "view=table" in page.url and "words=thing" in page.url
    page.get_by_role("button", name="Undo").press("Enter")
    page.wait_for_function("() => !document.querySelector('form.notice')")
    assert said_by(copied, "ann", "old") == before


@pytest.mark.slow
def test_all_that_were_found_and_all_on_the_page(page, copied):
    page.goto(f"{page.base}/browse?words=green")
    page.get_by_label("all 20 found").press("Space")
    assert page.inner_text("#chosen") == "all that were found" and page.locator("#whole-page").is_disabled()
    page.locator("input[name=to]").fill("red")
    page.get_by_role("button", name="Remove it").press("Enter")
    page.wait_for_selector("h1:has-text('Remove “red” from 20 items?')")
    page.get_by_role("button", name="Remove", exact=True).press("Enter")
    page.wait_for_selector("text=20 answers saved.")
    green = {f"p{i}" for i in range(30) if i % 3}
    said = said_by(copied, "ann", "red")
    assert {item for item, value in said.items() if value is False} == green
    page.goto(f"{page.base}/browse")
    page.get_by_label("all on this page").press("Space")
    assert page.inner_text("#chosen") == "20 chosen"
    page.locator("input[name=to]").fill("no such label")
    page.get_by_role("button", name="Add it").press("Enter")
    page.wait_for_selector("h1:has-text('Nothing was changed')")


def test_disagreements_are_settled_by_keys_with_names_hidden(page, copied):
    page.goto(f"{page.base}/browse?show=people")
    assert page.locator(".found h2").all_inner_texts() == ["p0", "p5", "p10", "p15"]
    page.goto(f"{page.base}/disagreements")
    assert "bob" not in page.inner_text(".disputes") and "1 × yes 1 × no" in page.inner_text(".votes >> nth=0")
    page.get_by_role("link", name="Show names").press("Enter")
    page.wait_for_selector("text=Hide names")
    assert "bob no" in page.inner_text(".votes >> nth=0")
    settled = {}
    for key in ("y", "n", "n"):
        before = page.locator(".dispute").count()
        item = page.inner_text(".dispute a >> nth=1")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press(key)
        settled[item] = key == "y"
        page.wait_for_function("n => document.querySelectorAll('.dispute').length < n", arg=before)
        if before == 3:
            break
    page.get_by_label("Note").first.fill("looked at twice")
    item = page.inner_text(".dispute a >> nth=0")
    page.keyboard.press("Enter")  # in the note: the first button, yes
    page.wait_for_function("() => document.querySelectorAll('.dispute').length === 1")
    settled[item] = True
    events = [event for event in copied.events() if event.reason == "settled"]
    assert {event.item: dict(event.values) for event in events} == {k: {"round": v} for k, v in settled.items()}
    assert [(note.item, note.text) for note in copied.notes.all()] == [(item, "looked at twice")]
    page.goto(f"{page.base}/browse/item?name={item}")
    assert page.locator("tr:has(th:text-is('round')) .settled").count() == 1
    page.goto(f"{page.base}/browse?show=people")
    assert page.locator(".found h2").count() == 1


def test_a_note_is_left_listed_answered_and_exported(page, copied):
    page.goto(f"{page.base}/browse/item?name=p7")
    page.get_by_label("Flag").select_option("label missing")
    page.get_by_label("Note", exact=True).fill("there is no label for toys <b>")
    page.keyboard.press("Enter")
    page.wait_for_selector("#notes + ul")
    page.goto(f"{page.base}/notes")
    assert "there is no label for toys <b>" in page.inner_text(".notes")
    page.get_by_label("Answer to note no. 1").fill("added")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=No note waits for an answer.")
    (note,) = copied.notes.all()
    assert (note.item, note.who, note.kind, note.text) == (
        "p7",
        "ann",
        "label missing",
        "there is no label for toys <b>",
    )
    assert (note.answer, note.answered_by, note.is_open) == ("added", "ann", False)
    page.goto(f"{page.base}/notes?every=true")
    page.get_by_role("button", name="Open again").press("Enter")
    page.wait_for_selector("text=Answer")
    assert sum(note.is_open for note in copied.notes.all()) == 1


@pytest.mark.slow
def test_people_are_added_given_roles_and_removed(page, copied, browser):
    page.goto(f"{page.base}/people")
    assert "Nobody but you" in page.inner_text("main") and "with" in page.inner_text("main table")
    page.get_by_label("Name").fill("cid")
    page.locator("form[action='/people/add'] select").select_option("viewer")
    page.get_by_role("button", name="Add and show the link").press("Enter")
    link = page.inner_text("code.link")
    assert {user.name: user.role for user in copied.people.all()} == {"ann": "admin", "cid": "viewer"}
    context = browser.new_context()
    other = context.new_page()
    other.goto(link)
    other.get_by_role("button", name="Sign in").click()
    other.wait_for_url("**/progress")
    assert (
        other.get_by_role("link", name="Sweep").count()
        == other.get_by_role("link", name="Label", exact=True).count()
        == 0
    )
    other.goto(f"{page.base}/browse")
    assert other.locator("input[name=item]").count() == 0
    page.get_by_label("Role of cid", exact=True).select_option("reviewer")
    page.get_by_label("Change the role of cid").press("Enter")
    page.wait_for_selector("select[aria-label='Role of cid'] option:checked:text-is('reviewer')", state="attached")
    other.goto(f"{page.base}/disagreements")
    assert other.locator(".dispute").count() == 4
    page.get_by_label("Remove cid", exact=True).press("Enter")
    page.get_by_label("Really remove cid").press("Enter")
    page.wait_for_function("() => !document.body.innerText.includes('cid')")
    other.goto(f"{page.base}/disagreements")
    assert other.url.endswith("/enter")
    context.close()
    page.get_by_label("Role of ann", exact=True).select_option("annotator")
    page.get_by_label("Change the role of ann").press("Enter")
    page.wait_for_selector("text=is the only admin")
