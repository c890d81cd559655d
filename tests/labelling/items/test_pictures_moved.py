"""Pictures beside a project move with it; others stay where they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.exchange.sources import read_pool
from labelwise.labelling.items.pictures import located, picture_bytes, portable, shown_picture


def draw(folder: Path, n: int = 6) -> Path:
    """Pictures that are black or white."""
    Image = pytest.importorskip("PIL.Image", reason="needs the extra serve")
    folder.mkdir(parents=True)
    for number in range(n):
        Image.new("L", (8, 8), 255 * (number % 2)).save(folder / f"{number}.png")
    return folder


def stored(project: Project) -> list[str]:
    with project.store.reading() as connection:
        from labelwise.labelling.store.items import read_items

        return [content["image"] for content in read_items(connection).contents]


def make(home: Path, pictures: Path) -> Project:
    data = read_pool(str(pictures), labels=["white"])
    project = Project.create(home / "project.db", data, images="image", control=0, model="binary_relevance")
    for number in range(4):
        project.tell(Answer(f"{number}.png", {"white": number % 2 == 1}), who="ann")
    return project


def test_a_folder_and_its_project_can_be_moved_together(tmp_path):
    home = tmp_path / "first"
    project = make(home, draw(home / "photos" / "deep"))
    assert stored(project) == [f"photos/deep/{i}.png" for i in range(6)]
    before = project.campaign().believe().probabilities()
    project.close()
    shutil.move(home, tmp_path / "second")
    with Project(tmp_path / "second" / "project.db") as moved:
        assert moved.campaign().believe().probabilities() == pytest.approx(before)
        where = tmp_path / "second" / "photos" / "deep" / "5.png"
        assert moved.content_of("5.png") == {"image": str(where)}
        assert moved.labelled().items[5] == {"image": str(where)}
        assert Path(moved.ask(who="bob")[0].content["image"]).is_file()
        assert shown_picture(picture_bytes(str(where), moved.picture_folders()))[1] == "image/png"


def test_pictures_elsewhere_are_kept_in_full(tmp_path):
    (tmp_path / "home").mkdir()
    pictures = draw(tmp_path / "photos")
    with make(tmp_path / "home", pictures) as project:
        assert stored(project) == [str(pictures / f"{i}.png") for i in range(6)]
        assert project.picture_folders() == [str(pictures)]
    shutil.move(tmp_path / "home" / "project.db", tmp_path / "alone.db")
    with Project(tmp_path / "alone.db") as moved:
        assert Path(moved.content_of("0.png")["image"]).is_file()


def test_paths_are_seen_from_where_one_is_when_items_are_added(tmp_path, monkeypatch):
    draw(tmp_path / "here" / "photos")
    monkeypatch.chdir(tmp_path / "here")
    data = LabelData.from_arrays(
        np.zeros((1, 1)), label_names=["a"], items=[{"image": "photos/1.png", "note": "x.txt"}]
    )
    with Project.create(tmp_path / "project.db", data, images="image") as project:
        assert stored(project) == ["here/photos/1.png"]
        monkeypatch.chdir(tmp_path)
        assert Path(project.content_of("0")["image"]).is_file()


@pytest.mark.parametrize(
    "content",
    ["just text", None, 7, {"text": "a.png is not there.png"}, {"image": "data:image/png;base64,AAAA"}, {"n": [1, 2]}],
)
def test_what_is_no_file_is_left_alone(tmp_path, content):
    assert portable(content, tmp_path) == content
    assert located(content, tmp_path) == content
    assert portable(content, None) == located(content, None) == content
