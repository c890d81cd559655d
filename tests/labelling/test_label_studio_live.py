"""Predictions for Label Studio, and its annotations as answers: in any order, repeated, changed and deleted."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.browse import Browser
from labelwise.labelling.label_studio_live import MOST_TASKS, Config, predictions_of, take_in

LABELS = ("red", "round", "new")
CONFIG = """<View><Text name="text" value="$text"/><Choices name="topic" toName="text" choice="multiple">
<Choice value="red"/><Choice value="round"/><Choice value="new" alias="new"/></Choices></View>"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("live") / "filled.db"
    rng = np.random.default_rng(0)
    words = [rng.choice(["apple", "car", "ball", "wall"], size=5) for _ in range(20)]
    data = LabelData.from_arrays(
        np.zeros((20, 1)), label_names=LABELS, item_ids=[f"t{i}" for i in range(20)], items=[" ".join(w) for w in words]
    )
    made = Project.create(path, data, text="", ready=20, model="label_gp", control=0)
    for i in range(8):
        made.tell(
            Answer(f"t{i}", {"red": "apple" in words[i], "round": "ball" in words[i], "new": i % 2 == 0}), who="ann"
        )
    made.refresh()
    made.close()
    return path


@pytest.fixture
def project(copied) -> Project:
    return copied


def no_belief(contents):
    return [{} for _ in contents]


def hook(action="ANNOTATION_CREATED", item="t9", number=1, at="2024-05-01T10:00:00Z", choices=("red",), **more):
    result = [{"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}]
    annotation = {"id": number, "completed_by": 7, "created_at": "2024-05-01T09:00:00Z", "updated_at": at}
    annotation |= {"result": result, "was_cancelled": False, **more}
    task = {"id": 3, "data": {"text": "x"}, "meta": {"item": item}}
    return {"action": action, "annotation": annotation, "task": task, "project": {"id": 5, "label_config": CONFIG}}


def known(project: Project, item: str) -> dict[str, bool | None]:
    return {label.name: label.known for label in Browser(project).item(item).labels}


# -- what Label Studio is told -----------------------------------------------------------------------------------------


def test_predictions_are_what_is_known_and_believed(project):
    tasks = [{"id": 100 + i, "meta": {"item": f"t{i}"}} for i in range(20)]
    found = predictions_of(Browser(project), tasks, Config.read(CONFIG, LABELS), no_belief)
    p = project.campaign().believe().probabilities()
    for i, each in enumerate(found):
        row = np.array([known(project, f"t{i}")[name] for name in LABELS], dtype=float) if i < 8 else p[i]
        expected = [name for name, value in zip(LABELS, row, strict=True) if value > 0.5]
        chosen = each["result"][0]["value"]["choices"] if each["result"] else []
        assert chosen == expected
        for result in each["result"]:
            assert (result["from_name"], result["to_name"], result["type"]) == ("topic", "text", "choices")


def test_the_lowest_score_is_our_next_question(project):
    tasks = [{"id": i, "meta": {"item": f"t{i}"}} for i in range(20)]
    found = predictions_of(Browser(project), tasks, Config(), no_belief)
    order = [f"t{i}" for i in np.argsort([each["score"] for each in found], kind="stable")]
    asked = [lease.question.item for lease in project.service.ask("bob", 20)]
    assert len(asked) == 12 and order[:12] == asked
    assert {each["score"] for each in found[:8]} == {1.0}, "what is known comes last"


def test_tasks_that_are_no_items_are_believed_by_their_data(project):
    seen = []

    def believe(contents):
        seen.extend(contents)
        return [{"red": 0.9, "round": 0.2} for _ in contents]

    tasks = [{"id": 77, "data": {"text": "an apple"}}, {"id": 1, "meta": {"item": "t9"}}, 17, {}]
    found = predictions_of(Browser(project), tasks, Config(), believe)
    assert seen == [{"text": "an apple"}, None, None]
    assert found[0]["result"][0]["value"]["choices"] == ["red"]
    assert found[0]["score"] == pytest.approx(0.5 + (0.8 + 0.6) / 2 / 2)


def test_choices_that_the_interface_does_not_have_are_left_out(project):
    config = Config.read(CONFIG.replace('<Choice value="red"/>', ""), LABELS)
    tasks = [{"id": 1, "meta": {"item": f"t{i}"}} for i in range(20)]
    chosen = [each["result"] for each in predictions_of(Browser(project), tasks, config, no_belief)]
    assert all("red" not in result[0]["value"]["choices"] for result in chosen if result)


def test_too_many_tasks_are_refused(project):
    with pytest.raises(ProjectError, match="at most 1000 tasks"):
        predictions_of(Browser(project), [{}] * (MOST_TASKS + 1), Config(), no_belief)


@pytest.mark.parametrize(
    "text", [None, 7, "", "<View>", "<View/>", '<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>', "<a>" * 5000]
)
def test_an_interface_that_says_nothing_is_the_default(text):
    assert Config.read(text, LABELS) == Config()


# -- what Label Studio tells -------------------------------------------------------------------------------------------


def test_an_annotation_is_a_whole_answer(project):
    reply = take_in(project, hook(choices=["red", "new"]))
    event = project.events()[-1]
    assert reply == {"event": event.id}
    assert (event.who, event.item, event.kind, event.at) == ("7", "t9", "answer", 1714557600.0)
    assert event.values == {"red": True, "round": False, "new": True}
    assert "t9" not in [lease.question.item for lease in project.service.ask("bob", 20)], "it is not asked again"


def test_labels_that_are_no_choices_there_stay_unknown(project):
    project.add_label("late")
    take_in(project, hook())
    assert known(project, "t9") == {"red": True, "round": False, "new": False, "late": None}


def test_said_twice_it_counts_once(project):
    first, n = take_in(project, hook()), len(project.events())
    assert take_in(project, hook()) == {**first, "repeated": True}
    assert len(project.events()) == n


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_whatever_the_order_the_latest_state_stands(project, order):
    states = [(), ("red",), ("red", "round"), ("new",)]
    hooks = [
        hook("ANNOTATION_UPDATED" if i else "ANNOTATION_CREATED", at=f"2024-05-01T10:0{i}:00Z", choices=states[i])
        for i in range(4)
    ]
    for i in [*order, *order]:
        take_in(project, hooks[i])
    assert known(project, "t9") == {"red": False, "round": False, "new": True}
    undone = {event.undoes for event in project.events()}
    mine = [event for event in project.events() if event.item == "t9" and event.kind == "answer"]
    assert sum(event.id not in undone for event in mine) == 1


def test_deleted_it_no_longer_counts_and_does_not_come_back(project):
    take_in(project, hook())
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1}], "project": {"id": 5}}
    assert take_in(project, gone) == {"taken_back": 1}
    assert take_in(project, gone) == {"taken_back": 0}
    assert known(project, "t9") == dict.fromkeys(LABELS)
    take_in(project, hook())
    assert known(project, "t9") == dict.fromkeys(LABELS)
    assert [event.kind for event in project.events() if event.item == "t9"] == ["answer", "undo"], "history is kept"


