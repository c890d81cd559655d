"""Texts of the page: every language has them all, no page that is translated has others, and a browser gets its own."""

from __future__ import annotations

import ast
import json
import re
from itertools import product
from pathlib import Path

import pytest

from labelling.web.browsing import CHROMIUM, LabellingTab, serving
from labelwise.campaign.standing import _advice
from labelwise.labelling import texts
from labelwise.labelling.texts import LANGUAGES, Texts, read_texts
from labelwise.records.learning_curve import IntervalEstimate, Outlook

LABELLING = Path(texts.__file__).parent
WEB = LABELLING / "web"
SCRIPTS = sorted(path for path in (WEB / "static").rglob("*.js") if path.name != "texts.js")
TEMPLATES = sorted((WEB / "templates").glob("*.jinja"))
KEYS = "ArrowDown ArrowLeft ArrowRight ArrowUp Backspace Enter Escape PageDown PageUp Tab UpTo Alt"
NO_TEXTS = {*KEYS.split(), "Mac"}  # literals that look like texts: keys, and what a browser calls a machine
PLACEHOLDER, TAG = re.compile(r"\{(\w+)\}"), re.compile(r"<[^>]*>")


def flat(language: str) -> dict[str, str]:
    found = {}
    for group, entries in read_texts(language).items():
        for name, text in entries.items():
            for form, said in {"": text}.items() if isinstance(text, str) else text.items():
                found[f"{group}.{name}{form and '.' + form}"] = said
    return found


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_has_all_texts_with_the_same_places_and_tags(language):
    english, other = flat(LANGUAGES[0]), flat(language)
    assert list(other) == list(english)
    for key, text in english.items():
        assert other[key].strip() and sorted(PLACEHOLDER.findall(other[key])) == sorted(PLACEHOLDER.findall(text)), key
        assert sorted(re.findall(r"<(\w+)", other[key])) == sorted(re.findall(r"<(\w+)", text)), key
    same = {
        key
        for key in english
        if english[key] == other[key] and len(re.findall(r"[^\W\d_]{2,}", key_text(english[key]))) > 2
    }
    assert same == set(), "sentences that nobody has translated"
    assert not [key for key in english if key.startswith("script.") and "<" in english[key]], (
        "scripts put in plain texts"
    )


def key_text(text: str) -> str:
    return PLACEHOLDER.sub("", TAG.sub("", text))


def bare(template: str) -> str:
    """What a template says by itself: without what is filled in, keys, commands and comments."""
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", template, flags=re.DOTALL)
    text = re.sub(r' data-[a-z-]+="[^"]*"', "", text)
    text = re.sub(r"<(kbd|pre)\b.*?</\1>|<title>|<!doctype html>|&nbsp;", "", text, flags=re.DOTALL)
    seen = re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*)"', text)
    return " ".join([TAG.sub(" ", text), *seen]).replace("labelwise", "")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name.partition(".")[0])
def test_templates_have_no_text_of_their_own(path):
    template = path.read_text(encoding="utf-8")
    assert re.findall(r"[^\W\d_]{2,}", bare(template)) == []
    assert bare('<p title="To go">{{ t("x") }} or stay</p>').split() == ["or", "stay", "To", "go"]  # that it can fail


