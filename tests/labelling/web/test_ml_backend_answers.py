"""Predictions for Label Studio, and its annotations as answers: in any order, repeated, changed and deleted."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.exchange import label_studio_answers
from labelwise.labelling.exchange.label_studio_predictions import MOST_TASKS, Config, predictions_of
from labelwise.labelling.items.browse import Browser
from labelwise.labelling.records import ExpectedLabels
from labelwise.labelling.web.ml_backend import MOST_ANNOTATIONS, handle_webhook

LABELS = ("red", "round", "new")
CONFIG = """<View><Text name="text" value="$text"/><Choices name="topic" toName="text" choice="multiple">
<Choice value="red"/><Choice value="round"/><Choice value="new" alias="new"/></Choices></View>"""


CHANCE = np.random.default_rng(0)
TEXTS = {  # what Label Studio shows of each item
    f"t{i}": " ".join([*CHANCE.choice(["apple", "car", "ball", "wall"], size=5), str(i)]) for i in range(20)
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("live") / "filled.db"
    data = LabelData.from_arrays(
        np.zeros((20, 1)), label_names=LABELS, item_ids=[f"t{i}" for i in range(20)], items=list(TEXTS.values())
    )
    made = Project.create(path, data, text="", ready=20, model="label_gp", control=0)
    for i in range(8):
        text = TEXTS[f"t{i}"]
        made.tell(Answer(f"t{i}", {"red": "apple" in text, "round": "ball" in text, "new": i % 2 == 0}), who="ann")
    made.refresh()
    made.close()
    return path


@pytest.fixture
def project(copied) -> Project:
    return copied


def no_belief(contents):
    return [ExpectedLabels() for _ in contents]


def hook(action="ANNOTATION_CREATED", item="t9", number=1, at="2024-05-01T10:00:00Z", choices=("red",), **more):
    result = [{"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}]
    annotation = {"id": number, "completed_by": 7, "created_at": "2024-05-01T09:00:00Z", "updated_at": at}
    annotation |= {"result": result, "was_cancelled": False, **more}
    task = {"id": 3, "data": {"text": TEXTS.get(item, "x")}, "meta": {}}
    return {"action": action, "annotation": annotation, "task": task, "project": {"id": 5, "label_config": CONFIG}}


def task_of(item: str, number: int) -> dict:
    return {"id": number, "data": {"text": TEXTS[item]}, "meta": {}}


def known(project: Project, item: str) -> dict[str, bool | None]:
    return {label.name: label.known for label in Browser(project).item(item).labels}


# -- what Label Studio is told -----------------------------------------------------------------------------------------


def test_predictions_are_what_is_known_and_believed(project):
    tasks = [task_of(f"t{i}", 100 + i) for i in range(20)]
    found = predictions_of(Browser(project), tasks, Config.read(CONFIG, LABELS), no_belief)
    campaign = project.campaign()
    sets = campaign.decide(campaign.believe())
    assert sets[8:].any() and not sets[8:].all()
    for i, each in enumerate(found):
        row = [known(project, f"t{i}")[name] for name in LABELS] if i < 8 else sets[i]
        expected = [name for name, value in zip(LABELS, row, strict=True) if value]
        chosen = each["result"][0]["value"]["choices"] if each["result"] else []
        assert chosen == expected
        for result in each["result"]:
            assert (result["from_name"], result["to_name"], result["type"]) == ("topic", "text", "choices")


def test_the_lowest_score_is_our_next_question(project):
    tasks = [task_of(f"t{i}", 100 - i) for i in range(20)]
    found = predictions_of(Browser(project), tasks, Config(), no_belief)
    order = [f"t{i}" for i in np.argsort([each["score"] for each in found], kind="stable")]
    asked = [lease.question.item for lease in project.service.ask("bob", 20)]
    assert len(asked) == 12 and order[:12] == asked
    assert {each["score"] for each in found[:8]} == {1.0}, "what is known comes last"


def test_tasks_that_are_no_items_are_believed_by_their_data(project):
    seen = []

    def believe(contents):
        seen.extend(contents)
        return [ExpectedLabels({"red": 0.9, "round": 0.2}, frozenset({"red"})) for _ in contents]

    tasks = [{"id": 77, "data": {"text": "an apple"}}, task_of("t9", 1), 17, {}]
    found = predictions_of(Browser(project), tasks, Config(), believe)
    assert seen == [{"text": "an apple"}, None, None]
    assert found[0]["result"][0]["value"]["choices"] == ["red"]
    assert found[0]["score"] == pytest.approx(0.5 + (0.8 + 0.6) / 2 / 2)


def test_choices_that_the_interface_does_not_have_are_left_out(project):
    config = Config.read(CONFIG.replace('<Choice value="red"/>', ""), LABELS)
    tasks = [task_of(f"t{i}", 1) for i in range(20)]
    chosen = [each["result"] for each in predictions_of(Browser(project), tasks, config, no_belief)]
    assert all("red" not in result[0]["value"]["choices"] for result in chosen if result)


def test_too_many_tasks_are_refused(project):
    with pytest.raises(ProjectError, match="at most 20000 tasks"):
        predictions_of(Browser(project), [{}] * (MOST_TASKS + 1), Config(), no_belief)


@pytest.mark.parametrize(
    "text", [None, 7, "", "<View>", "<View/>", '<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>', "<a>" * 5000]
)
def test_an_interface_that_says_nothing_is_the_default(text):
    assert Config.read(text, LABELS) == Config()


# -- what Label Studio tells -------------------------------------------------------------------------------------------


def test_an_annotation_is_a_whole_answer(project):
    reply = handle_webhook(project, hook(choices=["red", "new"]))
    event = project.events()[-1]
    assert reply == {"event": event.id}
    assert (event.who, event.item, event.kind, event.at) == ("label-studio:7", "t9", "answer", 1714557600.0)
    assert event.values == {"red": True, "round": False, "new": True}
    assert "t9" not in [lease.question.item for lease in project.service.ask("bob", 20)], "it is not asked again"


def test_labels_that_are_no_choices_there_stay_unknown(project):
    project.add_label("late")
    handle_webhook(project, hook())
    assert known(project, "t9") == {"red": True, "round": False, "new": False, "late": None}


def test_said_twice_it_counts_once(project):
    first, n = handle_webhook(project, hook()), len(project.events())
    assert handle_webhook(project, hook()) == {**first, "repeated": True}
    assert len(project.events()) == n


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_whatever_the_order_the_latest_state_stands(project, order):
    states = [(), ("red",), ("red", "round"), ("new",)]
    hooks = [
        hook("ANNOTATION_UPDATED" if i else "ANNOTATION_CREATED", at=f"2024-05-01T10:0{i}:00Z", choices=states[i])
        for i in range(4)
    ]
    for i in [*order, *order]:
        handle_webhook(project, hooks[i])
    assert known(project, "t9") == {"red": False, "round": False, "new": True}
    undone = {event.undoes for event in project.events()}
    mine = [event for event in project.events() if event.item == "t9" and event.kind == "answer"]
    assert sum(event.id not in undone for event in mine) == 1


def test_deleted_it_no_longer_counts_and_does_not_come_back(project):
    handle_webhook(project, hook())
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1}], "project": {"id": 5}}
    assert handle_webhook(project, gone) == {"taken_back": 1}
    assert handle_webhook(project, gone) == {"taken_back": 0}
    assert known(project, "t9") == dict.fromkeys(LABELS)
    handle_webhook(project, hook())
    assert known(project, "t9") == dict.fromkeys(LABELS)
    assert [event.kind for event in project.events() if event.item == "t9"] == ["answer", "undo"], "history is kept"


def test_annotations_of_other_projects_and_numbers_are_told_apart(project):
    handle_webhook(project, hook(number=1))
    handle_webhook(project, hook(number=10, item="t10"))
    other = hook(number=1, item="t11")
    other["project"]["id"] = 50
    handle_webhook(project, other)
    handle_webhook(project, {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1}], "project": {"id": 5}})
    assert [known(project, item)["red"] for item in ("t9", "t10", "t11")] == [None, True, True]


def test_a_skipped_task_is_a_skip(project):
    handle_webhook(project, hook(was_cancelled=True))
    event = project.events()[-1]
    assert (event.kind, event.values) == ("skip", {})


def test_merged_labels_count_for_what_they_became(project):
    project.merge_labels("new", "round")
    handle_webhook(project, hook(choices=["new"]))
    assert known(project, "t9") == {"red": False, "round": True}


def test_strange_tasks_and_actions_are_passed_over(project):
    before = project.events()
    assert "none shows the same" in handle_webhook(project, hook(item="nowhere"))["ignored"]
    assert "training follows" in handle_webhook(project, {"action": "START_TRAINING"})["ignored"]
    assert "training follows" in handle_webhook(project, {})["ignored"]
    other = "<View><Choices name='a' toName='b'><Choice value='z'/></Choices></View>"
    silent = {**hook(choices=()), "project": {"id": 5, "label_config": other}}
    assert "says nothing" in handle_webhook(project, silent)["ignored"]
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
        handle_webhook(project, wrong)
    assert project.events() == before


# -- choices that are no labels ----------------------------------------------------------------------------------------


def with_choices(*values: str, choices: tuple[str, ...]) -> dict:
    listed = "".join(f'<Choice value="{value}"/>' for value in values)
    config = f'<View><Choices name="topic" toName="text">{listed}</Choices></View>'
    return {**hook(choices=choices), "project": {"id": 5, "label_config": config}}


def test_an_annotation_of_unknown_choices_alone_says_no_to_nothing(project, caplog):
    before = project.events()
    reply = handle_webhook(project, with_choices("red", "strange", choices=("strange",)))
    assert reply["unknown_labels"] == ["strange"] and "none of its choices is a label" in reply["ignored"]
    assert project.events() == before
    assert "annotation 1 refused" in caplog.text and "'strange'" in caplog.text


def test_an_annotation_changed_to_unknown_choices_alone_no_longer_says_what_it_said(project):
    first = handle_webhook(project, hook(choices=("red",)))["event"]
    later = {**with_choices("red", "strange", choices=("strange",)), "action": "ANNOTATION_UPDATED"}
    later["annotation"] |= {"updated_at": "2024-05-01T11:00:00Z"}
    for _ in range(2):
        reply = handle_webhook(project, later)
        assert "event" not in reply and "none of its choices is a label" in reply["ignored"]
    assert [event.undoes for event in project.events() if event.kind == "undo"] == [first]
    assert known(project, "t9") == {"red": None, "round": None, "new": None}
    assert "later state" in handle_webhook(project, hook(choices=("red",)))["ignored"]
    handle_webhook(project, hook("ANNOTATION_UPDATED", at="2024-05-01T12:00:00Z", choices=("round",)))
    assert known(project, "t9") == {"red": False, "round": True, "new": False}


def test_beside_unknown_choices_only_what_was_chosen_counts(project, caplog):
    reply = handle_webhook(project, with_choices("red", "round", "strange", choices=("round", "strange")))
    assert reply["unknown_labels"] == ["strange"] and reply["event"]
    assert dict(project.events()[-1].values) == {"round": True}
    assert "annotation 1 taken in part" in caplog.text


def test_an_annotation_without_a_choice_is_an_answer(project):
    handle_webhook(project, with_choices("red", "round", "strange", choices=()))
    assert dict(project.events()[-1].values) == {"red": False, "round": False}


def test_controls_about_something_else_are_passed_over(project):
    body = with_choices("red", "round", choices=("red",))
    config = body["project"]["label_config"].replace("</View>", "")
    mood = '<Choices name="mood" toName="text"><Choice value="good"/></Choices></View>'
    more = {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["good"]}}
    body["annotation"]["result"].append(more)
    body["project"]["label_config"] = config + mood
    assert "unknown_labels" not in handle_webhook(project, body)
    assert dict(project.events()[-1].values) == {"red": True, "round": False}


# -- who, and when -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["ann", {"email": "ann"}, None, 7, "label-studio:7"])
def test_nobody_in_label_studio_speaks_as_somebody_here(project, named):
    handle_webhook(project, hook(completed_by=named))
    assert project.events()[-1].who.startswith("label-studio:")
    assert project.events()[-1].who not in {user.name for user in project.people.all()} | {"ann"}


@pytest.mark.parametrize("enter", ["add", "begin_local"])
def test_names_of_people_in_label_studio_are_not_to_be_had_here(project, enter):
    with pytest.raises(ProjectError, match="are of people in Label Studio"):
        getattr(project.people, enter)("label-studio:7")


def test_an_answer_is_taken_back_when_it_was_deleted_or_changed(project):
    handle_webhook(project, hook())
    handle_webhook(project, hook("ANNOTATION_UPDATED", at="2024-05-01T12:00:00Z", choices=["new"]))
    undo = project.events()[-2]
    assert (undo.kind, undo.at) == ("undo", 1714564800.0), "the time of the change"
    began = time.time()
    handle_webhook(project, {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1}], "project": {"id": 5}})
    assert project.events()[-1].kind == "undo" and began <= project.events()[-1].at <= time.time()


def test_a_clock_that_is_ahead_does_not_make_answers_of_tomorrow(project):
    handle_webhook(project, hook(at="2999-01-01T00:00:00Z"))
    assert project.events()[-1].at <= time.time()
    assert handle_webhook(project, hook(at="2999-01-01T00:00:00Z"))["repeated"]


# -- many at once ------------------------------------------------------------------------------------------------------


def in_bulk(*pairs: tuple[str, int]) -> dict:
    """Annotations that were made together, as of predictions."""
    hooks = [hook(item=item, number=number, task=number) for item, number in pairs]
    return {
        **hooks[0],
        "action": "ANNOTATIONS_CREATED",
        "annotation": [each["annotation"] for each in hooks],
        "task": [{**each["task"], "id": each["annotation"]["id"]} for each in hooks],
    }


def test_annotations_made_together_are_taken_in_each(project):
    reply = handle_webhook(project, in_bulk(("t9", 1), ("nowhere", 2), ("t10", 3)))
    assert reply["taken"] == 2 and "1 of 3" in reply["ignored"]
    assert [event.item for event in project.events()[-2:]] == ["t9", "t10"]
    with pytest.raises(ProjectError, match="no task"):
        handle_webhook(project, {**in_bulk(("t9", 1)), "task": []})


def test_many_are_written_a_few_at_a_time_so_that_others_get_their_turn(project, monkeypatch):
    sizes = []
    write = project.store.write

    def counted(task):
        before = project.events()[-1].id
        done = write(task)
        sizes.append(project.events()[-1].id - before)
        return done

    monkeypatch.setattr(project.store, "write", counted)
    handle_webhook(project, in_bulk(*((f"t{i % 20}", i + 1) for i in range(250))))
    assert sum(sizes) == 250 and max(sizes) <= label_studio_answers.AT_ONCE
    sizes.clear()
    monkeypatch.setattr(label_studio_answers, "DELETED_AT_ONCE", 60)
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": i} for i in range(300)], "project": {"id": 5}}
    assert handle_webhook(project, gone) == {"taken_back": 250}
    assert sum(sizes) == 250 and max(sizes) <= 60 and len(sizes) == 5


@pytest.mark.slow
def test_twenty_thousand_deletions_of_one_request_are_done(project):
    handle_webhook(project, hook(number=19_999))
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": i} for i in range(20_000)], "project": {"id": 5}}
    assert handle_webhook(project, gone) == {"taken_back": 1}


def test_more_than_can_be_done_at_once_are_refused(project):
    before = project.events()
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": list(range(MOST_ANNOTATIONS + 1)), "project": {"id": 5}}
    with pytest.raises(ProjectError, match="at most 100000 annotations"):
        handle_webhook(project, gone)
    assert project.events() == before


def test_predictions_for_more_than_one_look(project, monkeypatch):
    tasks = [task_of(f"t{i % 20}", i) for i in range(1500)]
    found = predictions_of(Browser(project), tasks, Config(), no_belief)
    assert len(found) == 1500 and found[:20] == found[1000:1020]
