"""Greedy mutual information over any finite set of Gaussian variables: items, the labels of one item, or pairs."""

from labelwise.numerics.information.dense import DenseInformation
from labelwise.numerics.information.greedy import greedy_information
from labelwise.numerics.information.low_rank import LowRank, LowRankInformation
from labelwise.numerics.information.state import Criterion, InformationState, Picks
from labelwise.numerics.information.weights import WeightBeliefs, gram

__all__ = [
    "Criterion",
    "DenseInformation",
    "InformationState",
    "LowRank",
    "LowRankInformation",
    "Picks",
    "WeightBeliefs",
    "gram",
    "greedy_information",
]
