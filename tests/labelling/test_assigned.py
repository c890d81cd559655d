"""Items that are somebody's: asked of them first, of others last, the random share as before, and nothing lost."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from labelwise import Answer, LabelData
from labelwise.cli import app
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.store.people import Assigned
from labelwise.labelling.store.questions import open_leases
from labelwise.labelling.store.schema import assignments, items
from labelwise.records.asking import CONTROL


@pytest.fixture
def project(make, location) -> Project:
    made = make(location, strategy="uncertainty", start=0, ready=40, control=0.25)
    for name in ("ann", "bob"):
        made.people.add(name)
    made.refresh()
    return made


def items_of(project: Project, who: str) -> set[str]:
    with project.store.reading() as connection:
        query = items.select().join(assignments).where(assignments.c.who == who)
        return {row.name for row in connection.execute(query)}


def answer_all(project: Project, who: str, most: int) -> list[tuple[str, str]]:
    """Item and reason of up to so many questions, answered one by one."""
    given = []
    for _ in range(most):
        leases = project.service.ask(who)
        if not leases:
            break
        project.service.answer(leases[0].token, dict.fromkeys(leases[0].question.labels, True), who)
        given.append((leases[0].question.item, leases[0].question.reason))
    return given


def test_own_items_come_first_those_of_others_last_and_nothing_is_lost(project):
    assert project.people.assign_share("ann", 0.3) == 12 and len(items_of(project, "ann")) == 12
    mine = items_of(project, "ann")
    of_bob = answer_all(project, "bob", 60)
    chosen = [item for item, reason in of_bob if reason != CONTROL]
    late = [item in mine for item in chosen]
    assert late == sorted(late) and any(late), "what is hers comes last"
    assert {item for item, _ in of_bob} == set(project.item_names()), "and none is left out"
    project.service.undo("bob")  # one comes free again
    assert len(answer_all(project, "ann", 60)) <= 1


def test_a_person_is_asked_her_own_first(project):
    project.people.assign_share("ann", 0.3)
    mine = items_of(project, "ann")
    given = answer_all(project, "ann", 40)
    own = [item in mine for item, reason in given if reason != CONTROL]
    assert own == sorted(own, reverse=True) and sum(own) > 5 and not all(own)
    counted = project.people.assigned()["ann"]
    assert counted == Assigned(12, 12, 12) and len(given) == 40


def test_the_order_within_is_that_of_the_plan(project):
    project.people.assign_items("ann", project.item_names())
    leases = project.service.ask("ann", 40)
    for is_random in (True, False):
        ranks = [lease.rank for lease in leases if (lease.question.reason == CONTROL) is is_random]
        assert ranks == sorted(ranks) and len(ranks) > 2


def test_the_random_share_stays_as_large_whoever_asks(make):
    X = np.random.default_rng(0).standard_normal((400, 2))
    data = LabelData.from_arrays(X, label_names=["a"], item_ids=[f"p{i}" for i in range(400)])
    project = make(data=data, strategy="uncertainty", start=0, ready=400, control=0.2)
    project.people.add("ann")
    project.refresh()
    project.people.assign_items("ann", [f"p{i}" for i in range(60)])
    given = answer_all(project, "ann", 40)
    at_random = [item for item, reason in given if reason == CONTROL]
    chosen = {item for item, reason in given if reason != CONTROL}
    assert 2 <= len(at_random) <= 16, "a fifth of forty, by chance"
    assert chosen <= {f"p{i}" for i in range(60)}
    assert any(int(item[1:]) >= 60 for item in at_random), "of all items, not of hers alone"


def test_overlap_still_gives_each_person_one_copy(make, location):
    project = make(location, strategy="uncertainty", start=0, ready=40, overlap=2, overlap_share=1.0)
    for name in ("ann", "bob", "eve"):
        project.people.add(name)
    project.people.assign_share("ann", 0.5)
    project.refresh()
    for who in ("ann", "bob", "eve"):
        leases = project.service.ask_about_items(who, 20)
        items = [lease.question.item for lease in leases]
        assert len(set(items)) == len(items) == 20
    with project.store.reading() as connection:
        held = [(lease.item, lease.who) for lease in open_leases(connection)]
    assert len(set(held)) == len(held) == 60
    counts = np.unique([item for item, _ in held], return_counts=True)[1]
    assert counts.max() <= 2


def test_shares_depend_on_the_item_alone_do_not_overlap_and_grow(project):
    project.people.assign_share("ann", 0.25)
    quarter = items_of(project, "ann")
    project.people.assign_share("ann", 0.5)
    half = items_of(project, "ann")
    assert len(quarter) == 10 and len(half) == 20 and quarter < half
    project.people.assign_share("ann", 0.25)
    assert items_of(project, "ann") == quarter, "the same again"
    project.people.assign_share("bob", 0.75)
    assert not items_of(project, "bob") & quarter and len(items_of(project, "bob")) == 30
    with pytest.raises(ProjectError, match="20 items are wanted for 'ann', and 10 of 40"):
        project.people.assign_share("ann", 0.5)
    assert items_of(project, "ann") == quarter
    project.people.assign_items("ann", sorted(items_of(project, "bob"))[:3])
    assert (len(items_of(project, "ann")), len(items_of(project, "bob"))) == (13, 27)
    project.people.assign_share("bob", 0)
    assert items_of(project, "bob") == set()


def test_what_is_wrong_is_refused_and_changes_nothing(project):
    project.people.assign_share("ann", 0.25)
    for share in (-0.1, 1.1, 30.0, float("nan")):
        with pytest.raises(ProjectError, match="between 0 and 1"):
            project.people.assign_share("ann", share)
    with pytest.raises(ProjectError, match="no user 'joe'"):
        project.people.assign_share("joe", 0.1)
    with pytest.raises(ProjectError, match="no item 'nothing'"):
        project.people.assign_items("ann", ["nothing"])
    assert len(items_of(project, "ann")) == 10


def test_items_of_somebody_who_is_removed_are_nobodys(project):
    project.people.assign_share("ann", 1.0)
    held = project.service.ask("ann")[0]
    project.people.remove("ann")
    assert project.people.assigned() == {}
    given = answer_all(project, "bob", 60)
    assert len(given) == 39, "all but the one that she holds, until its time is over"
    assert held.question.item not in {item for item, _ in given}


def test_progress_counts_what_she_and_what_others_answered(project):
    project.people.assign_share("ann", 0.5)
    mine = sorted(items_of(project, "ann"))
    project.tell([Answer(item, {"left": True}) for item in mine[:3]], who="ann")
    project.tell([Answer(item, {"left": True}) for item in mine[2:7]], who="bob")
    project.tell([Answer(item, {"low": True}) for item in mine[:3]], who="ann")
    assert project.people.assigned() == {"ann": Assigned(20, 3, 7)}


def test_items_are_assigned_by_command(project, location):
    run = CliRunner()
    done = run.invoke(app, ["user", "assign", location, "ann", "25 %"])
    assert (done.exit_code, done.stdout) == (0, "ann: 10 items assigned\n"), done.output
    done = run.invoke(app, ["user", "assign", location, "bob", "--find", "point 3"])
    assert done.stdout == "bob: 13 items assigned\n"  # with a 3
    assert items_of(project, "bob") == {f"p{i}" for i in range(40) if "3" in str(i)}
    listed = run.invoke(app, ["user", "list", location, "--json"]).stdout
    assert json.loads(listed)[1] | {"added_at": 0} == {
        "name": "bob",
        "role": "annotator",
        "added_at": 0,
        "assigned": 13,
        "assigned_answered": 0,
    }
    for wrong in (["ann"], ["ann", "30%", "--find", "x"], ["ann", "130%"], ["ann", "a third"], ["joe", "1%"]):
        assert run.invoke(app, ["user", "assign", location, *wrong]).exit_code == 2, wrong
    assert run.invoke(app, ["user", "assign", location, "bob", "0"]).exit_code == 0 and not items_of(project, "bob")