def literals(script: str) -> list[str]:
    """Strings of a script that people might read: a word with a capital, or several words."""
    code = re.sub(r"^\s*//.*$|(?<=[;{,])\s*//.*$", "", script, flags=re.MULTILINE)
    found = re.findall(r'"([^"\n]*)"', code) + re.findall(r"`([^`\n]*)`", code)
    plain = [re.sub(r"\$\{[^}]*\}+", "", each) for each in found]
    words = [
        each
        for each in plain
        if re.search(r"(?<![\w#.\[-])[A-Z][a-z]+|(?<![\w#.\[-])[a-z]{2,} [a-z]{2,} [a-z]{2,}", each)
    ]
    return [each for each in words if each not in NO_TEXTS and not re.search(r"[#.\[\]=<>]\w|^\(", each)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_have_no_text_of_their_own(script):
    assert literals(script.read_text(encoding="utf-8")) == []
    assert literals('tell("Nothing is marked."); say(`waits for the ${x}`);') == [
        "Nothing is marked.",
        "waits for the ",
    ]


def test_every_text_is_used_and_every_text_used_is_there():
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    pages = "\n".join(path.read_text(encoding="utf-8") for path in TEMPLATES)
    code = "\n".join(
        path.read_text(encoding="utf-8") for path in LABELLING.rglob("*.py") if path.parent.name != "store"
    )
    there = {f"{group}.{name}" for group, entries in read_texts("en").items() for name in entries}
    groups = "|".join(read_texts("en"))
    in_pages = set(re.findall(rf'"((?:{groups})\.\w+)"', "\n".join(re.findall(r"\{[{%].*?[%}]\}", pages))))
    in_code = set(re.findall(rf'"((?:{groups})\.\w+)"', code))
    assert {key for key in in_pages | in_code if not key.endswith("_")} - there == set()
    called = {f"script.{name}" for name in re.findall(r'\bt\("(\w+)"', scripts)}
    assert called - there == set()
    begun = [f"script.{name}" for name in re.findall(r"t\(`(\w+_)\$\{", scripts)]
    begun += re.findall(rf'"((?:{groups})\.\w*)" ~', pages) + re.findall(rf'f"((?:{groups})\.\w*)\{{', code)
    begun += ["commands.", "reasons.", "numbers.", "messages."]  # read as whole groups
    in_scripts = {f"script.{name}" for name in read_texts("en")["script"] if f'"{name}"' in scripts}
    unused = there - in_pages - in_code - in_scripts
    assert {key for key in unused if not key.startswith(tuple(begun))} == set()


SAID_ELSEWHERE = {  # what messages are put together from, by the name of the variable
    "cure": (
        "nothing was saved. Undo that answer first, or mark this one as a correction",
        "an admin adds people on the page People, or by: labelwise user add PROJECT NAME",
    ),
    "what": ("is retired and takes no answers", "was merged into 'x'; use that one", "'x'"),
    "hint": ("; did you mean 'x'?",),
    "word": ("yes", "no"),
    "'yes' if value == YES else 'no'": ("yes", "no"),
}
OF_COMMANDS = {
    "check_reach",
    "__init__",
    "check_formats",
    "remove_token",
    "add_api_token",
    "delete_token",
}  # functions that no page calls


def test_every_message_that_a_page_may_show_has_its_text():
    raised, unknown = set(), []
    for place in ("leases", "service", "many_items", "notes", "people", "items/browse", "store/labels"):
        raised |= {*messages_of(LABELLING / f"{place}.py")}
    for path in WEB.glob("*.py"):
        raised |= set() if path.stem in ("reach", "ml_backend") else {*messages_of(path)}
    assert len(raised) > 70
    for text in raised:
        parts = re.split(r"\{(.*?)\}", text)
        choices = [SAID_ELSEWHERE.get(part, ("'x'",)) if place % 2 else (part,) for place, part in enumerate(parts)]
        ways = ["".join(each) for each in product(*choices)]
        unknown += [] if any(Texts("de").message(way) != way for way in ways) else [text]
    assert unknown == []
    assert Texts("de").message("there is no such message") == "there is no such message"  # that it can fail


def test_every_advice_has_its_text():
    source = (LABELLING.parent / "campaign" / "standing.py").read_text(encoding="utf-8")
    advice = re.findall(r'Standing\(\*counts, f?"([^"]+)"', source)
    assert len(advice) == 3
    said = [re.sub(r"\{few\}", "13 random items say little", each) for each in advice]
    said.append(re.sub(r"\{few\}", "1 random item says little", advice[1]))
    gain = IntervalEstimate(0.012, -0.01, 0.03)
    said += [_advice(gain), _advice(IntervalEstimate(0.0, -0.01, 0.0))]
    said += [Outlook(3600.0, ahead, pays=pays).advice for pays in (0.123, 0.9) for ahead in (gain, None)]
    german = [Texts("de").message(each) for each in said]
    assert [each for each in german if re.search(r"\b(the|random|points)\b", each)] == []
    assert german[4].endswith("brachte +1,2 Punkte F1 (-1,0 bis +3,0)")


def messages_of(path: Path) -> list[str]:
    """What a module raises to people, with the places of values in braces."""
    found = []
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name in OF_COMMANDS:
            continue
        for call in ast.walk(function):
            name = getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""
            if name in ("ProjectError", "AnswerRefused", "HTTPException"):
                said = call.args[name == "HTTPException"]
                parts = said.values if isinstance(said, ast.JoinedStr) else [said]
                if all(isinstance(part, ast.Constant | ast.FormattedValue) for part in parts):
                    found.append("".join(_part(part) for part in parts))
    return found


def _part(part: ast.Constant | ast.FormattedValue) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"


def test_a_page_comes_in_the_language_of_the_browser_or_the_one_chosen(alone):
    german = {"accept-language": "de-AT,de;q=0.9,en;q=0.5"}
    assert '<html lang="en">' in alone.get("/label").text
    page = alone.get("/label", headers=german).text
    assert '<html lang="de">' in page and "Ganzer Eintrag" in page and "Whole item" not in page
    assert "Fortschritt" in alone.get("/progress", headers=german).text
    asked = alone.post("/api/ask", {"items": 1}, **german).json()
    assert asked["questions"][0]["why"].startswith(("Gefragt, weil", "Zufallsanteil", "Beginn", "Noch ist"))
    back = alone.get("/language/de?back=/help", follow_redirects=False)
    assert back.status_code == 303 and back.headers["location"] == "/help"
    assert "Zwei Modi" in alone.get("/help").text
    for elsewhere in ("//evil.example", "https://evil.example", "/\\evil.example"):
        assert alone.get("/language/de", params={"back": elsewhere}, follow_redirects=False).status_code == 422
    assert alone.get("/language/fr").status_code == 422


def test_texts_escape_what_is_put_in():
    assert Texts("en")("sweep.which", label="<b>") == "Which have “&lt;b&gt;”?"
    assert json.loads(Texts("de").for_scripts)["command_skip"] == "überspringen"


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")
def test_labelling_in_german(browser, project):
    context = browser.new_context(locale="de-DE", viewport={"width": 1180, "height": 760})
    with serving(project) as address:
        tab = LabellingTab(context, address)
        tab.press("1", "Enter")
        tab.wait_for_saved(1)
        assert tab.page.inner_text("#saved") == "✓ gespeichert, bisher 1"
        tab.wait_for_question()
        tab.press("Enter")
        assert "Nichts ist markiert" in tab.page.inner_text("#hint")
        tab.press("m", "y")
        tab.press("?")
        assert "Tasten" in tab.page.inner_text("#help-title")
        tab.page.keyboard.press("Escape")
        seen = tab.page.inner_text("main")
        assert not re.search(r"\b(the|label that|Save|Skip|Undo|Question|none marked)\b", seen), seen
        tab.page.goto(f"{address}/sweep?label=left")
        tab.page.wait_for_function("() => 'ready' in document.documentElement.dataset")
        assert "Welche haben „left“?" in tab.page.inner_text("h1") and "noch" in tab.page.inner_text("#left")
        tab.page.get_by_role("link", name="English").click()
        tab.page.wait_for_function("() => document.documentElement.lang === 'en'")
        assert tab.page.inner_text("h1") == "Which have “left”?" and tab.errors == []
    context.close()
