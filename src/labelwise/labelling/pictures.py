"""The pictures of a project's items, and nothing else: what may be read from the disk for showing, and as what."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from labelwise.labelling.errors import ProjectError

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
BEGINNINGS = (  # of the files that a browser shows and that can hold no script
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
TIFF = (b"II*\x00", b"MM\x00*")
LARGEST = 50 * 2**20  # bytes


class NoPicture(ProjectError):
    """There is no picture to show; why is nobody's business but the owner's."""


def is_picture(value: Any) -> bool:
    """Whether a value is the address of a picture: a data: address, or the path of a file with such a suffix."""
    if not isinstance(value, str):
        return False
    return value.startswith("data:image/") or value[-5:].lower().endswith(SUFFIXES)


def picture_folders(contents: Iterable[Any], base: Path | None = None) -> list[str]:
    """The folders of the picture files that items name: noted when the owner adds items, read from later.

    Those inside `base`, the project's own folder, are noted as seen from there, so that both can be moved.
    """
    found = set()
    for content in contents:
        for value in content.values() if isinstance(content, Mapping) else (content,):
            if is_picture(value) and not value.startswith("data:"):
                folder = Path(value).parent.resolve()  # a link among them does not open where it leads
                inside = base is not None and folder.is_relative_to(base)
                found.add(folder.relative_to(base).as_posix() if base is not None and inside else str(folder))
    return sorted(found)


def read_picture(value: Any, folders: Iterable[str]) -> tuple[bytes, str]:
    """The bytes of a picture and what they are, from a data: address or from a file in one of the folders."""
    if not isinstance(value, str):
        raise NoPicture("the item has no picture there")
    if value.startswith("data:"):
        try:
            data = base64.b64decode(value.partition(",")[2], validate=True)
        except (binascii.Error, ValueError):
            raise NoPicture("the data: address of the picture is damaged") from None
    else:
        data = _read_file(value, folders)
    return _shown(data)


def _read_file(value: str, folders: Iterable[str]) -> bytes:
    try:
        path = Path(value).resolve(strict=True)  # where links lead, before it is looked at where that is
        is_ours = str(path.parent) in folders and path.stat().st_size <= LARGEST
        data = path.read_bytes() if is_ours else None
    except (OSError, ValueError, RuntimeError):
        raise NoPicture("the file of the picture cannot be read") from None
    if data is None:
        raise NoPicture("the picture lies outside of the project's folders of pictures, or is too large")
    return data


def _shown(data: bytes) -> tuple[bytes, str]:
    """By what the bytes are, whatever the name says."""
    for beginning, kind in BEGINNINGS:
        if data.startswith(beginning):
            return data, kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return data, "image/webp"
    if data.startswith(TIFF):
        return _as_png(data), "image/png"
    raise NoPicture("the file is none of the kinds of pictures that are shown: png, jpeg, gif, bmp, webp, tiff")


def _as_png(data: bytes) -> bytes:
    """Few browsers show TIFF."""
    from PIL import Image  # loaded when needed: most projects have no such file

    out = io.BytesIO()
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.convert("RGB").save(out, "PNG")
    except (OSError, ValueError, Image.DecompressionBombError):
        raise NoPicture("the picture cannot be converted") from None
    return out.getvalue()
