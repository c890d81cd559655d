"""Campaign: ask, tell, believe. The one learning loop of library, command, page and studies."""

from labelwise._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
