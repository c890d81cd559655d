"""Names looked up when they are first used: importing costs nothing, and an extra is missed only where it is needed.

A command or a page that shows one question must not wait seconds for everything it could train with. The names of a
package stand once, in the stub `__init__.pyi` beside its `__init__.py`, where type checkers and editors read them, too.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def names_in(stub: Path) -> dict[str, str]:
    """The names that a stub file re-exports, each with the module it comes from; "" for those of the package itself."""
    found: dict[str, str] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("labelwise"):
            found |= {alias.name: str(node.module) for alias in node.names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = ""
    return found


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package: the names of its stub, and its own modules.

    >>> import labelwise.records
    >>> find, names, public = attach("labelwise.records", labelwise.records.__file__)
    >>> find("Answer").__name__, "Question" in names(), public[:2]
    ('Answer', True, ['Answer', 'Block'])
    """
    home = names_in(Path(file).with_name("__init__.pyi"))

    def find(name: str) -> Any:
        if name == "__version__" and name in home:
            return _installed_version(package)
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = home.get(name) or package
        try:
            if module != package:
                return getattr(importlib.import_module(module), name)
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name == f"{package}.{name}":
                raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
            raise

    def names() -> list[str]:
        special = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*home, *special})

    return find, names, sorted(home)


def _installed_version(package: str) -> str:
    from importlib import metadata  # takes longer to load than everything else here

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # the sources alone, not installed
        return "0+unknown"


@dataclass(frozen=True)
class Late:
    """A class, or a function, of a registry that is imported when it is first called.

    >>> Late("labelwise.records", "Question")(item="cat.png", labels=("cat",)).labels
    ('cat',)
    """

    module: str
    name: str

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(self.module), self.name)(*arguments, **options)


class LateModule(ModuleType):
    """A module that is imported when something in it is first used.

    >>> LateModule("labelwise.records").Question(item="cat.png", labels=("cat",)).item
    'cat.png'
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


class Registry(dict[str, Any]):
    """What is built in, by name, and what installed packages add by entry points of a group.

    Names that are built in stay what they are. Packages are looked for when a name is not among them, or all are
    listed; none is imported before its name is used, unless `load` takes an entry to what it names.

    >>> known = Registry({"question": Late("labelwise.records", "Question")}, "labelwise.nothing")
    >>> "question" in known, "answer" in known, list(known)
    (True, False, ['question'])
    """

    def __init__(
        self, built_in: Mapping[str, Any], group: str, load: Callable[[EntryPoint], Any] | None = None
    ) -> None:
        super().__init__(built_in)
        self.built_in = tuple(built_in)
        self.group, self._load, self._has_looked = group, load or _later, False

    def _look(self) -> None:
        if not self._has_looked:
            self._has_looked = True
            for entry in _entries(self.group):
                if not super().__contains__(entry.name):
                    super().__setitem__(entry.name, self._load(entry))

    def __missing__(self, name: str) -> Any:
        if not self._has_looked:
            self._look()
            return self[name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name):
            self._look()
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self._look()
        return super().__iter__()

    def __len__(self) -> int:
        self._look()
        return super().__len__()

    def keys(self) -> Any:
        self._look()
        return super().keys()

    def values(self) -> Any:
        self._look()
        return super().values()

    def items(self) -> Any:
        self._look()
        return super().items()


def _entries(group: str) -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # takes a while, and few names are of other packages

    return entry_points(group=group)


def _later(entry: EntryPoint) -> Late:
    return Late(entry.module, entry.attr)


def names_built_in(registry: Mapping[str, Any]) -> str:
    """The names of a registry for a help text, which is the same whatever else is installed."""
    return ", ".join(getattr(registry, "built_in", registry))


def packages_of(group: str) -> set[str]:
    """The packages that add something to a group."""
    return {entry.module.partition(".")[0] for entry in _entries(group)}
