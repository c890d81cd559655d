"""Names looked up when they are first used: importing costs nothing, and an extra is missed only where it is needed.

A command or a page that shows one question must not wait seconds for everything it could train with.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

WHERE = {  # module: the names that the package has from it
    "labelwise.campaign": "Campaign",
    "labelwise.data": "read write",
    "labelwise.decisions": "ClassMass ExpectedF1 Threshold TopLabels TunedThreshold",
    "labelwise.guard": "Guard",
    "labelwise.labelling": "Project",
    "labelwise.models": (
        "AutoModel BinaryRelevance CompressedLabelGP CooccurrenceFactors CooccurrenceTransfer LabelGP LabelMixtureGP "
        "LatentFactors ModelAverage OnlineBayes OrthogonalTargetGP"
    ),
    "labelwise.numerics.costs": "Costs",
    "labelwise.queries": (
        "AdaptiveMargin BalancedPairs Diagnosis Diverse DummyLabelRanking ExpectedLossReduction ItemConfidence "
        "LabelCovariance MutualInformation Random RankedInconsistency SingleLabelLoss TargetEntropy Uncertainty"
    ),
    "labelwise.records": "Answer LabelData Question",
}


def lazily(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package: names by module (separated by blanks), and the package's own modules.

    >>> lazily("labelwise", {"labelwise.records": "Answer Question"})("Answer").__name__
    'Answer'
    """
    home = {name: module for module, names in where.items() for name in names.split()}

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            if name in home:
                return getattr(importlib.import_module(home[name]), name)
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name == f"{package}.{name}":
                raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
            if home.get(name, f"{package}.{name}").startswith("labelwise.labelling"):
                raise ImportError(f"projects need {error.name}: pip install 'labelwise[serve]'") from error
            raise

    return find


find = lazily("labelwise", WHERE)
