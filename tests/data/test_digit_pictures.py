import io

import numpy as np
import pytest

from labelwise.data.digit_pictures import ATTRIBUTES, SCALE, make_digit_pictures, png


def test_a_picture_is_read_as_it_was_drawn():
    image = pytest.importorskip("PIL.Image", reason="needs the package pillow")
    grey = np.random.default_rng(0).integers(0, 256, (5, 9)).astype(np.uint8)
    with image.open(io.BytesIO(png(grey))) as read:
        assert np.array_equal(np.asarray(read), grey)


def test_attributes_tell_the_ten_digits_apart():
    rows = {tuple(digit in members for members in ATTRIBUTES.values()) for digit in range(10)}
    assert len(rows) >= 9


def test_items_are_pictures_with_every_attribute_known():
    digits = make_digit_pictures(50)
    assert (digits.n_items, digits.n_labels, digits.observed) == (50, len(ATTRIBUTES), None)
    assert len(set(digits.item_ids)) == 50
    assert SCALE * 8 == 64
