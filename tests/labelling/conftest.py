"""Projects to test on, in a SQLite file and in a PostgreSQL database of their own."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import pytest
import sqlalchemy as sa

from labelling.postgres_server import COLLATIONS, NoServer, PostgresServer, run_sql
from labelwise import LabelData
from labelwise.labelling import Project
from labelwise.labelling.store import Store, schema
from labelwise.labelling.store.engine import read_value
from rest_slow import rest_slow

_numbers = itertools.count()
SETTINGS = {"model": "binary_relevance", "strategy": "uncertainty", "ready": 10}


# What has a database runs in a file, and in `make check` on PostgreSQL with the collation C, too; tests of the store
# always run on both, and what depends on the order of letters (the fixture `everywhere`) on every collation.
# LABELWISE_TEST_COLLATIONS=all runs everything on every collation.
EVERY_DATABASE = ("sqlite", *(f"postgresql-{collation}" for collation in COLLATIONS))
ON_ALL = os.environ.get("LABELWISE_TEST_COLLATIONS") == "all"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A real server; skipped visibly where none can be started."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    try:
        server = PostgresServer()
    except NoServer as error:
        pytest.skip(str(error))
    yield server
    server.delete()


@pytest.fixture(scope="session")
def postgres(postgres_server) -> str:
    """The address of a database of a real server."""
    return postgres_server.address()


def place_of_project(request: pytest.FixtureRequest, database: str) -> str:
    """Where a new project may be made: a file, or a schema of its own."""
    kind, _, collation = database.partition("-")
    if kind == "sqlite":
        return str(request.getfixturevalue("tmp_path") / "project.db")
    server, name = request.getfixturevalue("postgres_server"), f"project_{uuid4().hex}"
    try:
        address = server.collated(collation or "c")
    except NoServer as error:
        pytest.skip(str(error))
    run_sql(address, f"CREATE SCHEMA {name}")
    return f"{address}&options=-csearch_path%3D{name}"


@pytest.fixture(params=EVERY_DATABASE if ON_ALL else rest_slow(["sqlite", "postgresql"]))
def location(request) -> str:
    """Where a new project may be made, in both kinds of database."""
    return place_of_project(request, request.param)


@pytest.fixture(params=EVERY_DATABASE)
def everywhere(request) -> str:
    """Where a new project may be made: a file, and databases of every collation that can be had."""
    return place_of_project(request, request.param)


def forty_points() -> LabelData:
    """Forty items in the plane with three labels, none known."""
    X = np.random.default_rng(0).standard_normal((40, 2))
    items = [f"point {i}" for i in range(40)]
    return LabelData.from_arrays(
        X, label_names=["left", "low", "far"], item_ids=[f"p{i}" for i in range(40)], items=items
    )


@pytest.fixture
def pool() -> LabelData:
    return forty_points()


@pytest.fixture
def make(tmp_path, pool):
    """Make a project of the pool; settings by name, `at` another location than a file."""
    made = []

    def make_project(at: str | None = None, data: LabelData = pool, **settings) -> Project:
        where = at or str(tmp_path / f"made-{next(_numbers)}.db")
        made.append(Project.create(where, data, **SETTINGS | settings))
        return made[-1]

    yield make_project
    for project in made:
        project.close()


@pytest.fixture(scope="session", autouse=True)
def no_pauses() -> Iterator[None]:
    """The worker does not make way between its writes: nobody is waiting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelwise.labelling.training.worker.SHORTEST_PAUSE", 0.0)
        patch.setattr("labelwise.labelling.training.worker.LONGEST_PAUSE", 0.0)
        yield


@pytest.fixture(scope="module")
def few_are_enough() -> Iterator[None]:
    """Estimates from three random items on, at every training, for small projects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelwise.campaign.standing.MIN_RANDOM_ITEMS", 3)
        patch.setattr("labelwise.labelling.training.worker.refit_point", lambda answers: answers)
        yield


@pytest.fixture(params=EVERY_DATABASE if ON_ALL else None)
def copied(request, filled, tmp_path, monkeypatch) -> Iterator[Project]:
    """A copy for each test of the project that its module has `filled` once."""
    database = getattr(request, "param", "sqlite")
    if database == "sqlite":
        place = str(tmp_path / "copy.db")
        shutil.copy(filled, place)
        shutil.copytree(f"{filled}.derived", f"{place}.derived")
    else:
        place = place_of_project(request, database)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        identity = copy_project(filled, place)
        shutil.copytree(f"{filled}.derived", tmp_path / "cache" / "labelwise" / identity)
    with Project(place) as opened:
        yield opened


def copy_project(path: str | os.PathLike[str], address: str) -> str:
    """A project of a file, row by row in a PostgreSQL database; its identity."""
    source, target = Store.open(path), Store(address)
    with source.reading() as old, target.writing() as new:
        schema.create(new)
        for table in schema.metadata.sorted_tables:
            rows = [dict(row._mapping) for row in old.execute(sa.select(table).order_by(*table.primary_key))]
            if rows:
                new.execute(table.insert(), rows)
        for table in ("events", "changes", "trainings"):
            last = f"(SELECT coalesce(max(id), 0) + 1 FROM {table})"
            new.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {last}, false)")
        identity = str(read_value(old, "identity"))
    source.close()
    target.close()
    return identity


def truth(data: LabelData, item: str) -> dict[str, bool]:
    """What a person who knows would say of an item of the pool."""
    x, y = data.X[data.item_ids.index(item)]
    return {"left": bool(x < 0), "low": bool(y < 0), "far": bool(x * x + y * y > 2)}
