"""Fixtures that tests of several floors share."""

import os
import signal
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in what a shell starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
