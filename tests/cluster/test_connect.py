"""What counts as a cluster, and what is said of the rest."""

import importlib
import os
import socket
import threading

import pytest
from threadpoolctl import threadpool_info

from labelwise.cluster import _connect, connected


@pytest.mark.parametrize("wrong", [0, -1, True, 2.0, None])
def test_what_is_no_cluster_is_refused(wrong):
    with pytest.raises(ValueError, match=r"number of workers, got"), connected(wrong):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "127.0.0.1:1", "nonsense://here:1"])
def test_an_address_where_nobody_answers(address):
    with pytest.raises(ConnectionError, match="no Dask scheduler answers at"), connected(address, patience=0.5):
        pass


@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-x"])
def test_an_address_where_something_else_listens(greeting):
    """Dask's client waits for it without end, or takes its first words for a size."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet():
            line, _ = server.accept()
            with line:
                line.sendall(greeting)
                line.recv(1)

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at '{address}'"):
            connected(address, patience=0.5).__enter__()
        thread.join(5)


def test_tasks_wait_for_workers_that_are_all_gone():
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    with (
        distributed.LocalCluster(n_workers=0, processes=True, scheduler_port=0, dashboard_address=":0") as nobody,
        distributed.Client(nobody, set_as_default=False) as client,
    ):
        with pytest.raises(ConnectionError, match=r"all workers of tcp://.* are gone, and none has come back in 0.2"):
            _connect.workers_of(client, patience=0.2)
        nobody.scale(1)
        assert len(_connect.workers_of(client)) == 1


def test_products_of_the_process_that_starts_workers_have_one_thread():
    pytest.importorskip("distributed", reason="needs the extra cluster")

    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before = threads()
    with connected(1):
        assert threads() == {1}
    assert threads() == before


def test_the_environment_is_left_as_it_was():
    """Numba refuses to compile where its number of threads changed after the first ones ran."""
    pytest.importorskip("distributed", reason="needs the extra cluster")
    before = dict(os.environ)
    with connected(1) as client:
        assert "NUMBA_NUM_THREADS" not in os.environ or before["NUMBA_NUM_THREADS"] == os.environ["NUMBA_NUM_THREADS"]
        there = client.submit(dict, client.run(_environment)).result()
    assert {(each["NUMBA_NUM_THREADS"], each["OMP_NUM_THREADS"]) for each in there.values()} == {("1", "1")}
    assert dict(os.environ) == before


def _environment():
    return dict(os.environ)


def test_a_scheduler_without_workers():
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    with (
        distributed.LocalCluster(n_workers=0, processes=True, scheduler_port=0, dashboard_address=":0") as nobody,
        pytest.raises(ConnectionError, match="has no workers: start some with 'dask worker tcp://"),
        connected(nobody.scheduler_address, patience=0.5),
    ):
        pass


def test_an_address_works_as_well_as_a_client(client):
    with connected(client.scheduler.address) as found:
        assert found.submit(sum, [1, 2, 3]).result() == 6
    assert client.submit(sum, [1, 2, 3]).result() == 6  # the other's end is not its own


def test_the_missing_extra_is_named(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ImportError, match=r"pip install 'labelwise\[cluster\]'"), _connect.connected(1):
        pass


def test_a_deserted_scheduler_is_given_up():
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    with (
        distributed.LocalCluster(n_workers=0, processes=True, scheduler_port=0, dashboard_address=":0") as nobody,
        distributed.Client(nobody, set_as_default=False) as client,
        pytest.raises(ConnectionError, match=r"all workers of tcp://.* are gone"),
    ):
        _connect.collect(client, client.submit(sum, [1, 2]), patience=0.0)