def test_annotations_of_other_projects_and_numbers_are_told_apart(project):
    take_in(project, hook(number=1))
    take_in(project, hook(number=10, item="t10"))
    other = hook(number=1, item="t11")
    other["project"]["id"] = 50
    take_in(project, other)
    take_in(project, {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1}], "project": {"id": 5}})
    assert [known(project, item)["red"] for item in ("t9", "t10", "t11")] == [None, True, True]


def test_a_skipped_task_is_a_skip(project):
    take_in(project, hook(was_cancelled=True))
    event = project.events()[-1]
    assert (event.kind, event.values) == ("skip", {})


def test_merged_labels_count_for_what_they_became_and_unknown_ones_are_told(project):
    project.merge_labels("new", "round")
    reply = take_in(project, hook(choices=["new", "strange"]))
    assert reply["unknown_labels"] == ["strange"]
    assert known(project, "t9") == {"red": False, "round": True}


def test_strange_tasks_and_actions_are_passed_over(project):
    before = project.events()
    assert "labelwise import" in take_in(project, hook(item="nowhere"))["ignored"]
    assert "training follows" in take_in(project, {"action": "START_TRAINING"})["ignored"]
    assert "training follows" in take_in(project, {})["ignored"]
    other = "<View><Choices name='a' toName='b'><Choice value='z'/></Choices></View>"
    silent = {**hook(choices=()), "project": {"id": 5, "label_config": other}}
    assert "says nothing" in take_in(project, silent)["ignored"]
    assert project.events() == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "ANNOTATION_CREATED"},
        {**hook(), "task": 7},
        {**hook(), "annotation": []},
        hook(number=None),
        hook(number={}),
        hook(number=True),
        hook(at="yesterday"),
        hook(at="0001-01-01T00:00:00"),
        hook(result=7),
        hook(result=[{"from_name": "a", "type": "choices", "value": 7}]),
        hook(result=[[]]),
        hook(completed_by="\n"),
        {"action": "ANNOTATIONS_DELETED", "annotations": [{}]},
        {"action": "ANNOTATIONS_DELETED"},
    ],
)
def test_what_cannot_be_read_is_told_and_changes_nothing(project, wrong):
    before = project.events()
    with pytest.raises(ProjectError):
        take_in(project, wrong)
    assert project.events() == before
