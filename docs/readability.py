"""List the sentences that a reader has to read twice: too long, or with private words. It is advice, not a check.

    python docs/readability.py          the worst
    python docs/readability.py --all    every one

It reads README.md, the pages in docs/ and the docstrings of public names. The private words, and what to write instead,
are a table in CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MAX_WORDS = 34  # of a sentence
SHOWN = 10  # of each kind, unless all are asked for
WRITTEN_BY_COMMANDS = {"commands.md"}
NOT_PROSE = re.compile(r"^(\||#|<|>>>|\.\.\. |\$\$|\[[^]]+\]:|[-=~]{3,}|\s{4,}\S)|\S {2,}\S")  # tables, headings, code
BEGINS = re.compile(r"^(\s*([-*]|\d+\.) |\s*[\w, *]+ : )")  # a line that begins something new: of a list, a parameter
ENDS = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(`]*(?:[A-Z0-9*]|labelwise))")


class Sentence(NamedTuple):
    """A sentence, the file that it is in, the line that it begins in, and its words: code is one, numbers are none."""

    path: str
    line: int
    text: str
    n_words: int


def sentences(text: str, path: str = "", first_line: int = 1) -> Iterator[Sentence]:
    """The sentences of a page or a docstring, without blocks of code, tables and headings.

    >>> found = sentences("# Title\\n\\nOne `a b` 3 four.\\nFive.\\n\\n```\\ncode\\n```\\n")
    >>> [(each.line, each.n_words) for each in found]
    [(3, 3), (4, 1)]
    """
    paragraph: list[tuple[int, str]] = []
    for number, line in enumerate([*_without_blocks(text), ""], start=first_line):
        if not line.strip() or NOT_PROSE.search(line) or BEGINS.match(line):
            yield from _split(paragraph, path)
            paragraph = []
        if line.strip() and not NOT_PROSE.search(line):
            paragraph.append((number, BEGINS.sub("", line).strip()))


def _without_blocks(text: str) -> list[str]:
    """The lines of a text, those of code blocks, formulas and comments empty."""
    for block in (r"^([ \t]*)```.*?^\1```", r"^\$\$.*?\$\$", r"<!--.*?-->"):
        text = re.sub(block, lambda found: "\n" * found[0].count("\n"), text, flags=re.M | re.S)
    return text.splitlines()


def _split(paragraph: list[tuple[int, str]], path: str) -> Iterator[Sentence]:
    text = "\n".join(line for _, line in paragraph)
    words = re.sub(r"`[^`]*`|\$[^$]*\$", lambda code: "X" * len(code[0]), text)  # of the same length
    words = re.sub(r"(?<=\])\([^)]*\)", lambda address: " " * len(address[0]), words)
    start = 0
    for end in [*(found.end() for found in ENDS.finditer(words)), len(text)]:
        if text[start:end].strip():
            n_words = len(re.findall(r"[^\W\d][\w'’-]*", words[start:end]))
            line = paragraph[text.count("\n", 0, start)][0]
            yield Sentence(path, line, " ".join(text[start:end].split()), n_words)
        start = end


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings of public classes, functions and methods, without examples, and the line where each begins.

    >>> list(docstrings('def f():\\n    "Add."\\n\\ndef _g():\\n    "Hidden."'))
    [(2, 'Add.')]
    """
    tree = ast.parse(source)
    hidden = {id(inner) for node in ast.walk(tree) if _is_private(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and id(node) not in hidden:
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, re.split(r"^(?:Examples\n|References\n|>>> )", text, flags=re.M)[0]


def _is_private(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name.startswith("_")


def all_sentences(root: Path = ROOT) -> list[Sentence]:
    """Of README.md, the pages of docs/ and the docstrings of public names."""
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    found = []
    for page in pages:
        if page.name not in WRITTEN_BY_COMMANDS:
            found += sentences(page.read_text(encoding="utf-8"), str(page.relative_to(root)))
    modules = sorted((root / "src").rglob("*.py"))
    for module in (path for path in modules if "numerics" not in path.parts):  # that is algebra, and nobody's border
        for line, text in docstrings(module.read_text(encoding="utf-8")):
            found += sentences(text, str(module.relative_to(root)), line)
    return found


def private_words(root: Path = ROOT) -> dict[str, str]:
    """What not to write and what to write instead: the table of CONTRIBUTING.md."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = re.search(r"^\| private \| plain \|\n\| --- \| --- \|\n((?:\|.*\n)+)", text, flags=re.M)
    rows = [row.strip("|").split("|") for row in table[1].splitlines()] if table else []
    return {word.strip(): plain.strip() for private, plain in rows for word in private.split(",")}


def with_private_words(found: list[Sentence], words: dict[str, str]) -> list[tuple[Sentence, str]]:
    """The sentences that have one of the words, and which.

    >>> [word for _, word in with_private_words([Sentence("", 1, "It foretells much", 3)], {"foretell*": "predict"})]
    ['foretell*']
    """
    patterns = {word: re.compile(rf"\b{re.escape(word)}\b".replace(r"\*", r"\w*"), re.I) for word in words}
    return [(each, word) for each in found for word, pattern in patterns.items() if pattern.search(each.text)]


def report(found: list[Sentence], words: dict[str, str], shown: int | None = SHOWN) -> str:
    """What to rewrite, the worst first, and how much there is in all."""
    long = sorted((each for each in found if each.n_words > MAX_WORDS), key=lambda each: -each.n_words)
    private = with_private_words(found, words)
    lines = [f"{each.path}:{each.line}: {each.n_words} words: {each.text[:90]} ..." for each in long[:shown]]
    lines += [
        f"{each.path}:{each.line}: not {word} but {words[word]}: {each.text[:60]}" for each, word in private[:shown]
    ]
    counts = f"{len(long)} have more than {MAX_WORDS} words, {len(private)} have private words"
    return "\n".join([*lines, f"of {len(found):,} sentences {counts}; docs/readability.py --all lists them"])


if __name__ == "__main__":
    print(report(all_sentences(), private_words(), None if "--all" in sys.argv else SHOWN))
