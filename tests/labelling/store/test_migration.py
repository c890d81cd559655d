"""A file of the first version is brought up to date and says the same as before."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from labelwise import Answer
from labelwise.labelling import Project
from labelwise.labelling.store import schema
from labelwise.labelling.store.annotations import known_annotations
from labelwise.labelling.store.engine import read_value, write_value
from labelwise.labelling.store.events import NewEvent, add_event
from labelwise.labelling.store.trainings import read_trainings

FIRST_VIEW = """
    CREATE VIEW current_labels AS
    SELECT item, label, CASE WHEN yes > no THEN 1 WHEN no > yes THEN 0 ELSE last_word END AS value, yes, no FROM (
        SELECT item, label, who, event, value,
               sum(CASE WHEN value = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY item, label) AS yes,
               sum(CASE WHEN value = 0 THEN 1 ELSE 0 END) OVER (PARTITION BY item, label) AS no,
               first_value(value) OVER (PARTITION BY item, label ORDER BY event DESC) AS last_word,
               row_number() OVER (PARTITION BY item, label ORDER BY event DESC) AS latest
        FROM votes WHERE value >= 0
    ) AS counted WHERE latest = 1
"""
BACK_TO_THE_FIRST = (
    FIRST_VIEW,
    "DROP INDEX events_by_person",
    "ALTER TABLE labels DROP COLUMN start",
    "ALTER TABLE questions DROP COLUMN words",
    "ALTER TABLE leases DROP COLUMN words",
    "DROP TABLE invitations",
    "DROP TABLE sessions",
    "DROP TABLE users",
    "DROP TABLE studio_annotations",
    "DROP TABLE studio_tasks",
    "UPDATE labelwise_project SET value = '1' WHERE key = 'version'",
)


def shape(connection: sa.Connection) -> dict[str, set[str]]:
    """Tables with their columns and indices, and views."""
    look = sa.inspect(connection)
    tables = {name: {column["name"] for column in look.get_columns(name)} for name in look.get_table_names()}
    indices = {name: {str(index["name"]) for index in look.get_indexes(name)} for name in tables}
    return {
        **{f"{name} columns": found for name, found in tables.items()},
        **indices,
        "views": set(look.get_view_names()),
    }


def answer(project: Project) -> None:
    for number in range(6):
        project.tell(Answer(f"p{number}", {"left": number % 2 == 0, "low": True}), who="ann")
        project.tell(Answer(f"p{number}", {"left": number % 3 == 0}), who="bob")
        project.refresh()


def test_the_first_version_is_brought_up_to_date(make, location):
    project = make(location, control=0.3)
    answer(project)
    with project.store.reading() as connection:
        expected = shape(connection)
        reports = [row.report for row in read_trainings(connection)]
    known = project.labelled()
    with project.store.writing() as connection:
        for statement in BACK_TO_THE_FIRST:
            connection.exec_driver_sql(statement)
        fat = {**reports[-1], "answers": 1, "base_rates": {"left": {"rate": 0.5}}}
        connection.execute(schema.trainings.update().values(report=fat))
    project.store.close()
    with Project(location) as again:
        with again.store.reading() as connection:
            assert read_value(connection, "version") == schema.VERSION
            assert shape(connection) == expected
            kept = [row.report for row in read_trainings(connection)]
        assert again.labelled().Y.toarray().tolist() == known.Y.toarray().tolist()
        assert again.labelled().observed.toarray().tolist() == known.observed.toarray().tolist()
        assert set(kept[0]) <= set(schema.COURSE) and kept[-1] == fat, "only the last report is kept whole"
        again.add_label("new", like={"left": 0.5})
        again.people.add("ann")
        assert again.ask(who="ann")


def test_a_vote_that_settles_outweighs_the_others(make, location):
    project = make(location)
    for who in ("ann", "bob", "cid"):
        project.tell(Answer("p0", {"left": True, "low": True}), who=who)
    project.service.settle(Answer("p0", {"left": False}), "eve")
    project.tell(Answer("p0", {"left": True}), who="dan")
    data = project.labelled()
    assert data.Y[[0]].toarray()[0].tolist() == [False, True, False]
    assert data.observed[[0]].toarray()[0].tolist() == [True, True, False]
    project.service.settle(Answer("p0", {"left": True}), "fay")
    of_two_that_settle = project.labelled().Y[[0]].toarray()[0].tolist()
    assert of_two_that_settle == [True, True, False], "the last to speak"


def test_only_the_last_report_is_kept_whole(make):
    project = make(control=0.3)
    answer(project)
    with project.store.reading() as connection:
        reports = [row.report for row in read_trainings(connection) if row.state == "good"]
    assert len(reports) > 3
    assert all(set(report) <= set(schema.COURSE) for report in reports[:-1])
    assert {"labels", "pairs", "base_rates", "curve"} <= set(reports[-1])


@pytest.mark.parametrize("n", [0, 1, 7, 300, 301, 1000])
def test_a_course_has_its_last_point_and_not_too_many(make, n):
    from labelwise.labelling.store.trainings import begin_training, end_training, read_course

    project = make()
    with project.store.writing() as connection:
        for number in range(n):
            training = begin_training(connection, 0, 0, 0.0)
            end_training(connection, training, "good", 0.0, report={"answers": number})
        course = [report["answers"] for report in read_course(connection, most=100)]
    assert len(course) <= 100 and course == sorted(course)
    assert course[-1:] == ([n - 1] if n else [])
    if n <= 100:
        assert course == list(range(n))


def test_annotations_of_the_second_version_are_remembered(make, location):
    project = make(location)
    with project.store.writing() as connection:
        for number, (who, lease, undoes) in enumerate(
            [
                ("1", "label-studio:5:11:100.500000", None),
                ("1", None, 1),
                ("1", "label-studio:5:11:200.500000", None),
                ("ann", "label-studio:5:12:300.500000", None),
                ("ann", None, 4),
                ("ann", "the-lease-of-a-question", None),
            ],
            start=1,
        ):
            kind = "answer" if undoes is None else "undo"
            add_event(connection, NewEvent(100.0 * number, who, 1, kind, 0, "told", lease=lease, undoes=undoes))
        for table in ("studio_annotations", "studio_tasks"):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        write_value(connection, "version", 2)
    project.store.close()
    with Project(location) as again:
        assert [event.who for event in again.events()] == [*["label-studio:1"] * 3, *["label-studio:ann"] * 2, "ann"]
        with again.store.reading() as connection:
            known = known_annotations(connection, "5", ["11", "12"])
        assert [(row.event, row.state, row.gone) for row in known.values()] == [(3, 200.5, None), (4, 300.5, "deleted")]
