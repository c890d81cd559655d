"""ARFF by whatever names its labels."""

import pytest

from labelwise.data import FormatError, read

TEXT = "@relation {}\n@attribute a {{0,1}}\n@attribute b real\n@attribute c {{0,1}}\n@data\n1,2,0\n"
XML = '<labels><label name="c"/></labels>'


def test_the_xml_beside_the_file_goes_before_the_relation_name(file):
    path = file("x.arff", TEXT.format("'x: -C 1'"))
    assert read(path).label_names == ("a",)
    xml = file("x.xml", XML)
    assert read(path).label_names == ("c",)
    assert read(path, format="meka").label_names == ("a",)
    xml.unlink()
    other = file("other.xml", XML)
    assert read(path, labels=str(other)).label_names == ("c",)


def test_labels_as_names_or_number(file):
    path = file("x.arff", TEXT.format("x"))
    assert read(path, labels=["c", "a"]).label_names == ("a", "c")
    assert read(path, labels=1).label_names == ("a",)
    assert read(path, labels=-1).label_names == ("c",)
    with pytest.raises(FormatError, match=r"labels named in labels= are no attribute here: \['d'\]"):
        read(path, labels=["d"])
    with pytest.raises(FormatError, match="the label 'c' is named twice in labels="):
        read(path, labels=["c", "c"])


def test_nothing_names_the_labels(file):
    with pytest.raises(
        FormatError, match=r"nothing says which attributes are labels.*x-test\.xml, x\.xml.*give labels="
    ):
        read(file("x-test.arff", TEXT.format("x")))


def test_no_row(file):
    with pytest.raises(FormatError, match="there is no row behind @data"):
        read(file("x.arff", "@relation x\n@attribute a {0,1}\n@data\n% nothing\n\n"), labels=1)


def test_latin_1(file):
    text = "@relation x\n@attribute café {0,1}\n@attribute l {0,1}\n@data\n1,1\n".encode("latin-1")
    path = file("x.arff", text)
    with pytest.raises(FormatError, match=r"line 2: .*say encoding='latin-1'"):
        read(path, labels=-1)
    assert read(path, labels=-1, encoding="latin-1").feature_names == ("café",)


@pytest.mark.parametrize("row", ["1,2,0", "{0 1,1 2}"])
def test_large_files_take_the_compiled_way_and_number_their_lines(file, monkeypatch, row):
    head = TEXT.format("'x: -C 1'").removesuffix("1,2,0\n")
    monkeypatch.setattr("labelwise.data._arff.line_blocks", lambda path: _small_blocks(path))
    path = file("x.arff", head + f"{row}\n" * 3000)
    data = read(path)
    assert data.X.shape == (3000, 2)
    assert data.Y.sum() == 3000
    path.write_text(head + f"{row}\n" * 2500 + row.replace("2", "two") + f"\n{row}\n" * 20, encoding="utf-8")
    with pytest.raises(FormatError, match="line 2506: attribute 'b': found 'two', expected a number") as caught:
        read(path)
    assert caught.value.line == 2506


def _small_blocks(path):
    lines = path.read_bytes().splitlines(keepends=True)
    for start in range(0, len(lines), 700):
        yield b"".join(lines[start : start + 700])
