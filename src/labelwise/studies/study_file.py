"""An arena written down in a TOML file; what is wrong in it is told with file, key, value and cure."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from labelwise.campaign import Costs
from labelwise.numerics.metrics import METRICS
from labelwise.studies.plans import Arena, Entrant, model_names, strategy_names
from labelwise.studies.simulate import Schedule
from labelwise.studies.sources import BUILT_IN, Source

KIND_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "text in quotes",
    list: "a list in brackets",
    dict: "a table",
}
TOP_KEYS = {"name": str, "seeds": (int, list), "metrics": list, "scale": str}
TOP_TABLES = {"schedule": dict, "data": (list, dict), "entrants": (list, dict)}
DATA_KEYS = {"source": str, "name": str, "test": str, "labels": (str, int, list), "text": str, "id": str, "limit": int}
ENTRANT_KEYS = {"model": str, "strategies": list, "options": dict}
SCHEDULE_KEYS = {
    **{each.name: int for each in fields(Schedule) if each.name not in ("test_share", "costs")},
    "test_share": float,
    "costs": dict,
}
COST_KEYS: dict[str, type] = {each.name: float for each in fields(Costs)} | {"labels": dict, "unit": str, "list": str}


class ArenaFileError(ValueError):
    """What is wrong in a study file, where, and how to mend it."""


def read_arena(path: str | Path) -> Arena:
    """The arena of a TOML file; paths in it are relative to the file.

    Raises
    ------
    ArenaFileError
        Naming the file, the key, the value found there and what to write instead.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise ArenaFileError(f"{path}: not TOML: {error}; see https://toml.io for the syntax") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, brackets in brackets
        raise ArenaFileError(f"{path}: cannot be read: {error}; save it as UTF-8 text, see https://toml.io") from error
    here = _Table(path, "", content)
    here.check({**TOP_KEYS, **TOP_TABLES})
    sources = [_source(each) for each in here.tables("data", "one [[data]] table per set")]
    entrants = [_entrant(each) for each in here.tables("entrants", "one [[entrants]] table per model")]
    here.named("metrics", content.get("metrics", ()), METRICS)
    given: dict[str, Any] = {key: content[key] for key in ("metrics", "scale") if key in content}
    if "seeds" in content:
        given["seeds"] = _seeds(here)
    name = content.get("name", path.stem)
    return here.made(lambda: Arena(tuple(sources), tuple(entrants), schedule=_schedule(here), name=name, **given))


class _Table:
    """A table of the file, with where it stands."""

    def __init__(self, path: Path, where: str, content: Mapping[str, Any]) -> None:
        self.path, self.where, self.content = path, where, content

    def check(self, kinds: Mapping[str, Any]) -> None:
        """Refuse keys that are not known and values of another kind."""
        for key, value in self.content.items():
            if key not in kinds:
                raise self.wrong(key, value, f"there is no such key; there are {', '.join(kinds)}")
            wanted = kinds[key] if isinstance(kinds[key], tuple) else (kinds[key],)
            fits = isinstance(value, (*wanted, int) if float in wanted else wanted) and not isinstance(value, bool)
            if not fits:
                raise self.wrong(key, value, f"write {' or '.join(KIND_NAMES[kind] for kind in wanted)}")

    def needed(self, key: str, cure: str) -> Any:
        if key not in self.content:
            raise self.wrong(key, None, cure)
        return self.content[key]

    def named(self, key: str, names: Iterable[Any], known: Iterable[str]) -> None:
        """Refuse names that are not known."""
        for name in names:
            if name not in known:
                raise self.wrong(key, name, f"there is none of that name; there are {', '.join(known)}")

    def tables(self, key: str, cure: str) -> list[_Table]:
        """The tables of an array, each with its number."""
        found = self.needed(key, f"write {cure}")
        if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
            raise self.wrong(key, found, f"write {cure}")
        return [_Table(self.path, f"{key}[{place}].", each) for place, each in enumerate(found)]

    def made(self, make: Callable[[], Any]) -> Any:
        """What is made of the table; what its values cannot make is told with the file and the key."""
        try:
            return make()
        except ArenaFileError:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            place = f"{self.where.removesuffix('.')}: " if self.where else ""
            raise ArenaFileError(f"{self.path}: {place}{error}") from error

    def wrong(self, key: str, value: Any, cure: str) -> ArenaFileError:
        found = "is missing" if value is None else f"is {value!r}"
        return ArenaFileError(f"{self.path}: {self.where}{key} {found}: {cure}")


def _source(table: _Table) -> Source:
    table.check(DATA_KEYS)
    given = dict(table.content)
    source = table.needed("source", f"name a built-in set ({', '.join(BUILT_IN)}) or a file")
    folder = table.path.parent
    for key in ("source", "test"):
        if key in given and not (key == "source" and source in BUILT_IN and not os.path.isfile(folder / source)):
            if not os.path.isfile(folder / given[key]):  # False also for a name that is too long to be one
                raise table.wrong(key, given[key], f"there is no such file beside {table.path.name}; mend the path")
            given[key] = folder / given[key]
    given["source"] = str(given["source"])
    return table.made(lambda: Source(**given))


def _entrant(table: _Table) -> Entrant:
    table.check(ENTRANT_KEYS)
    table.named("model", [table.needed("model", "name a model")], model_names())
    cure = 'list strategies, as ["random", "uncertainty"]'
    if not table.needed("strategies", cure):
        raise table.wrong("strategies", [], cure)
    table.named("strategies", table.content["strategies"], strategy_names())
    return table.made(lambda: Entrant(**table.content))


def _schedule(here: _Table) -> Schedule:
    table = _Table(here.path, "schedule.", here.content.get("schedule", {}))
    table.check(SCHEDULE_KEYS)
    given = dict(table.content)
    if "costs" in given:
        prices = _Table(here.path, "schedule.costs.", given["costs"])
        prices.check(COST_KEYS)
        own = {key: value for key, value in prices.content.items() if key != "list"}
        named = prices.content.get("list")
        given["costs"] = prices.made(lambda: Costs(**own) if named is None else replace(Costs.named(named), **own))
    return table.made(lambda: Schedule(**given))


def _seeds(here: _Table) -> tuple[int, ...]:
    seeds = here.content["seeds"]
    if isinstance(seeds, list):
        if not seeds or not all(type(seed) is int for seed in seeds):
            raise here.wrong("seeds", seeds, "list whole numbers, or give their count")
        return tuple(seeds)
    if seeds < 1:
        raise here.wrong("seeds", seeds, "give at least 1")
    return tuple(range(seeds))
