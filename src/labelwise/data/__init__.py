"""Files to LabelData and back, one file per format; streams, made-up sets, answers. `read` goes by `BY_SUFFIX`."""

from labelwise.data._table import TableLayout
from labelwise.data.answers import append_answers, read_answers, write_answers
from labelwise.data.errors import FormatError
from labelwise.data.formats import BY_NAME, BY_SUFFIX, read, write
from labelwise.data.streams import Position, Stream, StreamBatch, open_stream
from labelwise.data.synthetic import make_gaussian_labels, make_shapes, shapes_probabilities
from labelwise.data.synthetic_streams import make_drifting_stream
from labelwise.data.yeast import load_yeast

__all__ = [
    "BY_NAME",
    "BY_SUFFIX",
    "FormatError",
    "Position",
    "Stream",
    "StreamBatch",
    "TableLayout",
    "append_answers",
    "load_yeast",
    "make_drifting_stream",
    "make_gaussian_labels",
    "make_shapes",
    "open_stream",
    "read",
    "read_answers",
    "shapes_probabilities",
    "write",
    "write_answers",
]
