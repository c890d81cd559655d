"""How often somebody may try."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

REMEMBERED = 10_000  # addresses


class Limiter:
    """So many failures per address, then a wait; one becomes free again every `seconds / tries`.

    >>> now = [0.0]
    >>> limiter = Limiter(tries=2, seconds=60, clock=lambda: now[0])
    >>> [limiter.wait("1.2.3.4") or limiter.failed("1.2.3.4") for _ in range(3)]
    [None, None, 30.0]
    >>> limiter.wait("5.6.7.8")
    0.0
    >>> now[0] = 30.0
    >>> limiter.wait("1.2.3.4")
    0.0
    """

    def __init__(self, tries: int = 10, seconds: float = 300.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.tries = tries
        self.seconds = seconds
        self._clock = clock
        self._mutex = threading.Lock()
        self._failures: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address: how many, as of when

    def wait(self, address: str) -> float:
        """Seconds until this address may try; 0.0 where it may now."""
        with self._mutex:
            return max(0.0, (self._count(address) - self.tries + 1) * self.seconds / self.tries)

    def failed(self, address: str) -> None:
        """Note a failure."""
        with self._mutex:
            self._failures[address] = (self._count(address) + 1, self._clock())
            self._failures.move_to_end(address)
            if len(self._failures) > REMEMBERED:
                self._failures.popitem(last=False)

    def _count(self, address: str) -> float:
        """Failures that are not forgotten yet: they leak out at a steady pace."""
        count, at = self._failures.get(address, (0.0, 0.0))
        return max(0.0, count - (self._clock() - at) * self.tries / self.seconds)
