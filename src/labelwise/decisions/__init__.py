"""Decisions: from beliefs to label sets. `BY_NAME` is what the command, the page and the tests go by."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from labelwise.decisions.base import ScoredSets, score_sets
from labelwise.decisions.class_mass import ClassMass
from labelwise.decisions.expected_f1 import ExpectedF1
from labelwise.decisions.streamed import LabelTally, StreamedCuts
from labelwise.decisions.threshold import Threshold
from labelwise.decisions.top_labels import TopLabels
from labelwise.decisions.tuned_threshold import TunedThreshold
from labelwise.posterior import LabelPosterior


class Decision(Protocol):
    """What a campaign needs of a decision rule."""

    def decide(self, posterior: LabelPosterior) -> npt.NDArray[np.bool_]: ...


BY_NAME: dict[str, Callable[[], Decision]] = {
    "expected_f1": ExpectedF1,
    "expected_f1_per_item": partial(ExpectedF1, average="samples"),
    "threshold": Threshold,
    "top_labels": TopLabels,
}

__all__ = [
    "BY_NAME",
    "ClassMass",
    "Decision",
    "ExpectedF1",
    "LabelTally",
    "ScoredSets",
    "StreamedCuts",
    "Threshold",
    "TopLabels",
    "TunedThreshold",
    "score_sets",
]
