"""Sweeps in the system's Chromium: the keys that were pressed are the answers that were saved."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest

from labelling.web.browsing import CHROMIUM, PATIENCE, PDF, SECRETS, serving, tone
from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.exchange.transfer import read_events_file, write_events

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")
KEYS = "123456789abcdefghijklmnopqrstuvwxy"
READY = "() => 'ready' in document.documentElement.dataset"


class SweepTab:
    """Somebody in front of a sweep, who notes what was pressed in plain Python."""

    def __init__(self, context, address: str, query: str) -> None:
        self.page, self.errors, self.said = context.new_page(), [], {}
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{address}/local/{SECRETS[address]}")
        self.page.wait_for_url("**/label")
        self.page.goto(f"{address}/sweep?{query}")
        self.wait()

    def wait(self) -> None:
        self.page.wait_for_function(READY)

    def items(self) -> list[str]:
        return self.page.eval_on_selector_all("button.tile", "all => all.map(each => each.dataset.item)")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def turn(self, has) -> list[str]:
        """Mark the items of the page that have the label, save, and wait for the next page."""
        items = self.items()
        marked = [item for item in items if has(item)]
        self.press(*(KEYS[items.index(item)] for item in marked), "Enter" if marked else "Shift+Enter")
        self.said |= {item: item in marked for item in items}
        self.page.wait_for_function(
            "first => 'ready' in document.documentElement.dataset"
            " && document.querySelector('#tiles:not([hidden]) button.tile')?.dataset.item !== first",
            arg=items[0],
        )
        return items

    def wait_for_saved(self, number: int) -> None:
        self.page.wait_for_selector(f'#saved[data-state="saved"][data-saved="{number}"]')


def picture(shade: int) -> str:
    Image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 40, 255 - shade)).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Pictures, red or blue; ten of them are known."""
    pytest.importorskip("PIL")
    shades = np.random.default_rng(0).integers(0, 256, 560)
    items = [{"image": picture(int(shade))} for shade in shades]
    data = LabelData.from_arrays(
        np.zeros((560, 1)), label_names=["red", "dark"], item_ids=[f"p{i}" for i in range(560)], items=items
    )
    path = tmp_path_factory.mktemp("sweep") / "pictures.db"
    with Project.create(path, data, images="image", model="binary_relevance", strategy="uncertainty", ready=10) as made:
        made.tell([Answer(f"p{i}", {"red": bool(shades[i] > 170), "dark": False}) for i in range(10)], who="owner")
        made.refresh()
    return path, {f"p{i}": bool(shade > 170) for i, shade in enumerate(shades)}


@pytest.fixture
def texts(make):
    """Texts about parcels; the word late tells."""
    words = ["parcel", "late", "refund", "broken", "friendly", "driver"]
    rng = np.random.default_rng(1)
    items = [{"text": "It was " + " ".join(rng.choice(words, 6)) + f". Number {i}."} for i in range(60)]
    data = LabelData.from_arrays(
        np.zeros((60, 1)), label_names=["late", "refund"], item_ids=[f"t{i}" for i in range(60)], items=items
    )
    made = make(data=data, text="text", ready=20)
    made.tell([Answer(f"t{i}", {w: w in items[i]["text"] for w in ("late", "refund")}) for i in range(8)], who="owner")
    made.refresh()
    return made, {f"t{i}": "late" in each["text"] for i, each in enumerate(items)}


def stored(project) -> dict[str, bool | None]:
    undone = {event.undoes for event in project.events()}
    mine = [event for event in project.events() if event.who == "me" and event.kind == "answer"]
    return {event.item: value for event in mine if event.id not in undone for value in event.values.values()}


def test_pages_of_snippets_are_saved_as_pressed_and_taken_back(context, texts):
    project, has = texts
    with serving(project) as address:
        tab = SweepTab(context, address, "label=late")
        p = tab.page.locator("button.tile .p").all_inner_texts()
        assert len(p) == 12 and p == sorted(p, key=lambda each: -int(each.split()[0]))
        assert set(tab.page.locator(".tile:first-child mark").all_inner_texts()) >= {"late"}
        first = tab.turn(has.__getitem__)
        tab.turn(has.__getitem__)
        tab.wait_for_saved(24)
        assert stored(project) == tab.said
        tab.press("z")
        tab.page.wait_for_selector(f'button.tile[data-item="{list(tab.said)[12]}"]')
        tab.wait()
        again = list(tab.said)[12:]
        assert tab.items() == again
        pressed = tab.page.eval_on_selector_all("button.tile[aria-pressed=true]", "a => a.map(e => e.dataset.item)")
        assert pressed == [item for item in again if has[item]]
        assert stored(project) == {item: has[item] for item in first}
        none = ["0"] if len(pressed) == 12 else ["0", "0"]  # all first, then none
        tab.press(*none, "ArrowDown", "Space", "ArrowDown", "-", "Enter")  # the second is yes, the third stays open
        tab.wait_for_saved(23)
        expected = {item: has[item] for item in first} | {item: item == again[1] for item in again if item != again[2]}
        assert stored(project) == expected
        assert tab.errors == []
    assert {event.reason for event in project.events() if event.who == "me"} == {"sweep"}
    assert all(event.timing.question == "sweep" for event in project.events() if event.who == "me" and event.values)


