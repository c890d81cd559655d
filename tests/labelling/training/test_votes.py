"""The history followed step by step against the one read at once."""

import numpy as np
import pytest

from labelwise import Answer
from labelwise.labelling.training.learner import Learner


@pytest.mark.parametrize("seed", range(3))
def test_a_learner_that_follows_believes_what_one_that_reads_all_at_once_does(make, seed):
    project, rng = make(control=0.3, overlap=2, ready=40), np.random.default_rng(seed)
    follower = Learner(project.store, project.settings)
    project.refresh()
    for step in range(25):
        who = f"person {rng.integers(3)}"
        leases = project.service.ask(who)
        kind = rng.random()
        if leases and kind < 0.6:
            labels = leases[0].question.labels
            values = {name: [True, False, None][rng.integers(3)] for name in labels[: rng.integers(1, 4)]}
            project.service.answer(leases[0].token, values)
        elif kind < 0.7 and any(event.who == who for event in project.events()):
            try:
                project.service.undo(who)
            except ValueError:
                continue
        elif kind < 0.9:
            item = f"p{rng.integers(40)}"
            project.tell(Answer(item, {"left": bool(rng.integers(2))}, correction=True), who=who)
        elif kind < 0.95:
            project.add_label(f"label {step}")
        else:
            project.refresh()
        follower.catch_up()
    fresh = project.learner()
    assert follower.seen == fresh.seen
    assert follower.campaign.answers == fresh.campaign.answers
    assert np.array_equal(follower.data().observed.toarray(), fresh.data().observed.toarray())
    assert np.array_equal(follower.data().Y.toarray(), fresh.data().Y.toarray())
    assert follower.campaign.ask(5) == fresh.campaign.ask(5)
