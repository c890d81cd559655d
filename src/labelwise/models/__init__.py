"""Models: from items and answers to a posterior. `BY_NAME` is what the command, the page and the tests go by.

A new model is one file and one line here; see docs/add-a-model.md.
"""

from labelwise._lazy import Late, Registry, attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi

BY_NAME = {
    "auto": Late(__name__, "AutoModel"),
    "semi_supervised": Late(__name__, "SemiSupervised"),  # the default where whole items are asked
    "label_gp": Late(__name__, "LabelGP"),
    "binary_relevance": Late(__name__, "BinaryRelevance"),
    "compressed_label_gp": Late(__name__, "CompressedLabelGP"),
    "label_mixture_gp": Late(__name__, "LabelMixtureGP"),
    "model_average": Late(__name__, "ModelAverage"),
    "online_bayes": Late(__name__, "OnlineBayes"),
    "orthogonal_target_gp": Late(__name__, "OrthogonalTargetGP"),
    "cooccurrence_factors": Late(__name__, "CooccurrenceFactors"),
    "cooccurrence_transfer": Late(__name__, "CooccurrenceTransfer"),
    "latent_factors": Late(__name__, "LatentFactors"),
}
BY_NAME = Registry(BY_NAME, "labelwise.models")  # and those of other packages
