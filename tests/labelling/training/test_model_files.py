"""Model files: what is saved predicts the same, and a file with anything foreign in it is refused."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from labelwise.labelling import ProjectError, TrainedLabeller
from labelwise.labelling.items.features import Featurizer
from labelwise.models import BY_NAME, BinaryRelevance

TEXTS = [f"{kind} {n}" for n in range(8) for kind in ("red car", "green car", "red apple")]
Y = np.array([[text.startswith("red"), "car" in text] for text in TEXTS])


def make(model) -> TrainedLabeller:
    featurizer = Featurizer({"kind": "text", "field": None}).fit(TEXTS)
    return TrainedLabeller(model.fit(featurizer.transform(TEXTS), Y), ("red", "vehicle"), featurizer)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_loaded_model_predicts_the_same(tmp_path, name):
    labeller, path = make(BY_NAME[name]()), tmp_path / "model.skops"
    labeller.save(path)
    again = TrainedLabeller.load(path)
    assert again.label_names == ("red", "vehicle")
    assert np.allclose(again.probabilities(TEXTS), labeller.probabilities(TEXTS))
    assert np.array_equal(again.label_sets(TEXTS), labeller.label_sets(TEXTS))
    assert [path.name for path in tmp_path.iterdir()] == ["model.skops"]


@pytest.mark.slow
def test_plain_python_loads_it(tmp_path):
    make(BinaryRelevance()).save(tmp_path / "model.skops")
    script = (
        "from labelwise.labelling import TrainedLabeller\n"
        "model = TrainedLabeller.load('model.skops')\n"
        "print(model.label_sets(['a red thing'], threshold=0.5).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip().startswith("[[True, ")


def test_a_foreign_type_is_refused(tmp_path):
    labeller = make(BinaryRelevance())
    labeller.extra = Fraction(1, 3)
    labeller.save(tmp_path / "odd.skops")
    with pytest.raises(ProjectError, match=r"holds fractions.Fraction, which is none of ours"):
        TrainedLabeller.load(tmp_path / "odd.skops")


def test_what_is_no_model_file_is_told(tmp_path):
    (tmp_path / "text.skops").write_text("hello")
    with pytest.raises(ProjectError, match="is no model file of ours"):
        TrainedLabeller.load(tmp_path / "text.skops")
    import skops.io

    skops.io.dump({"a": 1}, tmp_path / "dict.skops")
    with pytest.raises(ProjectError, match="holds a dict"):
        TrainedLabeller.load(tmp_path / "dict.skops")


def test_a_model_that_cannot_be_written_leaves_no_file(tmp_path):
    labeller = make(BinaryRelevance())
    labeller.extra = {(1, 2): 3}
    with pytest.raises(ProjectError, match="a BinaryRelevance cannot be written"):
        labeller.save(tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []
