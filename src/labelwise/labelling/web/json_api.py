"""The JSON interface beneath the page: ask, answer, skip, undo, renew, status. Described at /api/openapi.json.

A request reads and writes a few rows; it never trains and never loads a model.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from labelwise.labelling.web.dependencies import CurrentUser

router = APIRouter(prefix="/api", tags=["labelling"])


@router.get("/session")
def session(user: CurrentUser) -> dict[str, Any]:
    """Who is signed in, and the token that requests which change something carry in the header X-CSRF-Token."""
    return {"who": user.name, "role": user.role, "csrf": user.csrf}
