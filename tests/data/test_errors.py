"""The error that names file and line."""

import pickle

from labelwise.data import FormatError


def test_it_says_where_and_what_and_survives_pickling():
    error = pickle.loads(pickle.dumps(FormatError("found x", "a.csv", 3)))
    assert str(error) == "a.csv, line 3: found x"
    assert (error.problem, error.path, error.line) == ("found x", "a.csv", 3)
    assert isinstance(error, ValueError)
    assert str(FormatError("found x")) == "found x"
