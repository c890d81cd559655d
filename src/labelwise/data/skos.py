"""SKOS vocabularies in Turtle, N-Triples and RDF/XML, and Annif's tables of subjects: the concepts in them.

Of RDF only what vocabularies use is read: prefixes, addresses, texts with their language. Nodes without a name, and
lists, are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from labelwise.records.labels import Label

VOCABULARIES = (".ttl", ".nt", ".rdf", ".xml", ".tsv")
SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
OURS = "urn:label:"
TOKEN = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?P<uri><[^<>"{}|^`\\\s]*>)
    |(?P<text>\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<language>@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)
    |(?P<type>\^\^)
    |(?P<sign>[;,.\[\]()])
    |(?P<name>[^\s;,()\[\]"'<>\#]*[^\s;,.()\[\]"'<>\#])""",
    re.X | re.S,
)
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.S)
PROPERTIES = ("prefLabel", "altLabel", "hiddenLabel", "definition", "scopeNote", "example", "broader", "narrower")

Triple = tuple[str, str, Any]  # subject, property, and {"@id": ...} or {"@value": ..., "@language": ...}


def read_concepts(text: str, kind: str) -> list[dict[str, Any]]:
    """The concepts of a file of this suffix, in their order: SKOS properties, each a list, and "@id".

    >>> text = '@prefix s: <http://www.w3.org/2004/02/skos/core#> . <x:1> s:prefLabel "joy"@en ; s:broader <x:0> .'
    >>> read_concepts(text, ".ttl")
    [{'@id': 'x:1', 'prefLabel': [{'@value': 'joy', '@language': 'en'}], 'broader': [{'@id': 'x:0'}]}]
    """
    if kind == ".tsv":
        return _subjects(text)
    triples = list(_xml_triples(text) if kind in (".rdf", ".xml") else _turtle_triples(text))
    found: dict[str, dict[str, Any]] = {}
    for subject, prop, value in triples:
        if not prop.startswith(SKOS) or prop.removeprefix(SKOS) not in PROPERTIES:
            continue
        name = prop.removeprefix(SKOS)
        if name == "narrower" and "@id" in value:  # said from above
            subject, name, value = value["@id"], "broader", {"@id": subject}
        said = found.setdefault(subject, {"@id": subject}).setdefault(name, [])
        if value not in said:
            said.append(value)
    return [concept for concept in found.values() if "prefLabel" in concept]


def write_turtle(labels: Sequence[Label], language: str = "en") -> str:
    """Labels as SKOS concepts in Turtle, which `read_concepts` reads again."""
    lines = [f"@prefix skos: <{SKOS}> .", ""]
    for label in labels:
        texts = {"skos:prefLabel": (label.name,), "skos:altLabel": label.aliases, "skos:hiddenLabel": label.keywords}
        texts |= {"skos:definition": (label.description,) * bool(label.description), "skos:example": label.examples}
        said = ["a skos:Concept"]
        said += [f"{name} {_quoted(text)}@{language}" for name, all_ in texts.items() for text in all_]
        said += [f"skos:broader <{_address(label.parent)}>"] * bool(label.parent)
        lines += [f"<{_address(label.name)}> " + " ;\n    ".join(said) + " .", ""]
    return "\n".join(lines)


def _address(name: str) -> str:
    return OURS + quote(name, safe="")


def _quoted(text: str) -> str:
    for sign, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(sign, escaped)
    return f'"{text}"'


