"""What labels mean: scores of (item, label) that need no answer. `BY_NAME` is what campaigns and the tests go by.

A new hint is one file and one line here; see docs/label-names.md.
"""

from labelwise._lazy import Registry
from labelwise.hints.base import PoolHints, learn_hints
from labelwise.hints.encoder import Encoder
from labelwise.hints.lexical import Lexical
from labelwise.hints.opinions import OpinionHint
from labelwise.hints.semantics import Semantics

__all__ = ["BY_NAME", "Encoder", "Lexical", "OpinionHint", "PoolHints", "Semantics", "learn_hints"]

BUILT_IN = {"lexical": Lexical, "semantics": Semantics, "encoder": Encoder, "opinions": OpinionHint}
BY_NAME = Registry(BUILT_IN, "labelwise.hints")
