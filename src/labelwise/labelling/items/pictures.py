"""Pictures, recordings and PDFs of a project's items: what may be read from the disk for showing, and as what."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from labelwise.files import write_bytes
from labelwise.labelling.errors import ProjectError

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
BEGINNINGS = (  # of the files that a browser shows and that can hold no script
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
MEDIA = {  # shown by the browser's own viewer, by the suffix of the file
    **dict.fromkeys((".mp3", ".wav", ".ogg", ".oga", ".opus", ".flac", ".m4a", ".aac", ".weba"), "audio"),
    ".pdf": "pdf",
}
MEDIA_BEGINNINGS = (
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"\xff\xf1", "audio/aac"),
    (b"\xff\xf9", "audio/aac"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "audio/webm"),
    (b"%PDF-", "application/pdf"),
)
TIFF = (b"II*\x00", b"MM\x00*")
LARGEST, LARGEST_MEDIA = 50 * 2**20, 2**30  # bytes; recordings are not read whole
MOST_PIXELS = 40 * 10**6  # of a picture that is converted
LONGEST_SIDE = 2048  # pixels, of what it becomes
LONGEST_PATH = 4096  # characters
CONVERSION_SECONDS = 40.0
TOO_LARGE = 3  # exit code of the program that converts
REFUSED = 1000  # pictures that cannot be converted, kept in mind


class NoPicture(ProjectError):
    """There is no picture to show; why is nobody's business but the owner's."""


class PictureTooLarge(NoPicture):
    """There is one, but it would take too much memory to convert it."""


def is_picture(value: Any) -> bool:
    """Whether a value is the address of a picture: a data: address, or the path of a file with such a suffix."""
    if not isinstance(value, str):
        return False
    return value.startswith("data:image/") or value[-5:].lower().endswith(SUFFIXES)


def media_kind(value: Any) -> str | None:
    """ "audio" or "pdf" where a value is the address of a recording or a PDF, as of a picture.

    >>> media_kind("calls/17.mp3"), media_kind("data:application/pdf;base64,JVBERi0="), media_kind("a.txt")
    ('audio', 'pdf', None)
    """
    if not isinstance(value, str):
        return None
    if value.startswith("data:"):
        beginnings = {"data:audio/": "audio", "data:application/pdf": "pdf"}
        return next((kind for beginning, kind in beginnings.items() if value.startswith(beginning)), None)
    return None if len(value) > LONGEST_PATH or "\n" in value else MEDIA.get(os.path.splitext(value)[1].lower())


def is_file(value: Any) -> bool:
    """Whether a value is the path of a file that is shown."""
    return (is_picture(value) or media_kind(value) is not None) and not value.startswith("data:")


def picture_folders(contents: Iterable[Any], base: Path | None = None) -> list[str]:
    """The folders of the files, pictures above all, that items name: noted when the owner adds items, read from later.

    Those inside `base`, the project's own folder, are noted as seen from there, so that both can be moved.
    """
    folders = set()
    for content in contents:
        for value in content.values() if isinstance(content, Mapping) else (content,):
            if is_file(value):
                folder = Path(value).parent.resolve()  # a link among them does not open where it leads
                inside = base is not None and folder.is_relative_to(base)
                folders.add(folder.relative_to(base).as_posix() if base is not None and inside else str(folder))
    return sorted(folders)


def picture_bytes(value: Any, folders: Iterable[str]) -> bytes:
    """The bytes of a picture as they are kept."""
    if not isinstance(value, str):
        raise NoPicture("the item has no picture there")
    return _data_bytes(value) if value.startswith("data:") else _path_of(value, folders).read_bytes()


def media_of(value: Any, folders: Iterable[str]) -> tuple[Path | bytes, str]:
    """A recording or a PDF, as a file or as bytes, and its type: by how it begins, whatever the name says."""
    if media_kind(value) is None:
        raise NoPicture("the item has no recording or PDF there")
    found = _data_bytes(value) if value.startswith("data:") else _path_of(value, folders, LARGEST_MEDIA)
    if isinstance(found, bytes):
        head = found[:12]
    else:
        with found.open("rb") as file:
            head = file.read(12)
    kind = next((kind for beginning, kind in MEDIA_BEGINNINGS if head.startswith(beginning)), None)
    kind = "audio/wav" if head[:4] == b"RIFF" and head[8:] == b"WAVE" else kind
    kind = "audio/mp4" if head[4:8] == b"ftyp" else kind
    if kind is None:
        raise NoPicture("the file is no recording of a kind that is played, and no PDF")
    return found, kind


def _data_bytes(value: str) -> bytes:
    try:
        return base64.b64decode(value.partition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        raise NoPicture("the data: address is damaged") from None


def needs_conversion(data: bytes, cache: PictureCache) -> bool:
    """Whether a picture is of a kind that few browsers show, and was not converted yet."""
    return data.startswith(TIFF) and cache.get(_name_of(data)) is None


def _path_of(value: str, folders: Iterable[str], largest: int = LARGEST) -> Path:
    try:
        path = Path(value).resolve(strict=True)  # where links lead, before it is looked at where that is
        is_ours = path.is_file() and str(path.parent) in folders and path.stat().st_size <= largest
        if is_ours:
            path.open("rb").close()
    except (OSError, ValueError, RuntimeError):
        raise NoPicture("the file cannot be read") from None
    if not is_ours:
        raise NoPicture("the file lies outside of the project's folders of pictures, or is too large")
    return path


def shown_picture(data: bytes, cache: PictureCache | None = None) -> tuple[bytes, str]:
    """What a browser is sent for the bytes of a picture: by what they are, whatever the name says."""
    for beginning, kind in BEGINNINGS:
        if data.startswith(beginning):
            return data, kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return data, "image/webp"
    if data.startswith(TIFF):
        return _as_png(data, cache), "image/png"
    raise NoPicture("the file is none of the kinds of pictures that are shown: png, jpeg, gif, bmp, webp, tiff")


class PictureCache:
    """Converted pictures in a folder of derived files, the oldest of them dropped where they take too much room.

    Why a picture cannot be converted is kept in memory. One picture is converted at a time.

    Parameters
    ----------
    folder : made when it is needed
    most_bytes : of all pictures together
    """

    def __init__(self, folder: Path, most_bytes: int = 256 * 2**20) -> None:
        self.folder, self.most_bytes = folder, most_bytes
        self.one_at_a_time = threading.Lock()
        self._refused: OrderedDict[str, NoPicture] = OrderedDict()

    def get(self, name: str) -> bytes | None:
        """A picture that was converted before; raises `NoPicture` as it did then."""
        refused = self._refused.get(name)
        if refused is not None:
            raise type(refused)(*refused.args)
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return None

    def put(self, name: str, picture: bytes) -> None:
        """Keep a picture; a full disk is no reason not to show it."""
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_bytes(self.folder / name, picture)
            self._make_room()

    def refuse(self, name: str, why: NoPicture) -> None:
        self._refused[name] = why
        if len(self._refused) > REFUSED:
            self._refused.popitem(last=False)

    def _make_room(self) -> None:
        kept = sorted(((each.stat(), each) for each in self.folder.iterdir()), key=lambda pair: pair[0].st_mtime_ns)
        size = sum(found.st_size for found, _ in kept)
        for found, path in kept:
            if size <= self.most_bytes:
                return
            path.unlink(missing_ok=True)
            size -= found.st_size


def _as_png(data: bytes, cache: PictureCache | None) -> bytes:
    """Few browsers show TIFF. One is converted once, by a process of its own, and only if it is not too large."""
    if cache is None:
        return _converted(data)
    name = _name_of(data)
    kept = cache.get(name)
    if kept is not None:
        return kept
    with cache.one_at_a_time:
        kept = cache.get(name)  # somebody else waited for the same one
        if kept is None:
            try:
                kept = _converted(data)
            except NoPicture as error:
                cache.refuse(name, error)
                raise
            cache.put(name, kept)
    return kept


def _name_of(data: bytes) -> str:
    return f"{hashlib.sha256(data).hexdigest()}.png"


def _converted(data: bytes) -> bytes:
    program = str(Path(__file__).with_name("_tiff_to_png.py"))
    command = [sys.executable, "-P", program, str(MOST_PIXELS), str(LONGEST_SIDE)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=CONVERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        raise NoPicture("the picture cannot be converted") from None
    if done.returncode == TOO_LARGE:
        size = done.stderr.decode(errors="replace")
        raise PictureTooLarge(
            f"the picture is too large: {size} pixels, and at most {MOST_PIXELS // 10**6} million are converted; "
            "make a smaller one, or a png or jpeg of it"
        )
    if done.returncode != 0:
        raise NoPicture("the picture cannot be converted")
    return done.stdout


# -- paths: those in the folder of the project are kept as seen from there, so that both can be moved together ---------


def portable(content: Any, folder: Path | None) -> Any:
    """The content of an item as it is kept: paths of pictures in the project's folder begin there, others are whole.

    Parameters
    ----------
    content : what an item shows; paths in it are seen from where we are now
    folder : of the project's file, in full; None for a project in a database
    """
    return _with_paths(content, lambda path: _kept(path, folder))


def located(content: Any, folder: Path | None) -> Any:
    """The content of an item as it is used: paths of pictures in full, wherever the project's folder is now."""
    return content if folder is None else _with_paths(content, lambda path: _found(path, folder))


def _kept(path: str, folder: Path | None) -> str:
    whole = Path(os.path.abspath(path))  # a link stays what it is
    if not whole.is_file():
        return path
    if folder is not None and whole.is_relative_to(folder):
        return whole.relative_to(folder).as_posix()
    return str(whole)


def _found(path: str, folder: Path) -> str:
    return path if os.path.isabs(path) or not (folder / path).is_file() else str(folder / path)


def _with_paths(content: Any, change: Any) -> Any:
    if isinstance(content, Mapping):
        return {key: _with_path(value, change) for key, value in content.items()}
    return _with_path(content, change)


def _with_path(value: Any, change: Any) -> Any:
    return change(value) if is_file(value) else value
