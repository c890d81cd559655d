"""A trained model with everything it needs to label new items, in one file that cannot run code when it is loaded."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from labelwise.decisions import ExpectedF1, Threshold
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.features import Featurizer, pack
from labelwise.posterior import FloatArray, LabelPosterior
from labelwise.records import Features

OURS = "labelwise."
HARMLESS = ("numpy.dtype", "scipy.sparse._csr.csr_array")  # hold data and do nothing else


class TrainedLabeller:
    """A fitted model, the names of its labels, and the way from an item to its features.

    Parameters
    ----------
    model : fitted estimator with `posterior(X)`
    label_names : the labels, in the order of the model
    featurizer : Featurizer
    seen_event, seen_change : int
        Up to where in the project it has learnt.

    Examples
    --------
    >>> import labelwise as lw
    >>> texts = ["red apple", "green apple", "red car", "green car"]
    >>> featurizer = Featurizer({"kind": "text", "field": None}).fit(texts)
    >>> model = lw.BinaryRelevance().fit(featurizer.transform(texts), [[1, 0], [0, 0], [1, 1], [0, 1]])
    >>> labeller = TrainedLabeller(model, ("red", "vehicle"), featurizer)
    >>> labeller.label_sets(["a red apple"], threshold=0.5).tolist()
    [[True, False]]
    """

    def __init__(
        self,
        model: Any,
        label_names: Sequence[str],
        featurizer: Featurizer,
        seen_event: int = 0,
        seen_change: int = 0,
    ) -> None:
        self.model = model
        self.label_names = tuple(label_names)
        self.featurizer = featurizer
        self.seen_event = seen_event
        self.seen_change = seen_change

    def posterior(self, contents: Sequence[Any], X: Features | None = None) -> LabelPosterior:
        """Beliefs about items, given as the project's items are (a text, a mapping of fields, ...) or as features."""
        numbers = () if X is None else pack(X)
        return self.model.posterior(self.featurizer.transform(contents, numbers))

    def probabilities(self, contents: Sequence[Any], X: Features | None = None) -> FloatArray:
        """(n, q) probability of each label."""
        return np.asarray(self.posterior(contents, X).probabilities())

    def label_sets(
        self, contents: Sequence[Any], X: Features | None = None, *, threshold: float | None = None
    ) -> npt.NDArray[np.bool_]:
        """(n, q) the sets with the highest expected F1 of each item, or all labels above a threshold."""
        rule = ExpectedF1("samples") if threshold is None else Threshold(threshold)
        return np.asarray(rule.decide(self.posterior(contents, X)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a skops file, which takes its name only once it is complete."""
        target = Path(path)
        scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        try:
            try:
                data = _skops().dumps(self)
            except TypeError as error:
                raise ProjectError(f"a {type(self.model).__name__} cannot be written to a file: {error}") from None
            with scratch.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(scratch, target)
        finally:
            scratch.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TrainedLabeller:
        """Read what `save` wrote. A file that holds anything but our own types and plain data is refused."""
        io = _skops()
        try:
            strange = [name for name in io.get_untrusted_types(file=path) if not _is_ours(name)]
            if strange:
                raise ProjectError(f"{os.fspath(path)} holds {', '.join(strange)}, which is none of ours; not loaded")
            loaded = io.load(path, trusted=[name for name in io.get_untrusted_types(file=path) if _is_ours(name)])
        except (KeyError, ValueError, OSError, BadZipFile) as error:
            if isinstance(error, ProjectError | OSError):
                raise
            raise ProjectError(f"{os.fspath(path)} is no model file of ours: {error}") from None
        if not isinstance(loaded, cls):
            raise ProjectError(
                f"{os.fspath(path)} holds a {type(loaded).__name__}, expected a model written by labelwise"
            )
        return loaded


def _is_ours(name: str) -> bool:
    return name.startswith(OURS) or name in HARMLESS


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ImportError("skops is needed to keep models in files: pip install 'labelwise[serve]'") from None
    return skops.io
