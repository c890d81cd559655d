"""The tables of a project, their version, and the way from older versions to this one.

Items, labels, answers and changes are the truth and are only ever added to, but for a label's name and state, whose
history is in `changes`. Questions, leases and trainings are derived or short-lived: they may be emptied at any time.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

VERSION = 1
WHOLE_ITEM = 0  # in place of a label's id: the question is about every open label of the item
YES, NO, UNSURE = 1, 0, -1  # the greatest of several votes is yes before no before unsure

metadata = sa.MetaData()

project = sa.Table(
    "labelwise_project",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.JSON, nullable=False),
)
items = sa.Table(
    "items",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("content", sa.JSON(none_as_null=True)),
    sa.Column("numbers", sa.LargeBinary),
)
labels = sa.Table(
    "labels",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("retired_at", sa.Double),
    sa.Column("merged_into", sa.ForeignKey("labels.id")),
)
events = sa.Table(
    "events",
    metadata,
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
    sqlite_autoincrement=True,  # a number is never given twice
)
event_values = sa.Table(
    "event_values",
    metadata,
    sa.Column("event", sa.ForeignKey("events.id"), primary_key=True, autoincrement=False),
    sa.Column("label", sa.ForeignKey("labels.id"), primary_key=True, autoincrement=False),
    sa.Column("value", sa.SmallInteger, nullable=False),
    sqlite_with_rowid=False,
)
changes = sa.Table(
    "changes",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
    sqlite_autoincrement=True,
)
questions = sa.Table(
    "questions",
    metadata,
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),  # the training that made it
    sa.Column("item", sa.ForeignKey("items.id"), primary_key=True, autoincrement=False),
    sa.Column("label", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("score", sa.Double),
    sa.Column("remaining", sa.Integer, nullable=False),  # people who may still be given it
    sa.Column("beliefs", sa.LargeBinary),  # float32, one per label in use when it was made
    sa.Index("questions_in_order", "plan", "rank"),
)
leases = sa.Table(
    "leases",
    metadata,
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
    sa.Column("state", sa.Text, nullable=False),  # open, answered, skipped, expired
    sa.Index("leases_by_state", "state", "expires_at"),
    sa.Index("leases_of_an_item", "item", "label"),
)
trainings = sa.Table(
    "trainings",
    metadata,
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
    # What is known of each label of each item: the majority, and between as many yes as no the last to speak.
    "current_labels": """
        SELECT item, label, CASE WHEN yes > no THEN 1 WHEN no > yes THEN 0 ELSE last_word END AS value, yes, no FROM (
            SELECT item, label, who, event, value,
                   sum(CASE WHEN value = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY item, label) AS yes,
                   sum(CASE WHEN value = 0 THEN 1 ELSE 0 END) OVER (PARTITION BY item, label) AS no,
                   first_value(value) OVER (PARTITION BY item, label ORDER BY event DESC) AS last_word,
                   row_number() OVER (PARTITION BY item, label ORDER BY event DESC) AS latest
            FROM votes WHERE value >= 0
        ) AS counted WHERE latest = 1
    """,
}


def create(connection: sa.Connection) -> None:
    """Every table and view, in the transaction of the connection."""
    metadata.create_all(connection)
    for name, query in VIEWS.items():
        connection.exec_driver_sql(f"CREATE VIEW {name} AS {query}")


MIGRATIONS: dict[int, Callable[[sa.Connection], None]] = {}  # from this version to the next


def migrate(connection: sa.Connection, version: int) -> None:
    """Bring the tables of an older version to this one, step by step, in the transaction of the connection."""
    for step in range(version, VERSION):
        MIGRATIONS[step](connection)