@pytest.mark.slow
def test_nothing_is_saved_by_accident(context, texts):
    project, _ = texts
    with serving(project) as address:
        tab = SweepTab(context, address, "label=late&words=refund&order=unsure")
        assert all("refund" in text for text in tab.page.locator("li:has(.tile)").all_text_contents())
        tab.page.goto(f"{address}/browse/item?name=t20")
        tab.page.get_by_role("link", name="Sweep a label over them").press("Enter")
        tab.page.get_by_label("Label", exact=True).fill("late")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**label=late**")
        tab.wait()
        near = [name for name, _ in project.similar("t20", 60)]
        assert tab.items() == [name for name in near if name in tab.items()] and set(tab.items()) <= set(near[:40])
        tab.press("Enter")
        assert "Nothing is marked" in tab.page.inner_text("#hint")
        tab.press("1", "Shift+Enter")
        assert "Some are marked" in tab.page.inner_text("#hint")
        tab.page.uncheck("#single-keys")
        tab.page.locator("button.tile").nth(3).focus()
        tab.press("2", "a", "0")
        assert tab.page.locator("button.tile[aria-pressed=true]").count() == 1
        tab.page.locator("button.tile").nth(1).click()
        assert tab.page.inner_text("#counts").startswith("2 yes, ")
        assert project.events()[-1].who == "owner" and tab.errors == []


@pytest.mark.slow
def test_a_page_saved_without_a_connection_is_sent_later_and_once(context, texts):
    project, has = texts
    with serving(project) as address:
        tab = SweepTab(context, address, "label=late")
        tab.page.wait_for_function("() => performance.getEntriesByName(location.origin + '/api/sweep').length >= 2")
        context.set_offline(True)
        tab.turn(has.__getitem__)
        second = tab.items()
        tab.press("1", "Enter")
        tab.page.wait_for_selector('#saved[data-state="waiting"]')
        tab.press("z")  # not sent yet: taken back here
        tab.page.wait_for_selector(f'button.tile[data-item="{second[0]}"]')
        assert stored(project) == {}
        context.set_offline(False)
        tab.wait_for_saved(12)
        assert stored(project) == tab.said and tab.errors == []


@pytest.mark.slow
def test_five_hundred_marks_are_exported_as_they_were_pressed(context, pictures, tmp_path):
    path, has = pictures
    with Project(path) as project, serving(project) as address:
        tab = SweepTab(context, address, "label=red")
        while tab.page.is_hidden("#waiting") and len(tab.said) < 500:
            assert len(tab.turn(has.__getitem__)) == 24
        tab.wait_for_saved(len(tab.said))
        write_events(project.events(), str(tmp_path / "answers.jsonl"))
        assert tab.errors == []
        exported = [event for event in read_events_file(str(tmp_path / "answers.jsonl")) if event.who == "me"]
        assert len(exported) >= 500 and all(event.asked == "red" for event in exported)
        assert {event.item: event.values["red"] for event in exported} == tab.said
        known = project.labelled()
        column = known.label_names.index("red")
        Y = dict(zip(known.item_ids, known.Y[:, [column]].toarray().ravel().tolist(), strict=True))
        assert all(Y[item] == value for item, value in tab.said.items())


def test_tiles_of_recordings_are_played_and_those_of_pdfs_opened(context, make, tmp_path):
    (tmp_path / "a.pdf").write_bytes(PDF)
    items = [{"call": tone(tmp_path / "a.wav")}, {"paper": str(tmp_path / "a.pdf")}]
    data = LabelData.from_arrays(np.eye(2), label_names=["loud"], item_ids=["one", "two"], items=items)
    project = make(data=data, control=0.0)
    with serving(project) as address:
        tab = SweepTab(context, address, "label=loud")
        tiles = tab.page.locator("#tiles > li")
        assert [" ".join(text.split()) for text in tiles.all_inner_texts()] == [
            "1 one a recording call: a.wav",
            "2 two a PDF paper: a.pdf",
        ]
        seconds = """async (audio) => {
          if (audio.readyState < 1) await new Promise((resolve) => audio.addEventListener("loadedmetadata", resolve));
          return audio.duration;
        }"""
        assert tab.page.locator("audio").evaluate(seconds) == 3
        link = tab.page.get_by_role("link", name="paper: a.pdf")
        assert (
            tab.page.request.get(f"{address}{link.get_attribute('href')}").headers["content-type"] == "application/pdf"
        )
        tab.press("2", "Enter")
        tab.wait_for_saved(2)
    assert stored(project) == {"one": False, "two": True} and tab.errors == []
