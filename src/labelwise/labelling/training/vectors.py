"""Vectors of a project's texts, made in pauses of the worker: a campaign begins with words, and vectors join later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from threadpoolctl import threadpool_limits

from labelwise.encoders import CachedVectors, find_encoder
from labelwise.encoders.base import fill_cache
from labelwise.labelling.errors import ProjectError

ENCODING = "encoding"  # how far it is, among the values of a project
AT_ONCE = 16  # texts between two looks whether there is something else to do
FEW = 64  # texts that are encoded at once, such as those of items just added


class BackgroundEncoder:
    """The texts of a project and how many of them have a vector by now; vectors are kept in the user's cache.

    Parameters
    ----------
    name : of the encoder, see `labelwise.encoders`
    """

    def __init__(self, name: str) -> None:
        encoder = find_encoder(name)
        if encoder is None:
            raise ProjectError(f"there is no encoder {name!r} here, by which the vectors of this project are made")
        self._encoder = encoder
        self._cache = CachedVectors(name)
        self._work: Iterator[int] = iter(())
        self.done, self.of = 0, 0
        self.trouble: str | None = None  # why vectors cannot be made

    @property
    def is_ready(self) -> bool:
        return self.done == self.of

    def use(self, texts: Sequence[str]) -> None:
        """Make the vectors of these texts from now on; few that are missing are made now."""
        self._cache.refresh()
        missing = len(self._cache.missing(texts))
        self.done, self.of = len(texts) - missing, len(texts)
        self._work = fill_cache(self._encoder, texts, self._cache, at_once=AT_ONCE)
        while not self.is_ready and missing <= FEW and self.encode_some():
            pass

    def encode_some(self) -> bool:
        """Encode a few more texts; False where nothing is left to do, or nothing can be done."""
        if self.is_ready or self.trouble is not None:
            return False
        try:
            with threadpool_limits(1):  # the other cores are for those who label
                self.done = next(self._work)
        except Exception as error:  # of an encoder that may be anybody's: labelling goes on with words
            self.trouble = f"{type(error).__name__}: {error}"
            return False
        return True

    def as_report(self) -> dict[str, object]:
        return {"done": self.done, "of": self.of, "trouble": self.trouble}
