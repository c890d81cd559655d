"""Pictures of items: by the item's name and the field they are in, never by a path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from labelwise.labelling.errors import ProjectError, StoreError
from labelwise.labelling.items.pictures import (
    PictureCache,
    PictureTooLarge,
    needs_conversion,
    picture_bytes,
    shown_picture,
)
from labelwise.labelling.served import ServedProject
from labelwise.labelling.training.derived import derived_path
from labelwise.labelling.web.dependencies import CurrentUser, TheProject

CONVERTED = "pictures"  # the folder of derived files
MOST_WAITING, WAIT_SECONDS = 100, 60.0  # for a conversion
router = APIRouter(include_in_schema=False)


@router.get("/pictures/{item:path}")
async def picture(
    request: Request,
    user: CurrentUser,
    project: TheProject,
    item: Annotated[str, Path(max_length=4000)],
    field: Annotated[str, Query(max_length=1000)] = "",
) -> Response:
    try:
        queue = _queue_of(request, project)
        found = await run_in_threadpool(_shown, project, item, field, queue.cache, may_convert=False)
        if found is None:
            async with queue.turn():
                found = await run_in_threadpool(_shown, project, item, field, queue.cache, may_convert=True)
    except PictureTooLarge as error:
        raise HTTPException(422, str(error)) from error
    except StoreError:
        raise  # nobody knows whether there is one
    except ProjectError as error:
        raise HTTPException(404, "there is no such picture") from error
    headers = {"cache-control": "private, max-age=3600", "content-security-policy": "default-src 'none'; sandbox"}
    assert found is not None  # where it may be converted, it is, or there is no picture
    return Response(found[0], media_type=found[1], headers=headers)


class ConversionQueue:
    """One picture is converted at a time; who waits for it keeps no thread from those who ask and answer."""

    def __init__(self, cache: PictureCache) -> None:
        self.cache = cache
        self._one = asyncio.Semaphore(1)
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        if self._waiting >= MOST_WAITING:
            raise HTTPException(
                503, "too many pictures are being converted; try again in a moment", {"retry-after": "5"}
            )
        self._waiting += 1
        try:
            await asyncio.wait_for(self._one.acquire(), WAIT_SECONDS)
        except TimeoutError:
            raise HTTPException(503, "other pictures are being converted; try again", {"retry-after": "5"}) from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._one.release()


def _queue_of(request: Request, project: ServedProject) -> ConversionQueue:
    if not hasattr(request.app.state, "conversions"):
        request.app.state.conversions = ConversionQueue(PictureCache(derived_path(project.store, CONVERTED)))
    queue: ConversionQueue = request.app.state.conversions
    return queue


def _shown(
    project: ServedProject, item: str, field: str, cache: PictureCache, *, may_convert: bool
) -> tuple[bytes, str] | None:
    """The picture as a browser is sent it; None where it must be converted first and may not be."""
    content = project.content_of(item)
    value = content.get(field) if isinstance(content, Mapping) else content
    data = picture_bytes(value, project.picture_folders())
    return None if not may_convert and needs_conversion(data, cache) else shown_picture(data, cache)
