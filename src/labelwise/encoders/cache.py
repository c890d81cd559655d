"""Vectors are computed once: kept by encoder and text in files that are mapped into memory."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from labelwise.encoders.base import NamedEncoder, Vectors
from labelwise.files import cache_folder, replacing

AT_ONCE, KEPT_AT_ONCE = 256, 1024  # texts that are encoded at a time, and that are then kept in a file of their own
KEY_BYTES = 16


class CachedVectors:
    """The vectors of one encoder that are there already.

    What is new goes into one more file, which nobody ever changes: several processes may compute at once, and at worst
    compute the same.

    Parameters
    ----------
    name : of the encoder
    folder : where vectors are kept
        Default: "vectors" in the user's cache. It may be deleted at any time.
    """

    def __init__(self, name: str, folder: Path | None = None) -> None:
        safe = re.sub(r"[^\w.-]", "_", name)
        mark = hashlib.blake2b(name.encode(), digest_size=4).hexdigest()
        self.folder = (cache_folder() / "vectors" if folder is None else folder) / f"{safe}-{mark}"
        self._files: list[Any] = []  # mapped into memory
        self._place: dict[bytes, tuple[int, int]] = {}  # of a key: file and row
        self._read: set[str] = set()

    def refresh(self) -> None:
        """Look for what other processes have computed since."""
        for path in sorted(self.folder.glob("*.npy")) if self.folder.is_dir() else ():
            if path.name not in self._read:
                self._read.add(path.name)
                self._open(path)

    def _open(self, path: Path) -> None:
        try:
            records = np.load(path, mmap_mode="r")
            keys = [bytes(key) for key in records["key"]]
        except (OSError, ValueError, KeyError, IndexError):
            return  # cut short or of another program: computed again
        for row, key in enumerate(keys):
            self._place.setdefault(key, (len(self._files), row))
        self._files.append(records)

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The texts without a vector, each once."""
        return [text for text in dict.fromkeys(texts) if _key(text) not in self._place]

    def get(self, texts: Sequence[str]) -> Vectors:
        """(n, w) of texts that are all there."""
        places = [self._place[_key(text)] for text in texts]
        width = self._files[places[0][0]]["vector"].shape[1] if places else 0
        found = np.empty((len(places), width), dtype=np.float32)
        of_file = np.array([file for file, _ in places], dtype=np.intp)
        row = np.array([row for _, row in places], dtype=np.intp)
        for file in np.unique(of_file).tolist():
            found[of_file == file] = self._files[file]["vector"][row[of_file == file]]
        return found

    def add(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep vectors of texts in a file that appears when it is complete."""
        records = np.empty(len(texts), dtype=[("key", f"V{KEY_BYTES}"), ("vector", "<f4", (vectors.shape[1],))])
        records["key"] = np.frombuffer(b"".join(map(_key, texts)), dtype=f"V{KEY_BYTES}")
        records["vector"] = vectors
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{secrets.token_hex(8)}.npy"
        with replacing(path) as part, open(part, "wb") as file:
            np.save(file, records)
        self._read.add(path.name)
        self._open(path)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def encode_cached(
    encoder: NamedEncoder,
    texts: Sequence[str],
    *,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Vectors:
    """(n, w) the vectors of texts; those that are not in the cache are computed, and kept if the encoder has a name.

    `progress` is called with how many of how many are done.
    """
    if not texts:
        raise ValueError("there is no text to encode")
    if not encoder.is_lasting:
        return encoder.encode(texts)
    cache = CachedVectors(encoder.name, folder)
    for done in fill_cache(encoder, texts, cache):
        if progress is not None:
            progress(done, len(texts))
    return cache.get(texts)


def fill_cache(
    encoder: NamedEncoder, texts: Sequence[str], cache: CachedVectors, at_once: int = AT_ONCE
) -> Iterator[int]:
    """Compute what is missing, some at a time; before the first and after each, how many of the texts are done.

    All of them are done only when all are kept. What is not kept yet is kept where the iterator is closed.
    """
    cache.refresh()
    todo = sorted(cache.missing(texts), key=len)  # texts of one length go through an encoder fastest together
    before = len(texts) - len(todo)
    made: list[Vectors] = []
    kept = done = 0

    def keep() -> int:
        if made:
            cache.add(todo[kept:done], np.concatenate(made))
            made.clear()
        return done

    if todo:
        yield before
    try:
        while done < len(todo):
            part = todo[done : done + at_once]
            made.append(encoder.encode(part))
            done += len(part)
            if done - kept >= KEPT_AT_ONCE or done == len(todo):
                kept = keep()
            if done < len(todo):
                yield before + done
    finally:
        kept = keep()
    yield len(texts)
