"""labelwise: Bayesian multi-label learning that asks for the fewest labels."""

from typing import TYPE_CHECKING

from labelwise._lazy import find as __getattr__  # noqa: F401 (Python looks names up with it when they are first used)

if TYPE_CHECKING:  # the same names for tools; tests/test_lazy.py holds both lists together
    from labelwise import data, decisions, experiments, labelling, models, queries
    from labelwise.campaign import Campaign
    from labelwise.data import read, write
    from labelwise.decisions import ClassMass, ExpectedF1, Threshold, TopLabels, TunedThreshold
    from labelwise.guard import Guard
    from labelwise.labelling import Project
    from labelwise.models import (
        AutoModel,
        BinaryRelevance,
        CompressedLabelGP,
        CooccurrenceFactors,
        CooccurrenceTransfer,
        LabelGP,
        LabelMixtureGP,
        LatentFactors,
        ModelAverage,
        OnlineBayes,
        OrthogonalTargetGP,
    )
    from labelwise.numerics.costs import Costs
    from labelwise.queries import (
        AdaptiveMargin,
        BalancedPairs,
        Diagnosis,
        Diverse,
        DummyLabelRanking,
        ExpectedLossReduction,
        ItemConfidence,
        LabelCovariance,
        MutualInformation,
        Random,
        RankedInconsistency,
        SingleLabelLoss,
        TargetEntropy,
        Uncertainty,
    )
    from labelwise.records import Answer, LabelData, Question

__version__ = "0.1.0"

__all__ = [
    "AdaptiveMargin",
    "Answer",
    "AutoModel",
    "BalancedPairs",
    "BinaryRelevance",
    "Campaign",
    "ClassMass",
    "CompressedLabelGP",
    "CooccurrenceFactors",
    "CooccurrenceTransfer",
    "Costs",
    "Diagnosis",
    "Diverse",
    "DummyLabelRanking",
    "ExpectedF1",
    "ExpectedLossReduction",
    "Guard",
    "ItemConfidence",
    "LabelCovariance",
    "LabelData",
    "LabelGP",
    "LabelMixtureGP",
    "LatentFactors",
    "ModelAverage",
    "MutualInformation",
    "OnlineBayes",
    "OrthogonalTargetGP",
    "Project",
    "Question",
    "Random",
    "RankedInconsistency",
    "SingleLabelLoss",
    "TargetEntropy",
    "Threshold",
    "TopLabels",
    "TunedThreshold",
    "Uncertainty",
    "data",
    "decisions",
    "experiments",
    "labelling",
    "models",
    "queries",
    "read",
    "write",
]
