"""labelwise: tag many items with sets of labels in a few hours, by Bayesian models that ask what is worth your time."""

from labelwise._lazy import attach
from labelwise._moved import find_moved_modules

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi

find_moved_modules()
