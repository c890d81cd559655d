"""Markdown and HTML of items and guidelines, made harmless: only what is on a short list is written anew."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import escape, unescape
from typing import Any

from labelwise.labelling.errors import ProjectError

FORMATS = ("markdown", "html")


def _named(names: str) -> frozenset[str]:
    return frozenset(names.split())


BLOCKS = _named("p div h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody tfoot tr pre blockquote hr")
KEPT = BLOCKS | _named("th td caption br a b strong i em u s del ins sub sup small code kbd samp var abbr cite q span")
VOID = _named("br hr")
RAW = _named("script style title textarea iframe noembed noframes noscript xmp")  # hold text, no elements
DROPPED = RAW | _named("template object svg math select audio video")  # with all that is in them
HEADINGS = _named("h1 h2 h3 h4 h5 h6")
INSIDE = {  # elements that mean nothing, or close ours, elsewhere
    **dict.fromkeys(("thead", "tbody", "tfoot", "tr", "th", "td", "caption"), ("table",)),
    "li": ("ul", "ol"),
    "dt": ("dl",),
    "dd": ("dl",),
}
ENDS = {  # what a beginning element ends, where nothing else is open in between
    **dict.fromkeys(BLOCKS, ("p",)),
    "li": ("p", "li"),
    "dt": ("p", "dt", "dd"),
    "dd": ("p", "dt", "dd"),
    "tr": ("p", "th", "td", "tr"),
    "th": ("p", "th", "td"),
    "td": ("p", "th", "td"),
    **dict.fromkeys(("thead", "tbody", "tfoot"), ("p", "th", "td", "tr", "thead", "tbody", "tfoot")),
}
DEEPEST = 60  # open elements; browsers have a limit, too
LONGEST = {"markdown": 40_000, "html": 400_000}  # characters: what is longer is shown as text
LINK = 'target="_blank" rel="noopener noreferrer nofollow"'
_MARKUP = re.compile(r"<(?=[a-zA-Z/!?])")
_TAG = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""[\s/]*(?:(>)|([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)?))?)""")
_LONG_NUMBER = re.compile(r"&#[0-9]{8,}")  # no character has it
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_BLANK = re.compile(r"[\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff]")  # what browsers overlook in addresses
_NUMBER = re.compile(r"[1-9][0-9]?")


def check_formats(formats: Mapping[str, str], contents: Any) -> dict[str, str]:
    """The formats of fields, "" for an item that is itself the text; ProjectError where no item has such a field."""
    for field, name in formats.items():
        if name not in FORMATS:
            raise ProjectError(f"a field is shown as {' or '.join(FORMATS)}, or as the text that it is; got {name!r}")
        if not any(field in each if isinstance(each, Mapping) else field == "" for each in contents or ()):
            raise ProjectError(f"no item has the field {field!r} that is to be shown as {name}")
    return dict(formats)


@lru_cache(maxsize=256)
def rendered(text: str, form: str, level: int = 3) -> str:
    """Markdown or HTML as HTML that runs, loads and covers nothing; its headings begin at a level.

    >>> rendered("*Hi* <script>alert(1)</script> [there](https://a.org)", "markdown")[:22]
    '<p><em>Hi</em> &lt;scr'
    >>> rendered("<h1 onclick='steal()'>A<b>B</h1><script>alert(1)</script>", "html")
    '<h3>A<b>B</b></h3>'
    """
    if len(text) > LONGEST[form]:
        return f"<pre>{escape(text, quote=False)}</pre>"
    writer = _Writer(level)
    writer.read(_from_markdown(text) if form == "markdown" else text)
    return writer.written()


def plain_text(text: str, form: str | None) -> str:
    """The text of Markdown or HTML, for lists and for models; other texts as they are.

    >>> plain_text("<p>red<br>car</p><style>p {}</style>", "html")
    'red\\ncar'
    """
    return text if form is None else _plain(text, form)


@lru_cache(maxsize=256)
def _plain(text: str, form: str) -> str:
    if len(text) > LONGEST[form]:
        return text
    reader = _Reader()
    reader.read(_from_markdown(text) if form == "markdown" else text)
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(line for line in lines if line)


def _from_markdown(text: str) -> str:
    from markdown_it import MarkdownIt  # loaded when needed: most projects have none

    global _markdown
    if _markdown is None:
        _markdown = MarkdownIt("commonmark", {"html": False}).enable("table")  # what is HTML stays text
    return str(_markdown.render(text))


_markdown: Any = None


