"""The texts of the page, one file per language in `languages/`: which language a browser is shown, and its texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup

LANGUAGES = ("en", "de")
COOKIE, COOKIE_SECONDS = "labelwise_language", 365 * 24 * 3600
SCRIPT = "script"  # the group of texts that scripts use
TRANSLATED = frozenset(  # templates without a text of their own; the others are English
    f"{name}.html.jinja" for name in ("enter", "label", "keys", "help", "sweep", "trouble", "type")
)
router = APIRouter(include_in_schema=False)


class Texts:
    """Texts of one language by key, as "label.save". Values are escaped; a text may hold tags such as <kbd>.

    >>> Texts("de")("navigation.help"), Texts("en")("script.saved", count=3)
    (Markup('Hilfe'), Markup('✓ saved, 3 so far'))
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self.groups = read_texts(language)

    def __call__(self, key: str, **values: Any) -> Markup:
        return Markup(self._found(key, values)).format(**values)

    def plain(self, key: str, **values: Any) -> str:
        """A text as it is, for what is no HTML."""
        return self._found(key, values).format(**values)

    def _found(self, key: str, values: Mapping[str, Any]) -> str:
        group, _, name = key.partition(".")
        text = self.groups[group][name]
        return str(text if isinstance(text, str) else text["one" if values["count"] == 1 else "other"])

    @property
    def for_scripts(self) -> str:
        commands = {f"command_{name}": text for name, text in self.groups["commands"].items()}
        return json.dumps({**self.groups[SCRIPT], **commands}, ensure_ascii=False)

    def others(self) -> list[tuple[str, str]]:
        """The other languages, each by its own name."""
        return [(each, str(Texts(each)("page.language"))) for each in LANGUAGES if each != self.language]


@cache
def read_texts(language: str) -> Mapping[str, Mapping[str, Any]]:
    path = files("labelwise.labelling.web") / "languages" / f"{language}.json"
    texts: Mapping[str, Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return texts


def language_of(accepted: str) -> str:
    """The language that a browser wants most of those that there are, by its header Accept-Language.

    >>> [language_of(each) for each in ("de-AT,de;q=0.9,en;q=0.8", "fr, en;q=0.5, de;q=0.7", "fr", "")]
    ['de', 'de', 'en', 'en']
    """
    wanted: dict[str, float] = {}
    for part in accepted[:400].split(","):
        name, _, weight = part.partition(";")
        language = name.strip().lower().partition("-")[0]
        try:
            weighed = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        if language in LANGUAGES:
            wanted[language] = max(weighed, wanted.get(language, 0.0))
    return max(wanted, key=lambda language: wanted[language], default=LANGUAGES[0])


def texts_of(request: Request) -> Texts:
    """In the language that was chosen on the page, otherwise that of the browser."""
    chosen = request.cookies.get(COOKIE, "")
    return Texts(chosen if chosen in LANGUAGES else language_of(request.headers.get("accept-language", "")))


TheTexts = Annotated[Texts, Depends(texts_of)]


@router.get("/language/{language}")
def choose_language(
    language: Annotated[str, Path(pattern=f"^({'|'.join(LANGUAGES)})$")],
    back: Annotated[str, Query(max_length=2000, pattern="^/([^/\\\\]|$)")] = "/",
) -> Response:
    """Keep a language in this browser and go back to the page that one came from."""
    response = RedirectResponse(back, 303)
    response.set_cookie(COOKIE, language, max_age=COOKIE_SECONDS, httponly=True, samesite="lax")
    return response
