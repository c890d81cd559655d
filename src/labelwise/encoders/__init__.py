"""Encoders: from texts, or pictures, to vectors whose cosine says how near they are. See docs/features.md."""

from labelwise._lazy import Late, attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi

BY_NAME = {"minilm": Late(__name__, "MiniLM")}
