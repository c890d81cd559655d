"""Every way of answering in turn, by three people: what is stored is a plain record of what they pressed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from labelling.web.browsing import CHROMIUM, PATIENCE, serving
from labelwise import LabelData

pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with"),
]
ITEMS, LABELS = 240, [f"{word}{j}" for j, word in enumerate(("ash", "birch", "cedar", "elm", "fir", "oak") * 5)]
SWEEP_KEYS = "123456789abcdefghijklmnopqrstuvwxy"
READY = "html[data-ready]"
SAY = {"y": True, "n": False, "u": None}


class Clerk:
    """Somebody who labels in a browser, and what they pressed: by item and label, what they said last."""

    def __init__(self, browser, address: str, link: str, seed: int) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.rng = np.random.default_rng(seed)
        self.address, self.said, self.errors, self.saved = address, {}, [], 0
        self.page, self.other = self.tab(), self.tab()  # questions in one, everything else in the other
        self.page.goto(f"{address}/enter/{link}")
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url("**/label")
        self.ready()

    def tab(self):
        tab = self.context.new_page()
        tab.set_default_timeout(PATIENCE)
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        return tab

    def ready(self) -> None:
        self.page.wait_for_selector("#desk:not([hidden])")
        self.page.wait_for_selector(READY)

    def rows(self) -> list[str]:
        return self.page.eval_on_selector_all("#groups .row", "all => all.map(each => each.dataset.name)")

    def chosen(self) -> set[str]:
        return set(self.page.eval_on_selector_all("#chosen .chip", "all => all.map(each => each.dataset.name)"))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def some(self, among: list[str], most: int = 3) -> list[str]:
        return self.rng.choice(among, size=self.rng.integers(1, most + 1), replace=False).tolist()

    # -- whole items --------------------------------------------------------------------------------------------------

    def whole(self, mark) -> None:
        """Choose labels in some way, save the item, and note what was on screen when it was saved."""
        self.ready()
        item, rows = self.page.inner_text("#item-name"), self.rows()
        assert len(rows) == len(set(rows)) > 0
        expected = mark(rows)
        assert self.chosen() == expected
        self.save(item, rows, expected)

    def save(self, item: str, rows: list[str], chosen: set[str]) -> None:
        self.page.wait_for_timeout(260)  # a doubled Enter does not count
        self.press("Enter" if chosen else "Shift+Enter")
        said = {name: name in chosen for name in rows}
        if self.page.is_visible("#also"):
            self.page.wait_for_timeout(260)
            names = self.page.eval_on_selector_all(
                "#also-labels button", "all => all.map(e => e.lastChild.textContent.trim())"
            )
            there = self.some(names, len(names)) if self.rng.random() < 0.5 else []
            self.press(*(str(names.index(name) + 1) for name in there), "Enter")
            said |= {name: name in there for name in names}
        self.saved += 1
        self.page.wait_for_selector(f'#saved[data-saved="{self.saved}"]')
        self.said |= {(item, label): value for label, value in said.items()}

    def by_digits(self, rows: list[str]) -> set[str]:
        wanted = self.some(rows[:9])
        self.press(*(str(rows.index(name) + 1) for name in wanted))
        return set(wanted)

    def by_search(self, rows: list[str]) -> set[str]:
        wanted = self.some(rows)
        for name in wanted:
            self.press(*name, "Enter")
        return set(wanted)

    def by_line(self, rows: list[str]) -> set[str]:
        if not self.page.locator("#groups .line").count():
            return self.by_digits(rows)
        above = rows[: self.page.locator("#groups .rows").first.locator(".row").count()]
        self.press("Space")
        assert self.chosen() == set(above)
        last = self.page.locator("#chosen .chip").last.get_attribute("data-name")
        self.press("Backspace")
        return set(above) - {last}

    def up_to(self, rows: list[str]) -> set[str]:
        last = int(self.rng.integers(2, 7))
        self.press(f"Shift+Digit{last}")
        return set(rows[:last])

    def by_mouse(self, rows: list[str]) -> set[str]:
        wanted = self.some(rows[:8])
        for name in wanted:
            self.page.locator(f'#groups .row[data-name="{name}"] .named').click()
        return set(wanted)

    def undone(self) -> None:
        """Save an item, take that back, take one mark back, choose others, save."""
        before = dict(self.said)
        self.whole(self.by_digits)
        item = next(item for item, label in self.said if self.said != before and (item, label) not in before)
        self.press("Alt+z")
        self.page.wait_for_function("item => document.getElementById('item-name').textContent === item", arg=item)
        self.said = before
        self.ready()
        rows, chosen = self.rows(), self.chosen()
        added = next(name for name in rows if name not in chosen)
        self.press(*added, "Enter")
        self.save(item, rows, chosen | {added})

    def one_by_one(self) -> None:
        self.ready()
        self.page.click("#mode-single")
        item, number = self.page.inner_text("#item-name"), self.page.locator("#steps li").count()
        for _ in range(number):
            key = str(self.rng.choice(list(SAY)))
            self.said[item, self.page.inner_text("#asked").removesuffix("?")] = SAY[key]
            self.press(key)
        self.saved += 1
        self.page.wait_for_selector(f'#saved[data-saved="{self.saved}"]')
        self.page.click("#mode-whole")

    def skip(self) -> None:
        self.ready()
        self.press("Alt+s")
        self.saved += 1
        self.page.wait_for_selector(f'#saved[data-saved="{self.saved}"]')

    # -- many items, and corrections ----------------------------------------------------------------------------------

    def sweep(self, is_kept: bool = True) -> None:
        tab, label = self.other, str(self.rng.choice(LABELS))
        tab.goto(f"{self.address}/sweep?label={label}")
        tab.wait_for_selector(READY)
        items = tab.eval_on_selector_all("button.tile", "all => all.map(each => each.dataset.item)")
        if not items:
            return
        marked = self.some(items, 4)
        with tab.expect_response("**/api/answer_sweep") as reply:
            for key in [*(SWEEP_KEYS[items.index(item)] for item in marked), "Enter"]:
                tab.keyboard.press(key)
        left_out = reply.value.json()["left_out"]
        if is_kept:
            self.said |= {(item, label): item in marked for item in items if item not in left_out}
        else:
            with tab.expect_response("**/api/undo_sweep") as reply:
                tab.keyboard.press("z")
            assert reply.value.status == 200

    def bulk(self, page: int, is_kept: bool = True) -> None:
        tab, label, adds = self.other, str(self.rng.choice(LABELS)), bool(self.rng.random() < 0.5)
        tab.goto(f"{self.address}/browse?page={page}")
        items = [
            name.removeprefix("Choose ")
            for name in tab.eval_on_selector_all(
                "input[aria-label^='Choose ']", "all => all.map(each => each.getAttribute('aria-label'))"
            )
        ]
        tab.get_by_label("all on this page").check()
        tab.locator("input[name=to]").fill(label)
        tab.get_by_role("button", name="Add it" if adds else "Remove it").click()
        tab.get_by_role("button", name="Add" if adds else "Remove", exact=True).click()
        tab.wait_for_selector("text=answers saved.")
        if is_kept:
            self.said |= {(item, label): adds for item in items}
        else:
            tab.get_by_role("button", name="Undo").click()
            tab.wait_for_function("() => !document.querySelector('form.notice')")

    def correct(self) -> None:
        answered = sorted({item for item, _ in self.said})
        item, label, word = (
            str(self.rng.choice(answered)),
            str(self.rng.choice(LABELS)),
            str(self.rng.choice(["yes", "no", "unsure"])),
        )
        self.other.goto(f"{self.address}/browse/item?name={item}")
        with self.other.expect_response(lambda reply: reply.request.method == "POST"):
            self.other.get_by_role("button", name=f"{label}: {word}", exact=True).click()
        self.other.wait_for_load_state()
        self.said[item, label] = {"yes": True, "no": False, "unsure": None}[word]


def standing(project, who: str) -> dict[tuple[str, str], bool | None]:
    """What a person said last of each label of each item, by the events alone."""
    events = project.events()
    undone = {event.undoes for event in events}
    mine = [event for event in events if event.who == who and event.kind == "answer" and event.id not in undone]
    return {(event.item, label): value for event in mine for label, value in event.values.items()}


@pytest.fixture
def project(make):
    """Items whose labels follow from their features, forty of them known; likely labels are asked about once more."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ITEMS, 4))
    Y = X @ rng.standard_normal((4, len(LABELS))) > 1.5
    observed = np.repeat(np.arange(ITEMS) < 40, len(LABELS)).reshape(Y.shape)
    made = make(
        data=LabelData.from_arrays(
            X,
            Y & observed,
            observed=observed,
            label_names=LABELS,
            item_ids=[f"i{row:03d}" for row in range(ITEMS)],
            items=[f"item number {row}" for row in range(ITEMS)],
        ),
        overlap=2,
        verify=True,
        ready=200,
    )
    made.refresh()
    return made


