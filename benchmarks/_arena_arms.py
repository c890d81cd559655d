"""Who takes part in `arena.py`: campaigns by strategy, model, features, names and a person's memory; and the sets."""

import importlib.util
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

import _label_names_sets as named_sets
import _label_saving_sets as plain_sets
import labelwise as lw
from _hours import DATA, POOL
from labelwise.campaign.defaults import MODEL_OF, START_OF, STRATEGY_OF
from labelwise.data.formats.registry import BY_SUFFIX
from labelwise.encoders.minilm import PACKAGE
from labelwise.numerics.blocks import Block

MODEL, OWN_STRATEGY = MODEL_OF["items"][0], STRATEGY_OF["items"]
MODELS = (MODEL, "label_gp", "binary_relevance")
FEATURES = ("words", "embedding", "both")
FLAGS = ("names", "alone", "released")
RELEASED = ({"form": "released"}, {"as_released": True})  # settings of strategies that have such a form
FORGETFUL = 0.8  # the probability that a true label is found
NAMED = (*named_sets.BAGS, *named_sets.TEXTS)


@dataclass(frozen=True)
class Arm:
    """A campaign of the arena. `default` is `Campaign(data)`; the others have its start and its guard, too.

    `alone` has neither random questions at the start nor a guard: a strategy as its authors run it. `released` computes
    what their code does where that differs from the formula.

    >>> Arm("random", features="both", names=True, recall=0.8).name
    'random+both+names@0.8'
    >>> Arm.of("uncertainty+label_gp+alone")
    Arm(strategy='uncertainty', model='label_gp', features='words', names=False, recall=1.0, alone=True, released=False)
    """

    strategy: str = "default"
    model: str = MODEL
    features: str = "words"
    names: bool = False
    recall: float = 1.0
    alone: bool = False
    released: bool = False

    @classmethod
    def of(cls, name):
        kind, _, recall = name.partition("@")
        strategy, *parts = kind.split("+")
        unknown = {*parts} - {*MODELS, *FEATURES, *FLAGS}
        if unknown or strategy not in ("default", *strategies()):
            raise ValueError(
                f"there is no arm {name!r}: write STRATEGY, then +MODEL, +FEATURES, +names, +alone, @RECALL"
            )
        chosen = {"model": next((part for part in parts if part in MODELS), MODEL)}
        chosen["features"] = next((part for part in parts if part in FEATURES), "words")
        return cls(strategy, **chosen, recall=float(recall or 1), **{flag: flag in parts for flag in FLAGS})

    @property
    def name(self):
        parts = [self.strategy, self.model * (self.model != MODEL), self.features * (self.features != "words")]
        parts += [flag * getattr(self, flag) for flag in FLAGS]
        return "+".join(filter(None, parts)) + (f"@{self.recall:g}" if self.recall < 1 else "")

    @property
    def condition(self):
        """What arms share that are compared: features, names and the person."""
        parts = [self.features, "names" * self.names, f"finds {self.recall:.0%}" * (self.recall < 1)]
        return ", ".join(filter(None, parts))

    @property
    def is_default(self):
        """Whether it is the default campaign in its condition."""
        return replace(self, features="words", names=False, recall=1.0) == Arm()

    @property
    def random(self):
        """Random whole items with the same model and features: what this one has to beat."""
        return replace(self, strategy="random", alone=False, released=False)

    @property
    def usual(self):
        """The usual way of the same person, which has words alone."""
        return "usual" + (f"@{self.recall:g}" if self.recall < 1 else "")

    def options(self):
        """Of `Campaign`."""
        options = {"model": self.model, "hints": "auto" if self.names else None}
        if self.alone:
            name = OWN_STRATEGY if self.strategy == "default" else self.strategy
            return options | {"strategy": as_released(name) if self.released else name}
        if self.strategy == "default":
            return options
        guard = {} if self.strategy == "random" else {"control": lw.Guard()}
        return options | {"strategy": self.strategy, "start": START_OF["items"], **guard}


def strategies():
    """The registered ones that ask for items; without the default's own, which is the arm `default`."""
    made = {name: make() for name, make in lw.queries.BY_NAME.items()}
    return [name for name, each in made.items() if each.target == "items" and name != OWN_STRATEGY]


