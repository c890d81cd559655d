"""Filters against brute force over the events, the campaign and the items themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.items.browse import PAGE, Browser, ItemSearch
from labelwise.labelling.store.questions import items_asked_at_random

LABELS = ["left", "low", "far"]
WORDS = ["alpha", "Beta", "Émile", "100%", "under_score", "back\\slash", 'quo"te', "text"]


def fill(location: str) -> Project:
    """Sixty items of few words; three people said something of about half of them; trained, then more was said."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 2))
    items = [{"text": " ".join(rng.choice(WORDS[:7], size=2)), "deep": {"list": [f"number {i}"]}} for i in range(60)]
    data = LabelData.from_arrays(X, label_names=LABELS, item_ids=[f"p{i}" for i in range(60)], items=items)
    made = Project.create(location, data, model="label_gp", control=0, ready=10)
    for turn in range(45):
        row = int(rng.integers(30))
        right = (X[row, 0] < 0, X[row, 1] < 0, (X[row] ** 2).sum() > 2)
        values = {name: bool(v) != (rng.random() < 0.2) for name, v in zip(LABELS, right, strict=True)}
        kept = {name: value for name, value in values.items() if rng.random() < 0.7}
        if kept:
            made.tell(Answer(f"p{row}", kept, correction=True), who=("ann", "bob", "cid")[turn % 3])
        if turn == 35:
            made.refresh()
    made.service.skip(made.service.undo("ann").token)
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("browse") / "filled.db"
    fill(str(path)).close()
    return path


@pytest.fixture
def project(copied) -> Project:
    return copied


def found(project: Project, **search) -> list[str]:
    browser, names, page = Browser(project), [], 1
    while True:
        part = browser.find(ItemSearch(**search), page)
        names += [item.name for item in part.items]
        if page == part.pages:
            assert len(names) == part.total == len(set(names))
            return names
        page += 1


def known(project: Project) -> dict[str, dict[str, bool]]:
    data = project.labelled()
    observed, Y = data.observed_mask().toarray(), data.Y.toarray()
    return {
        item: {name: bool(Y[row, c]) for c, name in enumerate(data.label_names) if observed[row, c]}
        for row, item in enumerate(data.item_ids)
    }


@pytest.mark.parametrize(
    "word", ["alpha", "ALPHA", "beta", "émile", "100%", "%", "_", "\\", '"', "text", "deep", "p1", "ber 5"]
)
def test_words_are_found_in_values_and_names_only(project, word):
    with project.store.reading():
        data = project.labelled()

    def says(row: int) -> bool:
        content = data.items[row]
        values = (data.item_ids[row], content["text"], *content["deep"]["list"])
        return all(any(part.lower() in value.lower() for value in values) for part in word.split())

    expected = [data.item_ids[row] for row in range(60) if says(row)]
    assert found(project, words=word) == expected
    if word in ("text", "deep"):
        assert expected == []


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
@pytest.mark.slow
def test_postgresql_finds_the_same(project, location):
    with fill(location) as other:
        for word in ("alpha", "émile", "100%", "_", "\\", '"', "deep", "ber 5", "p1"):
            assert found(other, words=word) == found(project, words=word)
        for search in ({"label": "left", "said": "yes"}, {"who": "bob"}, {"show": "unanswered"}, {"show": "disagree"}):
            assert found(other, **search) == found(project, **search)


def test_several_words_must_all_be_there(project):
    data = project.labelled()
    expected = [
        item
        for item, content in zip(data.item_ids, data.items, strict=True)
        if "alpha" in content["text"] and "Beta" in content["text"]
    ]
    assert found(project, words="  beta  alpha ") == expected != []


@pytest.mark.parametrize("said", ["any", "yes", "no", "open"])
@pytest.mark.parametrize("label", LABELS)
def test_by_label(project, label, said):
    accept = {"any": (True, False), "yes": (True,), "no": (False,), "open": (None,)}[said]
    expected = [item for item, values in known(project).items() if values.get(label) in accept]
    assert found(project, label=label, said=said) == expected


@pytest.mark.parametrize("who", ["ann", "bob", "nobody"])
def test_by_person_and_unanswered(project, who):
    undone = {event.undoes for event in project.events()}
    said = [event for event in project.events() if event.kind == "answer" and event.id not in undone]
    mine = {event.item for event in said if event.who == who}
    names = [f"p{i}" for i in range(60)]
    assert found(project, who=who) == [name for name in names if name in mine]
    nobodys = [name for name in names if name not in {event.item for event in said}]
    assert found(project, show="unanswered") == nobodys != []
    assert Browser(project).people() == ["ann", "bob", "cid"]


def test_most_uncertain_first(project):
    project.refresh()
    campaign = project.campaign()
    p = campaign.believe().probabilities()
    observed = campaign.labelled().observed_mask().toarray()
    bits = (-(p * np.log2(p) + (1 - p) * np.log2(1 - p)) * ~observed).sum(1)
    order = [campaign.data.item_ids[row] for row in np.argsort(-bits, kind="stable")]
    names = found(project, show="uncertain")
    assert len(names) == 60
    rank = dict(zip(campaign.data.item_ids, bits, strict=True))
    assert [rank[name] for name in names] == pytest.approx([rank[name] for name in order], rel=1e-4)


