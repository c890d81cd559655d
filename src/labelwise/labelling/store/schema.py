"""The tables of a project, their version, and the way from older versions to this one.

Items, labels, answers and changes are the truth and are only ever added to, but for a label's name and state, whose
history is in `changes`. Questions, leases and trainings are derived or short-lived: they may be emptied at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

VERSION = 9
WHOLE_ITEM = 0  # in place of a label's id: the question is about every open label of the item
YES, NO, UNSURE = 1, 0, -1  # the greatest of several votes is yes before no before unsure
STUDIO = "label-studio:"  # how the names begin of people who answered in Label Studio
COURSE = ("answers", "f1")  # of the reports of trainings that are not the last

metadata = sa.MetaData()


def _table(name: str, *columns: sa.Column[Any] | sa.Index, **options: Any) -> sa.Table:
    return sa.Table(name, metadata, *columns, **options)


project = _table(
    "labelwise_project",
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.JSON, nullable=False),
)
items = _table(
    "items",
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("content", sa.JSON(none_as_null=True)),
    sa.Column("numbers", sa.LargeBinary),
)
labels = _table(
    "labels",
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("retired_at", sa.Double),
    sa.Column("merged_into", sa.ForeignKey("labels.id")),
    sa.Column("start", sa.JSON(none_as_null=True)),  # what it was said to go with when it was added, by label number
)
events = _table(
    "events",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),  # answer, skip, undo
    sa.Column("item", sa.ForeignKey("items.id"), nullable=False),
    sa.Column("asked", sa.Integer, nullable=False),  # the label asked about, or WHOLE_ITEM
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("lease", sa.Text, unique=True),  # answered at most once, however often a client repeats itself
    sa.Column("undoes", sa.ForeignKey("events.id"), unique=True),
    sa.Index("events_of_a_person", "item", "who"),
    sa.Index("events_by_person", "who", "id"),
    # What leases begin with: SQLite finds it by the index above, PostgreSQL only by one that is free of the collation.
    sqlite_autoincrement=True,  # a number is never given twice
)
event_values = _table(
    "event_values",
    sa.Column("event", sa.ForeignKey("events.id"), primary_key=True, autoincrement=False),
    sa.Column("label", sa.ForeignKey("labels.id"), primary_key=True, autoincrement=False),
    sa.Column("value", sa.SmallInteger, nullable=False),
    sqlite_with_rowid=False,
)
timings = _table(  # how long an event took the person; of events before version 5, and told ones, nothing is known
    "timings",
    sa.Column("event", sa.ForeignKey("events.id"), primary_key=True, autoincrement=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("question", sa.Text, nullable=False),  # item, pair, further, sweep
    sa.Column("by_key", sa.Integer, nullable=False),  # labels picked so
    sa.Column("by_search", sa.Integer, nullable=False),
    sa.Column("by_suggestion", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)
changes = _table(
    "changes",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
    sqlite_autoincrement=True,
)
opinions = _table(  # what others say of the items, by the name of the source: never answers
    "opinions",
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("item", sa.ForeignKey("items.id"), primary_key=True, autoincrement=False),
    sa.Column("labels", sa.LargeBinary, nullable=False),  # int32, their numbers
    sa.Column("scores", sa.LargeBinary),  # float32, one for each; null: these labels, and no others up to `until`
    sa.Column("until", sa.Integer, nullable=False),  # the last label that there was
)
notes = _table(  # what people want others to know of an item, and the answer
    "notes",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("item", sa.ForeignKey("items.id"), nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),  # note, label missing, unreadable
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("answer", sa.Text),
    sa.Column("answered_by", sa.Text),
    sa.Column("answered_at", sa.Double),
    sa.Index("notes_on_an_item", "item"),
    sqlite_autoincrement=True,
)
assignments = _table(  # whose items are whose: asked of this person first
    "assignments",
    sa.Column("item", sa.ForeignKey("items.id"), primary_key=True, autoincrement=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Index("assignments_of_a_person", "who"),
)
questions = _table(
    "questions",
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),  # the training that made it
    sa.Column("item", sa.ForeignKey("items.id"), primary_key=True, autoincrement=False),
    sa.Column("label", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("score", sa.Double),
    sa.Column("remaining", sa.Integer, nullable=False),  # people who may still be given it
    sa.Column("beliefs", sa.LargeBinary),  # float32, one per label in use when it was made
    sa.Column("words", sa.Text),  # JSON: the words of the item that spoke for or against labels
    sa.Index("questions_in_order", "plan", "rank"),
)
leases = _table(
    "leases",
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column("item", sa.ForeignKey("items.id"), nullable=False),
    sa.Column("label", sa.Integer, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("score", sa.Double),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("beliefs", sa.LargeBinary),
    sa.Column("given_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("state", sa.Text, nullable=False),  # open, answered, skipped, left, expired, held
    sa.Column("words", sa.Text),
    sa.Index("leases_by_state", "state", "expires_at"),
    sa.Index("leases_of_an_item", "item", "label"),
)
trainings = _table(
    "trainings",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),  # running, good, failed, killed
    sa.Column("started_at", sa.Double, nullable=False),
    sa.Column("finished_at", sa.Double),
    sa.Column("seen_event", sa.Integer, nullable=False),
    sa.Column("seen_change", sa.Integer, nullable=False),
    sa.Column("message", sa.Text),
    sa.Column("report", sa.JSON(none_as_null=True)),
    sqlite_autoincrement=True,
)
users = _table(
    "users",
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("role", sa.Text, nullable=False),  # annotator, reviewer, admin, viewer
    sa.Column("added_at", sa.Double, nullable=False),
    sa.Column("removed_at", sa.Double),
)
invitations = _table(  # one-time links, by the digest of what is in the link
    "invitations",
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("who", sa.ForeignKey("users.name"), nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("used_at", sa.Double),
)
sessions = _table(  # by the digest of the cookie: who reads the file cannot take a session over
    "sessions",
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("is_local", sa.Boolean, nullable=False),  # of the one who works alone, without users
    sa.Column("expires_at", sa.Double, nullable=False),
)
tokens = _table(  # of other programs, by name; what they show is stored as its digest
    "tokens",
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("added_at", sa.Double, nullable=False),
)
api_tokens = _table(  # of programs that act for a person, within a scope; by the digest of what they show
    "api_tokens",
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),  # metrics, read, answer, admin
    sa.Column("added_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double),
)
studio_annotations = _table(  # the annotations of Label Studio that are known, however they came
    "studio_annotations",
    sa.Column("source", sa.Text, primary_key=True),  # the number of the project there
    sa.Column("number", sa.Text, primary_key=True),
    sa.Column("event", sa.ForeignKey("events.id")),  # its last answer here; none where it was deleted before it came
    sa.Column("state", sa.Double, nullable=False),  # when it was last changed, by Label Studio's clock
    sa.Column("noted_at", sa.Double, nullable=False),  # when we last heard of it
    sa.Column("unique_id", sa.Text),
    sa.Column("partial", sa.Boolean, nullable=False),  # some of its choices were no labels here
    sa.Column("gone", sa.Text),  # null: it stands; deleted: Label Studio said so; absent: an import did not have it
    sa.Index("studio_annotations_by_event", "event"),
)
studio_tasks = _table(  # which item a task of Label Studio is, from imports
    "studio_tasks",
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("number", sa.Text, primary_key=True),
    sa.Column("item", sa.ForeignKey("items.id"), nullable=False),
    sa.Column("digest", sa.Text, nullable=False),  # of the task's data then: another task of that number is told apart
)

VIEWS = {
    # What each person says now of each label of each item: the last word, unless it was taken back.
    "votes": """
        SELECT event, item, label, who, reason, value FROM (
            SELECT e.id AS event, e.item, v.label, e.who, e.reason, v.value,
                   row_number() OVER (PARTITION BY e.item, v.label, e.who ORDER BY e.id DESC) AS latest
            FROM events e JOIN event_values v ON v.event = e.id
            WHERE e.kind = 'answer' AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.id)
        ) AS said WHERE latest = 1
    """,
}
FORMER_VIEWS = ("current_labels",)  # of versions 1 to 3; what is known is decided by `training.history`


def create(connection: sa.Connection) -> None:
    """Every table and view, in the transaction of the connection."""
    metadata.create_all(connection)
    _make_views(connection)


def _remake_views(connection: sa.Connection) -> None:
    for name in (*FORMER_VIEWS, *reversed(VIEWS)):  # each before those that it reads
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")
    _make_views(connection)


def _make_views(connection: sa.Connection) -> None:
    for name, query in VIEWS.items():
        connection.exec_driver_sql(f"CREATE VIEW {name} AS {query}")


def _to_version_2(connection: sa.Connection) -> None:
    """Users, what a label was said to go with, answers that settle, and a record of trainings that stays small."""
    metadata.create_all(connection)  # tables that are not there
    for table, column in (("labels", "start JSON"), ("questions", "words TEXT"), ("leases", "words TEXT")):
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    connection.exec_driver_sql("CREATE INDEX events_by_person ON events (who, id)")
    _remake_views(connection)
    number, report = trainings.c.id, trainings.c.report
    good = sa.select(number, report).where(trainings.c.state == "good", report.is_not(None)).order_by(number)
    for row in connection.execute(good).all()[:-1]:
        connection.execute(trainings.update().where(number == row.id).values(report=course_of(row.report)))


def _to_version_3(connection: sa.Connection) -> None:
    """Annotations of Label Studio have a table of their own, and names that came from there are marked."""
    metadata.create_all(connection)  # tables that are not there
    _remember_annotations(connection)
    _remake_views(connection)


def _remember_annotations(connection: sa.Connection) -> None:
    """Until version 2 an annotation was known by the leases of its answers: label-studio:project:annotation:time."""
    undoing = events.alias()
    undone = sa.exists().where(undoing.c.undoes == events.c.id).label("undone")
    mine = events.c.lease.startswith(STUDIO, autoescape=True)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    numbers = []
    for row in connection.execute(sa.select(*events.c, undone).where(mine).order_by(events.c.id)).all():
        if row.lease.count(":") != 3:
            continue
        _, source, number, state = row.lease.split(":")
        known = found.setdefault(
            (source, number), {"event": row.id, "state": 0.0, "noted_at": row.at, "gone": "deleted"}
        )
        known["state"] = max(float(state), known["state"])
        if not row.undone:
            known |= {"event": row.id, "noted_at": row.at, "gone": None}
        numbers.append(row.id)
    rows = [{"source": a, "number": b, "partial": False, **known} for (a, b), known in found.items()]
    if rows:
        connection.execute(studio_annotations.insert(), rows)
    for start in range(0, len(numbers), 500):
        part = numbers[start : start + 500]
        named = (events.c.id.in_(part) | events.c.undoes.in_(part)) & ~events.c.who.startswith(STUDIO, autoescape=True)
        connection.execute(events.update().where(named).values(who=STUDIO + events.c.who))


def course_of(report: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a training's report once there is a later one: the course of the estimate."""
    return {key: value for key, value in report.items() if key in COURSE}


MIGRATIONS: dict[int, Callable[[sa.Connection], None]] = {  # from this version to the next
    1: _to_version_2,
    2: _to_version_3,
    3: _remake_views,  # without that of what is known of each label: only Python decides it
    4: metadata.create_all,  # a table of how long answers take
    5: metadata.create_all,  # a table of what others say of the items
    6: metadata.create_all,  # a table of notes on items
    7: metadata.create_all,  # a table of whose items are whose
    8: metadata.create_all,  # a table of tokens that act for a person
}


def migrate(connection: sa.Connection, version: int) -> None:
    """Bring the tables of an older version to this one, step by step, in the transaction of the connection."""
    for step in range(version, VERSION):
        MIGRATIONS[step](connection)
