"""Fixtures that tests of several floors share."""

import gc
import os
import signal
from functools import cache
from pathlib import Path

import pytest
import typer.testing
from hypothesis import settings

# `make test` draws the same examples every time, so that a change is judged by what it changes. `make check` draws new
# ones, and prints how to repeat what it finds.
settings.register_profile("repeatable", derandomize=True, print_blob=True)
settings.register_profile("new examples", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in what a shell starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What was collected stays: the garbage collector need not walk over a million objects again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """What projects on PostgreSQL derive does not stay in the cache of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        patch.setenv("MPLCONFIGDIR", os.environ.get("MPLCONFIGDIR") or str(Path(cache) / "matplotlib"))  # has the fonts
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def commands_built_once():
    """The runner of Typer builds all commands at every call, which takes longer than most of them run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of published data sets; a test that uses it is marked `shared_data`."""
    given = os.environ.get("LABELWISE_SHARED_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(
            "the published data sets are not beside the repository; LABELWISE_SHARED_DATA may name their folder"
        )
    return folder
