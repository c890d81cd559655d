"""What one running page consists of, shared by all its routes; how often somebody may try to come in."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from labelwise.labelling.figures.wording import (
    encoding_line,
    miss_line,
    standing_lines,
    why_no_f1,
)
from labelwise.labelling.served import ServedProject
from labelwise.labelling.web.reach import Reach

if TYPE_CHECKING:
    from labelwise.labelling.web.oidc import OpenIdClient

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


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("labelwise.labelling.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = {each.__name__: each for each in (encoding_line, miss_line, standing_lines, why_no_f1)}
    templates.filters |= filters
    return templates


@dataclass(frozen=True)
class Site:
    """A project and how it is shown.

    Parameters
    ----------
    project : ServedProject
    local_user : str or None
        Who works here alone, without signing in, as long as the project has no users; None where others can reach it.
    navigation : the addresses of the pages
    logins, tokens : how often wrong links, and wrong tokens of programs, may be tried
    local_secret : what the one who works alone shows to come in
    reach : how the server is reached
    openid : the provider that people sign in by, if there is one
    """

    project: ServedProject
    local_user: str | None = None
    navigation: tuple[str, ...] = ()
    templates: Environment = field(default_factory=_templates)
    logins: Limiter = field(default_factory=Limiter)
    tokens: Limiter = field(default_factory=Limiter)
    local_secret: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    reach: Reach = field(default_factory=Reach)
    openid: OpenIdClient | None = None

    @property
    def is_local(self) -> bool:
        return self.local_user is not None

    @property
    def cookie(self) -> str:
        """The name of the session cookie: browsers share cookies between ports, so projects need names of their own."""
        return f"labelwise_{self.project.identity[:12]}"

    @property
    def title(self) -> str:
        return self.project.store.name

    @property
    def public_title(self) -> str:
        """The same for those who are not signed in, and for errors: a database is not named there."""
        return self.project.store.name if self.project.store.is_file else "A labelling project"
