"""What may be read from the disk as a picture, and as what it is shown."""

from __future__ import annotations

import base64
import io

import pytest

from labelwise.labelling.items import pictures
from labelwise.labelling.items.pictures import (
    NoPicture,
    PictureCache,
    PictureTooLarge,
    is_picture,
    picture_bytes,
    picture_folders,
    shown_picture,
)

image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def read_picture(value, folders):
    """As the page gets it."""
    return shown_picture(picture_bytes(value, folders))


def encoded(kind: str) -> bytes:
    out = io.BytesIO()
    image.new("RGB", (3, 2), "red").save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "bmp", "webp"])
def test_pictures_go_out_as_they_are(tmp_path, kind):
    (tmp_path / "picture.dat.png").write_bytes(encoded(kind))  # its name does not matter
    path = str(tmp_path / "picture.dat.png")
    assert read_picture(path, picture_folders([{"image": path}])) == (encoded(kind), f"image/{kind}")
    data = f"data:image/x;base64,{base64.b64encode(encoded(kind)).decode()}"
    assert read_picture(data, []) == (encoded(kind), f"image/{kind}")


def test_a_tiff_becomes_a_png():
    data, kind = read_picture(f"data:image/tiff;base64,{base64.b64encode(encoded('tiff')).decode()}", [])
    assert kind == "image/png" and image.open(io.BytesIO(data)).getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize(
    "value",
    ["data:image/png;base64,###", "data:image/svg+xml;base64,PHN2Zy8+", "data:,", None, 3, "no/such.png", "a\0b.png"],
)
def test_anything_else_is_no_picture(value):
    with pytest.raises(NoPicture):
        read_picture(value, [""])


def test_a_damaged_tiff_is_no_picture():
    with pytest.raises(NoPicture, match="cannot be converted"):
        read_picture("data:image/tiff;base64," + base64.b64encode(b"II*\x00" + bytes(40)).decode(), [])


def test_folders_are_those_of_files_not_of_data():
    assert picture_folders([None, "text.", {"a": "data:image/png;base64,x", "b": "/x/y/../z/k.PNG"}]) == ["/x/z"]
    assert is_picture("a.jpeg") and not is_picture("jpeg") and not is_picture(3)


def tiff(width: int, height: int) -> bytes:
    out = io.BytesIO()
    image.new("1", (width, height)).save(out, "tiff", compression="group4")
    return out.getvalue()


def test_a_small_file_of_many_pixels_is_told_and_not_decoded(tmp_path):
    bomb, cache = tiff(10_000, 9_000), PictureCache(tmp_path / "pictures")
    assert len(bomb) < 100_000
    for _ in range(2):
        with pytest.raises(
            PictureTooLarge, match="the picture is too large: 10000 x 9000 pixels, and at most 40 million"
        ):
            shown_picture(bomb, cache)


def test_a_large_tiff_becomes_a_picture_of_a_sane_size():
    data, _ = shown_picture(tiff(5_000, 2_500))
    assert image.open(io.BytesIO(data)).size == (2048, 1024)


def test_every_kind_of_tiff_is_shown():
    for mode in ("1", "L", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F", "LAB", "YCbCr"):
        out = io.BytesIO()
        image.new(mode, (30, 20)).save(out, "tiff")
        assert image.open(io.BytesIO(shown_picture(out.getvalue())[0])).size == (30, 20), mode


def test_a_tiff_is_converted_once(tmp_path, monkeypatch):
    done, convert = [], pictures._converted
    monkeypatch.setattr(pictures, "_converted", lambda data: done.append(1) or convert(data))
    first = shown_picture(tiff(30, 20), PictureCache(tmp_path / "pictures"))
    assert shown_picture(tiff(30, 20), PictureCache(tmp_path / "pictures")) == first and len(done) == 1
    cache = PictureCache(tmp_path / "pictures")
    for _ in range(2):
        with pytest.raises(NoPicture):
            shown_picture(b"II*\x00" + bytes(40), cache)
    assert len(done) == 2


def test_converted_pictures_take_no_more_room_than_they_may(tmp_path):
    cache = PictureCache(tmp_path / "pictures", most_bytes=2500)
    for i in range(10):
        cache.put(f"{i}.png", bytes(1000))
    assert sorted(path.name for path in cache.folder.iterdir()) == ["8.png", "9.png"]
