"""Requests made up from the OpenAPI description: whatever is sent, nothing breaks inside."""

from __future__ import annotations

import numpy as np
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings

from labelling.web.site_client import Person
from labelwise import LabelData
from labelwise.labelling import Project
from labelwise.labelling.web.access import csrf_protected
from labelwise.labelling.web.server import create_app

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis, a test dependency")
MADE_UP = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
OURS = tuple(f"/api/{name}" for name in ("ask", "answer", "answer_item", "skip", "skip_item", "undo", "renew"))
OURS += ("/api/status", "/api/session", "/api/labels")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page that does not look for tokens."""
    X = np.random.default_rng(0).standard_normal((200, 2))
    data = LabelData.from_arrays(X, label_names=["left", "<low>"])
    with Project.create(tmp_path_factory.mktemp("page") / "project.db", data, model="binary_relevance") as project:
        project.refresh()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("labelwise.labelling.web.server.FastAPI", FastAPI)  # with routes of its own, to be unguarded
            app = create_app(project, local_user="me")
        app.dependency_overrides[csrf_protected] = lambda: None
        yield app


@pytest.mark.slow
def test_no_request_breaks_the_server(page):
    person = Person(page)
    person.enter()
    seen: dict[str, set[int]] = {}

    def send(case) -> None:
        case.headers = {**(case.headers or {}), "host": "127.0.0.1:8000"}
        case.cookies = dict(person.client.cookies)
        response = case.call()
        seen.setdefault(case.operation.path, set()).add(response.status_code)
        assert response.status_code < 500, f"{case.operation.path}: {response.text}"
        if response.status_code == 200:
            case.validate_response(response)

    description = schemathesis.openapi.from_asgi("/api/openapi.json", page, headers={"host": "127.0.0.1:8000"})
    for operation in description.get_all_operations():
        MADE_UP(given(case=operation.ok().as_strategy())(send))()
    assert set(OURS) <= set(seen)
    assert 200 in seen["/api/ask"] and 409 in seen["/api/answer"] | seen["/api/skip"] | seen["/api/renew"]