def test_where_model_and_people_disagree(project):
    project.refresh()
    p = project.campaign().believe().probabilities()
    far = {
        item: max((abs(value - p[row, LABELS.index(name)]) for name, value in values.items()), default=0.0)
        for row, (item, values) in enumerate(known(project).items())
    }
    expected = [item for item, distance in far.items() if distance > 0.5]
    names = found(project, show="disagree")
    assert sorted(names) == sorted(expected) != []
    distances = [far[name] for name in names]
    assert distances == sorted(distances, reverse=True)
    shown = Browser(project).find(ItemSearch(show="disagree")).items[0]
    _, value, believed = max(shown.disputed, key=lambda each: abs(each[1] - each[2]))
    assert abs(value - believed) == pytest.approx(far[shown.name], abs=1e-3)


def test_beliefs_about_the_random_share_are_not_shown_before_the_answer(make):
    project = make(control=0.5, ready=20)
    for i in range(10):
        project.tell(Answer(f"p{i}", {"left": i % 2 == 0}), who="ann")
    project.refresh()
    with project.store.reading() as connection:
        by_chance = [f"p{number - 1}" for number in items_asked_at_random(connection)]
    assert 3 < len(by_chance) < 30
    page = Browser(project).item(by_chance[-1])
    assert all(label.probability is None for label in page.labels if label.known is None)
    assert set(found(project, show="uncertain")) == {f"p{i}" for i in range(40)} - set(by_chance)
    assert all(item.expected == () for item in Browser(project).find(ItemSearch(words=by_chance[-1])).items)


def test_an_answer_shows_at_once_and_so_does_taking_it_back(project):
    browser = Browser(project)
    before = known(project)
    assert "left" not in before["p59"]
    project.tell(Answer("p59", {"left": True}), who="dan")
    assert browser.find(ItemSearch(words="p59")).items[0].present == ("left",)
    assert found(project, label="left", said="yes")[-1] == "p59"
    project.service.undo("dan")
    assert browser.find(ItemSearch(words="p59")).items[0].present == ()


def test_labels_that_changed_since_the_snapshot(project):
    browser = Browser(project)
    project.merge_labels("low", "left")
    project.add_label("new")
    project.tell(Answer("p50", {"new": True}), who="dan")
    project.retire_label("far")
    expected = known(project)
    for name in ("left", "new"):
        yes = [item for item, values in expected.items() if values.get(name)]
        assert found(project, label=name, said="yes") == yes != []
    with pytest.raises(ProjectError, match="retired"):
        browser.find(ItemSearch(label="far"))
    page = browser.item("p50")
    assert [label.name for label in page.labels] == ["left", "new"]
    assert page.labels[1].probability is None and page.labels[1].known is True


def test_filters_go_together(project):
    both = (
        set(found(project, label="left", said="any"))
        & set(found(project, who="bob"))
        & set(found(project, words="alpha"))
    )
    assert found(project, label="left", said="any", who="bob", words="alpha") == [
        f"p{i}" for i in range(60) if f"p{i}" in both
    ]


def test_pages(project):
    browser = Browser(project)
    first, last = browser.find(ItemSearch()), browser.find(ItemSearch(), 99)
    assert (first.total, first.pages, len(first.items)) == (60, 3, PAGE)
    assert (last.page, last.items[-1].name) == (3, "p59")
    assert browser.find(ItemSearch(), -5).page == 1
    nothing = browser.find(ItemSearch(words="nowhere"))
    assert (nothing.total, nothing.page, nothing.pages, nothing.items) == (0, 1, 1, ())


def test_one_item_with_its_history(project):
    events = [event for event in project.events() if event.item == "p3"]
    page = Browser(project).item("p3")
    assert [(e.id, e.who, e.kind, dict(e.values)) for e in page.events] == [
        (e.id, e.who, e.kind, dict(e.values)) for e in events
    ]
    undone = {event.undoes: event.id for event in project.events() if event.undoes}
    assert [e.taken_back for e in page.events] == [undone.get(e.id) for e in events]
    for label in page.labels:
        last = {}
        for event in events:
            if event.kind == "answer" and event.id not in undone and label.name in event.values:
                last[event.who] = event.values[label.name]
        assert label.votes == last
        assert label.known is known(project)["p3"].get(label.name)
    with pytest.raises(ProjectError, match="no item 'x'"):
        Browser(project).item("x")


def test_before_a_worker_ran_only_beliefs_are_missing(make):
    project = make()
    project.tell(Answer("p1", {"left": True}), who="ann")
    assert found(project, label="left", said="yes") == ["p1"]
    answer = Browser(project).find(ItemSearch(show="uncertain"))
    assert answer.total == 0 and "Nothing is believed yet" in answer.notice


@pytest.mark.parametrize("wrong", [{"show": "best"}, {"said": "maybe"}])
def test_a_wrong_search_is_told(wrong):
    with pytest.raises(ProjectError, match="show one of"):
        ItemSearch(**wrong)