def _subjects(text: str) -> list[dict[str, Any]]:
    """Annif's table: an address, a tab, a name on each line."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            cells = line.split("\t")
            if len(cells) < 2 or not cells[1].strip():
                raise ValueError(f"line {number}: expected <address>, a tab and a name, found {line[:60]!r}")
            found.append({"@id": cells[0].strip().strip("<>"), "prefLabel": [{"@value": cells[1].strip()}]})
    return found


def _xml_triples(text: str) -> Iterator[Triple]:
    if "<!ENTITY" in text:
        raise ValueError("it defines entities, which are not read; save it as Turtle")
    try:
        root = ElementTree.fromstring(text.encode())
    except ElementTree.ParseError as error:
        raise ValueError(f"this is no valid XML: {error}") from None
    for node in root.iter():
        subject = node.get(f"{{{RDF}}}about") or node.get(f"{{{RDF}}}ID")
        if subject is None:
            continue
        for said in node:
            prop = said.tag.replace("{", "").replace("}", "")
            inner = said[0].get(f"{{{RDF}}}about") if len(said) else None
            resource = said.get(f"{{{RDF}}}resource") or inner
            if resource is not None:
                yield subject, prop, {"@id": resource}
            elif said.text:
                spoken = said.get(LANGUAGE)
                yield subject, prop, {"@value": said.text.strip()} | ({} if spoken is None else {"@language": spoken})


def _turtle_triples(text: str) -> Iterator[Triple]:
    tokens, prefixes = _Tokens(text), {"": ""}
    while (kind_text := tokens.next()) is not None:
        kind, token = kind_text
        if token.lower() in ("@prefix", "@base", "prefix", "base"):
            name = tokens.expect()[1] if token.lower().lstrip("@") == "prefix" else "base:"
            prefixes[name.rstrip(":")] = tokens.expect()[1].strip("<>")
            if token.startswith("@"):
                tokens.expect()
            continue
        subject = tokens.resolve(kind, token, prefixes)
        yield from _about(subject, tokens, prefixes)


def _about(subject: str | None, tokens: _Tokens, prefixes: dict[str, str]) -> Iterator[Triple]:
    """Everything up to the full stop: properties by semicolon, their values by comma."""
    prop: str | None = None
    while True:
        kind, token = tokens.expect()
        if kind == "sign" and token in ".;,":
            if token == ".":
                return
            prop = None if token == ";" else prop
        elif prop is None:
            prop = f"{RDF}type" if token == "a" else tokens.resolve(kind, token, prefixes)
        else:
            value = tokens.value(kind, token, prefixes)
            if value is not None and subject is not None:
                yield subject, prop, value


class _Tokens:
    """The words of a Turtle file, one after another."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def next(self) -> tuple[str, str] | None:
        while self.at < len(self.text):
            match = TOKEN.match(self.text, self.at)
            if match is None:
                raise ValueError(f"{self.where()}: found {self.text[self.at : self.at + 20]!r}, which is no Turtle")
            self.at = match.end()
            if match.lastgroup != "skip":
                return str(match.lastgroup), match.group()
        return None

    def expect(self) -> tuple[str, str]:
        found = self.next()
        if found is None:
            raise ValueError("it ends in the middle of a statement")
        return found

    def where(self) -> str:
        return f"line {self.text.count(chr(10), 0, self.at) + 1}"

    def resolve(self, kind: str, token: str, prefixes: dict[str, str]) -> str | None:
        """An address in full; None for a node without a name."""
        if kind == "uri":
            return prefixes.get("base", "") * (":" not in token) + token[1:-1]
        if kind == "sign" and token in "[(":
            self._pass_over()
            return None
        prefix, colon, name = token.partition(":")
        if kind != "name" or not colon:
            raise ValueError(f"{self.where()}: found {token!r}, expected an address")
        if prefix == "_":
            return token
        if prefix not in prefixes:
            raise ValueError(f"{self.where()}: the prefix {prefix!r} is not declared")
        return prefixes[prefix] + name.replace("\\", "")

    def value(self, kind: str, token: str, prefixes: dict[str, str]) -> dict[str, str] | None:
        if kind != "text":
            if kind == "name" and ":" not in token:
                return {"@value": token}  # a number, true or false
            address = self.resolve(kind, token, prefixes)
            return None if address is None else {"@id": address}
        width = 3 if token[:3] in ('"""', "'''") else 1
        said = {"@value": ESCAPE.sub(_unescaped, token[width:-width])}
        before = self.at
        following = self.next()
        if following is not None and following[0] == "language":
            return said | {"@language": following[1][1:]}
        if following is not None and following[0] == "type":
            self.expect()
            return said
        self.at = before
        return said

    def _pass_over(self) -> None:
        depth = 1
        while depth:
            kind, token = self.expect()
            depth += (kind == "sign") * ((token in "[(") - (token in "])"))


def _unescaped(match: re.Match[str]) -> str:
    sign = match[1]
    return chr(int(sign[1:], 16)) if sign[0] in "uU" and len(sign) > 1 else ESCAPES.get(sign, sign)
