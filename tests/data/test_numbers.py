"""Numbers in text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwise.data._numbers import check_dtype, format_number, parse_number
from labelwise.data.errors import Problem


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_comes_back_unchanged(value):
    back = parse_number(format_number(value))
    assert back == value
    assert np.signbit(back) == np.signbit(value)


@pytest.mark.parametrize("text", ["1_000", " 1", "1e", "e5", ".", "", "0x1", "١", "--1", "1e5.0"])
def test_what_float_may_take_but_is_no_number_here(text):
    with pytest.raises(Problem, match="expected a number"):
        parse_number(text)


@pytest.mark.parametrize("text", ["nan", "-inf", "Infinity", "NaN"])
def test_not_finite(text):
    with pytest.raises(Problem, match="expected a finite number"):
        parse_number(text)


def test_too_large():
    with pytest.raises(Problem, match="too large"):
        parse_number("1e999")


def test_dtypes():
    assert check_dtype("float32") == np.float32
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got int64"):
        check_dtype(np.int64)
