"""Where a page is reached: loaded before everything else, so that a browser may come while the rest is loading."""

from __future__ import annotations

import ipaddress
import socket

from labelwise.labelling.errors import ProjectError


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


def listen(host: str, port: int) -> socket.socket:
    """A socket that browsers can connect to from now on; they wait until a server takes it over."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        cure = f"take another one: --port {port + 1 if port < 65535 else port - 1}"
        raise ProjectError(f"{host} port {port} cannot be listened on ({error.strerror or error}); {cure}") from None
    return listening
