"""Pages to test on: applications with and without users, and clients that behave like a browser of one person."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("fastapi", reason="the page needs the extra serve")

from fastapi import APIRouter, FastAPI
from jinja2 import Environment, FileSystemBytecodeCache

from labelling.conftest import SETTINGS, forty_points
from labelling.web.browsing import ARGUMENTS, CHROMIUM
from labelling.web.site_client import Person
from labelwise.labelling import Project
from labelwise.labelling.web.server import create_app


class PreparedApp(FastAPI):
    """FastAPI analyses all routes for every application; this one takes over what the first has found."""

    analysed: ClassVar[dict[Any, Sequence[Any]]] = {}

    def include_router(self, router: APIRouter, *, dependencies: Sequence[Any] = ()) -> None:
        key = (id(router), *dependencies)
        if key not in self.analysed:
            made = APIRouter()
            made.include_router(router, dependencies=dependencies)
            self.analysed[key] = made.routes
        self.router.routes.extend(self.analysed[key])


@pytest.fixture(scope="session", autouse=True)
def prepared_pages(tmp_path_factory) -> Iterator[None]:
    """Routes are analysed and templates compiled once, not for each of hundreds of applications."""
    compiled = FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelwise.labelling.web.server.FastAPI", PreparedApp)
        patch.setattr("labelwise.labelling.web.site.Environment", partial(Environment, bytecode_cache=compiled))
        yield


@pytest.fixture(scope="session")
def prepared_project(tmp_path_factory) -> Path:
    """A project with questions ready, to be copied."""
    path = tmp_path_factory.mktemp("ready") / "project.db"
    with Project.create(path, forty_points(), **SETTINGS) as made:
        made.refresh()
    return path


@pytest.fixture
def project(prepared_project, tmp_path) -> Iterator[Project]:
    """Forty points and three labels, questions ready."""
    place = tmp_path / "project.db"
    shutil.copy(prepared_project, place)
    shutil.copytree(f"{prepared_project}.derived", f"{place}.derived")
    with Project(place) as opened:
        yield opened


@pytest.fixture
def alone(project) -> Person:
    """The one who works alone on this machine, already inside."""
    person = Person(create_app(project, local_user="me"))
    person.enter()
    return person


@pytest.fixture
def sign_in(project) -> Callable[..., Person]:
    """Add a user to a project that has some, and come in by the link."""
    app = create_app(project)

    def enter(name: str, role: str = "annotator", **options: Any) -> Person:
        person = Person(app, **options)
        person.enter(project.people.add(name, role))
        return person

    return enter


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium; modules that use it skip where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def context(browser):
    """A window of its own for each test."""
    made = browser.new_context(viewport={"width": 1180, "height": 760})
    yield made
    made.close()
