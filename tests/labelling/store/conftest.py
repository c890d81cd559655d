"""Tests of the store run in both kinds of database, always."""

import pytest

from labelling.conftest import EVERY_DATABASE, ON_ALL, place_of_project


@pytest.fixture(params=EVERY_DATABASE if ON_ALL else ["sqlite", "postgresql"])
def location(request) -> str:
    """Where a new project may be made, in both kinds of database."""
    return place_of_project(request, request.param)
