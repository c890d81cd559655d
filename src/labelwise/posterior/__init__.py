"""What a fitted model believes about a batch of items, and the wrappers of such beliefs."""

from labelwise._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
