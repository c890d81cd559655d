"""Labels from files of every kind."""

import json

import pytest

from labelwise import Label
from labelwise.data import FormatError, read_labels

JOY = Label("joy", "being glad", keywords=("glad", "happy"), parent="mood")


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.csv", "name,description,keywords,parent,colour\njoy,being glad,glad; happy,mood,red\nfear,,,,\n"),
        ("l.csv", "Label,Definition,Keywords,broader\njoy,being glad,glad;happy,mood\nfear,,,\n"),
        (
            "l.jsonl",
            '{"name": "joy", "description": "being glad", "keywords": ["glad", "happy"], "parent": "mood"}\n"fear"\n',
        ),
        (
            "l.json",
            [{"name": "joy", "description": "being glad", "keywords": ["glad", "happy"], "parent": "mood"}, "fear"],
        ),
    ],
)
def test_the_same_labels_from_tables_and_lists(tmp_path, name, content):
    assert read_labels(written(tmp_path, name, content)) == (JOY, Label("fear"))


def test_names_alone(tmp_path):
    assert read_labels(written(tmp_path, "labels.txt", "joy\n\nfear\n")) == (Label("joy"), Label("fear"))
    assert read_labels(["joy", "fear"]) == (Label("joy"), Label("fear"))


def test_names_and_descriptions(tmp_path):
    assert read_labels(written(tmp_path, "l.json", {"joy": "being glad"})) == (Label("joy", "being glad"),)


SKOS = {
    "@context": "http://www.w3.org/2004/02/skos/core",
    "@graph": [
        {"@id": "c:1",
         "skos:prefLabel": [{"@value": "Freude", "@language": "de"}, {"@value": "joy", "@language": "en"}],
         "skos:altLabel": [{"@value": "delight", "@language": "en"}, {"@value": "Wonne", "@language": "de"}],
         "skos:definition": {"en": "being glad", "de": "froh sein"}, "skos:scopeNote": "of people",
         "skos:broader": {"@id": "c:2"}},
        {"@id": "c:2", "http://www.w3.org/2004/02/skos/core#prefLabel": "mood", "broader": "c:99"},
        {"@id": "c:3", "@type": "skos:ConceptScheme"},
    ],
}  # fmt: skip


def test_a_thesaurus(tmp_path):
    joy, mood = read_labels(written(tmp_path, "t.json", SKOS))
    assert joy == Label("joy", "being glad of people", aliases=("delight",), parent="mood")
    assert mood == Label("mood")
    german, _ = read_labels(written(tmp_path, "t.json", SKOS), language="de")
    assert (german.name, german.aliases, german.description) == ("Freude", ("Wonne",), "froh sein of people")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.json", "{", "no labels can be read"),
        ("l.json", "3", "expected a list of labels or an object, got 3"),
        ("l.txt", "", "there is no label in it"),
        ("l.txt", "a\na\n", "label name 'a' is given twice"),
        ("l.csv", "text\nx\n", "a label needs a name"),
    ],
)
def test_what_cannot_be_read_is_said_with_the_file(tmp_path, name, content, message):
    with pytest.raises(FormatError, match=message) as error:
        read_labels(written(tmp_path, name, content))
    assert name in str(error.value)
