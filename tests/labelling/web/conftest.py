"""Pages to test on: applications with and without users, and clients that behave like a browser of one person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the page needs the extra serve")

from labelling.web.browsing import ARGUMENTS, CHROMIUM
from labelling.web.site_client import Person
from labelwise.labelling import Project
from labelwise.labelling.web.server import create_app


@pytest.fixture
def project(make) -> Project:
    """Forty points and three labels, questions ready."""
    made = make()
    made.refresh()
    return made


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
