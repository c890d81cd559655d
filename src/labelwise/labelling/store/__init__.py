"""The database of a project. SQL is written here and nowhere else."""

from labelwise.labelling.store.engine import Location, Store

__all__ = ["Location", "Store"]
