"""Files to LabelData and back, one file per format; streams, made-up sets, answers. `read` goes by `BY_SUFFIX`."""

from labelwise._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
