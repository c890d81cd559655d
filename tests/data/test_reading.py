"""Blocks of lines, compression, and text with line numbers."""

import bz2
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwise.data.errors import FormatError
from labelwise.data.reading import line_blocks, read_names, text_lines
from labelwise.files import writing

TEXT = b"".join(b"%d,%s\n" % (k, b"x" * (k % 40)) for k in range(500)) + b"no newline"


@given(st.binary(max_size=300).map(lambda raw: raw.replace(b"x", b"\n")), st.integers(1, 50))
def test_blocks_are_whole_lines_and_add_up_to_the_file(tmp_path_factory, content, size):
    path = tmp_path_factory.mktemp("blocks") / "file"
    path.write_bytes(content)
    blocks = list(line_blocks(path, size))
    assert b"".join(blocks) == content
    assert all(block.endswith(b"\n") for block in blocks[:-1])


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compression_goes_by_suffix(tmp_path, suffix, pack):
    path = tmp_path / f"file.txt{suffix}"
    path.write_bytes(pack(TEXT))
    assert b"".join(line_blocks(path, 100)) == TEXT
    with writing(path) as out:
        out.write(TEXT[:50])
    assert b"".join(line_blocks(path)) == TEXT[:50]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_truncated_and_foreign_files_are_named(tmp_path, suffix, pack):
    path = tmp_path / f"file{suffix}"
    path.write_bytes(pack(TEXT)[:-20])
    for size in (100, 1 << 20):
        with pytest.raises(FormatError, match=r"file\.\w+: the compressed data end too early: the file was cut short"):
            list(line_blocks(path, size))
    path.write_bytes(b"not compressed at all")
    with pytest.raises(FormatError, match=f"this is not a valid {suffix} file"):
        list(line_blocks(path))


def test_damaged_gzip_is_named(tmp_path):
    path = tmp_path / "file.gz"
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 255  # in the check sum
    path.write_bytes(packed)
    with pytest.raises(FormatError, match=r"not a valid \.gz file"):
        list(line_blocks(path))


def test_a_missing_file_is_not_a_format_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(line_blocks(tmp_path / "nowhere.gz"))


def test_bytes_of_another_encoding_name_their_line(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("one\ntwo\nfür\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"latin\.txt, line 3: found the byte b'\\xfc', which is not utf-8.*latin-1"):
        list(text_lines(path, "utf-8"))
    assert list(text_lines(path, "latin-1"))[2] == "für\n"


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "bom.txt"
    path.write_bytes(b"\xef\xbb\xbfred\r\nblue\n")
    assert read_names(path) == ("red", "blue")
    assert read_names(["red", "blue"]) == ("red", "blue")
