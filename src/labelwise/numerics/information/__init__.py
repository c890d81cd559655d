"""Greedy mutual information over any finite set of Gaussian variables: items, the labels of one item, or pairs."""

from labelwise._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
