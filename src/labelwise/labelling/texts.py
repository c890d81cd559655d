"""The texts that people read, one file per language in `languages/`, with numbers written as that language does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from labelwise.views.wording import duration

LANGUAGES = ("en", "de")
SCRIPT = "script"  # the group of texts that scripts use
MESSAGES = "messages"  # the group of what is said in English where it happens, mostly errors
_DECIMAL = re.compile(r"^([+-]?\d+)\.(\d+)$")
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Texts:
    """Texts of one language by key, as "label.save". Values are escaped; a text may hold tags such as <kbd>.

    >>> Texts("de")("navigation.help"), Texts("en")("script.saved", count=3)
    (Markup('Hilfe'), Markup('✓ saved, 3 so far'))
    >>> Texts("en").plain("count.items", count=1), Texts("de").plain("count.items", count=2000)
    ('1 item', '2.000 Einträge')
    """

    language: str

    @property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        return read_texts(self.language)

    def __call__(self, key: str, **values: Any) -> Markup:
        return Markup(self._found(key, values)).format(**self._written(values))

    def plain(self, key: str, **values: Any) -> str:
        """A text as it is, for what is no HTML."""
        return self._found(key, values).format(**self._written(values))

    def number(self, value: float, digits: int = 0, sign: str = "") -> str:
        """A number as the language writes it; with sign "+", also that of positive ones.

        >>> Texts("en").number(1234.5, 1), Texts("de").number(1234.5, 1), Texts("de").number(0.25, 2, "+")
        ('1,234.5', '1.234,5', '+0,25')
        """
        marks = self.groups["numbers"]
        signs = str.maketrans({",": marks["thousands"], ".": marks["decimal"]})
        return f"{value:{sign},.{digits}f}".translate(signs)

    def duration(self, seconds: float) -> str:
        """A time as people say it; its units are the same in all languages.

        >>> Texts("en").duration(4.25), Texts("de").duration(4.25), Texts("de").duration(75)
        ('4.2 s', '4,2 s', '1 min 15 s')
        """
        return duration(seconds).replace(".", self.groups["numbers"]["decimal"])

    def day(self, day: date) -> str:
        """A day of the year.

        >>> Texts("en").day(date(2026, 3, 7)), Texts("de").day(date(2026, 3, 7))
        ('7 Mar', '7. Mär')
        """
        return self.plain("numbers.day", day=day.day, month=self.groups["numbers"]["months"].split()[day.month - 1])

    def message(self, said: str) -> str:
        """What was said in English where it happened, in this language; as it is where there is no text for it.

        >>> Texts("de").message("there is no label 'cats' in use")
        "es gibt kein Label 'cats'"
        """
        if self.language == LANGUAGES[0]:
            return said
        for key, pattern in _message_patterns():
            found = pattern.fullmatch(said)
            if found is not None:
                marks = self.groups["numbers"]
                values = {
                    name: _DECIMAL.sub(rf"\1{marks['decimal']}\2", value) for name, value in found.groupdict().items()
                }
                return self.plain(f"{MESSAGES}.{key}", **values)
        return said

    @property
    def for_scripts(self) -> str:
        commands = {f"command_{name}": text for name, text in self.groups["commands"].items()}
        return json.dumps({**self.groups[SCRIPT], **commands}, ensure_ascii=False)

    def others(self) -> list[tuple[str, str]]:
        """The other languages, each by its own name."""
        return [(each, str(Texts(each)("page.language"))) for each in LANGUAGES if each != self.language]

    def _found(self, key: str, values: Mapping[str, Any]) -> str:
        group, _, name = key.partition(".")
        text = self.groups[group][name]
        return str(text if isinstance(text, str) else text["one" if values["count"] == 1 else "other"])

    def _written(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.number(value) if type(value) is int else value for name, value in values.items()}


@cache
def read_texts(language: str) -> Mapping[str, Mapping[str, Any]]:
    path = files("labelwise.labelling") / "languages" / f"{language}.json"
    texts: Mapping[str, Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return texts


@cache
def _message_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """The English messages, those with most words of their own first, so that the most particular one is found."""
    messages = read_texts(LANGUAGES[0])[MESSAGES]
    longest_first = sorted(messages.items(), key=lambda pair: -len(_PLACE.sub("", pair[1])))
    return [(key, message_pattern(text)) for key, text in longest_first]


def message_pattern(text: str) -> re.Pattern[str]:
    """What a message looks like once its places are filled.

    >>> message_pattern("{who} has no answer to take back").fullmatch("'ann' has no answer to take back")["who"]
    "'ann'"
    """
    parts = _PLACE.split(text)
    pieces = [f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts)]
    return re.compile("".join(pieces), re.DOTALL)


ENGLISH = Texts(LANGUAGES[0])
