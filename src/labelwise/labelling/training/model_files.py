"""A trained model with everything it needs to label new items, in one file that cannot run code when it is loaded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise._lazy import packages_of
from labelwise.campaign.defaults import default_decision
from labelwise.campaign.new_labels import GuessingModel
from labelwise.data.errors import UNREADABLE
from labelwise.data.reading import check_archive
from labelwise.decisions import Threshold
from labelwise.files import write_bytes
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.items.features import Featurizer, pack, pack_vectors
from labelwise.posterior import FloatArray, LabelPosterior, LimitedPosterior
from labelwise.posterior.tilted import RaisedItems, RaisedPosterior
from labelwise.records import Features
from labelwise.records.label_tree import LabelTree

if TYPE_CHECKING:
    from labelwise.labelling.training.learner import Learner

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
    learnt : (q,) array of bool, optional
        Labels that somebody has said yes to, or that are guessed: the others are not predicted unless asked for. None:
        all of them.
    opinions : names of the sources whose opinions the model also hears
    parents : (q,) array of int, optional
        The column of the label that each implies, −1 for none; see `labelwise.records.label_tree`.

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

    def __init__(  # noqa: PLR0913 (every part by its name)
        self,
        model: Any,
        label_names: Sequence[str],
        featurizer: Featurizer,
        seen_event: int = 0,
        seen_change: int = 0,
        learnt: npt.NDArray[np.bool_] | None = None,
        opinions: Sequence[str] = (),
        parents: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self.model = model
        self.label_names = tuple(label_names)
        self.featurizer = featurizer
        self.seen_event = seen_event
        self.seen_change = seen_change
        self.learnt = learnt
        self.opinions = tuple(opinions)
        self.parents = parents

    def learnt_labels(self) -> npt.NDArray[np.bool_]:
        """(q,) labels that are predicted by default; all of them where the file is older than this distinction."""
        learnt = getattr(self, "learnt", None)
        return np.ones(len(self.label_names), dtype=bool) if learnt is None else np.asarray(learnt, dtype=bool)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of opinions that it has learnt to listen to; files of 0.1 know of none."""
        return tuple(getattr(self, "opinions", ()))

    def _tree(self) -> LabelTree | None:
        parents = getattr(self, "parents", None)  # files of 0.1 know of none
        return None if parents is None else LabelTree(np.asarray(parents))

    def posterior(
        self, contents: Sequence[Any], X: Features | None = None, opinions: Mapping[str, sp.csr_array] | None = None
    ) -> LabelPosterior:
        """Beliefs about items, given as the project's items are (a text, a mapping of fields, ...) or as features.

        Of a project whose texts came with vectors, `X` is these vectors; without, words alone are judged. `opinions`
        has (n, q) what sources say of the items, 1 yes, −1 no, by name; without, nothing is said.
        """
        if not self.featurizer.is_current:
            raise ProjectError("this model was made by an older labelwise, of pixels of pictures: train it again")
        has_both = "vectors" in self.featurizer.spec
        numbers = () if X is None else pack_vectors(X) if has_both else pack(X)
        features = self.featurizer.transform(contents, numbers)
        shape = (features.shape[0], len(self.label_names))
        said = [(opinions or {}).get(name) for name in self.sources]
        columns = [sp.csr_array(shape) if each is None or each.shape != shape else each for each in said]
        if columns and sp.issparse(features):
            features = sp.csr_array(sp.hstack([features, *columns], format="csr"))
        elif columns:
            features = np.hstack([features, *(each.toarray() for each in columns)])
        beliefs, tree = self.model.posterior(features), self._tree()
        return beliefs if tree is None else RaisedPosterior(beliefs, RaisedItems(tree.probabilities))

    def probabilities(self, contents: Sequence[Any], X: Features | None = None) -> FloatArray:
        """(n, q) probability of each label."""
        return np.asarray(self.posterior(contents, X).probabilities())

    def label_sets(
        self,
        contents: Sequence[Any],
        X: Features | None = None,
        *,
        threshold: float | None = None,
        every_label: bool = False,
    ) -> npt.NDArray[np.bool_]:
        """(n, q) the sets of the default decision, or all labels above a threshold.

        Labels of which nothing was learnt are left out, unless `every_label` is wanted.
        """
        return self.decide(self.posterior(contents, X), threshold=threshold, every_label=every_label)

    def decide(
        self, beliefs: LabelPosterior, *, threshold: float | None = None, every_label: bool = False
    ) -> npt.NDArray[np.bool_]:
        """(n, q) the same of beliefs that are there already."""
        rule = default_decision(None if threshold is None else Threshold(threshold))
        learnt, tree = self.learnt_labels() | every_label, self._tree()
        beliefs = beliefs if learnt.all() else LimitedPosterior(beliefs, learnt)
        sets = np.asarray(rule.decide(beliefs)) & learnt
        return sets if tree is None else np.asarray(tree.upwards(sets))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a skops file, which takes its name only once it is complete."""
        try:
            data = _skops().dumps(self)
        except TypeError as error:
            raise ProjectError(f"a {type(self.model).__name__} cannot be written to a file: {error}") from None
        write_bytes(path, data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TrainedLabeller:
        """Read what `save` wrote. A file that holds anything but our own types and plain data is refused."""
        io = _skops()
        try:
            check_archive(path)
            strange = [name for name in io.get_untrusted_types(file=path) if not _is_ours(name)]
            if strange:
                raise ProjectError(f"{os.fspath(path)} holds {', '.join(strange)}, which is none of ours; not loaded")
            with warnings.catch_warnings():  # files of 0.1 name modules that have moved since
                warnings.simplefilter("ignore", DeprecationWarning)
                loaded = io.load(path, trusted=[name for name in io.get_untrusted_types(file=path) if _is_ours(name)])
        except ProjectError:
            raise
        except UNREADABLE as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's fault, not the file's
            raise ProjectError(f"{os.fspath(path)} is no model file of ours: {error}") from None
        if not isinstance(loaded, cls):
            raise ProjectError(
                f"{os.fspath(path)} holds a {type(loaded).__name__}, expected a model written by labelwise"
            )
        return loaded


def labeller_of(learner: Learner) -> TrainedLabeller | None:
    """The learner's model, ready for a file; None where nothing is known yet."""
    model = None if learner.knows_nothing else learner.campaign.fitted()
    if model is None:
        return None
    model = GuessingModel.of(model, learner.campaign.believe(learner.campaign.data.X[:1]))
    seen, learnt = learner.seen, learner.campaign.learnt_labels()
    sources, names = tuple(learner.opinions), learner.labels.names
    parents = None if learner.tree is None else learner.tree.parents
    return TrainedLabeller(model, names, learner.featurizer, seen.event, seen.change, learnt, sources, parents)


def _is_ours(name: str) -> bool:
    return name.startswith(OURS) or name in HARMLESS or name.partition(".")[0] in packages_of("labelwise.models")


def _skops() -> Any:
    import skops.io  # start-up

    return skops.io
