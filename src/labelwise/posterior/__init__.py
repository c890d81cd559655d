"""What a fitted model believes about a batch of items, and the wrappers of such beliefs."""

from labelwise.posterior.base import (
    BoolArray,
    CorrelatedLabels,
    DivisibleCovariance,
    FloatArray,
    IgnorantPosterior,
    ItemCovariance,
    LabelCovariances,
    LabelPosterior,
    MarginalPosterior,
    Rows,
    TargetGroup,
)
from labelwise.posterior.wrapped import GivenPosterior, LimitedPosterior, WrappedPosterior

__all__ = [
    "BoolArray",
    "CorrelatedLabels",
    "DivisibleCovariance",
    "FloatArray",
    "GivenPosterior",
    "IgnorantPosterior",
    "ItemCovariance",
    "LabelCovariances",
    "LabelPosterior",
    "LimitedPosterior",
    "MarginalPosterior",
    "Rows",
    "TargetGroup",
    "WrappedPosterior",
]
