"""What may be read from the disk as a picture, and as what it is shown."""

from __future__ import annotations

import base64
import io

import pytest

from labelwise.labelling.pictures import NoPicture, is_picture, picture_folders, read_picture

image = pytest.importorskip("PIL.Image", reason="needs Pillow")


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
