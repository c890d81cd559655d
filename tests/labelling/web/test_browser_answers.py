"""What was pressed is what is stored: real keys in Chromium, compared with the answers of the project."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from labelling.web.browsing import CHROMIUM, Desk, serving
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

    context.route("**/static/label.js", lengthen)
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


def hit(desk: Desk, *keys: str) -> None:
    """Keys as fast as they come, without a look at the page."""
    for key in keys:
        desk.page.keyboard.press(key)


def sent(desk: Desk) -> list[str]:
    """The requests that say something from now on, in order."""
    found: list[str] = []
    says = ("/api/answer", "/api/skip", "/api/undo")
    desk.page.on("request", lambda request: found.extend(name for name in says if name in request.url))
    return found


# -- the same label twice ----------------------------------------------------------------------------------------------


def test_with_an_overlap_marks_are_stored_as_they_were_made(context, make):
    project = make(ready=20, overlap=2)
    project.refresh()
    shown = []
    with serving(project) as address:
        desk = Desk(context, address)
        for number in range(1, 7):
            shown.append(desk.item)
            assert desk.page.locator(".row .label-name").all_inner_texts() == ["left", "low", "far"]
            desk.press("y", "Enter")
            desk.wait_for_saved(number)
    assert [(event.item, dict(event.values)) for event in project.events()] == [
        (item, {**NO, "left": True}) for item in shown
    ]
    assert len(set(shown)) == 6
    assert {lease.question.item for lease in project.service.ask("bob", 20)} >= set(shown)  # the second opinion


@pytest.mark.parametrize("mode", ["whole", "single"])
@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_a_label_that_two_leases_hold_is_shown_once(context, make, mode, strategy):
    project = make(ready=40, strategy=strategy)
    project.refresh()
    (mine,) = project.service.ask("me")
    with project.store.writing() as connection:
        second = replace(find_lease(connection, mine.token), token="c0")  # as earlier versions gave it
        connection.execute(leases.insert().values(asdict(second)))
    with serving(project) as address:
        desk = Desk(context, address)
        if desk.page.get_attribute(f"#mode-{mode}", "aria-pressed") != "true":
            desk.press("m")
        item = desk.item
        assert item == mine.question.item
        if mode == "whole":
            assert desk.page.locator(".row .label-name").all_inner_texts() == ["left", "low", "far"]
            desk.press("y", "Enter")
            desk.wait_for_saved(1)
            desk.wait_for_question()
        elif strategy == "uncertainty":
            desk.press("y", "y", "y")
            desk.wait_for_saved(1)
            desk.wait_for_question()
        else:  # every label of the item that is asked about, one after the other
            for saved in range(1, 4):
                if desk.item == item:
                    desk.press("y")
                    desk.wait_for_saved(saved)
                    desk.wait_for_question()
        assert desk.item != item
        desk.page.wait_for_timeout(400)
    stored = [event for event in project.events() if event.item == item]
    said = [(name, value) for event in stored for name, value in event.values.items()]
    assert len(dict(said)) == len(said)
    assert ("left" if mode == "whole" else mine.question.labels[0], True) in said
    with project.store.reading() as connection:
        assert find_lease(connection, "c0").state == "expired"  # given back: somebody else may have it


# -- keys that nobody meant --------------------------------------------------------------------------------------------


def test_a_doubled_enter_saves_one_item(long_guard, ready):
    with serving(ready) as address:
        desk = Desk(long_guard, address)
        item = desk.item
        desk.press("1")
        hit(desk, "Enter", "Enter", "Enter")
        desk.wait_for_saved(1)
        desk.page.wait_for_selector("#hint:has-text('before the item was on screen')")
        second = desk.item
        desk.press("Enter", "Enter")  # looked at, but nothing is marked
        assert "Nothing is marked. Press Shift+Enter" in desk.page.inner_text("#hint")
        assert desk.item == second != item
        desk.press("2", "Enter")
        desk.wait_for_saved(2)
    assert [(event.item, yes_of(event)) for event in ready.events()] == [(item, ["left"]), (second, ["low"])]


def test_enter_while_the_page_loads_saves_nothing(long_guard, ready):
    with serving(ready) as address:
        desk = Desk(long_guard, address)
        item = desk.item
        desk.page.goto(f"{address}/label", wait_until="commit")
        hit(desk, *["Enter", "y", "1"] * 15)
        desk.wait_for_question()
        desk.page.wait_for_timeout(300)
        assert desk.item == item and ready.events() == []
        desk.press("2", "Enter")
        desk.wait_for_saved(1)
    assert ready.events()[0].item == item and ready.events()[0].values["low"] is True


@pytest.mark.parametrize("keys", [("1", "2", "Enter"), ("y", "y", "y")], ids=["whole", "single"])
def test_keys_typed_ahead_of_an_item_are_dropped_and_it_is_said(long_guard, ready, keys):
    with serving(ready) as address:
        desk = Desk(long_guard, address)
        if keys[0] == "y":
            desk.press("m")
        desk.press(*(("1", "Enter") if keys[0] == "1" else ("n", "n", "n")))
        hit(desk, *keys)
        desk.wait_for_saved(1)
        assert "came before the item was on screen" in desk.page.inner_text("#hint")
        assert desk.page.locator(".row[data-say]").count() == 0
        desk.press("n", *(("Enter",) if keys[0] == "1" else ("n", "n")))
        desk.wait_for_saved(2)
    assert yes_of(ready.events()[1]) == [] and len(ready.events()) == 2


def test_keys_that_come_when_the_item_was_seen_all_count(context, ready):
    """As soon as an item has been on screen for the shortest time that counts, three keys at once."""
    with serving(ready) as address:
        desk = Desk(context, address)
        shown = []
        for number in range(1, 11):
            desk.wait_until_keys_count()
            shown.append(desk.item)
            hit(desk, "1", "3", "Enter")
            desk.wait_for_saved(number)
    assert [event.item for event in ready.events()] == shown and len(set(shown)) == 10
    assert all(yes_of(event) == ["left", "far"] for event in ready.events())


@pytest.mark.parametrize("way", ["key", "button"])
def test_an_item_without_labels_is_saved_deliberately(context, ready, way):
    with serving(ready) as address:
        desk = Desk(context, address)
        item = desk.item
        desk.press("Enter")
        assert desk.page.is_visible("#hint") and ready.events() == []
        if way == "key":
            desk.press("Shift+Enter")
        else:
            desk.page.get_by_role("button", name="No label fits").click()
        desk.wait_for_saved(1)
        assert not desk.page.is_visible("#hint")
    assert [(event.item, dict(event.values)) for event in ready.events()] == [(item, NO)]


def test_a_double_click_on_save_saves_one_item(long_guard, ready):
    with serving(ready) as address:
        desk = Desk(long_guard, address)
        desk.press("1")
        desk.page.get_by_role("button", name="Save").dblclick()
        desk.wait_for_saved(1)
        desk.page.wait_for_timeout(300)
    assert [yes_of(event) for event in ready.events()] == [["left"]]


# -- finding labels ----------------------------------------------------------------------------------------------------


def test_search_after_search_marks_every_label(context, tags):
    project = tags(ready=6)
    with serving(project) as address:
        desk = Desk(context, address)
        for text in ("finance", "python", "sport/ten"):
            desk.press("/")
            desk.page.keyboard.type(text)
            desk.press("Enter")
            assert desk.page.input_value("#search") == ""
        assert "3 yes; the other 418" in desk.page.inner_text("#rest-line")
        desk.page.wait_for_timeout(300)
        desk.press("Enter")  # in the empty box
        desk.wait_for_saved(1)
    (event,) = project.events()
    assert yes_of(event) == ["finance", "python", "sport/tennis"] and len(event.values) == 421


def test_what_finds_nothing_says_so_and_loses_nothing(long_guard, tags):
    project = tags(ready=6)
    with serving(project) as address:
        desk = Desk(long_guard, address)
        desk.press("/")
        desk.page.keyboard.type("pyhton")
        for _ in range(2):
            assert desk.page.is_visible("#found")
            assert desk.page.inner_text("#found") == "No open label contains “pyhton”."
            assert desk.page.input_value("#search") == "pyhton"
            desk.press("Enter")
        desk.press("/")  # no label contains "pyhton/": a new search, over what was typed
        desk.page.keyboard.type("python")
        assert desk.page.input_value("#search") == "python"
        hit(desk, "Enter", "Enter")  # the second is the first one doubled
        desk.press("/")
        desk.page.keyboard.type("python")
        desk.press("Enter")
        assert desk.page.inner_text("#found") == "“python” is already marked."
        assert project.events() == []
        desk.page.wait_for_timeout(LONG + 100)
        desk.press("Enter")
        desk.wait_for_saved(1)
    assert [yes_of(event) for event in project.events()] == [["python"]]


@pytest.mark.parametrize("mode", ["whole", "single"])
def test_labels_may_have_any_name(context, make, mode):
    names = ("constructor", "__proto__", "1", "valueOf")
    data = LabelData.from_arrays(np.eye(4), label_names=names, item_ids=("toString", "__proto__", "b", "c"))
    project = make(data=data, ready=4)
    project.refresh()
    said = {}
    with serving(project) as address:
        desk = Desk(context, address)
        if mode == "single":
            desk.press("m")
        for number in range(1, 5):
            said[desk.item] = dict(zip(names, (False, True, False, False), strict=True))
            desk.press(*(("2", "1", "1", "Enter") if mode == "whole" else ("n", "y", "n", "n")))
            desk.wait_for_saved(number)
    assert {event.item: dict(event.values) for event in project.events()} == said and len(said) == 4
    assert desk.errors == []


# -- whole items where single labels are asked about -------------------------------------------------------------------


@pytest.mark.parametrize(("start", "asked"), [(0, 1), (2, 100)], ids=["one label asked", "a hundred asked"])
def test_the_whole_item_is_shown_and_sent_in_one_request(context, tags, start, asked):
    project = tags(strategy="uncertainty_pairs", start=start, ready=500)
    with serving(project) as address:
        desk = Desk(context, address)
        item = desk.item
        with project.store.reading() as connection:
            assert len(leases_of(connection, "me")) >= asked
        desk.press("m")
        assert desk.page.locator(".row").count() == 421
        requests = sent(desk)
        for text in ("finance", "tag 417", "tennis"):
            desk.press("/")
            desk.page.keyboard.type(text)
            assert desk.page.inner_text("#found") == "1 of 421 labels"
            desk.press("Enter")
        desk.press("Escape", "Enter")
        desk.wait_for_saved(1)
        assert requests == ["/api/answer"]
        desk.wait_for_question()
        assert desk.item != item
        (event,) = project.events()
        assert yes_of(event) == ["finance", "sport/tennis", "tag 417"]
        assert (event.item, event.asked, set(event.values)) == (item, None, set(TAGS))
        desk.press("z")  # one event, taken back at once
        desk.page.wait_for_selector(f"#item-name:text-is('{item}')")
        assert answers(project) == []
        assert "3 yes; the other 418" in desk.page.inner_text("#rest-line")
        desk.press("z", "Enter")
        desk.wait_for_saved(2)
    assert yes_of(answers(project)[0]) == ["finance", "tag 417"] and len(answers(project)) == 1
    assert desk.errors == []


def test_a_skip_of_the_whole_item_is_one_request(context, tags):
    project = tags(strategy="uncertainty_pairs", start=2, ready=500)
    with serving(project) as address:
        desk = Desk(context, address)
        item = desk.item
        desk.press("m")
        requests = sent(desk)
        desk.press("s")
        desk.wait_for_saved(1)
        desk.wait_for_question()
        assert desk.item != item and requests == ["/api/skip"]
    assert [(event.kind, event.item) for event in project.events()] == [("skip", item)]


def test_the_random_share_shows_no_beliefs_of_the_whole_item(context, make):
    project = make(strategy="uncertainty_pairs", control=0.99, ready=40)
    project.tell([Answer(f"p{i}", {"left": bool(i % 2), "low": True, "far": False}) for i in range(6)], who="ann")
    project.refresh()
    with serving(project) as address:
        desk = Desk(context, address)
        desk.press("m")
        assert "Random share" in desk.page.inner_text("#why")
        assert desk.page.locator(".row .p").all_inner_texts() == ["", "", ""]
        item = desk.item
        desk.press("1", "Enter")
        desk.wait_for_saved(1)
    event = project.events()[-1]
    assert (event.item, event.reason, dict(event.values)) == (item, "control", {**NO, "left": True})


def test_a_label_that_one_sees_is_added_one_by_one(context, tags):
    project = tags(strategy="uncertainty_pairs", ready=40)
    with serving(project) as address:
        desk = Desk(context, address)
        item, asked = desk.item, desk.page.inner_text("#asked")
        leases = project.service.ask("me", 100)
        mine = {name for lease in leases if lease.question.item == item for name in lease.question.labels}
        first, second = [name for name in TAGS[300:] if name not in mine][:2]
        desk.press("/")
        desk.page.keyboard.type("nothing")
        assert desk.page.inner_text("#add-found") == "No open label contains “nothing”."
        desk.press("Enter")
        assert desk.page.input_value("#add") == "nothing"
        desk.press("/")
        desk.page.keyboard.type(first)
        desk.press("Enter", "/")
        desk.page.keyboard.type(second)
        desk.press("Enter")
        assert desk.page.locator("#steps li:has-text('added')").count() == 2
        desk.press("z", "n")  # the second is taken back, then the question is answered
        desk.wait_for_saved(1)
        assert [dict(event.values) for event in answers(project)] == [{first: True, asked: False}]
        desk.press("z")
        desk.page.wait_for_selector(f"#asked:text-is('{asked}')")
        assert desk.item == item
        assert desk.page.locator("#steps li:has-text('added')").all_inner_texts() == [f"{first}\nyes, added"]
        desk.press("y")
        desk.wait_for_saved(2)
    assert [dict(event.values) for event in answers(project)] == [{first: True, asked: True}]
    assert desk.errors == []


# -- taking back -------------------------------------------------------------------------------------------------------


def test_undo_in_the_middle_of_a_whole_item_takes_the_last_mark_back(context, ready):
    with serving(ready) as address:
        desk = Desk(context, address)
        first = desk.item
        desk.press("1", "Enter")
        desk.wait_for_saved(1)
        second = desk.item
        requests = sent(desk)
        desk.press("1", "2", "z")
        assert desk.item == second and requests == []
        assert desk.page.locator(".row[data-say]").all_inner_texts()[0].split()[1] == "left"
        desk.press("z", "z")  # the other mark, then the answer before
        desk.page.wait_for_selector(f"#item-name:text-is('{first}')")
        desk.press("3", "Enter")
        desk.wait_for_saved(2)
        desk.page.wait_for_selector(f"#item-name:text-is('{second}')")
    assert [(event.item, yes_of(event)) for event in answers(ready)] == [(first, ["left", "far"])]


def test_undo_in_the_middle_of_an_item_takes_the_last_question_back(context, ready):
    with serving(ready) as address:
        desk = Desk(context, address)
        desk.press("m")
        item = desk.item
        desk.press("y", "y", "z")
        assert (desk.item, desk.page.inner_text("#asked")) == (item, "low")
        desk.press("n", "u")
        desk.wait_for_saved(1)
        assert dict(answers(ready)[0].values) == {"left": True, "low": False, "far": None}
        desk.press("z")  # the last question of the item before
        desk.page.wait_for_selector(f"#item-name:text-is('{item}')")
        assert desk.page.inner_text("#asked") == "far"
        desk.press("y")
        desk.wait_for_saved(2)
    assert dict(answers(ready)[0].values) == {"left": True, "low": False, "far": True} and len(answers(ready)) == 1


def test_questions_about_one_item_are_taken_back_one_by_one(context, make):
    project = make(strategy="uncertainty_pairs", start=3, ready=60)
    project.refresh()
    with serving(project) as address:
        desk = Desk(context, address)
        item, asked = desk.item, []
        for number in (1, 2):
            asked.append(desk.page.inner_text("#asked"))
            desk.press("y")
            desk.wait_for_saved(number)
        assert desk.item == item
        for left in (1, 0):
            desk.press("z")
            desk.page.wait_for_selector(f"#asked:text-is('{asked[left]}')")
            assert desk.item == item and desk.page.inner_text("#step") == f"Question {left + 1} of 3 about this item"
            assert [list(event.values) for event in answers(project)] == [[name] for name in asked[:left]]
        for number in (3, 4, 5):
            assert desk.item == item
            desk.press("n")
            desk.wait_for_saved(number)
    assert [(event.item, list(event.values.values())) for event in answers(project)] == [(item, [False])] * 3
    assert desk.errors == []


@pytest.mark.parametrize("mode", ["whole", "single"])
def test_undo_after_others_answered_everything_goes_on_with_the_next_item(context, ready, mode):
    with serving(ready) as address:
        desk = Desk(context, address)
        if mode == "single":
            desk.press("m")
        item = desk.item
        desk.press(*(("1", "Enter") if mode == "whole" else ("y", "n", "n")))
        desk.wait_for_saved(1)
        following = desk.item
        ready.tell(Answer(item, NO), who="bob")
        desk.press("z")
        desk.page.wait_for_selector(f"#refused:has-text('Your answer about item {item} is taken back.')")
        assert desk.item == following
        assert desk.page.inner_text("#text") == following.replace("p", "point ")
        desk.press(*(("2", "Enter") if mode == "whole" else ("n", "y", "n")))
        desk.wait_for_saved(2)
        desk.wait_for_question()
    assert [(event.who, event.item, yes_of(event)) for event in answers(ready)] == [
        ("bob", item, []),
        ("me", following, ["low"]),
    ]
    assert desk.errors == []


# -- without a connection ----------------------------------------------------------------------------------------------


def test_an_answer_about_a_whole_item_waits_for_the_connection(context, tags):
    project = tags(strategy="uncertainty_pairs", start=3, ready=900)
    with serving(project) as address:
        desk = Desk(context, address)
        desk.press("m")
        context.set_offline(True)
        item = desk.item
        desk.press("1", "Enter")
        desk.page.wait_for_selector("#queue:has-text('1 answer waits')")
        desk.press("z")  # taken out again, with all its questions
        desk.page.wait_for_selector(f"#item-name:text-is('{item}')")
        desk.press("2", "Enter")
        desk.page.wait_for_selector("#queue:has-text('1 answer waits')")
        context.set_offline(False)
        desk.wait_for_saved(1)
    assert [(event.item, len(yes_of(event)), len(event.values)) for event in project.events()] == [(item, 2, 421)]


def test_answers_that_an_earlier_version_of_the_page_kept_are_sent(context, ready):
    leases = ready.service.ask_about_items("me", 2)
    with serving(ready) as address:
        desk = Desk(context, address)
        for order, (kind, lease) in enumerate(zip(("answer", "skip"), leases, strict=True)):
            values = {"left": True, "low": None} if kind == "answer" else {}
            question = {"lease": lease.token, "item": lease.question.item, "labels": []}
            entry = {"kind": kind, "lease": lease.token, "values": values, "question": question}
            entry |= {"at": 1000, "order": order}
            key = f"labelwise:{ready.identity}:me:answer:{lease.token}"
            desk.page.evaluate("([key, entry]) => localStorage.setItem(key, entry)", [key, json.dumps(entry)])
        desk.page.reload()
        desk.wait_for_saved(2)
        desk.wait_for_question()
        assert desk.item not in {lease.question.item for lease in leases}
    stored = [(event.kind, event.item, dict(event.values)) for event in ready.events()]
    first, second = (lease.question.item for lease in leases)
    assert stored == [("answer", first, {"left": True, "low": None}), ("skip", second, {})]


@pytest.mark.parametrize(("key", "said"), [("y", True), ("n", False), ("u", None)])
def test_a_key_pressed_twice_says_the_same_of_the_last_label(context, ready, key, said):
    with serving(ready) as address:
        desk = Desk(context, address)
        desk.press("1", "ArrowDown", "ArrowDown", key, key)  # there is no label after it to go on to
        assert desk.page.inner_text("#found") == "“far” is already marked."
        desk.press("Enter")
        desk.wait_for_saved(1)
    assert dict(answers(ready)[0].values) == {"left": True, "low": False, "far": said}


def test_a_mark_that_is_taken_back_is_no_longer_told(context, ready):
    with serving(ready) as address:
        desk = Desk(context, address)
        desk.press("2")
        assert desk.page.inner_text("#found") == "low: yes"
        desk.press("z")
        assert desk.page.inner_text("#found") == "" and desk.page.inner_text("#saved") == "Taken back: low"


def test_the_page_says_that_a_doubled_enter_does_not_count(long_guard, tags):
    project = tags(ready=6)
    with serving(project) as address:
        desk = Desk(long_guard, address)
        desk.press("/")
        desk.page.keyboard.type("python")
        hit(desk, "Enter", "Enter")
        assert desk.page.inner_text("#hint").startswith("Enter came at once after the one that marked a label")
    assert project.events() == []


def test_enter_after_answers_that_are_saved_does_not_deny_them(context, make):
    project = make(strategy="uncertainty_pairs", start=3, ready=60)
    project.refresh()
    with serving(project) as address:
        desk = Desk(context, address)
        desk.press("n")
        desk.wait_for_saved(1)
        desk.press("Enter")
        assert desk.page.inner_text("#hint").startswith("There is nothing new to save.")
    assert len(answers(project)) == 1
