from collections.abc import Callable

from labelwise.models.auto_model import AutoModel as AutoModel
from labelwise.models.auto_model import ModelAverage as ModelAverage
from labelwise.models.base import LabelModel as LabelModel
from labelwise.models.binary_relevance import BinaryRelevance as BinaryRelevance
from labelwise.models.binary_relevance import as_label_model as as_label_model
from labelwise.models.compressed.model import CompressedLabelGP as CompressedLabelGP
from labelwise.models.factors.cooccurrence_factors import CooccurrenceFactors as CooccurrenceFactors
from labelwise.models.factors.cooccurrence_factors import LatentFactors as LatentFactors
from labelwise.models.factors.cooccurrence_transfer import CooccurrenceTransfer as CooccurrenceTransfer
from labelwise.models.hinted import HintedModel as HintedModel
from labelwise.models.label_gp.model import LabelGP as LabelGP
from labelwise.models.mixture.model import LabelMixtureGP as LabelMixtureGP
from labelwise.models.online.model import OnlineBayes as OnlineBayes
from labelwise.models.scoring import KnownLabelScorer as KnownLabelScorer
from labelwise.models.semi_supervised import BlockModel as BlockModel
from labelwise.models.semi_supervised import SemiSupervised as SemiSupervised
from labelwise.models.targets.model import OrthogonalTargetGP as OrthogonalTargetGP

BY_NAME: dict[str, Callable[[], LabelModel]]
