"""What was pressed is what is stored: real keys in Chromium, compared with the answers of the project."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from labelling.web.browsing import CHROMIUM, LabellingTab, serving
from labelwise import Answer, LabelData
from labelwise.labelling.store.questions import find_lease, leases_of
from labelwise.labelling.store.schema import leases

pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")
TAGS = ("finance", "python", "sport/tennis", *(f"tag {j}" for j in range(418)))
GUARD, LONG = "const GUARD = 250;", 2000  # as the page has it, and milliseconds in its place
NO = {"left": False, "low": False, "far": False}


@pytest.fixture
def long_guard(context):
    """The page with a longer time in which keys are too early, so that a busy machine does not miss it."""

    def lengthen(route) -> None:
        body = route.fetch().text()
        assert body.count(GUARD) == 1
        route.fulfill(body=body.replace(GUARD, f"const GUARD = {LONG};"), content_type="text/javascript")

    context.route("**/static/label/desk.js", lengthen)
    return context


@pytest.fixture
def ready(make):
    """Whole items with three labels."""
    project = make(ready=40)
    project.refresh()
    return project


@pytest.fixture
def tags(make):
    """Items with 421 labels, asked about as a whole or label by label."""

    def make_tags(**settings):
        X = np.random.default_rng(0).standard_normal((12, 2))
        data = LabelData.from_arrays(X, label_names=TAGS, item_ids=[f"t{i}" for i in range(12)])
        project = make(data=data, **settings)
        project.refresh()
        return project

    return make_tags


def answers(project) -> list:
    undone = {event.undoes for event in project.events()}
    return [event for event in project.events() if event.kind == "answer" and event.id not in undone]


def yes_of(event) -> list[str]:
    return [name for name, value in event.values.items() if value]


def hit(tab: LabellingTab, *keys: str) -> None:
    """Keys as fast as they come, without a look at the page."""
    for key in keys:
        tab.page.keyboard.press(key)


def sent(tab: LabellingTab) -> list[str]:
    """The requests that say something from now on, in order."""
    found: list[str] = []
    says = ("/api/answer", "/api/skip", "/api/undo")
    tab.page.on("request", lambda request: found.extend(name for name in says if name in request.url))
    return found


# -- the same label twice ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_with_an_overlap_marks_are_stored_as_they_were_made(context, make):
    project = make(ready=20, overlap=2)
    project.refresh()
    shown = []
    with serving(project) as address:
        tab = LabellingTab(context, address)
        for number in range(1, 7):
            shown.append(tab.item)
            assert tab.page.locator(".row .label-name").all_inner_texts() == ["left", "low", "far"]
            tab.press("y", "Enter")
            tab.wait_for_saved(number)
    assert [(event.item, dict(event.values)) for event in project.events()] == [
        (item, {**NO, "left": True}) for item in shown
    ]
    assert len(set(shown)) == 6
    assert {lease.question.item for lease in project.service.ask("bob", 20)} >= set(shown)  # the second opinion


@pytest.mark.parametrize("mode", ["whole", "single"])
@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
@pytest.mark.slow
def test_a_label_that_two_leases_hold_is_shown_once(context, make, mode, strategy):
    project = make(ready=40, strategy=strategy)
    project.refresh()
    (mine,) = project.service.ask("me")
    with project.store.writing() as connection:
        second = replace(find_lease(connection, mine.token), token="c0")  # as earlier versions gave it
        connection.execute(leases.insert().values(asdict(second)))
    with serving(project) as address:
        tab = LabellingTab(context, address)
        if tab.page.get_attribute(f"#mode-{mode}", "aria-pressed") != "true":
            tab.press("m")
        item = tab.item
        assert item == mine.question.item
        if mode == "whole":
            assert tab.page.locator(".row .label-name").all_inner_texts() == ["left", "low", "far"]
            tab.press("y", "Enter")
            tab.wait_for_saved(1)
            tab.wait_for_question()
        elif strategy == "uncertainty":
            tab.press("y", "y", "y")
            tab.wait_for_saved(1)
            tab.wait_for_question()
        else:  # every label of the item that is asked about, one after the other
            for saved in range(1, 4):
                if tab.item == item:
                    tab.press("y")
                    tab.wait_for_saved(saved)
                    tab.wait_for_question()
        assert tab.item != item
        tab.page.wait_for_timeout(400)
    stored = [event for event in project.events() if event.item == item]
    said = [(name, value) for event in stored for name, value in event.values.items()]
    assert len(dict(said)) == len(said)
    assert ("left" if mode == "whole" else mine.question.labels[0], True) in said
    with project.store.reading() as connection:
        assert find_lease(connection, "c0").state == "expired"  # given back: somebody else may have it


# -- keys that nobody meant --------------------------------------------------------------------------------------------


def test_a_doubled_enter_saves_one_item(long_guard, ready):
    with serving(ready) as address:
        tab = LabellingTab(long_guard, address)
        item = tab.item
        tab.press("1")
        hit(tab, "Enter", "Enter", "Enter")
        tab.wait_for_saved(1)
        tab.page.wait_for_selector("#hint:has-text('before the item was on screen')")
        second = tab.item
        tab.press("Enter", "Enter")  # looked at, but nothing is marked
        assert "Nothing is marked. Press Shift+Enter" in tab.page.inner_text("#hint")
        assert tab.item == second != item
        tab.press("2", "Enter")
        tab.wait_for_saved(2)
    assert [(event.item, yes_of(event)) for event in ready.events()] == [(item, ["left"]), (second, ["low"])]


@pytest.mark.slow
def test_enter_while_the_page_loads_saves_nothing(long_guard, ready):
    with serving(ready) as address:
        tab = LabellingTab(long_guard, address)
        item = tab.item
        tab.page.goto(f"{address}/label", wait_until="commit")
        hit(tab, *["Enter", "y", "1"] * 15)
        tab.wait_for_question()
        tab.page.wait_for_timeout(300)
        assert tab.item == item and ready.events() == []
        tab.press("2", "Enter")
        tab.wait_for_saved(1)
    assert ready.events()[0].item == item and ready.events()[0].values["low"] is True


@pytest.mark.parametrize("keys", [("1", "2", "Enter"), ("y", "y", "y")], ids=["whole", "single"])
@pytest.mark.slow
def test_keys_typed_ahead_of_an_item_are_dropped_and_it_is_said(long_guard, ready, keys):
    with serving(ready) as address:
        tab = LabellingTab(long_guard, address)
        if keys[0] == "y":
            tab.press("m")
        tab.press(*(("1", "Enter") if keys[0] == "1" else ("n", "n", "n")))
        hit(tab, *keys)
        tab.wait_for_saved(1)
        assert "came before the item was on screen" in tab.page.inner_text("#hint")
        assert tab.page.locator(".row[data-say]").count() == 0
        tab.press("n", *(("Enter",) if keys[0] == "1" else ("n", "n")))
        tab.wait_for_saved(2)
    assert yes_of(ready.events()[1]) == [] and len(ready.events()) == 2


@pytest.mark.slow
def test_keys_that_come_when_the_item_was_seen_all_count(context, ready):
    """As soon as an item has been on screen for the shortest time that counts, three keys at once."""
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        shown = []
        for number in range(1, 11):
            tab.wait_until_keys_count()
            shown.append(tab.item)
            hit(tab, "1", "3", "Enter")
            tab.wait_for_saved(number)
    assert [event.item for event in ready.events()] == shown and len(set(shown)) == 10
    assert all(yes_of(event) == ["left", "far"] for event in ready.events())


@pytest.mark.parametrize("way", ["key", "button"])
@pytest.mark.slow
def test_an_item_without_labels_is_saved_deliberately(context, ready, way):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        item = tab.item
        tab.press("Enter")
        assert tab.page.is_visible("#hint") and ready.events() == []
        if way == "key":
            tab.press("Shift+Enter")
        else:
            tab.page.get_by_role("button", name="No label fits").click()
        tab.wait_for_saved(1)
        assert not tab.page.is_visible("#hint")
    assert [(event.item, dict(event.values)) for event in ready.events()] == [(item, NO)]


@pytest.mark.slow
def test_a_double_click_on_save_saves_one_item(long_guard, ready):
    with serving(ready) as address:
        tab = LabellingTab(long_guard, address)
        tab.press("1")
        tab.page.get_by_role("button", name="Save").dblclick()
        tab.wait_for_saved(1)
        tab.page.wait_for_timeout(300)
    assert [yes_of(event) for event in ready.events()] == [["left"]]


# -- finding labels ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_search_after_search_marks_every_label(context, tags):
    project = tags(ready=6)
    with serving(project) as address:
        tab = LabellingTab(context, address)
        for text in ("finance", "python", "sport/ten"):
            tab.press("/")
            tab.page.keyboard.type(text)
            tab.press("Enter")
            assert tab.page.input_value("#search") == ""
        assert "3 yes; the other 418" in tab.page.inner_text("#rest-line")
        tab.page.wait_for_timeout(300)
        tab.press("Enter")  # in the empty box
        tab.wait_for_saved(1)
    (event,) = project.events()
    assert yes_of(event) == ["finance", "python", "sport/tennis"] and len(event.values) == 421


@pytest.mark.slow
def test_what_finds_nothing_says_so_and_loses_nothing(long_guard, tags):
    project = tags(ready=6)
    with serving(project) as address:
        tab = LabellingTab(long_guard, address)
        tab.press("/")
        tab.page.keyboard.type("pyhtno")
        for _ in range(2):
            assert tab.page.is_visible("#found")
            assert tab.page.inner_text("#found") == "No open label matches “pyhtno”."
            assert tab.page.input_value("#search") == "pyhtno"
            tab.press("Enter")
        tab.press("/")  # no label contains "pyhtno/": a new search, over what was typed
        tab.page.keyboard.type("python")
        assert tab.page.input_value("#search") == "python"
        hit(tab, "Enter", "Enter")  # the second is the first one doubled
        tab.press("/")
        tab.page.keyboard.type("python")
        tab.press("Enter")
        assert tab.page.inner_text("#found") == "“python” is already marked."
        assert project.events() == []
        tab.page.wait_for_timeout(LONG + 100)
        tab.press("Enter")
        tab.wait_for_saved(1)
    assert [yes_of(event) for event in project.events()] == [["python"]]


@pytest.mark.parametrize("mode", ["whole", "single"])
@pytest.mark.slow
def test_labels_may_have_any_name(context, make, mode):
    names = ("constructor", "__proto__", "1", "valueOf")
    data = LabelData.from_arrays(np.eye(4), label_names=names, item_ids=("toString", "__proto__", "b", "c"))
    project = make(data=data, ready=4)
    project.refresh()
    said = {}
    with serving(project) as address:
        tab = LabellingTab(context, address)
        if mode == "single":
            tab.press("m")
        for number in range(1, 5):
            said[tab.item] = dict(zip(names, (False, True, False, False), strict=True))
            tab.press(*(("2", "1", "1", "Enter") if mode == "whole" else ("n", "y", "n", "n")))
            tab.wait_for_saved(number)
    assert {event.item: dict(event.values) for event in project.events()} == said and len(said) == 4
    assert tab.errors == []


# -- whole items where single labels are asked about -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "asked"),
    [(2, 100), pytest.param(0, 1, marks=pytest.mark.slow)],
    ids=["a hundred asked", "one label asked"],
)
def test_the_whole_item_is_shown_and_sent_in_one_request(context, tags, start, asked):
    project = tags(strategy="uncertainty_pairs", start=start, ready=500)
    with serving(project) as address:
        tab = LabellingTab(context, address)
        item = tab.item
        with project.store.reading() as connection:
            assert len(leases_of(connection, "me")) >= asked
        tab.press("m")
        assert tab.page.locator(".row").count() == 421
        requests = sent(tab)
        for text in ("finance", "tag 417", "tennis"):
            tab.press("/")
            tab.page.keyboard.type(text)
            assert tab.page.inner_text("#found").startswith("1 of 421 labels.")
            tab.press("Enter")
        tab.press("Escape", "Enter")
        tab.wait_for_saved(1)
        assert requests == ["/api/answer"]
        tab.wait_for_question()
        assert tab.item != item
        (event,) = project.events()
        assert yes_of(event) == ["finance", "sport/tennis", "tag 417"]
        assert (event.item, event.asked, set(event.values)) == (item, None, set(TAGS))
        tab.press("Alt+z")  # one event, taken back at once
        tab.page.wait_for_selector(f"#item-name:text-is('{item}')")
        assert answers(project) == []
        assert "3 yes; the other 418" in tab.page.inner_text("#rest-line")
        tab.press("Alt+z", "Enter")
        tab.wait_for_saved(2)
    assert yes_of(answers(project)[0]) == ["finance", "tag 417"] and len(answers(project)) == 1
    assert tab.errors == []


def test_a_skip_of_the_whole_item_is_one_request(context, tags):
    project = tags(strategy="uncertainty_pairs", start=2, ready=500)
    with serving(project) as address:
        tab = LabellingTab(context, address)
        item = tab.item
        tab.press("m")
        requests = sent(tab)
        tab.press("Alt+s")  # letters alone find labels where there are many
        tab.wait_for_saved(1)
        tab.wait_for_question()
        assert tab.item != item and requests == ["/api/skip"]
    assert [(event.kind, event.item) for event in project.events()] == [("skip", item)]


def test_the_random_share_shows_no_beliefs_of_the_whole_item(context, make):
    project = make(strategy="uncertainty_pairs", control=0.99, ready=40)
    project.tell([Answer(f"p{i}", {"left": bool(i % 2), "low": True, "far": False}) for i in range(6)], who="ann")
    project.refresh()
    with serving(project) as address:
        tab = LabellingTab(context, address)
        tab.press("m")
        assert "Random share" in tab.page.inner_text("#why")
        assert tab.page.locator(".row .p").all_inner_texts() == ["", "", ""]
        item = tab.item
        tab.press("1", "Enter")
        tab.wait_for_saved(1)
    event = project.events()[-1]
    assert (event.item, event.reason, dict(event.values)) == (item, "control", {**NO, "left": True})


@pytest.mark.slow
def test_a_label_that_one_sees_is_added_one_by_one(context, tags):
    project = tags(strategy="uncertainty_pairs", ready=40)
    with serving(project) as address:
        tab = LabellingTab(context, address)
        item, asked = tab.item, tab.page.inner_text("#asked")
        leases = project.service.ask("me", 100)
        mine = {name for lease in leases if lease.question.item == item for name in lease.question.labels}
        first, second = [name for name in TAGS[300:] if name not in mine][:2]
        tab.press("/")
        tab.page.keyboard.type("nothing")
        assert tab.page.inner_text("#add-found") == "No open label matches “nothing”."
        tab.press("Enter")
        assert tab.page.input_value("#add") == "nothing"
        tab.press("/")
        tab.page.keyboard.type(first)
        tab.press("Enter", "/")
        tab.page.keyboard.type(second)
        tab.press("Enter")
        assert tab.page.locator("#steps li:has-text('added')").count() == 2
        tab.press("z", "n")  # the second is taken back, then the question is answered
        tab.wait_for_saved(1)
        assert [dict(event.values) for event in answers(project)] == [{first: True, asked: False}]
        tab.press("z")
        tab.page.wait_for_selector(f"#asked:text-is('{asked}')")
        assert tab.item == item
        assert tab.page.locator("#steps li:has-text('added')").all_inner_texts() == [f"{first}\nyes, added"]
        tab.press("y")
        tab.wait_for_saved(2)
    assert [dict(event.values) for event in answers(project)] == [{first: True, asked: True}]
    assert tab.errors == []


# -- taking back -------------------------------------------------------------------------------------------------------


def test_undo_in_the_middle_of_a_whole_item_takes_the_last_mark_back(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        first = tab.item
        tab.press("1", "Enter")
        tab.wait_for_saved(1)
        second = tab.item
        requests = sent(tab)
        tab.press("1", "2", "z")
        assert tab.item == second and requests == []
        assert tab.page.locator(".row[data-say]").all_inner_texts()[0].split()[1] == "left"
        tab.press("z", "z")  # the other mark, then the answer before
        tab.page.wait_for_selector(f"#item-name:text-is('{first}')")
        tab.press("3", "Enter")
        tab.wait_for_saved(2)
        tab.page.wait_for_selector(f"#item-name:text-is('{second}')")
    assert [(event.item, yes_of(event)) for event in answers(ready)] == [(first, ["left", "far"])]


@pytest.mark.slow
def test_undo_in_the_middle_of_an_item_takes_the_last_question_back(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        tab.press("m")
        item = tab.item
        tab.press("y", "y", "z")
        assert (tab.item, tab.page.inner_text("#asked")) == (item, "low")
        tab.press("n", "u")
        tab.wait_for_saved(1)
        assert dict(answers(ready)[0].values) == {"left": True, "low": False, "far": None}
        tab.press("z")  # the last question of the item before
        tab.page.wait_for_selector(f"#item-name:text-is('{item}')")
        assert tab.page.inner_text("#asked") == "far"
        tab.press("y")
        tab.wait_for_saved(2)
    assert dict(answers(ready)[0].values) == {"left": True, "low": False, "far": True} and len(answers(ready)) == 1


@pytest.mark.slow
def test_questions_about_one_item_are_taken_back_one_by_one(context, make):
    project = make(strategy="uncertainty_pairs", start=3, ready=60)
    project.refresh()
    with serving(project) as address:
        tab = LabellingTab(context, address)
        item, asked = tab.item, []
        for number in (1, 2):
            asked.append(tab.page.inner_text("#asked"))
            tab.press("y")
            tab.wait_for_saved(number)
        assert tab.item == item
        for left in (1, 0):
            tab.press("z")
            tab.page.wait_for_selector(f"#asked:text-is('{asked[left]}')")
            assert tab.item == item and tab.page.inner_text("#step") == f"Question {left + 1} of 3 about this item"
            assert [list(event.values) for event in answers(project)] == [[name] for name in asked[:left]]
        for number in (3, 4, 5):
            assert tab.item == item
            tab.press("n")
            tab.wait_for_saved(number)
    assert [(event.item, list(event.values.values())) for event in answers(project)] == [(item, [False])] * 3
    assert tab.errors == []


@pytest.mark.parametrize("mode", ["whole", "single"])
@pytest.mark.slow
def test_undo_after_others_answered_everything_goes_on_with_the_next_item(context, ready, mode):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        if mode == "single":
            tab.press("m")
        item = tab.item
        tab.press(*(("1", "Enter") if mode == "whole" else ("y", "n", "n")))
        tab.wait_for_saved(1)
        following = tab.item
        ready.tell(Answer(item, NO), who="bob")
        tab.press("z")
        tab.page.wait_for_selector(f"#refused:has-text('Your answer about item {item} is taken back.')")
        assert tab.item == following
        assert tab.page.inner_text("#text") == following.replace("p", "point ")
        tab.press(*(("2", "Enter") if mode == "whole" else ("n", "y", "n")))
        tab.wait_for_saved(2)
        tab.wait_for_question()
    assert [(event.who, event.item, yes_of(event)) for event in answers(ready)] == [
        ("bob", item, []),
        ("me", following, ["low"]),
    ]
    assert tab.errors == []


# -- without a connection ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_answer_about_a_whole_item_waits_for_the_connection(context, tags):
    project = tags(strategy="uncertainty_pairs", start=3, ready=900)
    with serving(project) as address:
        tab = LabellingTab(context, address)
        tab.press("m")
        context.set_offline(True)
        item = tab.item
        tab.press("1", "Enter")
        tab.page.wait_for_selector("#queue:has-text('1 answer waits')")
        tab.press("Alt+z")  # taken out again, with all its questions
        tab.page.wait_for_selector(f"#item-name:text-is('{item}')")
        tab.press("2", "Enter")
        tab.page.wait_for_selector("#queue:has-text('1 answer waits')")
        context.set_offline(False)
        tab.wait_for_saved(1)
    assert [(event.item, len(yes_of(event)), len(event.values)) for event in project.events()] == [(item, 2, 421)]


@pytest.mark.slow
def test_answers_that_an_earlier_version_of_the_page_kept_are_sent(context, ready):
    leases = ready.service.ask_about_items("me", 2)
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        for order, (kind, lease) in enumerate(zip(("answer", "skip"), leases, strict=True)):
            values = {"left": True, "low": None} if kind == "answer" else {}
            question = {"lease": lease.token, "item": lease.question.item, "labels": []}
            entry = {"kind": kind, "lease": lease.token, "values": values, "question": question}
            entry |= {"at": 1000, "order": order}
            key = f"labelwise:{ready.identity}:me:answer:{lease.token}"
            tab.page.evaluate("([key, entry]) => localStorage.setItem(key, entry)", [key, json.dumps(entry)])
        tab.page.reload()
        tab.wait_for_saved(2)
        tab.wait_for_question()
        assert tab.item not in {lease.question.item for lease in leases}
    stored = [(event.kind, event.item, dict(event.values)) for event in ready.events()]
    first, second = (lease.question.item for lease in leases)
    assert stored == [("answer", first, {"left": True, "low": None}), ("skip", second, {})]


@pytest.mark.parametrize(("key", "said"), [("y", True), ("n", False), ("u", None)])
@pytest.mark.slow
def test_a_key_pressed_twice_says_the_same_of_the_last_label(context, ready, key, said):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        tab.press("1", "ArrowDown", "ArrowDown", key, key)  # there is no label after it to go on to
        assert tab.page.inner_text("#found") == "“far” is already marked."
        tab.press("Enter")
        tab.wait_for_saved(1)
    assert dict(answers(ready)[0].values) == {"left": True, "low": False, "far": said}


@pytest.mark.slow
def test_a_mark_that_is_taken_back_is_no_longer_told(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        tab.press("2")
        assert tab.page.inner_text("#found") == "low: yes"
        tab.press("z")
        assert tab.page.inner_text("#found") == "" and tab.page.inner_text("#saved") == "Taken back: low"


@pytest.mark.slow
def test_the_page_says_that_a_doubled_enter_does_not_count(long_guard, tags):
    project = tags(ready=6)
    with serving(project) as address:
        tab = LabellingTab(long_guard, address)
        tab.press("/")
        tab.page.keyboard.type("python")
        hit(tab, "Enter", "Enter")
        assert tab.page.inner_text("#hint").startswith("Enter came at once after the one that marked a label")
    assert project.events() == []


@pytest.mark.slow
def test_enter_after_answers_that_are_saved_does_not_deny_them(context, make):
    project = make(strategy="uncertainty_pairs", start=3, ready=60)
    project.refresh()
    with serving(project) as address:
        tab = LabellingTab(context, address)
        tab.press("n")
        tab.wait_for_saved(1)
        tab.press("Enter")
        assert tab.page.inner_text("#hint").startswith("There is nothing new to save.")
    assert len(answers(project)) == 1


def test_a_suggestion_says_why_in_words_that_tell_something(context, make):
    """Nobody has answered: labels are likely by their names, and stop words of the text are not given as reasons."""
    texts = [f"the {word} is not of it" for word in ("football", "voting")] * 12
    data = LabelData.from_arrays(np.zeros((24, 0)), label_names=["Football", "Voting", "b47"], items=texts)
    project = make(data=data, text="", strategy="random", control=0)
    project.refresh()
    with serving(project) as address:
        tab = LabellingTab(context, address)
        word = tab.page.inner_text("#text").split()[1]
        rows = tab.page.locator("#groups .row")
        likely = rows.filter(has_text=word.capitalize())
        assert likely.locator(".reason").all_inner_texts() == [f"by its name: {word}"]
        assert f"by its name: {word}" in likely.get_attribute("aria-label")
        assert rows.filter(has_text="b47").count() == 1
        assert not any("name" in why for why in rows.filter(has_text="b47").locator(".reason").all_inner_texts())
        assert tab.errors == []
