"""Which item a task is: what was exported, else what shows the same, never what has the same number."""

from __future__ import annotations

import numpy as np
import pytest

from labelling.studio_payloads import task
from labelwise import LabelData
from labelwise.labelling import Project
from labelwise.labelling.exchange.label_studio import to_label_studio
from labelwise.labelling.exchange.label_studio_tasks import data_digest
from labelwise.labelling.store.annotations import write_tasks

ROWS = ["size is wrong", "please refund", "thanks", "thanks", "late"]  # items 0 to 4; two show the same


def make_rows(path, rows=ROWS, **settings) -> Project:
    items = [row if isinstance(row, dict) else {"text": row} for row in rows]
    data = LabelData.from_arrays(
        np.zeros((len(rows), 1)), label_names=["red", "round"], item_ids=[str(i) for i in range(len(rows))], items=items
    )
    return Project.create(path, data, text="text", control=0, **settings)


@pytest.fixture
def rows(tmp_path):
    with make_rows(tmp_path / "rows.db") as project:
        yield project


def found(project: Project, *tasks) -> list[str]:
    return [each.name for each in project.task_items.find(tasks)]


def test_the_same_text_is_the_item_whatever_the_number(rows):
    assert found(rows, task("please refund", number=0), task("late", number=1)) == ["1", "4"]


def test_a_number_alone_is_nothing(rows):
    for strange in ({"id": 1}, {"id": "1", "data": {}}, task("", number=1), task("something else", number=1), 1, None):
        (other,) = rows.task_items.find([strange])
        assert other.number is None and not other.name and other.why


def test_items_that_show_the_same_are_not_told_apart(rows):
    (twins,) = rows.task_items.find([task("thanks")])
    assert twins.number is None and twins.is_ambiguous
    assert twins.why == "2 items of the project show the same as the task"


def test_what_this_project_exported_is_known_by_its_name(rows):
    tasks = to_label_studio({str(i): {"text": text} for i, text in enumerate(ROWS)}, [], ["red"], rows.identity)
    assert found(rows, *tasks) == ["0", "1", "2", "3", "4"], "also where two show the same"
    assert found(rows, {**tasks[2], "data": {"text": "thanks a lot"}}) == ["2"], "and where the text was mended there"


@pytest.mark.parametrize("project", [None, "another"])
def test_a_name_of_another_project_counts_only_if_the_item_shows_the_same(rows, project):
    meta = {"item": "1", "project": project}
    assert found(rows, task("please refund", meta=meta)) == ["1"]
    assert found(rows, task("thanks", meta={**meta, "item": "3"})) == ["3"]
    assert found(rows, task("late", meta=meta)) == ["4"]
    assert found(rows, task("something else", meta=meta)) == [""]


def test_other_fields_tell_items_apart_and_contradict(tmp_path):
    rows = [{"text": "ok", "from": "ann", "n": "1"}, {"text": "ok", "from": "bob", "n": None}]
    with make_rows(tmp_path / "more.db", rows) as project:
        tasks = [
            {"id": 9, "data": {"text": "ok", "from": "bob", "n": "", "more": 7}},
            {"id": 9, "data": {"text": "ok", "from": "ann", "n": 1}},
            {"id": 9, "data": {"text": "ok", "from": "cid"}},
            {"id": 9, "data": {"text": "ok"}},
        ]
        assert found(project, *tasks) == ["1", "0", "", ""]


def test_items_that_are_added_are_found(rows):
    assert found(rows, task("brand new")) == [""]
    with Project(rows.store.location) as other:
        more = LabelData.from_arrays(
            np.zeros((1, 1)), label_names=["red", "round"], item_ids=["x"], items=[{"text": "brand new"}]
        )
        other.add_items(more)
    assert found(rows, task("brand new")) == ["x"]


def test_a_task_of_an_import_is_known_by_its_number_as_long_as_it_shows_the_same(rows):
    twin = task("thanks", number=8)
    with rows.store.writing() as connection:
        write_tasks(connection, [("5", "8", 4, data_digest(twin))])
    assert found(rows, twin, task("thanks", number=9), task("late", number=8)) == ["3", "", "4"]
    assert found(rows, {**twin, "project": 6}) == [""], "a task of another project there"
