"""Decisions: from beliefs to label sets. `BY_NAME` is what the command, the page and the tests go by."""

from functools import partial

from labelwise._lazy import Late, attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi

BY_NAME = {
    "expected_f1": Late(__name__, "ExpectedF1"),
    "expected_f1_per_item": partial(Late(__name__, "ExpectedF1"), average="samples"),
    "threshold": Late(__name__, "Threshold"),
    "top_labels": Late(__name__, "TopLabels"),
}
