"""Another package adds a model, a strategy, a format and a hint by entry points."""

import sys

import numpy as np
import pytest

import labelwise as lw
from labelwise import hints, models, queries
from labelwise._lazy import Registry, names_built_in, packages_of
from labelwise.data.formats import registry
from labelwise.labelling.training import model_files

MODULE = '''
from dataclasses import dataclass

import labelwise as lw
from labelwise.queries import ScoringStrategy

SUFFIXES = (".toy",)


class Model(lw.BinaryRelevance):
    """A model of another package."""


@dataclass(frozen=True)
class Strategy(lw.Uncertainty):
    """A strategy of another package."""


@dataclass(frozen=True)
class Hint:
    """A hint of another package."""


def read(path, *, labels="tags"):
    with open(path) as file:
        rows = [float(line) for line in file]
    return lw.LabelData.from_arrays([[value] for value in rows], label_names=[labels])


def write(data, path):
    with open(path, "w") as file:
        file.writelines(f"{value}\\n" for value in data.X[:, 0])
'''
ENTRIES = """
[labelwise.models]
toy = toy_labels:Model
binary_relevance = toy_labels:Model
[labelwise.strategies]
toy = toy_labels:Strategy
[labelwise.formats]
toy = toy_labels
[labelwise.hints]
toy = toy_labels:Hint
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package on the path, as pip would leave it; the registries look again."""
    (tmp_path / "toy_labels.py").write_text(MODULE)
    info = tmp_path / "toy_labels-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-labels\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    before = [(where, dict(where.BY_NAME)) for where in (models, queries, hints, registry)]
    monkeypatch.syspath_prepend(tmp_path)
    for where, known in before:
        monkeypatch.setattr(where, "BY_NAME", Registry(known, where.BY_NAME.group, where.BY_NAME._load))
    yield tmp_path
    sys.modules.pop("toy_labels", None)


def test_what_is_added_is_found_by_name(installed):
    for where in (models, queries, hints):
        assert "toy" in where.BY_NAME and "toy" in list(where.BY_NAME)
        assert type(where.BY_NAME["toy"]()).__module__ == "toy_labels"
        with pytest.raises(KeyError, match="nothing"):
            where.BY_NAME["nothing"]
    campaign = lw.Campaign(lw.LabelData.from_arrays(np.eye(3), label_names=["a"]), model="toy", strategy="toy")
    assert type(campaign.model).__name__ == "Model" and type(campaign.strategy).__name__ == "Strategy"


def test_what_is_built_in_is_not_replaced(installed):
    assert type(models.BY_NAME["binary_relevance"]()) is lw.BinaryRelevance
    assert type(dict(models.BY_NAME.items())["binary_relevance"]()) is lw.BinaryRelevance


def test_nothing_is_imported_to_list_names(installed):
    assert "toy" in models.BY_NAME
    assert len(models.BY_NAME) == len(models.BY_NAME.keys()) == len(models.BY_NAME.values())
    assert "toy_labels" not in sys.modules


def test_a_format_is_read_and_written_by_its_suffix(installed):
    data = lw.LabelData.from_arrays([[1.5], [2.5]], label_names=["tags"])
    lw.write(data, installed / "some.toy")
    assert lw.read(installed / "some.toy").X.tolist() == [[1.5], [2.5]]
    with pytest.raises(TypeError, match="toy files have no option 'colour'"):
        lw.read(installed / "some.toy", colour="red")


def test_model_files_of_the_package_may_be_loaded(installed):
    assert packages_of("labelwise.models") == {"toy_labels"}
    assert model_files._is_ours("toy_labels.Model") and not model_files._is_ours("toys.Model")


def test_help_texts_name_what_is_built_in(installed):
    assert "label_gp" in names_built_in(models.BY_NAME) and "toy" not in names_built_in(models.BY_NAME)


def test_without_the_package_there_is_none():
    assert "toy" not in models.BY_NAME
    with pytest.raises(ValueError, match="says no format"):
        lw.read("some.toy")
