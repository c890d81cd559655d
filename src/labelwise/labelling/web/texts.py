"""Which language a browser is shown the page in."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from labelwise.labelling.texts import LANGUAGES, Texts

COOKIE, COOKIE_SECONDS = "labelwise_language", 365 * 24 * 3600
router = APIRouter(include_in_schema=False)


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