def test_two_hundred_items_in_every_mode_by_three_people_are_stored_as_they_were_pressed(browser, project):
    links = {name: project.people.add(name) for name in ("ann", "bob", "cid")}
    with serving(project, None) as address:
        people = {name: Clerk(browser, address, link, seed) for seed, (name, link) in enumerate(links.items())}
        for turn in range(2):
            for place, clerk in enumerate(people.values()):
                first = 1 + 2 * (3 * turn + place)  # page of Browse
                for mark in (clerk.by_digits, clerk.by_search, clerk.by_line, clerk.up_to, clerk.by_mouse):
                    clerk.whole(mark)
                clerk.sweep()
                clerk.undone()
                clerk.bulk(first)
                clerk.one_by_one()
                clerk.correct()
                clerk.sweep(is_kept=False)
                clerk.skip()
                clerk.bulk(first, is_kept=False)
                clerk.bulk(first + 1)
        assert [clerk.errors for clerk in people.values()] == [[], [], []]
        for clerk in people.values():
            clerk.context.close()
    for name, clerk in people.items():
        assert standing(project, name) == clerk.said
    everything = [said for clerk in people.values() for said in clerk.said]
    assert len({item for item, _ in everything}) >= 200 and len(everything) > 1000
    by_two = {both for both, number in Counter(everything).items() if number > 1}
    assert by_two  # some were answered by two people
    known, column = project.labelled(), {name: place for place, name in enumerate(LABELS)}
    row = {name: place for place, name in enumerate(known.item_ids)}
    for item, label in everything:
        votes = {clerk.said[item, label] for clerk in people.values() if (item, label) in clerk.said} - {None}
        if len(votes) == 1 and int(item[1:]) >= 40:
            assert known.Y[row[item], column[label]] == votes.pop()