def _tokens(html: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Text, or the name of an element that begins or ("/p") ends with its attributes; comments are left out.

    As browsers read it, in time that grows with the length alone: what is not closed is text, or dropped, to the end.
    """
    at = 0
    while (found := _MARKUP.search(html, at)) is not None:
        if found.start() > at:
            yield _unescaped(html[at : found.start()]), "", {}
        at = found.start()
        tag = _TAG.match(html, at)
        if tag is None:  # a comment, a declaration, "</3"
            ending = "-->" if html.startswith("<!--", at) else ">"
            at = html.find(ending, at + 2) + len(ending)
            if at < len(ending):
                return
            continue
        attributes, end = _attributes_at(html, tag.end())
        if end is None:
            break
        name = tag[1].lower()
        yield "", f"/{name}" if html[at + 1] == "/" else name, attributes
        at = end
        if name in RAW and html[tag.start() + 1] != "/":
            closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(html, at)
            if closing is None:
                return
            at = closing.start()
    if at < len(html):
        yield _unescaped(html[at:]), "", {}


def _attributes_at(html: str, at: int) -> tuple[dict[str, str], int | None]:
    """The attributes of an element, and where it ends; None where it does not."""
    attributes: dict[str, str] = {}
    while (found := _ATTRIBUTE.match(html, at)) is not None:
        at = found.end()
        if found[1]:
            return attributes, at
        value = next((each for each in found.groups()[2:] if each is not None), "")
        attributes.setdefault(found[2].lower(), _unescaped(value))
    return attributes, None


def _unescaped(text: str) -> str:
    return unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text


class _Reader:
    """What is left of HTML as text: nothing of elements that are dropped, a new line at blocks."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def read(self, html: str) -> None:
        dropping, depth = "", 0  # the element that is dropped, and how many of its name are open
        for text, tag, attributes in _tokens(html):
            if dropping:
                depth += (tag == dropping) - (tag == f"/{dropping}")
                dropping = dropping if depth else ""
            elif tag in DROPPED:
                dropping, depth = tag, 1
            elif tag.startswith("/"):
                self.end(tag[1:])
            elif tag:
                self.begin(tag, attributes)
            else:
                self.put(text)

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "img":
            self.put(attributes.get("alt", ""))
        elif tag == "br" or tag in BLOCKS:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" ")

    def end(self, tag: str) -> None:
        if tag in BLOCKS:
            self.parts.append("\n")

    def put(self, text: str) -> None:
        self.parts.append(text)


class _Writer(_Reader):
    """HTML written anew: elements and attributes of the lists above, all of them closed, and every text escaped."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self._open: list[tuple[str, str]] = []  # elements as they came and as they were written
        self._levels: list[int] = []  # of the headings that one is under
        self._first = level

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        names = [name for name, _ in self._open]
        if tag == "img":
            return self._picture(attributes.get("src", ""), attributes.get("alt", ""), "a" in names)
        if tag not in KEPT or (tag in INSIDE and not any(each in names for each in INSIDE[tag])):
            return
        while self._open and self._open[-1][0] in ENDS.get(tag, ()):
            self._close()
        if len(self._open) >= DEEPEST:
            return
        shown = self._heading(int(tag[1])) if tag in HEADINGS else tag
        self.parts.append(f"<{' '.join((shown, *self._attributes(tag, attributes)))}>")
        if tag not in VOID:
            self._open.append((tag, shown))

    def _picture(self, source: str, alt: str, in_link: bool) -> None:
        """A link, which loads nothing before it is followed; what a picture is called, where there can be none."""
        if source.startswith(("http:", "https:")) and not in_link:
            self.parts.append(f'<a href="{escape(source)}" {LINK}>{escape(alt or source.rpartition("/")[2])}</a>')
        elif alt:
            self.put(f"[{alt}]")

    def end(self, tag: str) -> None:
        if any(tag == name for name, _ in self._open):
            while self._open[-1][0] != tag:
                self._close()
            self._close()

    def put(self, text: str) -> None:
        self.parts.append(escape(text, quote=False))

    def written(self) -> str:
        while self._open:
            self._close()
        return "".join(self.parts)

    def _close(self) -> None:
        self.parts.append(f"</{self._open.pop()[1]}>")

    def _heading(self, level: int) -> str:
        """No level is left out below the one that the page gives, whatever the text says."""
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
        self._levels.append(level)
        return f"h{min(self._first + len(self._levels) - 1, 6)}"

    def _attributes(self, tag: str, given: Mapping[str, str]) -> list[str]:
        kept = [f'dir="{given["dir"].lower()}"'] if given.get("dir", "").lower() in ("ltr", "rtl", "auto") else []
        if tag in ("td", "th"):
            spans = (name for name in ("colspan", "rowspan") if _NUMBER.fullmatch(given.get(name, "")))
            kept += [f'{name}="{given[name]}"' for name in spans]
        if tag == "a" and is_safe(given.get("href", "")):
            kept += [f'href="{escape(given["href"])}"', LINK]
        return kept


def is_safe(address: str) -> bool:
    """Whether an address may be followed: of the web or of e-mail, or within this site.

    >>> is_safe("https://a.org"), is_safe("/browse"), is_safe(" jAva\\tscript:alert(1)"), is_safe("")
    (True, True, False, False)
    """
    bare = _BLANK.sub("", address)
    scheme = _SCHEME.match(bare)
    return bool(bare) and (scheme is None or scheme[0].lower() in ("http:", "https:", "mailto:"))
