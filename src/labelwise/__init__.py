"""labelwise: Bayesian multi-label learning that asks for the fewest labels."""

from labelwise._lazy import attach
from labelwise._moved import find_moved_modules

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi

find_moved_modules()
