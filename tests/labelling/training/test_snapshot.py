"""The worker's snapshot against the campaign and the labels themselves."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise import Answer
from labelwise.labelling.training.derived import SNAPSHOT, derived_path
from labelwise.labelling.training.snapshot import Snapshot, snapshot_reader, take_snapshot


@pytest.fixture
def answered(make):
    project = make()
    for number in range(8):
        values = {"left": number % 2 == 0, "far": number % 3 == 0} | ({"low": True} if number % 4 else {})
        project.tell(Answer(f"p{number}", values), who="ann")
    return project


def test_it_holds_what_is_believed_and_known(answered, tmp_path):
    learner = answered.learner()
    take_snapshot(learner).save(tmp_path / "s.npz")
    found = Snapshot.load(tmp_path / "s.npz")
    p = learner.campaign.believe().probabilities()
    assert found.probabilities == pytest.approx(p, abs=1e-3)
    known = learner.data().observed_mask().toarray()
    codes = np.full(known.shape, -1)
    codes[found.rows] = found.codes
    assert np.array_equal(codes, np.where(known, learner.data().Y.toarray(), -1))
    entropy = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    assert found.uncertainty == pytest.approx((entropy * ~known).sum(1), rel=1e-5)
    assert found.seen.tolist() == [learner.seen.event, learner.seen.change]


def test_the_worker_writes_it_and_a_reader_follows(answered):
    reader = snapshot_reader(answered.store)
    assert reader.read() is None
    answered.refresh()
    first = reader.read()
    assert first is not None and first is reader.read(), "an unchanged file is read once"
    answered.tell(Answer("p30", {"left": True}), who="ann")
    answered.refresh()
    assert reader.read().rows.size == first.rows.size + 1
    derived_path(answered.store, SNAPSHOT).write_bytes(b"cut sho")
    assert reader.read() is None


def test_before_anything_is_known_nothing_is_believed(make):
    project = make()
    project.refresh()
    found = snapshot_reader(project.store).read()
    assert not found.has_beliefs and len(found) == 40 and found.rows.size == 0


def test_files_that_take_long_are_not_written_in_every_pause(answered, monkeypatch):
    worker, written = answered.worker(), []
    monkeypatch.setattr(
        "labelwise.labelling.training.worker.take_snapshot", lambda learner: written.append(1) or take_snapshot(learner)
    )
    while worker.step():
        pass
    worker.keep_model()
    n, worker._save_took = len(written), 3600.0
    answered.tell(Answer("p30", {"left": True}), who="ann")
    while worker.step():
        pass
    assert len(written) == n, "an answer was learnt, the files wait"
    worker.keep_model()
    assert len(written) == n + 1
