"""Strategies: which question is worth asking next. `BY_NAME` is what the command, the page and the tests go by."""

from functools import partial
from math import inf

from labelwise._lazy import Late, Registry, attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi

BY_NAME = {
    "random": Late(__name__, "Random"),
    "uncertainty": Late(__name__, "Uncertainty"),
    "random_pairs": partial(Late(__name__, "Random"), target="pairs"),
    "uncertainty_pairs": partial(Late(__name__, "Uncertainty"), target="pairs"),
    "balanced_pairs": Late(__name__, "BalancedPairs"),
    "diverse_uncertainty": Late("labelwise.queries.diverse", "diverse_uncertainty"),
    "diverse_uncertainty_pairs": partial(Late("labelwise.queries.diverse", "diverse_uncertainty"), target="pairs"),
    "mutual_information": Late(__name__, "MutualInformation"),
    "mutual_information_pairs": partial(Late(__name__, "MutualInformation"), target="pairs"),
    "target_entropy": Late(__name__, "TargetEntropy"),
    "target_entropy_pairs": partial(Late(__name__, "TargetEntropy"), target="pairs"),
    "label_covariance": Late(__name__, "LabelCovariance"),
    "variance_reduction": partial(Late(__name__, "LabelCovariance"), weight=inf),
    "beta_score": Late(__name__, "BetaScore"),
    "correlated_beta": Late(__name__, "CorrelatedBeta"),
    "adaptive_margin": Late(__name__, "AdaptiveMargin"),
    "dummy_label_ranking": Late(__name__, "DummyLabelRanking"),
    "dummy_label_ranking_pairs": partial(Late(__name__, "DummyLabelRanking"), target="pairs"),
    "expected_loss_reduction": Late(__name__, "ExpectedLossReduction"),
    "ranked_inconsistency": Late(__name__, "RankedInconsistency"),
    "binary_minimisation": Late(__name__, "ItemConfidence"),
    "mean_confidence": partial(Late(__name__, "ItemConfidence"), over_labels="mean"),
    "mean_score": partial(Late(__name__, "ItemConfidence"), "score", "mean"),
    "max_loss": Late(__name__, "SingleLabelLoss"),
    "mean_max_loss": partial(Late(__name__, "SingleLabelLoss"), "predicted"),
    "dropout_disagreement": Late(__name__, "DropoutDisagreement"),
    "typical_first": Late(__name__, "TypicalFirst"),
}
BY_NAME = Registry(BY_NAME, "labelwise.strategies")  # and those of other packages
