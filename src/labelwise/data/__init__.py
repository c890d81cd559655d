"""Files to LabelData and back, one file per format; made-up sets; answers. `BY_SUFFIX` is what `read` goes by."""

from labelwise.data._table import TableLayout
from labelwise.data.answers import append_answers, read_answers, write_answers
from labelwise.data.errors import FormatError
from labelwise.data.formats import BY_NAME, BY_SUFFIX, read, write
from labelwise.data.synthetic import make_gaussian_labels, make_shapes, shapes_probabilities
from labelwise.data.yeast import load_yeast

__all__ = [
    "BY_NAME",
    "BY_SUFFIX",
    "FormatError",
    "TableLayout",
    "append_answers",
    "load_yeast",
    "make_gaussian_labels",
    "make_shapes",
    "read",
    "read_answers",
    "shapes_probabilities",
    "write",
    "write_answers",
]
