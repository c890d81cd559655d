"""A browser of one person, as far as requests go."""

from __future__ import annotations

import re
import warnings
from typing import Any

from fastapi import FastAPI

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another HTTP library
    from starlette.testclient import TestClient

BASE = "http://127.0.0.1:8000"


class Person:
    """Cookies and the token of one person's pages."""

    def __init__(self, app: FastAPI, address: str = "10.0.0.1", base: str = BASE) -> None:
        self.app = app
        self.client = TestClient(app, base_url=base, client=(address, 5000), raise_server_exceptions=False)
        self.csrf = ""

    def enter(self, secret: str | None = None) -> Any:
        """Come in, by a one-time link or as the one who works alone; note the token of the page."""
        secret = self.app.state.site.local_secret if secret is None else secret
        page = self.client.post("/enter", data={"secret": secret})
        token = re.search(r'name="csrf-token" content="([0-9a-f]+)"', page.text)
        self.csrf = token[1] if token else ""
        return page

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.client.post(path, json={} if body is None else body, headers={"x-csrf-token": self.csrf, **headers})

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(path, **options)

    def ask(self) -> dict[str, Any]:
        """The first question."""
        question: dict[str, Any] = self.post("/api/ask").json()["questions"][0]
        return question
