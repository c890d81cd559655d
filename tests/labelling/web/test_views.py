"""Progress, browse and labels by requests: what they show, who may do what, and that nothing anybody wrote can run."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from labelling.web.site_client import Person
from labelwise import Answer, LabelData
from labelwise.labelling import Project, texts
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.store.trainings import amend_report, last_good
from labelwise.labelling.web.server import create_app

EVIL = '<script>alert("x")</script>'
PAGES = ("/progress", "/browse", "/browse?show=disagree", "/browse?show=uncertain", "/vocabulary")
POSTS = {
    "/browse/item": {"name": "p1", "yes": "left"},
    "/vocabulary/add": {"name": "another"},
    "/vocabulary/change": {"what": "retire", "label": "left"},
    "/vocabulary/describe": {"label": "left", "description": "west"},
    "/vocabulary/imply": {"implies": "yes"},
}


def form(person: Person, path: str, data: dict[str, str], csrf: str | None = None):
    token = person.csrf if csrf is None else csrf
    return person.client.post(path, data={"csrf": token, **data}, follow_redirects=False)


def text_of(page) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.text)).split())


@pytest.fixture(scope="module")
def filled(tmp_path_factory, few_are_enough) -> Path:
    """Two people on forty points, asked the same questions, some at random."""
    path, rng = tmp_path_factory.mktemp("views") / "filled.db", np.random.default_rng(0)
    data = LabelData.from_arrays(
        rng.standard_normal((40, 2)),
        label_names=["left", "low", "far"],
        item_ids=[f"p{i}" for i in range(40)],
        items=[f"point {i}" for i in range(40)],
    )
    with Project.create(path, data, control=0.5, overlap=2, ready=40, model="binary_relevance") as project:
        for who in ("ann", "bob"):
            project.tell(Answer("p1", {"left": True, "low": False, "far": False}), who=who)
        for turn in range(28):
            if turn % 4 == 0:
                project.refresh()
            for lease in project.service.ask(("ann", "bob")[turn % 2]):
                said = {name: bool(rng.random() < 0.4) for name in lease.question.labels}
                project.service.answer(lease.token, said)
        project.refresh()
    return path


@pytest.fixture
def busy(copied) -> Project:
    return copied


@pytest.fixture
def admin(busy) -> Person:
    person = Person(create_app(busy))
    person.enter(busy.people.add("eve", "admin"))
    return person


@pytest.fixture
def annotator(busy, admin) -> Person:
    person = Person(admin.app)
    person.enter(busy.people.add("ann"))
    return person


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_progress_shows_the_figures_of_the_project(admin, busy):
    page, now = admin.get("/progress"), status_of(busy)
    text = text_of(page)
    assert page.status_code == 200
    assert f"answers {now.answers} items answered {now.answered_items} of 40 people 2" in text
    assert f"{now.f1['f1']:.2f} {now.f1['low']:.2f} to {now.f1['high']:.2f}" in text
    for label in now.labels:
        assert f"{label.name} {label.yes} {label.no} {label.unsure}" in text
    pair = now.pairs[0]
    assert f"ann, bob {pair.both} {100 * pair.share:.0f} % {pair.kappa:.2f}" in text
    assert f"all {now.people['ann']} {now.people['bob']}" in text
    for each in now.calibration["bins"]:
        figures = f"{each['believed']:.2f} {each['share']:.2f} ({each['low']:.2f} to {each['high']:.2f})"
        assert f"{figures} {each['entries']}" in text
    assert f"Expected calibration error {now.calibration['error']:.3f}" in text
    assert f"Of the next {now.following.number} questions, {now.following.at_random} are asked at random." in text
    assert page.text.count("<svg") >= 4


def test_before_random_items_are_answered_the_advice_is_to_go_on(make):
    project = make(control=0.5)
    project.tell([Answer(f"p{i}", {"left": i % 2 == 0, "low": i % 3 == 0, "far": False}) for i in range(8)], who="ann")
    project.refresh()
    person = Person(create_app(project, local_user="me"))
    person.enter()
    assert "Advice: go on: no random item is answered yet, 20 are needed to judge by." in text_of(
        person.get("/progress")
    )


def test_progress_tells_of_a_failed_training(admin, busy, monkeypatch):
    worker = busy.worker()
    monkeypatch.setattr(worker.learner, "catch_up", lambda: 1 / 0)
    busy.tell(Answer("p39", {"left": True}, correction=True), who="zoe")
    worker.step()
    assert "The last training failed: ZeroDivisionError: division by zero" in text_of(admin.get("/progress"))


def test_a_new_project_has_pages_too(make):
    person = Person(create_app(make(), local_user="me"))
    person.enter()
    for path in PAGES:
        page = person.get(path)
        assert page.status_code == 200, path
    assert "Nothing was trained yet" in person.get("/progress").text
    assert "it needs answers to random questions" in person.get("/progress").text


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/nope", 404, "There is no such page."),
        ("/browse?page=abc", 422, "This was not understood: “page”."),
        ("/browse/item?name=%3Cb%3Enone", 404, "there is no item"),
    ],
)
def test_a_wrong_address_is_a_page_for_browsers_and_json_for_programs(admin, busy, path, status, words):
    page = admin.get(path, headers={"accept": "text/html,*/*;q=0.8"})
    assert page.status_code == status and page.headers["content-type"].startswith("text/html")
    assert words.lower() in text_of(page).lower() and "<b>" not in page.text
    assert 'href="/progress"' in page.text  # the way on
    assert "detail" in admin.get(path).json()
    stranger = Person(admin.app).get("/nope", headers={"accept": "text/html"})
    assert stranger.status_code == 404 and 'href="/progress"' not in stranger.text
    api = admin.get("/api/nope", headers={"accept": "text/html"})
    assert api.status_code == 404 and api.json() == {"detail": "Not Found"}


def test_a_search_goes_on_over_its_pages(admin):
    page = admin.get("/browse?words=point")
    assert "40 items" in text_of(page) and "page 1 of 2" in page.text
    following = unescape(re.search(r'rel="next" href="([^"]+)"', page.text)[1])
    assert "words=point" in following
    second = admin.get(f"/browse{following}")
    assert "page 2 of 2" in second.text and "p39" in second.text
    assert admin.get("/browse?page=7").text.count('<li class="card">') == 20


def test_a_wrong_search_is_told(admin):
    page = admin.get("/browse?label=lefd")
    assert page.status_code == 400 and "did you mean 'left'" in unescape(page.text)
    assert admin.get("/browse?show=best").status_code == 400
    assert admin.get("/browse/item?name=nobody").status_code == 404


def test_an_item_shows_its_history(admin, busy):
    page = text_of(admin.get("/browse/item?name=p1"))
    mine = [event for event in busy.events() if event.item == "p1"]
    assert len(mine) == 2
    for event in mine:
        assert f"{event.who} answered (no. {event.id}, told unasked)" in page
    assert "point 1" in page


def test_an_item_shows_similar_ones_and_browse_lists_them_in_order(admin, busy):
    similar = [name for name, _ in busy.similar("p1", 5)]
    page = admin.get("/browse/item?name=p1").text
    section = page[page.index("Similar items") :].split("</section>")[0]
    assert re.findall(r">(p\d+)<", section) == similar
    listed = admin.get(unescape(re.search(r'href="(/browse\?similar=[^"]+)"', section)[1])).text
    assert re.findall(r"<h2[^>]*><a [^>]*>(p\d+)<", listed)[:5] == similar
    assert 'name="similar" value="p1"' in listed
    unknown = admin.get("/browse?similar=nobody")
    assert unknown.status_code == 400 and "no item 'nobody'" in unescape(unknown.text)


# -- correcting --------------------------------------------------------------------------------------------------------


def test_a_correction_is_saved_under_ones_own_name(annotator, busy):
    before = busy.labelled().Y[[1]].toarray()[0, 0]
    word = "no" if before else "yes"
    reply = form(annotator, "/browse/item", {"name": "p1", word: "left"})
    assert (reply.status_code, reply.headers["location"]) == (303, "/browse/item?name=p1")
    event = busy.events()[-1]
    assert (event.who, event.item, dict(event.values), event.reason) == ("ann", "p1", {"left": not before}, "told")
    assert f"(no. {event.id}" in annotator.get("/browse/item?name=p1").text


@pytest.mark.parametrize(("word", "value"), [("yes", True), ("no", False), ("unsure", None)])
def test_each_button_says_its_word(annotator, busy, word, value):
    answered = {event.item for event in busy.events()}
    item = next(name for name in sorted(busy.item_names()) if name not in answered)
    form(annotator, "/browse/item", {"name": item, word: "low"})
    assert dict(busy.events()[-1].values) == {"low": value}


def test_only_an_admin_settles(annotator, admin, busy):
    said = {"name": "p1", "yes": "far", "settle": "true"}
    assert form(annotator, "/browse/item", said).status_code == 403
    assert form(admin, "/browse/item", said).status_code == 303
    event = busy.events()[-1]
    assert (event.who, event.reason) == ("eve", "settled")
    assert "settled" in text_of(admin.get("/browse/item?name=p1"))
    assert 'name="settle"' in admin.get("/browse/item?name=p1").text
    assert 'name="settle"' not in annotator.get("/browse/item?name=p1").text


def test_what_cannot_be_saved_is_told_on_the_page(annotator, busy):
    n = len(busy.events())
    for data in ({"name": "p1"}, {"name": "p1", "yes": "nowhere"}):
        reply = form(annotator, "/browse/item", data)
        assert reply.status_code == 400 and 'class="trouble"' in reply.text
    assert form(annotator, "/browse/item", {"name": "nobody", "yes": "left"}).status_code == 404
    assert len(busy.events()) == n


# -- labels ------------------------------------------------------------------------------------------------------------


def test_a_label_is_added_with_what_it_goes_with_and_examples(admin, busy):
    data = {"name": " near ", "like": "left = 40%\n\nlow=0.1", "examples": "p3\n p4 \n"}
    assert form(admin, "/vocabulary/add", data).status_code == 303
    assert busy.campaign().new_labels["near"].like == {"left": 0.4, "low": 0.1}
    assert [(e.who, e.item, dict(e.values)) for e in busy.events()[-2:]] == [
        ("eve", "p3", {"near": True}),
        ("eve", "p4", {"near": True}),
    ]
    page = text_of(admin.get("/vocabulary"))
    assert "guessed from 40 % of “left”, 10 % of “low”" in page and "eve added “near”" in page


def test_a_label_is_described_and_the_rest_of_what_was_said_stays(admin, busy):
    busy.describe_labels([{"name": "left", "description": "East?", "parent": "low"}])
    said = {"label": "left", "description": f" West {EVIL}", "keywords": "wind; sea", "aliases": ""}
    assert form(admin, "/vocabulary/describe", said).status_code == 303
    label = busy.labels()[0]
    assert (label.description, label.keywords, label.aliases) == (f"West {EVIL}", ("wind", "sea"), ())
    assert label.parent == "low"
    page = admin.get("/vocabulary")
    assert f"West {EVIL}" in unescape(page.text) and EVIL not in page.text and "wind; sea" in page.text
    assert busy.campaign().data.labels[0] == label
    assert form(admin, "/vocabulary/describe", {"label": "nothing", "description": "x"}).status_code == 400
    assert form(admin, "/vocabulary/describe", {"label": "low", "description": "a\0b"}).status_code == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "left"},
        {"name": " "},
        {"name": "x", "like": "left"},
        {"name": "x", "like": "left=7"},
        {"name": "x", "examples": "nobody"},
    ],
)
def test_a_label_that_cannot_be_added_is_told_and_the_form_stays(admin, busy, wrong):
    reply = form(admin, "/vocabulary/add", wrong)
    assert reply.status_code == 400 and 'class="trouble"' in reply.text
    assert busy.label_names() == ["left", "low", "far"]
    assert all(unescape(reply.text).count(value) for value in wrong.values())


def test_a_change_says_what_it_does_before_it_is_done(admin, busy):
    data = busy.labelled()
    observed, Y = data.observed_mask().toarray(), data.Y.toarray()
    yes, no = int(Y[:, 0].sum()), int((observed & ~Y)[:, 0].sum())
    asked = "/vocabulary/change?what={}&label=left&to={}"
    for what, to in (("rename", "west"), ("merge", "low"), ("retire", "")):
        page = text_of(admin.get(asked.format(what, to)))
        assert f"“left” is known to be present on {yes} items and absent on {no} items." in page
    differ = int(((Y[:, 0] == 1) & observed[:, 1] & (Y[:, 1] == 0)).sum())
    assert f"On {differ} item" in text_of(admin.get(asked.format("merge", "low")))
    assert busy.label_names() == ["left", "low", "far"], "asking changes nothing"
    for what, to in (("rename", "low"), ("merge", "left"), ("merge", "x"), ("burn", "")):
        assert admin.get(asked.format(what, to)).status_code == 400


def test_changes_are_made_and_noted(admin, busy):
    assert form(admin, "/vocabulary/change", {"what": "rename", "label": "left", "to": "west"}).status_code == 303
    assert form(admin, "/vocabulary/change", {"what": "merge", "label": "west", "to": "low"}).status_code == 303
    assert form(admin, "/vocabulary/change", {"what": "retire", "label": "far"}).status_code == 303
    assert busy.label_names() == ["low"]
    page = text_of(admin.get("/vocabulary"))
    for told in ("renamed “left” to “west”", "merged “west” into “low”", "retired “far”"):
        assert f"eve {told}" in page
    for data in (
        {"what": "retire", "label": "low"},
        {"what": "burn", "label": "low"},
        {"what": "rename", "label": "far"},
    ):
        assert form(admin, "/vocabulary/change", data).status_code == 400
    assert busy.label_names() == ["low"]


# -- who may -----------------------------------------------------------------------------------------------------------


def test_annotators_see_labels_and_cannot_change_them(annotator, busy):
    page = annotator.get("/vocabulary")
    assert page.status_code == 200 and "/vocabulary/add" not in page.text and "/vocabulary/change" not in page.text
    assert annotator.get("/vocabulary/change?what=retire&label=left").status_code == 403
    for path in ("/vocabulary/add", "/vocabulary/change"):
        assert form(annotator, path, POSTS[path]).status_code == 403
    assert busy.label_names() == ["left", "low", "far"]


@pytest.mark.parametrize("path", [*PAGES, "/browse/item?name=p1", "/vocabulary/change?what=retire&label=left"])
def test_nobody_sees_anything_without_a_session(admin, path):
    page = Person(admin.app).get(path, follow_redirects=False)
    assert (page.status_code, page.headers["location"]) == (303, "/enter")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("csrf", ["", "0" * 32])
def test_posts_from_other_sites_are_refused(admin, busy, path, csrf):
    before = busy.events(), busy.label_names()
    assert form(admin, path, POSTS[path], csrf).status_code == 403
    foreign = admin.client.post(
        path, data={"csrf": admin.csrf, **POSTS[path]}, headers={"origin": "https://evil.example"}
    )
    assert foreign.status_code == 403
    assert (busy.events(), busy.label_names()) == before
    assert form(admin, path, POSTS[path]).status_code == 303, "the same with the token is taken"


# -- nothing anybody wrote runs ----------------------------------------------------------------------------------------


def test_scripts_in_items_labels_and_names_are_shown_as_text(tmp_path):
    items = [{"text": f"{EVIL} {i}", EVIL: EVIL} for i in range(12)]
    names = [f"{EVIL}{i}" for i in range(12)]
    data = LabelData.from_arrays(np.eye(12), label_names=[EVIL, "b"], item_ids=names, items=items)
    with Project.create(tmp_path / "evil.db", data, control=0.3, model="binary_relevance") as project:
        for number, name in enumerate(names):
            for who in (EVIL, "bob"):
                project.tell(Answer(name, {EVIL: number % 2 == 0, "b": number % 3 == 0}), who=who)
        project.add_label(f"{EVIL}new", like={EVIL: 0.5}, who=EVIL)
        project.refresh()
        person = Person(create_app(project, local_user=EVIL))
        person.enter()
        shown = 0
        addresses = [
            *PAGES,
            f"/browse/item?name={quote(names[0])}",
            f"/browse?words={quote(EVIL)}",
            f"/browse?label={quote(EVIL)}&said=yes&who={quote(EVIL)}",
            f"/browse?label={quote('<b>' + EVIL)}",
            f"/vocabulary/change?what=merge&label={quote(EVIL)}&to=b",
            f"/vocabulary/change?what=rename&label=b&to={quote(EVIL + '2')}",
            f"/vocabulary/change?what=rename&label={quote(EVIL)}&to=b",
        ]
        for path in addresses:
            page = person.get(path)
            scripts = re.findall(r"<script[^>]*>", page.text)
            assert all(
                re.fullmatch(r'<script (type="module" )?src="/static/\w+\.js"( defer)?>', script) for script in scripts
            ), path
            shown += "&lt;script&gt;" in page.text
        assert shown == len(addresses)
        trouble = form(person, "/vocabulary/add", {"name": EVIL, "like": EVIL, "examples": EVIL})
        assert "<script>" not in trouble.text and trouble.status_code == 400


def test_pages_hold_no_inline_style_or_script(admin):
    for path in (*PAGES, "/browse/item?name=p1", "/vocabulary/change?what=retire&label=left"):
        page = admin.get(path)
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert not re.search(r'\sstyle=|<style|\son[a-z]+=|<script(?!( type="module")? src=)', page.text), path


@pytest.mark.parametrize("times", [1.4, 2.6])
def test_the_label_page_offers_a_sweep_that_is_worth_far_more_than_whole_items(busy, admin, times):
    with busy.store.writing() as connection:
        good = last_good(connection)
        sweep = {"label": "low & far", "found": 5.0, "seconds": 15.0, "times": times}
        amend_report(connection, good.id, {**good.report, "standing": {"sweeps": [sweep]}})
    page = admin.client.get("/label")
    link = 'href="/sweep?label=low+%26+far&amp;order=unsure"'
    assert (link in page.text) == ("2.6 times as much" in text_of(page)) == (times > 2)


def test_an_admin_assigns_items_and_everybody_sees_their_own(sign_in, project):
    ann, bob = sign_in("ann", "admin"), sign_in("bob")

    def send(person: Person, **fields: str) -> Any:
        return person.client.post("/people/assign", data={"csrf": person.csrf, "name": "bob", **fields})

    assert "10 items assigned to bob" in send(ann, what="share", share="25").text
    assert project.people.assigned()["bob"].items == 10
    assert "0 of 10" in ann.get("/people").text and "of 10 answered" in bob.get("/people").text
    assert "13 items assigned to bob" in send(ann, what="words", words="point 3").text
    for wrong in ({"what": "share", "share": "x"}, {"what": "share", "share": "200"}, {"what": "words", "words": " "}):
        assert send(ann, **wrong).status_code == 400
    chosen = {"item": ["p1", "p2", "p30"], "person": "bob", "words": "point"}
    send(ann, what="share", share="0")
    told = form(ann, "/browse/assign", chosen)
    assert told.headers["location"] == "/browse?words=point&assigned=3&person=bob"
    assert (
        "3 items assigned to bob" in ann.get(told.headers["location"]).text and 'value="p1"' in ann.get("/browse").text
    )
    assert project.people.assigned()["bob"].items == 3
    assert form(ann, "/browse/assign", {"every": "true", "person": "ann", "words": "point 1"}).status_code == 303
    mine = project.people.assigned()
    assert mine["ann"].items == 13 and mine["bob"].items == 2  # 1, 10 to 19, 21 and 31, whosoever they were
    for wrong in ({"person": "bob"}, {"person": "zed", "item": "p1"}):
        assert form(ann, "/browse/assign", wrong).status_code == 400
    assert form(bob, "/browse/assign", chosen).status_code == 403 and "/browse/assign" not in bob.get("/browse").text
    assert send(bob, what="share", share="50").status_code == 403
    assert "Assign items" not in bob.get("/people").text


# -- German ------------------------------------------------------------------------------------------------------------


class Seen(HTMLParser):
    """What people read on a page: its texts, and the attributes that are read out or shown."""

    READ = ("aria-label", "title", "placeholder", "alt")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._silent = 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self._silent += tag in ("script", "style", "kbd", "code", "pre")
        self.texts += [value or "" for name, value in attributes if name in self.READ]

    def handle_endtag(self, tag):
        self._silent -= tag in ("script", "style", "kbd", "code", "pre")

    def handle_data(self, data):
        self.texts += [] if self._silent else [data]


def bracketed(text: Any) -> Any:
    """A text with all that is its own in brackets; what is filled in, and tags, stay outside."""
    if isinstance(text, dict):
        return {form: bracketed(said) for form, said in text.items()}
    return re.sub(r"(\{\w+\}|<[^>]*>)|([^{<]+)", lambda found: found[1] or f"⟦{found[2]}⟧", text)


def foreign(page: str, names: set[str]) -> list[str]:
    """Words on a page that come from no file of texts and are no name."""
    rest = " \n ".join(re.sub("⟦[^⟦⟧]*⟧", " ", text) for text in Seen(page).texts)
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.findall(r"[^\W\d_]{2,}", re.sub(rf"(?<!\w)({known})(?!\w)", " ", rest))


@pytest.fixture
def german(monkeypatch):
    """German, with what is said by its file in brackets."""
    read = texts.read_texts
    marked = {group: {key: bracketed(text) for key, text in entries.items()} for group, entries in read("de").items()}
    marked["numbers"], marked["script"] = (
        read("de")["numbers"],
        {**marked["script"], "quoted": read("de")["script"]["quoted"]},
    )
    monkeypatch.setattr(texts, "read_texts", lambda language: marked if language == "de" else read(language))
    return {"accept-language": "de"}


ROUTES_IN_GERMAN = """
/label /help /sweep /sweep?label=left /sweep?label=nope /progress /browse /browse?view=table /browse?show=uncertain
/browse?show=disagree&label=left&words=point /browse?words=point&label=left /browse?show=people /browse?label=nope
/browse?similar=p1 /browse?done=ab&saved=2 /browse?assigned=2&person=ann /browse/item?name=p1 /vocabulary
/vocabulary/change?what=rename&label=left&to=low /vocabulary/change?what=retire&label=left
/vocabulary/change?what=merge&label=left&to=low /vocabulary/change?what=merge&label=left&to=left
/disagreements /disagreements?names=true /notes /notes?every=true /people /nope /browse?page=x
"""


def test_every_page_in_german_has_no_other_text(busy, admin, annotator, german):
    busy.notes.add("p1", "ann", "point", "label missing")
    busy.notes.answer(busy.notes.add("p2", "ann", "point").id, "eve", "")
    busy.add_label("new", like={"left": 0.5}, who="ann")
    busy.describe_labels({"left": "point"}, who="ann")
    busy.people.assign_items("ann", ["p1"])
    names = {
        "ann",
        "bob",
        "eve",
        "owner",
        "new",
        *busy.label_names(),
        "copy",
        "labelwise",
        "English",
        "UTC",
        "min",
        "point",
    }
    names |= {"page", "nope", *texts.read_texts("de")["numbers"]["months"].split()} | {
        f"p{i}" for i in range(40)
    }  # a field of the form
    headers = {**german, "accept": "text/html"}
    assert foreign("<p title='Go on'>⟦Ja⟧ or <kbd>Enter</kbd> ann</p>", names) == ["Go", "on", "or"]  # that it can fail
    found = {}
    for person in (admin, annotator):
        for path in ROUTES_IN_GERMAN.split():
            page = person.get(path, headers=headers)
            found[path, person is admin] = foreign(page.text, names)
            assert "⟦" in page.text and '<html lang="de">' in page.text
    posts = [
        ("/browse/bulk", {"item": ["p1", "p5"], "what": "add", "to": "left"}),
        ("/browse/bulk", {"item": ["p1", "p5"], "what": "remove", "to": "left"}),
        ("/browse/bulk", {"what": "remove", "to": "left"}),
        ("/browse/item", {"name": "p1", "yes": "nope"}),
        ("/vocabulary/add", {"name": "left", "like": "left"}),
        ("/people/add", {"name": "zoe", "role": "viewer"}),
        ("/people/add", {"name": "zoe"}),
        ("/people/change", {"name": "zoe", "what": "link"}),
        ("/people/change", {"name": "eve", "what": "remove"}),
        ("/people/assign", {"name": "ann", "what": "share", "share": "20"}),
        ("/people/assign", {"name": "ann", "what": "words"}),
        ("/notes", {"number": "999"}),
        ("/disagreements", {"name": "p1", "yes": "gone"}),
    ]
    for place, (path, data) in enumerate(posts):
        page = admin.client.post(path, data={"csrf": admin.csrf, **data}, headers=headers)
        found[path, place] = foreign(page.text, {*names, "zoe", "gone"})
    assert {where: words for where, words in found.items() if words} == {}
    assert "⟦" in Person(admin.app).get("/enter", headers=headers).text


def test_suggestions_and_their_reasons_come_in_german(busy, admin, german):
    asked = admin.post("/api/ask", {"items": 3}, **german).json()["questions"]
    reasons = [label["why"] for each in asked for label in each["labels"] if label["why"]]
    assert all(each["why"].startswith("⟦") for each in asked) and all(why.startswith("⟦") for why in reasons)
    refused = admin.post("/api/renew", {"lease": "ab"}, **german).json()["detail"]
    assert refused.startswith("⟦es gibt für ⟧eve⟦ keine Frage"), refused
