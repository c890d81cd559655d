"""Markdown and HTML of strangers: what is left of it runs, loads and covers nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labelling.items.attacks import ATTACKS, MARKDOWN_ATTACKS
from labelwise import LabelData
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.items.features import Featurizer
from labelwise.labelling.items.markup import BLOCKS, KEPT, VOID, check_formats, plain_text, rendered

PIECES = (
    "< > </ /> <p> </p> <b> </b> <td> <tr> <table> </table> <li> <ul> </ul> <svg> </svg> <script> </script> <style> <a"
    ' href= "javascript:x" \' " = onclick= & &lt; &#60; <!-- --> <![CDATA[ <? x / <h1> <h5> <img src=x'
)


class Elements(HTMLParser):
    """The rival that reads what was written: every element with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check(html: str) -> None:
    reader = Elements()
    reader.feed(html)
    reader.close()
    assert not reader.open, "what is not closed reaches the page around it"
    for tag, attributes in reader.found:
        assert tag in KEPT
        assert attributes.keys() <= {"dir", "colspan", "rowspan", "href", "target", "rel"}
        if "href" in attributes:
            assert re.match(r"https?:|mailto:|[^:]*$", attributes["href"].strip(), re.IGNORECASE)


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_html_is_written_anew_without_what_harms(attack):
    check(rendered(attack, "html"))


@pytest.mark.parametrize("attack", MARKDOWN_ATTACKS)
def test_hostile_markdown_has_no_element_but_those_of_the_list(attack):
    check(rendered(attack, "markdown"))


@given(st.lists(st.sampled_from(PIECES.split()), max_size=12).map("".join), st.sampled_from(["html", "markdown"]))
@example("<p/onclick=x>a<table><b><td></p><svg><td>", "html")
def test_whatever_is_pieced_together_is_harmless_and_closed(text, form):
    check(rendered(text, form))


@given(st.text(alphabet="ab <>&\"'\n"))
def test_text_without_elements_stays_what_it_is(text):
    text = re.sub(r"<(?=[ab/!?])", "<  ", text)
    reader = Elements()
    said: list[str] = []
    reader.handle_data = said.append
    reader.feed(rendered(text, "html"))
    reader.close()
    assert "".join(said) == text and not reader.found


def test_what_may_stay_stays():
    html = "<h2>On <em>time</em></h2><p>One<p>Two<ul><li>a<li>b</ul><table><tr><th>k<td colspan=2 onclick=x>v</table>"
    assert rendered(html, "html") == (
        "<h3>On <em>time</em></h3><p>One</p><p>Two</p><ul><li>a</li><li>b</li></ul>"
        '<table><tr><th>k</th><td colspan="2">v</td></tr></table>'
    )
    assert rendered("| a |\n| - |\n| **1** |", "markdown").count("<td><strong>1</strong></td>") == 1
    link = rendered('<a href="https://a.org/?x=1&amp;y=2">go</a>', "html")
    assert 'href="https://a.org/?x=1&amp;y=2"' in link and 'rel="noopener noreferrer nofollow"' in link


def test_pictures_elsewhere_are_links_that_load_nothing_by_themselves():
    html = rendered('<img src="https://a.org/x.png" alt="a cat"> <img src="x.png" alt="a dog"><img src=y>', "html")
    assert html.startswith('<a href="https://a.org/x.png" ') and ">a cat</a> [a dog]" in html and "<img" not in html


def test_headings_leave_no_level_out():
    html = rendered("<h2>a</h2><h5>b</h5><h6>c</h6><h2>d</h2><h1>e</h1>", "html", level=2)
    assert re.findall(r"<h(\d)>(\w)", html) == [("2", "a"), ("3", "b"), ("4", "c"), ("2", "d"), ("2", "e")]


def test_parts_of_tables_and_lists_mean_nothing_elsewhere():
    """They would close the table or the list of the page that they are put into."""
    assert rendered("</td></tr><td>a</td><li>b</li><tr><dd>c", "html") == "abc"


def test_long_and_deep_texts_are_shown_in_the_end():
    deep = rendered("<div>" * 20_000 + "end", "html")
    check(deep)
    assert "end" in deep and deep.count("<div>") == 60
    assert rendered("*" * 40_001, "markdown") == f"<pre>{'*' * 40_001}</pre>"
    assert "&#" not in rendered("&#" + "1" * 5000 + "; <b>x", "html")  # more digits than Python reads


def test_the_text_of_html_has_its_lines():
    assert plain_text("<p>a <b>b</b></p><table><tr><td>1<td>2</table><script>x</script>", "html") == "a b\n1 2"
    assert plain_text("# A\n\n*b* c", "markdown") == "A\nb c"
    assert plain_text("<b>", None) == "<b>"
    assert {"p", "li", "tr"} <= BLOCKS


def test_words_of_html_are_those_of_its_text():
    spec = {"kind": "text", "field": "page", "formats": {"page": "html"}}
    pages = [{"page": "<div class='red'>green apple</div>"}, {"page": "<style>div {}</style>blue <b>apple</b>"}]
    assert Featurizer(spec).fit(pages).feature_names() == ("apple", "blue", "green")
    assert "div" in Featurizer({"kind": "text", "field": "page"}).fit(pages).feature_names()


def test_formats_are_declared_never_guessed(tmp_path):
    data = LabelData.from_arrays([[0.0], [1.0]], label_names=["a"], items=[{"body": "*one* word"}, {"body": "two"}])
    with pytest.raises(ProjectError, match="no item has the field 'boby'"):
        Project.create(tmp_path / "p.db", data, text="body", formats={"boby": "html"})
    with pytest.raises(ProjectError, match="markdown or html"):
        Project.create(tmp_path / "p.db", data, text="body", formats={"body": "rtf"})
    with Project.create(tmp_path / "p.db", data, text="body", formats={"body": "markdown"}) as project:
        assert project.settings.features["formats"] == {"body": "markdown"}
    assert check_formats({"": "html"}, ["<b>x</b>"]) == {"": "html"}
