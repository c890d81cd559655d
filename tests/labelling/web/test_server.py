"""Serving: the port, the worker beside, and the command."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from labelling.web.browsing import Process, free_port
from labelwise.cli import app
from labelwise.labelling import ProjectError
from labelwise.labelling.web import reach, server


def test_a_port_that_is_taken_is_told_with_another_one():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ProjectError, match=f"port {port} cannot be listened on"):
            reach.listen("127.0.0.1", port)
    with reach.listen("127.0.0.1", free_port()) as free:
        assert socket.create_connection(free.getsockname())  # nobody serves yet, but one may come already


def test_the_command_serves_until_it_is_killed(project):
    process = Process(project.store.location, free_port())
    with urllib.request.urlopen(f"{process.address}/api/openapi.json") as reply:
        assert "/api/answer" in json.load(reply)["paths"]
    process.kill()


def printed_link(location: str, port: int) -> str:
    """The address that the command prints, seen to work."""
    code = "from labelwise.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", location, "--port", str(port), "--no-worker"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            told = process.stderr.readline()
            link = told.removeprefix("labelling at ").split()[0]
            with urllib.request.urlopen(link) as reply:
                assert b"You work alone on this machine" in reply.read()
        finally:
            process.kill()
    return link


@pytest.mark.slow
def test_the_command_prints_an_address_with_a_secret_that_stays(project):
    port = free_port()
    link = printed_link(project.store.location, port)
    assert link.startswith(f"http://127.0.0.1:{port}/local/") and len(link.rpartition("/")[2]) == 32
    assert printed_link(project.store.location, port) == link


def test_a_browser_is_started_without_the_secret(tmp_path):
    page = reach.opening_page(tmp_path, "http://127.0.0.1:8000/local/secret")
    assert "secret" not in page and page.startswith("file://")
    path = Path(page.removeprefix("file://"))
    assert "http://127.0.0.1:8000/local/secret" in path.read_text() and path.stat().st_mode & 0o077 == 0


def test_options_of_a_proxy_need_users_and_are_checked(make):
    location = make().store.location
    for options in (["--allow-host", "label.example.org"], ["--behind-proxy", "127.0.0.1"]):
        done = CliRunner().invoke(app, ["serve", location, "--port", str(free_port()), *options])
        assert done.exit_code == 2 and "Add users first" in done.output
    done = CliRunner().invoke(app, ["serve", location, "--allow-host", "https://x"])
    assert done.exit_code == 2 and "takes a name without port or path" in done.output


def test_a_worker_is_started_beside_and_again_when_it_dies(project, monkeypatch):
    started = []

    class Dies:
        def __init__(self, store):
            started.append(store)

        def poll(self):
            return 1

    monkeypatch.setattr(server, "start_worker", Dies)
    monkeypatch.setattr(server, "WORKER_DELAY", 0.01)
    keeper = server.WorkerKeeper(project)
    until = time.monotonic() + 20
    while len(started) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    keeper.stop()
    assert len(started) >= 2


def test_users_by_command(make):
    location = make().store.location

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["user", *arguments])
        assert done.exit_code == code, done.output
        return done.output

    assert "no users" in run("list", location)
    link = run("add", location, "ann", "--admin", "--at", "https://label.example/")
    assert link.startswith("https://label.example/enter/")
    assert "/enter/" in run("link", location, "ann") and link not in run("link", location, "ann")
    assert json.loads(run("list", location, "--json"))[0]["role"] == "admin"
    run("add", location, "ann", code=2)
    run("remove", location, "ann")
    assert "no users" in run("list", location)


def test_serving_the_network_without_users_ends_with_an_explanation(make):
    done = CliRunner().invoke(app, ["serve", make().store.location, "--host", "0.0.0.0", "--port", str(free_port())])
    assert done.exit_code == 2 and "Add users first" in done.output
