"""The documentation site: `make docs` builds it by Sphinx into site/.

Sphinx, because its reference is made from the objects themselves: signatures, inherited methods and the numpy style of
our docstrings come out as in numpy's and scikit-learn's own. (Material for MkDocs has announced its end for May 2027.)
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from pathlib import Path
from typing import Any

import latex2mathml.converter
from docutils import nodes

import labelwise

HERE = Path(__file__).parent
project, author, copyright = "labelwise", "the labelwise authors", "the labelwise authors"
version = release = labelwise.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode", "numpydoc"]
extensions += ["sphinx_copybutton"]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
html_theme, html_title, html_static_path, html_css_files = "pydata_sphinx_theme", "labelwise", ["_static"], ["site.css"]
html_theme_options: dict[str, Any] = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
if switcher := os.environ.get("LABELWISE_DOCS_VERSIONS"):  # address of a list of versions, as the theme reads it
    html_theme_options |= {"switcher": {"json_url": switcher, "version_match": version}}
    html_theme_options["navbar_end"] = ["version-switcher", "theme-switcher"]
highlight_language = "none"  # commands, unless a block says python
html_show_sourcelink = False
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
suppress_warnings = ["myst.header"]
default_role = "code"
numpydoc_show_class_members = False
autodoc_typehints = "none"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
FROM_ROOT = {"index": "README", "contributing": "CONTRIBUTING", "security": "SECURITY", "changes": "CHANGELOG"}
ROOMS = ("records", "data", "models", "queries", "decisions", "labelling", "studies", "streams", "hints", "encoders")
SECTIONS = {  # title and first page of a section, and its other pages
    "Documents <tag-my-documents>": "guide notebooks page costs stopping label-names features formats decisions",
    "Team <projects>": "security",
    "Prices <diagnose>": "new-labels",
    "Streams <stream>": "large-pools scale",
    "Compare <simulate>": "study arena peers",
    "Papers <reproduce>": "mixtures",
    "How it works <how-it-works>": " ".join(
        sorted(f"mathematics/{page.stem}" for page in HERE.glob("mathematics/*.md"))
    ),
    "Reference <reference>": "commands api/labelwise "
    + " ".join(f"api/labelwise.{room}" for room in ROOMS)
    + " add-a-model add-a-strategy contributing changes",
}
TAG = re.compile(r"\\tag\{([^}]*)\}")


def assemble(app: Any, name: str, source: list[str]) -> None:
    """Add what a page leads to. Some pages are files at the repository's top, whose links start there."""
    if name in FROM_ROOT:
        source[0] = (HERE.parent / f"{FROM_ROOT[name]}.md").read_text(encoding="utf-8")
    source[0] = source[0].replace("](docs/", "](")
    pages = {"index": [*SECTIONS]} | {title.split("<")[1][:-1]: rest.split() for title, rest in SECTIONS.items()}
    if name in pages:
        source[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(pages[name]) + "\n```\n"
    for page, top in FROM_ROOT.items():
        source[0] = re.sub(rf"\]\((\.\./)?{top}\.md", f"]({page}.md", source[0])


def write_reference(app: Any) -> None:
    """A page for each room, with its public classes and functions; what an earlier room has, too, is only there."""
    folder, seen = HERE / "api", set()
    folder.mkdir(exist_ok=True)
    for room in ("labelwise", *(f"labelwise.{name}" for name in ROOMS)):
        module, entries = importlib.import_module(room), []
        for name in sorted(dir(module)):
            found = getattr(module, name)
            if name.startswith("_") or not callable(found) or id(found) in seen:
                continue
            seen.add(id(found))
            kind = "autoclass" if inspect.isclass(found) else "autofunction"
            members = "   :members:\n" if kind == "autoclass" else ""
            entries.append(f".. {kind}:: {room}.{name}\n{members}")
        text = f"# {room}\n\n```{{eval-rst}}\n.. automodule:: {room}\n\n" + "\n".join(entries) + "```\n"
        (folder / f"{room}.md").write_text(text, encoding="utf-8")


def as_plain_text(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """In docstrings |x| is an absolute value and fitted_ a name: neither is a reference."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(`[^`]*`)", line)
            parts[::2] = [re.sub(r"(?<=\w)_(?!\w)|\|", r"\\\g<0>", part) for part in parts[::2]]
            lines[place] = "".join(parts)


def formula(self: Any, node: Any) -> None:
    """Formulas become MathML, which browsers show without a script."""
    text = node.astext()
    is_inline, number = isinstance(node, nodes.math), TAG.search(text)
    shown = latex2mathml.converter.convert(TAG.sub("", text), display="inline" if is_inline else "block")
    if is_inline:
        self.body.append(shown)
    else:
        label = f'<span class="number">({number[1]})</span>' if number else ""
        self.body.append(f'<div class="formula">{shown}{label}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("builder-inited", write_reference)
    app.connect("source-read", assemble)
    app.connect("autodoc-process-docstring", as_plain_text)
    app.connect("autodoc-skip-member", lambda app, what, name, *_: True if name.endswith("_request") else None)
