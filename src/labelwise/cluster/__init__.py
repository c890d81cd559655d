"""Past one machine: the only floor that knows Dask. Everything else runs without it, and never imports it.

`cluster=` is a `distributed.Client`, the address of a scheduler, or a number of processes on this machine.
"""

from labelwise._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
