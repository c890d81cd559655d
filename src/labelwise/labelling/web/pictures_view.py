"""Pictures of items: by the item's name and the field they are in, never by a path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from fastapi.responses import Response

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.pictures import NoPicture, read_picture
from labelwise.labelling.web.dependencies import CurrentUser, TheProject

router = APIRouter(include_in_schema=False)


@router.get("/pictures/{item:path}")
def picture(
    user: CurrentUser,
    project: TheProject,
    item: Annotated[str, Path(max_length=4000)],
    field: Annotated[str, Query(max_length=1000)] = "",
) -> Response:
    try:
        content = project.content_of(item)
        value = content.get(field) if isinstance(content, Mapping) else content
        data, kind = read_picture(value, project.picture_folders())
    except (NoPicture, ProjectError) as error:
        raise HTTPException(404, "there is no such picture") from error
    headers = {"cache-control": "private, max-age=3600", "content-security-policy": "default-src 'none'; sandbox"}
    return Response(data, media_type=kind, headers=headers)
