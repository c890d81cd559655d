"""The frozen records that cross borders: what is known of the items, what is asked and answered, what it costs."""

from labelwise._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
