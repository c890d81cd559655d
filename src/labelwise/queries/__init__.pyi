from collections.abc import Callable

from labelwise.queries.adaptive_margin import AdaptiveMargin as AdaptiveMargin
from labelwise.queries.balanced_pairs import BalancedPairs as BalancedPairs
from labelwise.queries.base import Choice as Choice
from labelwise.queries.base import LookingStrategy as LookingStrategy
from labelwise.queries.base import ScoringStrategy as ScoringStrategy
from labelwise.queries.base import Strategy as Strategy
from labelwise.queries.beta_score import BetaScore as BetaScore
from labelwise.queries.correlated_beta import CorrelatedBeta as CorrelatedBeta
from labelwise.queries.diagnosis import Diagnosis as Diagnosis
from labelwise.queries.diverse import Diverse as Diverse
from labelwise.queries.dropout_disagreement import DropoutDisagreement as DropoutDisagreement
from labelwise.queries.dummy_label_ranking import DummyLabelRanking as DummyLabelRanking
from labelwise.queries.expected_loss_reduction import ExpectedLossReduction as ExpectedLossReduction
from labelwise.queries.item_confidence import ItemConfidence as ItemConfidence
from labelwise.queries.item_confidence import SingleLabelLoss as SingleLabelLoss
from labelwise.queries.label_covariance import LabelCovariance as LabelCovariance
from labelwise.queries.mutual_information import MutualInformation as MutualInformation
from labelwise.queries.random import Random as Random
from labelwise.queries.ranked_inconsistency import RankedInconsistency as RankedInconsistency
from labelwise.queries.target_entropy import TargetEntropy as TargetEntropy
from labelwise.queries.typical_first import TypicalFirst as TypicalFirst
from labelwise.queries.uncertainty import Uncertainty as Uncertainty

BY_NAME: dict[str, Callable[[], Strategy | LookingStrategy]]
