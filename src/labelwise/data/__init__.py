"""Files to LabelData and back, one file per format; streams, made-up sets, answers. `read` goes by `BY_SUFFIX`."""

from labelwise.data._table import TableLayout
from labelwise.data.answers import append_answers, read_answers, write_answers
from labelwise.data.cooccurrence import Cooccurrence, read_cooccurrence, write_cooccurrence
from labelwise.data.digit_pictures import make_digit_pictures
from labelwise.data.errors import FormatError
from labelwise.data.formats import BY_NAME, BY_SUFFIX, read, write
from labelwise.data.sharded import FeaturePart, ShardedFeatures
from labelwise.data.streams import Position, Stream, StreamBatch, open_stream
from labelwise.data.synthetic import make_gaussian_labels, make_shapes, shapes_probabilities
from labelwise.data.synthetic_streams import make_drifting_stream
from labelwise.data.text_counts import count_texts, open_text, plain_stem
from labelwise.data.tickets import make_tickets
from labelwise.data.yeast import load_yeast

__all__ = [
    "BY_NAME",
    "BY_SUFFIX",
    "Cooccurrence",
    "FeaturePart",
    "FormatError",
    "Position",
    "ShardedFeatures",
    "Stream",
    "StreamBatch",
    "TableLayout",
    "append_answers",
    "count_texts",
    "load_yeast",
    "make_digit_pictures",
    "make_drifting_stream",
    "make_gaussian_labels",
    "make_shapes",
    "make_tickets",
    "open_stream",
    "open_text",
    "plain_stem",
    "read",
    "read_answers",
    "read_cooccurrence",
    "shapes_probabilities",
    "write",
    "write_answers",
    "write_cooccurrence",
]
