"""Modules of 0.1 under their old names, and model files that were saved with them."""

import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from labelwise._moved import NEW_NAME
from labelwise.labelling import TrainedLabeller

SAVED = Path(__file__).parent / "labelling" / "models_of_0_1"


@pytest.mark.parametrize("old", NEW_NAME)
def test_a_module_is_found_by_its_old_name(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} has moved to {NEW_NAME[old]}"):
        found = importlib.import_module(old)
    new = importlib.import_module(NEW_NAME[old])
    assert found is new and found.__name__ == NEW_NAME[old] and found.__spec__.name == NEW_NAME[old]


OLD_PLACES = {  # statement to module
    "from labelwise.experiments import Answerer as it": "labelwise.studies.simulate",
    "from labelwise.experiments import train_stream as it": "labelwise.streams.train",
    "from labelwise.experiments import evaluate as it": "labelwise.numerics.metrics",
    "from labelwise.experiments.statistics import compare as it": "labelwise.studies.statistics",
    "from labelwise.experiments.arena_findings import stand as it": "labelwise.studies.statistics",
    "from labelwise.experiments import run_arena as it": "labelwise.studies.study",
    "import labelwise; it = labelwise.experiments.Answerer": "labelwise.studies.simulate",
    "from labelwise.models.online_bayes import OnlineBayes as it": "labelwise.models.online.model",
    "from labelwise.data.streams import open_stream as it": "labelwise.data.formats.registry",
    "from labelwise.data.streams import StreamBatch as it": "labelwise.data.formats.streaming",
    "from labelwise.campaign import Costs as it": "labelwise.records.costs",
}


def test_public_names_at_their_old_places():
    """In a Python that has not imported any of it."""
    checks = (f"{statement}\nassert it.__module__ == {now!r}, it.__module__\n" for statement, now in OLD_PLACES.items())
    code = "".join(checks)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


@pytest.mark.parametrize("kind", [lw.CompressedLabelGP, lw.OrthogonalTargetGP, lw.LabelMixtureGP, lw.LabelCovariance])
def test_the_settings_of_a_paper_have_their_old_name(kind):
    with pytest.warns(DeprecationWarning, match="is now paper"):
        old = kind.published()
    assert vars(old) == vars(kind.paper())


def test_a_package_in_parts_has_no_other_names():
    with pytest.raises(ImportError, match="nothing"):
        from labelwise.experiments import nothing  # noqa: F401 (the import is what fails)


@pytest.mark.parametrize("path", sorted(SAVED.glob("*.skops")), ids=lambda path: path.stem)
def test_model_files_of_0_1_believe_what_they_did(path):
    expected = json.loads((SAVED / "beliefs.json").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labeller = TrainedLabeller.load(path)
    X = np.array(expected["X"])
    p = labeller.posterior([None] * len(X), X).probabilities()
    np.testing.assert_allclose(p, expected["beliefs"][path.stem], atol=1e-8)
