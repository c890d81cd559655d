"""Greedy mutual information over any finite set of Gaussian variables: items, the labels of one item, or pairs."""

from labelwise.numerics.information.blocks import ArrayBlock, RowBlock, array_blocks
from labelwise.numerics.information.dense import DenseInformation
from labelwise.numerics.information.low_rank import LowRank, LowRankInformation
from labelwise.numerics.information.state import Criterion, InformationState, Picks
from labelwise.numerics.information.streamed import (
    LowRankBlocks,
    Run,
    StreamedInformation,
    Task,
    Walk,
    greedy_information,
    run_here,
)
from labelwise.numerics.information.weights import WeightBeliefs, gram
