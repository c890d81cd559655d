"""Where modules of 0.1 are now: old import paths, and model files that name them, work for one release more."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

PARTED = {
    "labelwise.experiments": ("labelwise.studies", "labelwise.streams", "labelwise.numerics.metrics"),
    "labelwise.data.streams": ("labelwise.data.formats.registry", "labelwise.data.formats.streaming"),
}
TABLE = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")  # old and new name, a line each
NEW_NAME = {f"labelwise.{old}": f"labelwise.{new}" for old, new in map(str.split, TABLE.splitlines())}


class MovedModules(MetaPathFinder, Loader):
    """Finds a module by its old name: it is the module of the new name, not a copy."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in PARTED:
            return ModuleSpec(fullname, self, is_package=True)
        return ModuleSpec(fullname, self) if fullname in NEW_NAME else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name in PARTED:
            return PartedPackage(spec.name)
        new = NEW_NAME[spec.name]
        warnings.warn(f"{spec.name} has moved to {new}", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It is loaded already; what the import system has just changed is put back."""
        if not isinstance(module, PartedPackage):
            assert module.__spec__ is not None
            module.__spec__ = module.__spec__.loader_state


class PartedPackage(ModuleType):
    """A package whose names are in several others now."""

    def __getattr__(self, name: str) -> Any:
        for new in PARTED[self.__name__]:
            if not name.startswith("__") and hasattr(importlib.import_module(new), name):
                warnings.warn(f"{self.__name__}.{name} has moved to {new}", DeprecationWarning, stacklevel=2)
                return getattr(importlib.import_module(new), name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def find_moved_modules() -> None:
    """From now on modules are also found by their old names."""
    sys.meta_path.append(MovedModules())
