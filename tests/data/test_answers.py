"""Answers on disk, crashes included."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise.data import FormatError, append_answers, read_answers, write_answers
from labelwise.records import Answer

ANSWERS = [Answer("doc7", {"sports": True, "ü\n": False}), Answer("8", {}, reason="control", correction=True)]
GOOD = b'{"item": "a", "values": {"x": true}}\n'

answers = st.builds(Answer, st.text(), st.dictionaries(st.text(), st.booleans()), st.text(), st.booleans())


@settings(max_examples=60, deadline=None)
@given(st.lists(answers), st.lists(answers))
def test_writing_and_appending_keep_every_answer_in_order(tmp_path_factory, first, second):
    path = tmp_path_factory.mktemp("answers") / "a.jsonl"
    write_answers(first, path)
    append_answers(second, path)
    append_answers([], path)
    assert read_answers(path) == first + second


def test_appending_makes_the_file(tmp_path):
    path = tmp_path / "a.jsonl"
    append_answers(ANSWERS, path)
    assert read_answers(path) == ANSWERS
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[1])["reason"] == "control"


def test_a_file_torn_anywhere_loses_its_last_line_only(tmp_path):
    path = tmp_path / "a.jsonl"
    write_answers([*ANSWERS, *ANSWERS], path)
    whole = path.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    for cut in range(start + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.warns(
            UserWarning,
            match=r"a\.jsonl, line 4: .*incomplete, probably because writing was interrupted, and is ignored",
        ):
            assert read_answers(path) == [*ANSWERS, ANSWERS[0]]
        with pytest.warns(UserWarning, match="the incomplete last line .* is removed"):
            append_answers([Answer("new")], path)
        assert read_answers(path) == [*ANSWERS, ANSWERS[0], Answer("new")]


def test_a_whole_last_line_without_newline_counts(tmp_path):
    path = tmp_path / "a.jsonl"
    write_answers(ANSWERS, path)
    path.write_bytes(path.read_bytes()[:-1])
    assert read_answers(path) == ANSWERS
    append_answers([Answer("new")], path)
    assert read_answers(path) == [*ANSWERS, Answer("new")]


def test_a_torn_line_longer_than_one_look_back(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD + b'{"item": "' + b"x" * 200_000)
    with pytest.warns(UserWarning, match="is removed"):
        append_answers(ANSWERS, path)
    assert read_answers(path) == [Answer("a", {"x": True}), *ANSWERS]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"item": "a"\n', "found .* expected a JSON object"),
        (b"\n", "expected a JSON object"),
        (b'{"item": "a"}\n', "found no 'values'"),
        (b'{"values": {}}\n', "found no 'item'"),
        (b'{"item": 7, "values": {}}\n', "found 7 as 'item', expected a str"),
        (b'{"item": "a", "values": {"x": 1}}\n', "found 1 for the label 'x', expected true or false"),
        (b'{"item": "a", "values": {"x": true, "x": false}}\n', "the key 'x' is there twice"),
        (b'{"item": "a", "values": [], "reason": "r"}\n', r"found \[\] as 'values', expected a dict"),
        (b'{"item": "a", "values": {}, "who": "me"}\n', "found the key 'who', expected item, values, reason"),
        (b'{"item": "\xff", "values": {}}\n', "is not utf-8"),
    ],
)
def test_wrong_lines_in_the_middle_or_with_a_newline_are_errors(file, line, message):
    for after in (b"", GOOD):
        with pytest.raises(FormatError, match=rf"a\.jsonl, line 2: .*{message}"):
            read_answers(file("a.jsonl", GOOD + line + after))


def test_compressed_answers_are_read_but_not_appended_to(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    write_answers(ANSWERS, path)
    assert read_answers(path) == ANSWERS
    with pytest.raises(FormatError, match="cannot be appended to a compressed file"):
        append_answers(ANSWERS, path)
