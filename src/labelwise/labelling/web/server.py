"""Serving a project: who may reach it, the worker beside it, and when it is ready."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from subprocess import Popen
from typing import Any

import uvicorn

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.locks import worker_is_running
from labelwise.labelling.served import ServedProject
from labelwise.labelling.starting import start_worker
from labelwise.labelling.web.app import create_app
from labelwise.labelling.web.reach import is_loopback

WORKER_DELAY = 2.0  # seconds: loading what it trains with takes both cores, and the first question goes first


def check_reach(project: ServedProject, host: str) -> None:
    """Refuse to show a project to the network while anybody there could label as anybody."""
    if not is_loopback(host) and not project.people.there_are_some():
        raise ProjectError(
            f"{host or 'every address'} can be reached by others, and the project has no users: anybody could read and "
            "answer. Add users first (labelwise user add PROJECT NAME), or leave --host out to serve only this machine"
        )


class Server(uvicorn.Server):
    """A uvicorn server that says when it takes requests."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def serve_project(
    project: ServedProject,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    listening: socket.socket | None = None,
    local_user: str,
    worker: bool = True,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve the page until stopped by a signal; a worker trains beside it unless told not to or there is one.

    Parameters
    ----------
    project : ServedProject
    host, port : where to listen; anything but this machine only for projects with users
    listening : a socket that does so already, from `reach.listen`, optional
    local_user : the name of the one who works alone, where the project has no users and only this machine is served
    worker : whether to start a worker
    on_ready : called when requests are taken
    """
    check_reach(project, host)
    app = create_app(project, local_user=local_user if is_loopback(host) else None)
    config = uvicorn.Config(app, host, port, log_level="warning", access_log=False, timeout_graceful_shutdown=3)
    beside = _Beside(project) if worker else None
    try:
        Server(config, on_ready).run(sockets=None if listening is None else [listening])
    finally:
        if beside is not None:
            beside.stop()


class _Beside:
    """The worker's process, begun a little later and again if it dies."""

    def __init__(self, project: ServedProject) -> None:
        self._project = project
        self._process: Popen[Any] | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        delay = WORKER_DELAY
        while not self._stopped.wait(delay):
            gone = self._process is None or self._process.poll() is not None
            if gone and not worker_is_running(self._project.store):
                self._process = start_worker(self._project.store)
            delay = min(2 * delay, 60.0)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
