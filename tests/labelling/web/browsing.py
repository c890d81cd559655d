"""Real browsers on real servers: what the tests in a browser share."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from labelwise.labelling import Project
from labelwise.labelling.web.reach import Reach, local_secret
from labelwise.labelling.web.server import create_app, server_config

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
KEYS_COUNT = "() => document.getElementById('desk').hidden || 'ready' in document.documentElement.dataset"
SECRETS: dict[str, str] = {}  # of the one who works alone, by the address of a server
PATIENCE = 20_000  # milliseconds: a test is slow on a busy machine, never wrong


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(project: Project, local_user: str | None = "me", reach: Reach | None = None) -> Iterator[str]:
    """The page of a project, served by a thread of this process; its address."""
    port = free_port()
    app = create_app(project, local_user=local_user, reach=reach)
    server = uvicorn.Server(server_config(app, Reach(), port))
    SECRETS[f"http://127.0.0.1:{port}"] = app.state.site.local_secret
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

    def __init__(self, location: str, port: int, *, worker: bool = False, log: Any = subprocess.DEVNULL) -> None:
        self.address = f"http://127.0.0.1:{port}"
        code = "from labelwise.cli import main; main()"
        command = [sys.executable, "-c", code, "serve", location, "--port", str(port)]
        if "://" not in location:  # that of a database is not beside it
            SECRETS[self.address] = local_secret(Path(f"{location}.derived"))
        self.process = subprocess.Popen([*command, *([] if worker else ["--no-worker"])], stderr=log, env=os.environ)
        self._wait_for(port)

    def _wait_for(self, port: int) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"no server came up on port {port}")

    def stop(self) -> None:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def kill(self) -> None:
        """As if the power were cut."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class LabellingTab:
    """Somebody in front of the labelling view."""

    def __init__(self, context: Any, address: str) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        base = next(each for each in SECRETS if address.startswith(each))
        self.page.goto(f"{base}/local/{SECRETS[base]}")  # as `labelwise serve` prints it
        self.page.wait_for_url(re.compile("/(label|enter)$"))
        if address != base:
            self.page.goto(address)
        self.wait_for_question()

    def wait_for_question(self) -> None:
        self.page.wait_for_selector("#desk:not([hidden])")
        self.wait_until_keys_count()

    def wait_until_keys_count(self) -> None:
        """Until the item has been on screen for a moment; nothing is waited for where there is no item."""
        self.page.wait_for_function(KEYS_COUNT)

    @property
    def item(self) -> str:
        return str(self.page.inner_text("#item-name"))

    def press(self, *keys: str) -> None:
        """Press keys as somebody does who looks first."""
        for key in keys:
            self.wait_until_keys_count()
            self.page.keyboard.press(key)

    def leave_dialog(self) -> None:
        """Close what is open over the page, and wait for the cursor in the search box: it comes a moment later."""
        self.page.keyboard.press("Escape")
        self.page.wait_for_function("() => document.activeElement.id === 'search'")

    def wait_for_saved(self, number: int) -> None:
        self.page.wait_for_selector(f'#saved[data-state="saved"][data-saved="{number}"]')


PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
trailer<</Root 1 0 R>>
"""


def tone(path: Path) -> str:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(8000)
        file.writeframes(bytes(24_000))
    return str(path)
