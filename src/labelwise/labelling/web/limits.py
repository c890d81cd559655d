"""How often somebody may try."""

from __future__ import annotations

import hashlib
import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

REMEMBERED = 10_000  # addresses and secrets


class Limiter:
    """So many failures per key (an address, the beginning of a secret), then a wait; one try becomes free again every
    `seconds / tries`. It is asked after the secret was found wrong: whoever has the right one never waits.

    >>> now = [0.0]
    >>> limiter = Limiter(tries=2, seconds=60, clock=lambda: now[0])
    >>> [limiter.failed("1.2.3.4") for _ in range(3)]
    [0.0, 0.0, 30.0]
    >>> limiter.failed("5.6.7.8"), limiter.failed("5.6.7.8", "1.2.3.4")
    (0.0, 30.0)
    >>> now[0] = 60.0
    >>> limiter.failed("1.2.3.4")
    0.0
    """

    def __init__(self, tries: int = 10, seconds: float = 300.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.tries = tries
        self.seconds = seconds
        self._clock = clock
        self._mutex = threading.Lock()
        self._failures: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key: how many, as of when

    def failed(self, *keys: str) -> float:
        """Note a failure, for each key that has tries left; seconds until all of them have, 0.0 where they had."""
        with self._mutex:
            wait = max(0.0, *(self._wait(key) for key in keys))
            if wait == 0.0:
                for key in keys:
                    self._note(key)
            return wait

    def _note(self, key: str) -> None:
        self._failures[key] = (self._count(key) + 1, self._clock())
        self._failures.move_to_end(key)
        if len(self._failures) > REMEMBERED:
            self._failures.popitem(last=False)

    def _wait(self, key: str) -> float:
        return (self._count(key) - self.tries + 1) * self.seconds / self.tries

    def _count(self, key: str) -> float:
        """Failures that are not forgotten yet: they leak out at a steady pace."""
        count, at = self._failures.get(key, (0.0, 0.0))
        return max(0.0, count - (self._clock() - at) * self.tries / self.seconds)


def limiter_keys(address: str, secret: str, account: str = "") -> tuple[str, ...]:
    """What wrong secrets are counted by: where they come from, whose they say they are, and how they begin.

    Keys are short whatever was sent. An IPv6 network of one household or server counts as one address.

    >>> limiter_keys("10.0.0.7", "abc")[0], limiter_keys("2001:db8::1", "abc")[0]
    ('10.0.0.7', '2001:db8::/64')
    """
    try:
        found = ipaddress.ip_address(address)
        place = str(ipaddress.ip_network(f"{found}/64", strict=False)) if found.version == 6 else str(found)
    except ValueError:
        place = address[:64]
    keys = (place, f"secret {_digest(secret[:6])}")
    return (*keys, f"account {_digest(account)}") if account else keys


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
