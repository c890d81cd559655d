"""How records look to a person: numbers in words, short HTML and figures for notebooks, data frames, a widget.

It imports no other room, so that every record can show itself.
"""

from labelwise._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
