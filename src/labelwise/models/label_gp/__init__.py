"""`LabelGP`: one Gaussian process for all labels."""

from labelwise.models.label_gp.model import LabelGP

__all__ = ["LabelGP"]
