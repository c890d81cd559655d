"""Any encoder by one door: a name, an import path, an object with `encode`, or a transformer; vectors are kept."""

from __future__ import annotations

import hashlib
import importlib
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.files import cache_folder, replacing

Vectors = npt.NDArray[np.float32]
GIVEN: dict[str, NamedEncoder] = {}  # encoders that were given as objects, by name, in this process
AT_ONCE, KEPT_AT_ONCE = 256, 1024  # texts that are encoded at a time, and that are then kept in a file of their own
KEY_BYTES = 16


@dataclass(frozen=True, eq=False)
class NamedEncoder:
    """An encoder by its name, which says who made a vector. It is loaded when it is first used.

    Examples
    --------
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return [[len(text)] for text in texts]
    >>> as_encoder(Lengths()).encode(["a", "abc"])
    array([[1.], [3.]], dtype=float32)
    """

    name: str
    load: Callable[[], Any]
    is_lasting: bool  # whether the name stands for the same vectors tomorrow: those are cached

    def encode(self, items: Sequence[Any]) -> Vectors:
        """(n, w) finite vectors of texts, or of what else the encoder takes."""
        encoder = self.load()
        found = encoder.encode(list(items)) if hasattr(encoder, "encode") else encoder.transform(list(items))
        found = found.toarray() if sp.issparse(found) else found
        try:
            vectors = np.asarray(found, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the encoder {self.name!r} gave no array of numbers: {error}") from None
        if vectors.ndim != 2 or len(vectors) != len(items):
            raise ValueError(
                f"the encoder {self.name!r} gave an array of shape {vectors.shape} for {len(items)} items; "
                "expected one vector for each, all of one length"
            )
        wrong = rows_not_finite(vectors)
        if wrong.size:
            raise ValueError(
                f"the encoder {self.name!r} gave NaN or infinity for {str(items[wrong[0]])[:80]!r}; "
                "leave the item out, or let the encoder return zeros for it"
            )
        return vectors


def rows_not_finite(vectors: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.intp]:
    """The rows that hold NaN or infinity."""
    return np.flatnonzero(~np.isfinite(vectors).all(axis=1))


def as_encoder(given: Any) -> NamedEncoder:
    """The encoder that is meant, with its name.

    Parameters
    ----------
    given : a name in `labelwise.encoders.BY_NAME`; "package.module:name" of an object or a class without arguments; or
        an object. An object has `encode(list of texts)`, or is a scikit-learn transformer that needs no more fitting.
        If it has a `name`, its vectors are cached under it.

    Examples
    --------
    >>> import numpy as np
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return np.array([[float(len(text)), 1.0] for text in texts])
    >>> as_encoder(Lengths()).encode(["one", "three"])
    array([[3., 1.],
           [5., 1.]], dtype=float32)
    """
    if isinstance(given, NamedEncoder):
        return given
    if isinstance(given, str):
        found = find_encoder(given)
        if found is None:
            from labelwise.encoders import BY_NAME  # which lists the encoders that import this module

            raise ValueError(
                f"an encoder is one of {', '.join(BY_NAME)}, 'package.module:name' of one of your own, or an object "
                f"with `encode`, got {given!r}"
            )
        return found
    _check(given, repr(given))
    name = str(getattr(given, "name", "") or type(given).__name__)
    GIVEN[name] = NamedEncoder(name, lambda: given, is_lasting=bool(getattr(given, "name", "")))
    return GIVEN[name]


def find_encoder(name: str) -> NamedEncoder | None:
    """The encoder of this name: built in, given before in this process, or at an import path; None if there is none.

    Examples
    --------
    >>> find_encoder("nobody knows it") is None
    True
    """
    from labelwise.encoders import BY_NAME  # which lists the encoders that import this module

    if name in BY_NAME:
        return NamedEncoder(name, lambda: _built_in(name), is_lasting=True)
    if name in GIVEN:
        return GIVEN[name]
    return NamedEncoder(name, lambda: _imported(name), is_lasting=True) if ":" in name else None


LOADED: dict[str, Any] = {}  # built in or imported, by name


def _built_in(name: str) -> Any:
    from labelwise.encoders import BY_NAME  # as above

    if name not in LOADED:
        LOADED[name] = BY_NAME[name]()
    return LOADED[name]


def _imported(path: str) -> Any:
    if path not in LOADED:
        module, _, name = path.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"there is no encoder at {path!r}: {error}; write package.module:name") from error
        found = found() if isinstance(found, type) else found
        _check(found, repr(path))
        LOADED[path] = found
    return LOADED[path]


def _check(encoder: Any, shown: str) -> None:
    if isinstance(encoder, type) or not (hasattr(encoder, "encode") or hasattr(encoder, "transform")):
        raise TypeError(f"an encoder is an object with `encode` or `transform`, got {shown}")
    if not hasattr(encoder, "encode"):
        from sklearn.exceptions import NotFittedError  # slow to import, and mostly not needed
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(encoder)
        except NotFittedError:
            raise ValueError(
                f"the encoder {shown} is not fitted: fit it, so that items added later get vectors of the same kind"
            ) from None


# -- vectors are computed once: kept by encoder and text in files that are mapped into memory -------------------------


class CachedVectors:
    """The vectors of one encoder that are there already.

    What is new goes into one more file, which nobody ever changes: several processes may compute at once, and at worst
    compute the same.

    Parameters
    ----------
    name : of the encoder
    folder : where vectors are kept
        Default: "vectors" in the user's cache. It may be deleted at any time.

    Examples
    --------
    >>> import tempfile
    >>> cache = CachedVectors("my encoder", Path(tempfile.mkdtemp()))
    >>> cache.add(["a cat"], np.array([[0.5, 1.0]]))
    >>> cache.missing(["a cat", "a dog"]), cache.get(["a cat"])
    (['a dog'], array([[0.5, 1. ]], dtype=float32))
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

    Examples
    --------
    >>> import numpy as np
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return np.array([[float(len(text)), 1.0] for text in texts])
    >>> encode_cached(as_encoder(Lengths()), ["one", "three"])
    array([[3., 1.],
           [5., 1.]], dtype=float32)
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
