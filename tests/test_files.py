"""Files that are never half written, whoever writes at the same time and whatever ends it."""

import gzip
import os
import signal
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from labelwise.files import remove_unfinished, replacing, split_name, write_bytes, write_text, writing

TEXT = b"".join(b"%d,%s\n" % (k, b"x" * (k % 40)) for k in range(500)) + b"no newline"


def test_an_interrupted_write_leaves_the_old_file_and_no_scratch(tmp_path):
    path = tmp_path / "file.gz"
    with writing(path) as out:
        out.write(b"old")

    def interrupted():
        with writing(path) as out:
            out.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert gzip.decompress(path.read_bytes()) == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_takes_the_name_before_the_end(tmp_path):
    path = tmp_path / "file"
    with writing(path) as out:
        out.write(b"half")
        out.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"


def test_the_same_data_gives_the_same_compressed_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        with writing(tmp_path / name) as out:
            out.write(TEXT)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_names_split_into_stem_suffix_and_compression():
    assert split_name("a/b.c-train.ARFF.BZ2") == ("b.c-train", ".arff", ".bz2")
    assert split_name("plain") == ("plain", "", "")


def interrupted(path: Path) -> None:
    with replacing(path) as part:
        part.write_bytes(b"half of the n")
        raise RuntimeError


@pytest.mark.parametrize("old", [None, b"old"])
def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path, old):
    path = tmp_path / "table.csv"
    if old is not None:
        path.write_bytes(old)
    with pytest.raises(RuntimeError):
        interrupted(path)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == ([] if old is None else [old])


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_text(path, "old")
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError(28, "no space")))
    with pytest.raises(OSError, match="no space"):
        write_text(path, "new")
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"file": "old"}


KILLED = """
    import os, signal, sys
    from labelwise.files import replacing

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    if sys.argv[2] == "before the rename":
        os.replace = die
    with replacing(sys.argv[1]) as part:
        part.write_bytes(b"new")
        if sys.argv[2] == "while writing":
            die()
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("moment", ["while writing", "before the rename"])
def test_a_killed_writer_leaves_the_old_file_and_what_the_next_one_can_remove(tmp_path, moment):
    path = tmp_path / "a [1].bin"
    write_bytes(path, b"old")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(path), moment], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 2
    remove_unfinished(tmp_path, "another file")
    remove_unfinished(tmp_path, older_than=3600)
    assert len(list(tmp_path.iterdir())) == 2
    remove_unfinished(tmp_path, path.name)
    assert list(tmp_path.iterdir()) == [path]


def test_of_writers_at_once_one_wins_with_its_whole_file(tmp_path):
    path = tmp_path / "file.gz"
    contents = [bytes([65 + k]) * 200_000 for k in range(8)]

    def write(content: bytes) -> None:
        for _ in range(5):
            with writing(path) as file:
                for start in range(0, len(content), 50_000):
                    file.write(content[start : start + 50_000])
            assert gzip.decompress(path.read_bytes()) in contents

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, contents))
    assert gzip.decompress(path.read_bytes()) in contents and list(tmp_path.iterdir()) == [path]


def test_a_writer_whose_rival_ends_first_comes_after_it(tmp_path):
    path = tmp_path / "file"
    with replacing(path) as part:
        part.write_bytes(b"first begun")
        write_bytes(path, b"first done")
        assert path.read_bytes() == b"first done"
    assert path.read_bytes() == b"first begun" and list(tmp_path.iterdir()) == [path]


def test_a_file_that_appeared_meanwhile_is_kept_where_asked(tmp_path, monkeypatch):
    path = tmp_path / "file"

    def write() -> None:
        with replacing(path, overwrite=False) as part:
            part.write_bytes(b"mine")
            path.write_bytes(b"theirs")

    def no_links(*_: object) -> None:
        raise OSError(95, "not supported")

    for link in (os.link, no_links):
        monkeypatch.setattr(os, "link", link)
        path.unlink(missing_ok=True)
        with pytest.raises(FileExistsError):
            write()
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"file": b"theirs"}
        path.unlink()
        with replacing(path, overwrite=False) as part:
            part.write_bytes(b"mine")
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"file": b"mine"}


@pytest.mark.skipif(os.name == "nt", reason="needs links and modes")
def test_a_link_is_followed_unless_the_file_is_private(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink() and real.read_text() == "new"
    write_text(link, "secret", private=True)
    assert not link.is_symlink() and real.read_text() == "new" and link.read_text() == "secret"
    assert stat.S_IMODE(link.stat().st_mode) == 0o600


def test_text_is_written_as_it_is(tmp_path):
    write_text(tmp_path / "t", "für\r\neach\n")
    assert (tmp_path / "t").read_bytes() == "für\r\neach\n".encode()


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such folder") as caught:
        write_text(tmp_path / "nowhere" / "file", "text")
    assert caught.value.filename == str(tmp_path / "nowhere")
