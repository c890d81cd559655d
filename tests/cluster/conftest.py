"""One real cluster for all tests here: a scheduler and two worker processes on free ports."""

import os
import signal

import pytest

pytest.importorskip("distributed", reason="needs the extra cluster")

from labelwise.cluster import connected


@pytest.fixture(scope="session")
def client():
    with connected(2) as client:
        yield client


@pytest.fixture
def kill_at(client, monkeypatch):
    """Kill a worker, without warning, the moment that a function of a module is called for the n-th time."""

    def arrange(where: str, n: int) -> list[int]:
        module, _, name = where.rpartition(".")
        original, calls, killed = getattr(__import__(module, fromlist=[name]), name), [0], []

        def counted(*args, **keywords):
            calls[0] += 1
            if calls[0] == n:
                client.wait_for_workers(2, timeout=90)  # one killed earlier may still be on its way back
                pids = client.run(os.getpid)
                killed.append(pids[sorted(pids)[0]])
                os.kill(killed[0], signal.SIGKILL)
            return original(*args, **keywords)

        monkeypatch.setattr(where, counted)
        return killed

    return arrange
