"""Damaged study files and checkpoints: each is refused by an error of ours that names the file."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise import OnlineBayes
from labelwise.streams.checkpoint import Checkpoint
from labelwise.studies.plans import ArenaFileError, read_arena

COSTS = b"""[schedule.costs]
read = 1%s
[[data]]
source = "yeast"
[[entrants]]
model = "binary_relevance"
strategies = ["random"]
""" % (b"0" * 400)
LONG_NAME = COSTS.replace(b"yeast", b"x" * 5000).replace(b"0" * 400, b"")


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"seeds = " + b"1" * 5000, b"a = " + b"[" * 100_000, COSTS, LONG_NAME]
)
def test_a_study_that_toml_cannot_read(tmp_path, content):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(ArenaFileError, match=r"mine\.toml: "):
        read_arena(path)


def test_a_damaged_checkpoint(tmp_path):
    path = tmp_path / "m.npz"
    model = OnlineBayes().fit(sp.csr_array(np.eye(4)), sp.csr_array(np.eye(4, 2, dtype=bool)))
    Checkpoint(model, ["a", "b"]).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for broken in ("header.npy", "stream.npy"):
        for content in (b"no array", members[broken].replace(b"(", b"[", 1), b"\x00" * (70 << 20)):
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, old in members.items():
                    archive.writestr(name, content if name == broken else old)
            with pytest.raises(ValueError, match=r"m\.npz"):
                Checkpoint.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name, old in members.items():
            archive.writestr(name, old)
    stored = path.read_bytes()
    for head, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):  # it says bzip2 where nothing is compressed
        at = stored.index(head) + place
        stored = stored[:at] + zipfile.ZIP_BZIP2.to_bytes(2, "little") + stored[at + 2 :]
    path.write_bytes(stored)
    with pytest.raises(ValueError, match=r"m\.npz is damaged or no model of ours \(Invalid data stream\)"):
        Checkpoint.load(path)