def as_released(name):
    """A strategy as its authors' code computes it; None where that is the same."""
    made = lw.queries.BY_NAME[name]()
    settings = (each for each in RELEASED if all(hasattr(made, field) for field in each))
    return next((replace(made, **each) for each in settings), None)


def groups():
    """Arms by what they show, the most important first; random items stand beside all of them."""
    chosen = [name for name in strategies() if name != "random"]
    both = ("default", "random")
    embedded = [(features, names) for names in (True, False) for features in FEATURES[1:]]
    return {
        "base": [Arm(each) for each in both],
        "strategies": [Arm(each) for each in chosen],
        "names": [Arm(each, names=True) for each in both],
        "models": [Arm(each, model) for model in MODELS[1:] for each in both],
        "forgetting": [Arm(each, names=names, recall=FORGETFUL) for names in (False, True) for each in both],
        "features": [Arm(each, features=f, names=names) for f, names in embedded for each in both],
        "alone": [Arm(each, alone=True) for each in ("default", *chosen)],
        "released": [Arm(each, alone=True, released=True) for each in chosen if as_released(each)],
        "strategies_names": [Arm(each, names=True) for each in chosen],
        "strategies_both": [Arm(each, features="both", names=True) for each in chosen],
        "models_both": [Arm(each, model, "both") for model in MODELS[1:] for each in both],
    }


@dataclass(frozen=True)
class ArenaSet:
    """A set of the arena: as published ("plain"), with readable labels ("named"), a folder of texts, or made up."""

    name: str
    kind: str = "plain"
    folder: Path = DATA

    def admits(self, arm):
        if arm.features != "words" and not (self.kind == "texts" and importlib.util.find_spec(PACKAGE)):
            return False
        return self.kind in ("named", "texts", "made up") if arm.names else True

    def split(self, features, seed):
        """Pool and test set: the same items whatever the features."""
        if self.kind in ("named", "texts"):
            name = self.name + (named_sets.EMBEDDED if features != "words" else "")
            parts = named_sets.split(self.folder, name, seed, POOL)
            return tuple(map(only_vectors, parts)) if features == "embedding" else parts
        return plain_sets.split(_read(self), seed, POOL)


def shared_sets():
    """The published ones that are there."""
    texts = named_sets.TEXTS
    kinds = {name: "texts" if name in texts else "named" if name in NAMED else "plain" for name in plain_sets.FILES}
    return [ArenaSet(name, kinds[name]) for name in plain_sets.available(DATA, tuple(plain_sets.FILES))]


def made_up_sets():
    """Two small ones, for a quick look without any data."""
    return [ArenaSet("tickets", "made up"), ArenaSet("gaussian", "made up")]


def sets_in(folder):
    """Of a folder that a user adds: its files of labelled items, and its folders of texts with `labels.json`.

    Such a folder has `items.jsonl.gz` (text, labels) and `labels.json` (name to description, or "").
    """
    found = [ArenaSet(path.parent.name, "texts", path.parents[1]) for path in sorted(folder.glob("*/items.jsonl.gz"))]
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and BY_SUFFIX.keys() & {*path.suffixes}]
    found += [ArenaSet(path.name.partition(".")[0], "file", path) for path in files]
    if not found:
        raise ValueError(f"there is nothing in {folder}: put files of labelled items there, or folders of texts")
    return found


@lru_cache(maxsize=1)
def _read(one):
    if one.kind == "file":
        return lw.read(one.folder)
    if one.kind != "made up":
        return plain_sets.load(one.folder, one.name)
    if one.name == "gaussian":
        return lw.data.make_gaussian_labels(150, random_state=0)
    return lw.studies.Source("tickets", limit=300).load()[0]


def only_vectors(data):
    """The items with their vectors alone."""
    block = next(each for each in data.blocks if each.kind == "vectors")
    X = data.X[:, block.start : block.start + block.width]
    alone = (Block(block.name, block.kind, 0, block.width, block.encoder),)
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return lw.LabelData.from_arrays(X, data.Y.toarray(), labels=data.labels, blocks=alone)


def encode(one):
    """Compute the vectors of a set of texts, which are kept in the user's cache."""
    named_sets.load(one.folder, one.name + named_sets.EMBEDDED)
