"""Strategies: which question is worth asking next. `BY_NAME` is what the command, the page and the tests go by."""

from collections.abc import Callable
from functools import partial

from labelwise.queries.adaptive_margin import AdaptiveMargin
from labelwise.queries.balanced_pairs import BalancedPairs
from labelwise.queries.base import Choice, LookingStrategy, ScoringStrategy, Strategy
from labelwise.queries.diagnosis import Diagnosis
from labelwise.queries.diverse import Diverse
from labelwise.queries.dummy_label_ranking import DummyLabelRanking
from labelwise.queries.expected_loss_reduction import ExpectedLossReduction
from labelwise.queries.item_confidence import ItemConfidence, SingleLabelLoss
from labelwise.queries.label_covariance import LabelCovariance
from labelwise.queries.mutual_information import MutualInformation
from labelwise.queries.random import Random
from labelwise.queries.ranked_inconsistency import RankedInconsistency
from labelwise.queries.target_entropy import TargetEntropy
from labelwise.queries.uncertainty import Uncertainty

BY_NAME: dict[str, Callable[[], Strategy | LookingStrategy]] = {
    "random": Random,
    "uncertainty": Uncertainty,
    "random_pairs": partial(Random, target="pairs"),
    "uncertainty_pairs": partial(Uncertainty, target="pairs"),
    "balanced_pairs": BalancedPairs,
    "diverse_uncertainty": partial(Diverse, Uncertainty()),
    "diverse_uncertainty_pairs": partial(Diverse, Uncertainty("pairs")),
    "mutual_information": MutualInformation,
    "mutual_information_pairs": partial(MutualInformation, target="pairs"),
    "target_entropy": TargetEntropy,
    "target_entropy_pairs": partial(TargetEntropy, target="pairs"),
    "label_covariance": LabelCovariance,
    "adaptive_margin": AdaptiveMargin,
    "dummy_label_ranking": DummyLabelRanking,
    "dummy_label_ranking_pairs": partial(DummyLabelRanking, target="pairs"),
    "expected_loss_reduction": ExpectedLossReduction,
    "ranked_inconsistency": RankedInconsistency,
    "binary_minimisation": ItemConfidence,
    "mean_confidence": partial(ItemConfidence, over_labels="mean"),
    "mean_score": partial(ItemConfidence, "score", "mean"),
    "max_loss": SingleLabelLoss,
    "mean_max_loss": partial(SingleLabelLoss, "predicted"),
}

__all__ = [
    "BY_NAME",
    "AdaptiveMargin",
    "BalancedPairs",
    "Choice",
    "Diagnosis",
    "Diverse",
    "DummyLabelRanking",
    "ExpectedLossReduction",
    "ItemConfidence",
    "LabelCovariance",
    "LookingStrategy",
    "MutualInformation",
    "Random",
    "RankedInconsistency",
    "ScoringStrategy",
    "SingleLabelLoss",
    "Strategy",
    "TargetEntropy",
    "Uncertainty",
]
