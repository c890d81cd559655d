from collections.abc import Callable

from labelwise.decisions.base import Decision as Decision
from labelwise.decisions.base import ScoredSets as ScoredSets
from labelwise.decisions.base import score_sets as score_sets
from labelwise.decisions.class_mass import ClassMass as ClassMass
from labelwise.decisions.expected_f1 import ExpectedF1 as ExpectedF1
from labelwise.decisions.streamed import LabelTally as LabelTally
from labelwise.decisions.streamed import SampleTally as SampleTally
from labelwise.decisions.streamed import StreamedCuts as StreamedCuts
from labelwise.decisions.threshold import Threshold as Threshold
from labelwise.decisions.top_labels import TopLabels as TopLabels
from labelwise.decisions.tuned_threshold import TunedThreshold as TunedThreshold

BY_NAME: dict[str, Callable[[], Decision]]
DEFAULT: str
