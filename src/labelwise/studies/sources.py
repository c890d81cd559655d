"""Where an experiment's data come from: built-in sets, files, and a folder of published sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler, normalize

from labelwise import data as formats
from labelwise.records import LabelData
from labelwise.views.wording import did_you_mean


def _digits() -> LabelData:
    """Handwritten digits with what is true of each: even, prime, ..."""
    return replace(formats.make_digit_pictures(1797), items=None)


def _tickets() -> LabelData:
    """Made-up support tickets with their tags, as weighted words."""
    made = formats.make_tickets(1500)
    texts = [str(item["text"]) for item in made.items or ()]
    words = TfidfVectorizer(sublinear_tf=True)
    X = sp.csr_array(words.fit_transform(texts))
    return replace(made, X=X, feature_names=tuple(words.get_feature_names_out()))


BUILT_IN: dict[str, Callable[[], LabelData]] = {
    "yeast": formats.load_yeast,
    "gaussian": lambda: formats.make_gaussian_labels(1300, random_state=0),
    "shapes": lambda: formats.make_shapes(1500, random_state=0),
    "digits": _digits,
    "tickets": _tickets,
    "words": lambda: formats.make_drifting_stream(1500, 30, share=0.05, noise=0.3, random_state=0),
}
PUBLISHED = {  # name: file below the folder of published sets, and its test file where there is no union of both
    "yeast": ("yeast/yeast.arff.gz", None),
    "emotions": ("emotions/emotions.arff.gz", None),
    "scene": ("scene/scene-train.arff.gz", "scene/scene-test.arff.gz"),
    "medical": ("medical/medical.arff", None),
    "enron": ("enron/enron.arff.gz", None),
    "corel5k": ("corel5k/Corel5k-sparse.arff.gz", None),
    "bibtex": ("bibtex/bibtex.arff.gz", None),
    "rcv1sub1": ("rcv1sub1/rcv1sub1.arff.gz", None),
    "tmc2007-500": ("tmc2007-500/tmc2007-500.arff.gz", None),
    "delicious": ("delicious/delicious.arff.gz", None),
}
MAX_PLAIN_FEATURES = 10  # dense features up to which the length of a row carries information and is kept


@dataclass(frozen=True)
class Source:
    """A set of an experiment, and how to read it.

    Parameters
    ----------
    source : str
        The name of a built-in set, or a path.
    name : str, optional
        What to call it; by default the name of the set or file.
    test : path, optional
        A file of items to test on, read like the data.
    labels : str, int or list of str, optional
        Label columns; of an ARFF file its XML file or a number.
    text, id : str, optional
        Columns of text to learn from and of item ids.
    limit : int, optional
        Largest number of items to keep, always the same draw.

    Examples
    --------
    >>> data, test = Source("gaussian", limit=100).load()
    >>> data.n_items, test
    (100, None)
    """

    source: str
    name: str = ""
    test: Path | None = None
    labels: str | int | list[str] | None = None
    text: str | None = None
    id: str | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 2:
            raise ValueError(f"limit must be at least 2, got {self.limit!r}")
        if not self.name:
            object.__setattr__(self, "name", Path(self.source).name.partition(".")[0])

    @property
    def is_built_in(self) -> bool:
        return self.source in BUILT_IN and not Path(self.source).is_file()

    def load(self) -> tuple[LabelData, LabelData | None]:
        """The data and, where one was named, the test set."""
        data, test = self._read()
        if self.limit is not None and data.n_items > self.limit:
            kept = np.random.default_rng(0).permutation(data.n_items)[: self.limit]
            data = data.take(np.sort(kept))
        return data, test

    def _read(self) -> tuple[LabelData, LabelData | None]:
        options: dict[str, Any] = {k: v for k, v in (("labels", self.labels), ("id", self.id)) if v is not None}
        if self.text is not None:
            options |= {"text": self.text, "vectorizer": TfidfVectorizer(sublinear_tf=True)}
        if self.is_built_in:
            if options:
                raise ValueError(f"the built-in set {self.source!r} takes no labels, text or id; leave them out")
            return BUILT_IN[self.source](), None if self.test is None else formats.read(self.test)
        if not Path(self.source).exists():
            near, known = did_you_mean(self.source, BUILT_IN), ", ".join(BUILT_IN)
            raise ValueError(f"there is no file {self.source!r} and no built-in set of that name: {known}{near}")
        data = formats.read(self.source, **options)
        if self.test is None:
            return data, None
        if isinstance(options.get("labels"), str) and Path(self.source).suffix != ".arff":
            options["label_names"] = data.label_names  # the test file may lack a label, or list them in another order
        return data, formats.read(self.test, **options)


def published(folder: Path, names: Sequence[str] = tuple(PUBLISHED)) -> list[Source]:
    """Those of the named sets that are in the folder, one folder per set."""
    there = {name: tuple(None if file is None else folder / file for file in PUBLISHED[name]) for name in names}
    return [
        Source(str(file), name, test)
        for name, (file, test) in there.items()
        if file is not None and file.is_file() and (test is None or test.is_file())
    ]


def scaled(data: LabelData, test: LabelData | None = None) -> tuple[LabelData, LabelData | None]:
    """The same with features that suit every model: dense columns standardised, then rows of unit length.

    Rows with a handful of dense features keep their lengths: a plane would become a circle. Labels are not looked at;
    means and spreads are those of the data, not of the test set.
    """
    parts = [data] if test is None else [data, test]
    if sp.issparse(data.X):
        return _with_features([sp.csr_array(normalize(part.X)) for part in parts], data, test)
    scaler = StandardScaler().fit(data.X)
    columns = [scaler.transform(part.X) for part in parts]
    return _with_features(
        columns if data.n_features <= MAX_PLAIN_FEATURES else [normalize(X) for X in columns], data, test
    )


def _with_features(X: list[Any], data: LabelData, test: LabelData | None) -> tuple[LabelData, LabelData | None]:
    return replace(data, X=X[0]), None if test is None else replace(test, X=X[1])
