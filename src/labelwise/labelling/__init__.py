"""Labelling for real: a project on disk, several people at once, a worker that trains beside them."""

from labelwise._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
