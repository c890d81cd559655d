"""Decisions: from beliefs to label sets. `BY_NAME` is what the command, the page and the tests go by.

`DEFAULT` is used where nobody chooses a rule: by `predict` of models, campaigns and projects, by the command and by the
page. It was chosen by benchmarks/default_decision.py; docs/decisions.md has the figures.
"""

from functools import partial

from labelwise._lazy import Late, attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi

BY_NAME = {
    "expected_f1": Late(__name__, "ExpectedF1"),
    "expected_f1_per_item": partial(Late(__name__, "ExpectedF1"), average="samples"),
    "default": partial(Late(__name__, "ExpectedF1"), average="samples", empty_score=0.5),
    "threshold": Late(__name__, "Threshold"),
    "top_labels": Late(__name__, "TopLabels"),
}
DEFAULT = "default"
