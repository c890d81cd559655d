"""Real browsers on real servers: what the tests in a browser share."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from labelwise.labelling import Project
from labelwise.labelling.web.app import create_app

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 20_000  # milliseconds: a test is slow on a busy machine, never wrong


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(project: Project, local_user: str | None = "me") -> Iterator[str]:
    """The page of a project, served by a thread of this process; its address."""
    port = free_port()
    config = uvicorn.Config(create_app(project, local_user=local_user), port=port, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


class Process:
    """`labelwise serve` in a process of its own, to be killed."""

    def __init__(self, location: str, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        code = "from labelwise.cli import main; main()"
        command = [sys.executable, "-c", code, "serve", location, "--port", str(port), "--no-worker"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ)
        self._wait_for(port)

    def _wait_for(self, port: int) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"no server came up on port {port}")

    def kill(self) -> None:
        """As if the power were cut."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Desk:
    """Somebody in front of the labelling view."""

    def __init__(self, context: Any, address: str) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(address)
        self.wait_for_question()

    def wait_for_question(self) -> None:
        self.page.wait_for_selector("#desk:not([hidden])")

    @property
    def item(self) -> str:
        return str(self.page.inner_text("#item-name"))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def wait_for_saved(self, number: int) -> None:
        self.page.wait_for_selector(f'#saved[data-state="saved"][data-saved="{number}"]')
