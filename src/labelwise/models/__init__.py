"""Models: from items and answers to a posterior. `BY_NAME` is what the command, the page and the tests go by."""

from collections.abc import Callable

from labelwise.models.auto_model import AutoModel
from labelwise.models.base import LabelModel
from labelwise.models.binary_relevance import BinaryRelevance
from labelwise.models.compressed_label_gp import CompressedLabelGP
from labelwise.models.cooccurrence_factors import CooccurrenceFactors
from labelwise.models.cooccurrence_transfer import CooccurrenceTransfer
from labelwise.models.label_gp import LabelGP
from labelwise.models.label_mixture_gp import LabelMixtureGP
from labelwise.models.latent_factors import LatentFactors
from labelwise.models.model_average import ModelAverage
from labelwise.models.online_bayes import OnlineBayes
from labelwise.models.orthogonal_target_gp import OrthogonalTargetGP

BY_NAME: dict[str, Callable[[], LabelModel]] = {  # the first is the default
    "auto": AutoModel,
    "label_gp": LabelGP,
    "binary_relevance": BinaryRelevance,
    "compressed_label_gp": CompressedLabelGP,
    "label_mixture_gp": LabelMixtureGP,
    "model_average": ModelAverage,
    "online_bayes": OnlineBayes,
    "orthogonal_target_gp": OrthogonalTargetGP,
    "cooccurrence_factors": CooccurrenceFactors,
    "cooccurrence_transfer": CooccurrenceTransfer,
    "latent_factors": LatentFactors,
}

__all__ = [
    "BY_NAME",
    "AutoModel",
    "BinaryRelevance",
    "CompressedLabelGP",
    "CooccurrenceFactors",
    "CooccurrenceTransfer",
    "LabelGP",
    "LabelMixtureGP",
    "LabelModel",
    "LatentFactors",
    "ModelAverage",
    "OnlineBayes",
    "OrthogonalTargetGP",
]
