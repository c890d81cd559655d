"""Where a page is reached and by whom: loaded first, so that a browser may come while the rest is loading."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from labelwise.files import write_text
from labelwise.labelling.errors import ProjectError

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
BACKLOG = 2048  # connections that the system keeps until they are taken; beyond it a browser tries again after a second
SECRET_FILE = "local-secret"
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::[0-9]{1,5})?")

HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# Headers that mean something else, here or on the way.
OTHER_HEADERS = ("host", "cookie", "origin", "authorization", "connection", "content-type", "content-length")
OIDC_SECRET = "LABELWISE_OIDC_SECRET"
DEFAULT_CLAIM = "preferred_username"
NEW_ROLES = ("annotator", "reviewer", "viewer")
LOOPBACK = ("127.0.0.0/8", "::1/128")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server bound to a host.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "", "server")]
    [True, True, True, False, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str | None:
    """The name in a Host header, without its port, in lower case; None where it is no name and port.

    >>> [host_name(host) for host in ("LocalHost:8000", "[::1]:80", "localhost:1@evil.com", "")]
    ['localhost', '[::1]', None, None]
    """
    found = HOST.fullmatch(host.lower())
    return None if found is None else found[1]


def is_safe_address(address: str) -> bool:
    """Whether nobody on the way can read or change what goes to an address: HTTPS, or this machine.

    >>> [is_safe_address(at) for at in ("https://x.org/a", "http://localhost:8", "http://x.org", "x.org", "https://")]
    [True, True, False, False, False]
    """
    try:
        parts = urlsplit(address)
        name = parts.hostname or ""
    except ValueError:
        return False
    return bool(name) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(name)))


@dataclass(frozen=True)
class OpenId:
    """An OpenID provider that people sign in by, and what it knows us by.

    Parameters
    ----------
    issuer : its address, to which /.well-known/openid-configuration is added
    client_id, client_secret : what it gave us; without a secret we are a public client
    claim : of the ID token, which is the person's name here
    """

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    claim: str = DEFAULT_CLAIM

    @classmethod
    def read(cls, issuer: str | None, client_id: str | None, claim: str | None = None) -> OpenId | None:
        """As options and the environment give it, None where no provider is named; ProjectError where it is none."""
        if issuer is None and client_id is None and claim is None:
            return None
        if not (issuer or "").strip() or not (client_id or "").strip():
            raise ProjectError(
                f"a provider needs --oidc-issuer and --oidc-client, got {issuer!r} and {client_id!r} (its secret is "
                f"read from the environment, {OIDC_SECRET})"
            )
        assert issuer is not None and client_id is not None
        if not is_safe_address(issuer) or urlsplit(issuer).query or urlsplit(issuer).fragment:
            raise ProjectError(f"--oidc-issuer takes an address such as https://login.example.org, got {issuer!r}")
        return cls(issuer, client_id, os.environ.get(OIDC_SECRET, ""), claim or DEFAULT_CLAIM)

    @property
    def scope(self) -> str:
        return "openid email profile" if self.claim == "email" else "openid profile"

    @property
    def name(self) -> str:
        """What the page calls it."""
        return urlsplit(self.issuer).netloc


@dataclass(frozen=True)
class Reach:
    """How a server is reached.

    Parameters
    ----------
    host : where it listens
    allow_hosts : names that it has besides those of this machine, as browsers see them
    proxies : addresses whose forwarded headers are believed
    trust_header : name of the header in which these proxies, and nobody else, say who a request is from; empty for none
    provider : that people sign in by, besides links; None for no other way
    new_role : of people whom one of these names and nobody added, who become users with it; None refuses them
    """

    host: str = "127.0.0.1"
    allow_hosts: tuple[str, ...] = ()
    proxies: tuple[Network, ...] = ()
    trust_header: str = ""
    new_role: str | None = None
    provider: OpenId | None = None

    @classmethod
    def read(
        cls,
        host: str = "127.0.0.1",
        allow_hosts: tuple[str, ...] = (),
        proxies: tuple[str, ...] = (),
        trust_header: str | None = None,
        new_role: str | None = None,
        provider: OpenId | None = None,
    ) -> Reach:
        """As options give it; ProjectError where a name or an address is none.

        Where a header is trusted and no proxy is named, the proxy is on this machine.
        """
        for name in allow_hosts:
            if host_name(name) != name.lower():
                raise ProjectError(
                    f"--allow-host takes a name without port or path, got {name!r}; say label.example.org"
                )
        header = _header(trust_header)
        if header and not proxies:
            proxies = LOOPBACK
        names, networks = tuple(name.lower() for name in allow_hosts), tuple(map(_network, proxies))
        if header and provider is not None:
            raise ProjectError("people sign in by --trust-header or by --oidc-issuer, not both; leave one out")
        role = _new_role(new_role, bool(header) or provider is not None)
        return cls(host, names, networks, header, role, provider)

    @property
    def is_local(self) -> bool:
        """Whether nobody but this machine is served, to one who works alone."""
        return is_loopback(self.host) and not self.allow_hosts and not self.proxies and self.provider is None

    def answers_to(self, host: str) -> bool:
        """Whether requests for this Host header are answered; a server for the network has any name that is one."""
        name = host_name(host)
        if not is_loopback(self.host):
            return name is not None
        return name in (*LOOPBACK_NAMES, *self.allow_hosts)

    def is_proxy(self, address: str) -> bool:
        """Whether a connection from this address is one of the named proxies."""
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self.proxies)


def _network(address: str) -> Network:
    try:
        return ipaddress.ip_network(address, strict=False)
    except ValueError:
        raise ProjectError(
            f"--behind-proxy takes an address such as 127.0.0.1 or 10.0.0.0/24, got {address!r}"
        ) from None


def _header(name: str | None) -> str:
    """The name of a header that says who somebody is, checked."""
    if name is None:
        return ""
    known = name.lower() in OTHER_HEADERS or name.lower() in (
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
    )
    if HEADER.fullmatch(name) is None or known:
        raise ProjectError(f"--trust-header takes the name of a header such as X-Forwarded-User, got {name!r}")
    return name


def _new_role(role: str | None, is_used: bool) -> str | None:
    if role is None:
        return None
    if role not in NEW_ROLES:
        raise ProjectError(f"--new-people takes one of {', '.join(NEW_ROLES)}, got {role!r}; admins are added by name")
    if not is_used:
        raise ProjectError("--new-people is about people whom others name; give --trust-header or --oidc-issuer, too")
    return role


def listen(host: str, port: int) -> socket.socket:
    """A socket that browsers can connect to from now on; they wait until a server takes it over."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        cure = f"take another one: --port {port + 1 if port < 65535 else port - 1}"
        raise ProjectError(f"{host} port {port} cannot be listened on ({error.strerror or error}); {cure}") from None
    return listening


def local_secret(folder: Path) -> str:
    """The secret in the address of a project that nobody signs in to: kept in a file that its owner alone reads.

    Parameters
    ----------
    folder : of the project's derived files; made if it is not there. Without the file there is a new secret.
    """
    path = folder / SECRET_FILE
    try:
        found = path.stat()
        is_private = os.name == "nt" or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
        kept = path.read_text(encoding="ascii").strip() if is_private else ""
    except (OSError, ValueError):
        kept = ""
    if len(kept) >= 20:
        return kept
    secret = secrets.token_urlsafe(24)
    _write_private(path, secret + "\n")
    return secret


def opening_page(folder: Path, link: str) -> str:
    """A file that leads to a link, as an address: what a browser is started with, every account can see."""
    path = folder / "open.html"
    _write_private(
        path, f'<!doctype html><meta http-equiv="refresh" content="0; url={link}"><a href="{link}">Open</a>\n'
    )
    return path.resolve().as_uri()


def _write_private(path: Path, text: str) -> None:
    """Write a file that its owner alone can read, from its first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text, private=True)
