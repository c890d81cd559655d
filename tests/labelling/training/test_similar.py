"""Similar items: against cosines of brute force, by words, vectors and numbers, from the worker's file and without."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import TfidfVectorizer

from labelwise import Answer, LabelData
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.items.browse import Browser, ItemSearch
from labelwise.labelling.served import ServedProject
from labelwise.labelling.training.derived import SIMILAR, derived_path
from labelwise.labelling.training.similar import SimilarItems

TEXTS = ["red car", "a red car and a blue car", "blue sea", "red apple", "green tree", "old green car"]
IDS = [f"t{i}" for i in range(6)]


def made(folder, X=None, **more):
    data = LabelData.from_arrays(
        np.zeros((6, 0)) if X is None else X, label_names=["red", "blue"], item_ids=IDS, items=TEXTS
    )
    return Project.create(folder / "similar.db", data, **more)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    with made(tmp_path_factory.mktemp("similar"), text="") as project:
        project.tell(Answer("t2", {"red": False, "blue": True}))
        project.refresh()
        yield project


def cosines(X):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return unit @ unit.T


def test_texts_are_compared_by_their_words(project):
    expected = cosines(TfidfVectorizer(sublinear_tf=True).fit_transform(TEXTS).toarray())
    for row, name in enumerate(IDS):
        found = project.similar(name)
        order = [i for i in np.argsort(-expected[row], kind="stable") if i != row and expected[row, i] > 0]
        assert [each for each, _ in found] == [IDS[i] for i in order]
        assert_allclose([score for _, score in found], expected[row, order], atol=2e-3)
    assert len(project.similar("t0", 2)) == 2


def test_the_page_reads_the_workers_file_and_has_nothing_before_there_is_one(project, tmp_path):
    with ServedProject(project.store.location) as served:
        assert served.similar("t0") == project.similar("t0")
        assert Browser(served).find(ItemSearch(similar_to="t0")).items[0].name == project.similar("t0")[0][0]
    with made(tmp_path, text="") as fresh:
        names = [name for name, _ in fresh.similar("t0")]  # found now: a `Project` may take its time
        assert names == [name for name, _ in project.similar("t0")]
        assert not derived_path(fresh.store, SIMILAR).exists()
        with ServedProject(fresh.store.location) as served:
            assert served.similar("t0") == []
            found = Browser(served).find(ItemSearch(similar_to="t0"))
            assert found.total == 0 and "worker" in found.notice


def test_vectors_come_before_words_and_numbers_are_standardised(tmp_path):
    V = np.random.default_rng(0).standard_normal((6, 3))
    data = LabelData.from_arrays(np.zeros((6, 0)), label_names=["red"], item_ids=IDS, items=TEXTS)
    with Project.create(tmp_path / "vectors.db", data.with_block(V, "mine", "vectors"), text="") as project:
        best = dict(project.similar("t0"))
        expected = cosines(V)[0]
        assert best == pytest.approx({IDS[i]: expected[i] for i in range(1, 6) if expected[i] > 0}, abs=2e-3)
    with made(tmp_path, np.c_[V[:, 0], 1000 + 100 * V[:, 1], np.ones(6)]) as project:
        expected = cosines(((V - V.mean(0)) / V.std(0))[:, :2])[0]
        best = dict(project.similar("t0"))
        assert best == pytest.approx({IDS[i]: expected[i] for i in range(1, 6) if expected[i] > 0}, abs=2e-3)


def test_similar_items_are_a_filter_beside_others_and_an_unknown_item_is_told(project):
    browser = Browser(project)
    names = [item.name for item in browser.find(ItemSearch(similar_to="t1")).items]
    assert names == [name for name, _ in project.similar("t1")] and "t2" in names
    open_ = [item.name for item in browser.find(ItemSearch(similar_to="t1", show="unanswered")).items]
    assert open_ == [name for name in names if name != "t2"]
    with pytest.raises(ProjectError, match="no item 'nowhere'"):
        browser.find(ItemSearch(similar_to="nowhere"))


def test_an_item_without_a_word_is_like_none_and_what_is_too_large_is_not_written(project, tmp_path, monkeypatch):
    monkeypatch.setattr("labelwise.labelling.training.similar.MOST_ENTRIES", 3)
    similar = SimilarItems.of(project.learner())
    similar.save(tmp_path / "similar.npz")
    assert not (tmp_path / "similar.npz").exists()
    assert similar.scores(99).size == 0
    empty = LabelData.from_arrays(np.zeros((2, 0)), label_names=["red"], items=["", "red"])
    with Project.create(tmp_path / "empty.db", empty, text="") as few:
        assert few.similar("0") == []
