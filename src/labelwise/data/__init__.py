"""Files to LabelData and back, one file per format; streams, made-up sets, answers. `read` goes by `BY_SUFFIX`."""

from typing import TYPE_CHECKING

from labelwise._lazy import lazily

if TYPE_CHECKING:  # the same names for tools; tests/test_lazy.py holds both lists together
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

__getattr__ = lazily(
    "labelwise.data",
    {
        "labelwise.data._table": "TableLayout",
        "labelwise.data.answers": "append_answers read_answers write_answers",
        "labelwise.data.cooccurrence": "Cooccurrence read_cooccurrence write_cooccurrence",
        "labelwise.data.digit_pictures": "make_digit_pictures",
        "labelwise.data.errors": "FormatError",
        "labelwise.data.formats": "BY_NAME BY_SUFFIX read write",
        "labelwise.data.sharded": "FeaturePart ShardedFeatures",
        "labelwise.data.streams": "Position Stream StreamBatch open_stream",
        "labelwise.data.synthetic": "make_gaussian_labels make_shapes shapes_probabilities",
        "labelwise.data.synthetic_streams": "make_drifting_stream",
        "labelwise.data.text_counts": "count_texts open_text plain_stem",
        "labelwise.data.tickets": "make_tickets",
        "labelwise.data.yeast": "load_yeast",
    },
)

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
