"""Vocabularies: SKOS in Turtle, N-Triples, RDF/XML and JSON, Annif's tables; labels, aliases, and broader as a tree."""

import pytest

from labelwise.data import FormatError, read_labels, write_labels
from labelwise.records import Label

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
PREFIX ex: <http://example.org/>
# animals
ex:scheme a skos:ConceptScheme ; skos:hasTopConcept ex:animal .
ex:animal a skos:Concept ;
    skos:prefLabel "animal"@en, "Tier"@de ;
    skos:narrower ex:dog ; skos:changeNote [ skos:prefLabel "not a label" ] .
ex:cat a skos:Concept ; skos:prefLabel "cat"@en , "Katze"@de ; skos:altLabel "house cat"@en ;
    skos:definition '''It says "meow"; often.'''@en ; skos:broader ex:animal ; skos:notation 12.5 .
ex:dog skos:prefLabel "d\\u00f6g \\"dog\\""@en .
"""
XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://www.w3.org/2004/02/skos/core#">
<s:Concept rdf:about="x:1"><s:prefLabel xml:lang="en">animal</s:prefLabel></s:Concept>
<s:Concept rdf:about="x:2"><s:prefLabel xml:lang="de">Katze</s:prefLabel><s:prefLabel xml:lang="en">cat</s:prefLabel>
<s:altLabel xml:lang="en">house cat</s:altLabel><s:broader rdf:resource="x:1"/></s:Concept></rdf:RDF>"""
LABELS = (
    Label("animal"),
    Label('cat "tom"', "Says\nmeow \\ purrs.", ("a cat sat",), ("whisker", "paw"), ("house cat", "Katze"), "animal"),
    Label("dög, dog", parent="animal"),
)


def written(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_turtle(tmp_path):
    path = written(tmp_path, "x.ttl", TURTLE)
    animal, dog, cat = read_labels(path)
    assert (animal.name, dog.name, cat.name) == ("animal", 'dög "dog"', "cat")
    assert (animal.parent, dog.parent, cat.parent) == ("", "animal", "animal")
    assert cat.aliases == ("house cat",) and cat.description == 'It says "meow"; often.'
    assert {label.name for label in read_labels(path, language="de")} == {"Tier", "Katze", 'dög "dog"'}


def test_n_triples_and_xml_say_the_same(tmp_path):
    skos = "http://www.w3.org/2004/02/skos/core#"
    triples = f'<x:1> <{skos}prefLabel> "animal"@en .\n<x:2> <{skos}prefLabel> "Katze"@de .\n'
    triples += f'<x:2> <{skos}prefLabel> "cat"@en .\n<x:2> <{skos}altLabel> "house cat"@en .\n'
    triples += f"<x:2> <{skos}broader> <x:1> .\n"
    expected = (Label("animal"), Label("cat", aliases=("house cat",), parent="animal"))
    assert read_labels(written(tmp_path, "x.nt", triples)) == expected
    assert read_labels(written(tmp_path, "x.rdf", XML)) == expected


def test_tables_of_annif(tmp_path):
    tsv = written(tmp_path, "x.tsv", "<http://x/1>\tanimal\n<http://x/2>\tcat\t12\n")
    assert [label.name for label in read_labels(tsv)] == ["animal", "cat"]
    csv = written(
        tmp_path, "x.csv", "uri,label_en,label_de,notation\nhttp://x/1,animal,Tier,1\nhttp://x/2,cat,Katze,2\n"
    )
    assert [label.name for label in read_labels(csv)] == ["animal", "cat"]
    assert [label.name for label in read_labels(csv, language="de")] == ["Tier", "Katze"]


@pytest.mark.parametrize("name", ["x.ttl", "x.json", "x.jsonl", "x.csv"])
def test_labels_come_back_unchanged(tmp_path, name):
    write_labels(LABELS, tmp_path / name)
    assert read_labels(tmp_path / name) == LABELS


def test_what_is_wrong_is_told(tmp_path):
    for name, text, problem in (
        ("a.ttl", "ex:a ex:b ex:c .", "line 1: the prefix 'ex' is not declared"),
        ("b.ttl", '<a> <b> "c', "which is no Turtle"),
        ("c.ttl", "<a> <b>", "ends in the middle"),
        ("d.ttl", "<a> <b> <c> .", "there is no label in it"),
        ("e.rdf", "<a><b></a>", "no valid XML"),
        ("f.rdf", '<!DOCTYPE x [<!ENTITY a "b">]><x/>', "defines entities"),
        ("g.tsv", "animal\n", "line 1: expected <address>, a tab and a name"),
    ):
        with pytest.raises(FormatError, match=problem):
            read_labels(written(tmp_path, name, text))
    with pytest.raises(FormatError, match="has a ; in it"):
        write_labels([Label("a", aliases=("b;c",))], tmp_path / "x.csv")
    with pytest.raises(FormatError, match=r"written to \.csv, \.jsonl"):
        write_labels([Label("a")], tmp_path / "x.nt")
