"""A project as a whole: made from data, changed in mid-campaign, rebuilt, asked at random, handed over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise import Answer, Campaign, LabelData, labelling
from labelwise.labelling import NothingToAsk, Project, ProjectError
from labelwise.labelling.project import OWNER


def truth(data: LabelData, item: str) -> dict[str, bool]:
    """What a person who knows would say of an item of the pool."""
    x, y = data.X[data.item_ids.index(item)]
    return {"left": bool(x < 0), "low": bool(y < 0), "far": bool(x * x + y * y > 2)}


def answer(project: Project, pool: LabelData, n: int, who: str = OWNER) -> list[str]:
    """Answer n questions, training after each; the items asked about."""
    items, worker = [], project.worker()
    for _ in range(n):
        worker.step()
        lease = project.service.ask(who)[0]
        said = truth(pool, lease.question.item)
        project.service.answer(lease.token, {name: said[name] for name in lease.question.labels})
        items.append(lease.question.item)
    worker.step()
    return items


def test_what_was_known_is_kept_in_part_and_learnt_from(make, location, pool):
    Y = np.full((40, 3), np.nan)
    Y[0], Y[1, 0], Y[2] = [1, 0, 1], 1, [0, 0, 0]
    data = LabelData.from_arrays(pool.X, Y, item_ids=pool.item_ids, label_names=pool.label_names, items=pool.items)
    project = make(location, data)
    labelled = project.labelled()
    assert np.array_equal(labelled.Y.toarray(), data.Y.toarray())
    assert np.array_equal(labelled.observed.toarray(), data.observed.toarray())
    assert labelled.items == data.items
    assert project.campaign().believe().probabilities()[2].max() < 0.9
    lease = project.ask(10)[0]
    assert lease.question.reason == "strategy"
    assert lease.question.labels != ()
    partly = [lease for lease in project.ask(40) if lease.question.item == "p1"]
    assert [lease.question.labels for lease in partly] in ([], [("low", "far")])


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_a_rebuilt_project_asks_the_same_next_question(make, location, pool, strategy):
    project = make(location, strategy=strategy, control=0.2, model="label_gp")
    answer(project, pool, 12)
    with Project(project.store.location) as other:
        before = [(lease.question, lease.beliefs) for lease in other.service.ask("somebody", 5)]
        for token in [lease.token for lease in other.service.ask("somebody", 5)]:
            other.service.skip(token)
        other.rebuild()
        after = [(lease.question, lease.beliefs) for lease in other.service.ask("somebody else", 5)]
    assert [question for question, _ in before] == [question for question, _ in after]
    for (_, was), (_, now) in zip(before, after, strict=True):
        assert was == pytest.approx(now, abs=1e-5)


def test_a_project_asks_what_a_campaign_over_the_same_answers_asks(make, pool):
    project = make()
    answer(project, pool, 8)
    campaign = project.campaign()
    assert isinstance(campaign, Campaign)
    assert [lease.question for lease in project.ask(5)] == campaign.ask(5)


def test_the_random_share_is_learnt_from(make, pool):
    project = make(control=0.4, ready=40)
    answer(project, pool, 25)
    control = {event.item for event in project.events() if event.reason == "control"}
    assert 4 <= len(control) <= 18
    answers = project.campaign().answers
    assert control == {answered.item for answered in answers if answered.reason == "control"}
    assert len(answers) == 25 and project.labelled().n_observed == 75


def test_a_label_added_in_mid_campaign_is_asked_about(make, location, pool):
    project = make(location, ready=40)
    items = answer(project, pool, 3)
    project.add_label("new; and, odd")
    project.refresh()
    asked = {lease.question.item: lease.question.labels for lease in project.service.ask("bob", 40)}
    assert len(asked) == 40
    assert {asked[item] for item in items} == {("new; and, odd",)}
    assert project.labelled().label_names[-1] == "new; and, odd"
    with pytest.raises(ProjectError, match="there is a label 'low' already"):
        project.add_label("low")


@pytest.mark.parametrize("name", ["", "  ", " a", "a\nb", "a\tb"])
def test_names_that_no_file_could_carry_are_refused(make, name):
    with pytest.raises(ProjectError, match=r"needs a name|blanks around|line end"):
        make().add_label(name)


def test_renaming_keeps_the_answers(make, location, pool):
    project = make(location)
    answer(project, pool, 3)
    before = project.labelled()
    project.rename_label("low", "bottom")
    after = project.labelled()
    assert after.label_names == ("left", "bottom", "far")
    assert np.array_equal(before.Y.toarray(), after.Y.toarray())
    with pytest.raises(ProjectError, match="merge 'bottom' into it instead"):
        project.rename_label("bottom", "far")


def test_merging_says_yes_where_either_was_and_later_answers_still_change_it(make, location):
    project = make(location)
    said = {"p0": (True, False), "p1": (False, False), "p2": (None, True), "p3": (True, None)}
    for item, (left, low) in said.items():
        project.tell(Answer(item, {"left": left, "low": low}), who="ann")
    project.merge_labels("left", "low")
    merged = project.labelled()
    assert merged.label_names == ("low", "far")
    known = {item: merged.Y[merged.item_ids.index(item), 0] for item in said}
    assert known == {"p0": True, "p1": False, "p2": True, "p3": True}
    project.tell(Answer("p0", {"low": False}, correction=True), who="ann")
    assert not project.labelled().Y[0, 0]


def test_a_retired_label_is_not_asked_and_its_answers_stay_on_record(make, location, pool):
    project = make(location, strategy="uncertainty_pairs", ready=100)
    answer(project, pool, 5)
    project.retire_label("far")
    project.refresh()
    assert "far" not in {label for lease in project.service.ask("bob", 60) for label in lease.question.labels}
    assert project.labelled().label_names == ("left", "low")
    project.retire_label("low")
    with pytest.raises(ProjectError, match="'left' is the last one"):
        project.retire_label("left")


def test_items_can_be_added(make, location, pool):
    project = make(location)
    answer(project, pool, 3)
    more = LabelData.from_arrays(
        [[5.0, 5.0], [6.0, 6.0]], [[0, np.nan, 1], [np.nan] * 3], item_ids=["q0", "q1"], label_names=pool.label_names
    )
    assert project.add_items(more) == 2
    project.refresh()
    labelled = project.labelled()
    assert labelled.n_items == 42
    assert labelled.n_observed == 9 + 2
    assert project.add_items(more) == 0  # they are here already
    assert project.labelled().n_observed == 9 + 2
    with pytest.raises(ProjectError, match="the item 'q0' is in the project already, with other numbers"):
        project.add_items(replace(more, X=more.X + 1))
    wide = LabelData.from_arrays(np.ones((1, 3)), item_ids=["w"], label_names=pool.label_names)
    with pytest.raises(ProjectError, match="the items have 3 features, the project 2"):
        project.add_items(wide)


def test_recording_the_same_events_twice_adds_nothing(make, location, pool):
    project, copy = make(location), make()
    answer(project, pool, 4)
    project.service.undo(OWNER)
    assert copy.record(project.events()) == 5
    assert copy.record(project.events()) == 0
    assert copy.events() == project.events()
    assert np.array_equal(copy.labelled().Y.toarray(), project.labelled().Y.toarray())


def test_recorded_answers_to_labels_that_are_gone_are_kept_or_go_where_they_were_merged(make):
    project, copy = make(), make()
    project.tell(Answer("p0", {"far": True, "left": True, "low": False}), who="ann")
    copy.retire_label("left")
    copy.merge_labels("far", "low")
    assert copy.record(project.events()) == 1
    assert copy.events()[0].values["left"] is True
    assert copy.labelled().label_names == ("low",)
    assert copy.labelled().Y[0, 0]
    with pytest.raises(ProjectError, match="there is no label 'unheard of'"):
        copy.record([replace(project.events()[0], at=5.0, values={"unheard of": True})])
    assert len(copy.events()) == 1


def test_the_majority_counts_and_between_equals_the_last_word(make, location):
    project = make(location, overlap=3)
    for who, left in (("ann", True), ("bob", False)):
        project.tell(Answer("p0", {"left": left}), who=who)
    assert not project.labelled().Y[0, 0]
    project.tell(Answer("p0", {"left": True}), who="eve")
    assert project.labelled().Y[0, 0]


def test_text_projects_make_their_own_features(make, tmp_path):
    texts = [f"{kind} number {i}" for i in range(10) for kind in ("apple", "car")]
    data = LabelData.from_arrays(np.zeros((20, 1)), label_names=["fruit"], items=[{"body": text} for text in texts])
    project = Project.create(tmp_path / "texts.db", data, text="body", model="binary_relevance", control=0)
    project.tell([Answer("0", {"fruit": True}), Answer("1", {"fruit": False})])
    found = project.model().probabilities([{"body": "an apple"}, {"body": "a car"}])
    assert found[0, 0] > 0.5 > found[1, 0]
    project.close()
    with pytest.raises(ProjectError, match="no field 'title'"):
        Project.create(tmp_path / "wrong.db", data, text="title")
    assert not (tmp_path / "wrong.db").exists()


def test_without_answers_there_is_no_model(make):
    with pytest.raises(NothingToAsk, match="nothing was answered"):
        make().model()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "magic"}, "there is no model 'magic'"),
        ({"strategy": "magic"}, "there is no strategy 'magic'"),
        ({"control": 1.1}, "control is the share"),
        ({"overlap": 0}, "overlap must be at least 1"),
        ({"overlap_share": 2}, "overlap_share must lie"),
        ({"lease_seconds": 0}, "lease_seconds must be positive"),
    ],
)
def test_wrong_settings_make_no_project(tmp_path, pool, settings, words):
    with pytest.raises(ProjectError, match=words):
        Project.create(tmp_path / "no.db", pool, **settings)
    assert not (tmp_path / "no.db").exists()


def test_the_package_finds_projects_without_importing_them_first():
    import labelwise

    assert labelwise.Project is labelling.Project
    with pytest.raises(AttributeError, match="no attribute 'Projekt'"):
        _ = labelwise.Projekt


def test_numbers_in_blocks_stay_in_blocks(tmp_path):
    rng = np.random.default_rng(0)
    data = LabelData.from_arrays(sp.csr_array(np.eye(12)), label_names=["a", "b"])
    data = data.with_block(rng.random((12, 2)), "gpt", "opinions").with_block(rng.random((12, 3)), "mine", "vectors")
    with Project.create(tmp_path / "p.db", data) as project:
        for _ in range(8):
            lease = project.ask(who="ann")[0]
            project.service.answer(lease.token, {"a": lease.question.item < "4", "b": False})
        campaign = project.campaign()
        assert campaign.data.blocks == data.blocks
        assert campaign.fitted().blocks == data.blocks
        assert project.predict().probabilities.shape == (12, 2)
