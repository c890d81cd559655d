"""Decisions: from beliefs to label sets. `BY_NAME` is what the command, the page and the tests go by."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from labelwise.decisions.threshold import Threshold
from labelwise.decisions.top_labels import TopLabels
from labelwise.posterior import LabelPosterior


class Decision(Protocol):
    """What a campaign needs of a decision rule."""

    def decide(self, posterior: LabelPosterior) -> npt.NDArray[np.bool_]: ...


BY_NAME: dict[str, Callable[[], Decision]] = {"threshold": Threshold, "top_labels": TopLabels}

__all__ = ["BY_NAME", "Decision", "Threshold", "TopLabels"]
