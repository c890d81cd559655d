"""What a label means: a name, and what else people say of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

TEXTS, LISTS = ("name", "description", "parent"), ("examples", "keywords", "aliases")
SEPARATOR = ";"  # between the entries of a list that is written as one text


@dataclass(frozen=True)
class Label:
    """A label by its name, with a description and words that stand for it. Only the name is needed.

    Parameters
    ----------
    name : str
        Unique among the labels. "science/physics" is a path: physics, under science.
    description : str
        What the label means, in a sentence or two.
    examples : texts of items, or parts of them, that have the label
    keywords : words or phrases that speak for the label
    aliases : other names
    parent : str
        The name of a more general label. It says what the label is about. It implies no answer, unless the data say so:
        see `implies_parent` of `LabelData`.

    Examples
    --------
    >>> Label.of("physics")
    Label(name='physics', description='', examples=(), keywords=(), aliases=(), parent='')
    >>> Label.of({"name": "physics", "keywords": "quark; boson", "parent": "science"}).keywords
    ('quark', 'boson')
    """

    name: str
    description: str = ""
    examples: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    parent: str = ""

    def __post_init__(self) -> None:
        for key in TEXTS:
            value = getattr(self, key)
            if not isinstance(value, str):
                raise TypeError(f"{key} of the label {self.name!r} must be a text, got {value!r}")
        if not self.name.strip():
            raise ValueError(f"every label needs a name, got {self.name!r}")
        for key in LISTS:
            object.__setattr__(self, key, _as_list(self.name, key, getattr(self, key)))

    @classmethod
    def of(cls, given: Any) -> Label:
        """From a name, or from a mapping of the fields above; other keys are refused."""
        if isinstance(given, Label):
            return given
        if not isinstance(given, Mapping):
            return cls(str(given))
        known = {field.name for field in fields(cls)}
        strange = [key for key in given if key not in known]
        if strange:
            raise ValueError(f"a label has no {strange[0]!r}; it has {', '.join(sorted(known))}")
        if "name" not in given:
            raise ValueError(f"a label needs a name, got {dict(given)!r}")
        return cls(**{key: value for key, value in given.items() if value is not None})

    def as_dict(self) -> dict[str, Any]:
        """What was said of the label, without what is empty; `Label.of` reads it again."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: list(value) if key in LISTS else value for key, value in found.items() if value}


def as_labels(given: Iterable[Any] | Mapping[str, str]) -> tuple[Label, ...]:
    """Labels from names, mappings or records, or from one mapping of names to descriptions.

    >>> [label.description for label in as_labels({"joy": "being glad", "fear": ""})]
    ['being glad', '']
    """
    if isinstance(given, str):
        raise ValueError(f"label_names must be a list of names, got {given!r}; write [{given!r}]")
    if isinstance(given, Mapping):
        return tuple(Label(name, description or "") for name, description in given.items())
    return tuple(Label.of(each) for each in given)


def _as_list(name: str, key: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(SEPARATOR)
    if not isinstance(value, Iterable):
        raise TypeError(f"{key} of the label {name!r} must be a list of texts, got {value!r}")
    entries = list(value)
    wrong = [entry for entry in entries if not isinstance(entry, str)]
    if wrong:
        raise TypeError(f"{key} of the label {name!r} must be texts, got {wrong[0]!r}")
    return tuple(entry.strip() for entry in entries if entry.strip())
