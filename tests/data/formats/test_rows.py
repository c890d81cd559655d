import pytest

from labelwise.data import FormatError
from labelwise.data.formats.rows import read_lines, read_rows, write_rows

ROWS = [{"who": 'a "b", c', "said": "line\nend"}, {"who": "d", "said": None}]


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.csv.gz"])
def test_rows_survive(tmp_path, name):
    write_rows(ROWS, tmp_path / name, ["who", "said"])
    found = [row for _, row in read_rows(tmp_path / name, ["who"])]
    blank = None if "jsonl" in name else ""
    assert found == [ROWS[0], {"who": "d", "said": blank}]


def test_lines_are_counted_over_quoted_line_ends(tmp_path):
    write_rows(ROWS, tmp_path / "r.csv", ["who", "said"])
    assert [line for line, _ in read_rows(tmp_path / "r.csv", ["who"])] == [2, 4]


def test_lists_have_no_blank_lines(tmp_path):
    (tmp_path / "labels.txt").write_text("\ufeffred \n\n round;ish\n", encoding="utf-8")
    assert read_lines(tmp_path / "labels.txt") == ["red", "round;ish"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("r.csv", "", "the file is empty"),
        ("r.csv", 'a,b\n"x,1\n', "the quotes are wrong"),
        ("r.csv", "a,b\n1\n", "line 2: found 1 cells, expected 2"),
        ("r.csv", "b\n1\n", "there is no 'a'"),
        ("r.jsonl", '{"b": 1}\n', "line 1: there is no 'a'"),
        ("r.jsonl", "[]\n", "line 1: found"),
        ("r.txt", "a\n", "expected a .csv or .jsonl file"),
    ],
)
def test_a_wrong_file_is_told(tmp_path, name, text, words):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=words):
        list(read_rows(tmp_path / name, ["a"]))


def test_other_suffixes_are_not_written(tmp_path):
    with pytest.raises(FormatError, match=r"\.csv or \.jsonl"):
        write_rows(ROWS, tmp_path / "r.xml", ["who"])
