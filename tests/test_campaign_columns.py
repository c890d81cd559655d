"""What a campaign predicts about new items: columns by their names, and only labels of which something was learnt."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import labelwise as lw
from labelwise import models
from labelwise.posterior import LimitedPosterior, MarginalPosterior
from labelwise.records import features_by_name

NAMES = ["x", "y", "z"]


def frame(n=60, seed=0):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 3)) * [1, 5, 0.2], columns=NAMES)


def taught(X, n=30, **options):
    """A campaign that was told n whole items: "up" is the sign of x, "big" that of y, "odd" is no item's."""
    data = lw.LabelData.from_arrays(X, label_names=["up", "big", "odd", "never asked"])
    campaign = lw.Campaign(data, model=lw.LabelGP(), strategy=lw.Random(), random_state=0, **options)
    values = np.asarray(X)
    for row in range(n):
        said = {"up": bool(values[row, 0] > 0), "big": bool(values[row, 1] > 0), "odd": False}
        campaign.tell(lw.Answer(data.item_ids[row], said))
    return campaign


def sparse_frame(X):
    return X.astype(pd.SparseDtype("float64", 0.0))


@pytest.mark.parametrize("kind", [pd.DataFrame, sparse_frame])
def test_columns_of_a_frame_go_by_their_names(kind):
    X, new = frame(), frame(20, seed=1)
    campaign = taught(X)
    expected = campaign.believe(new.to_numpy()).probabilities()
    for order in (NAMES, ["z", "y", "x"], ["y", "x", "z"]):
        assert_array_equal(campaign.believe(kind(new[order])).probabilities(), expected)
        assert_array_equal(campaign.predict(kind(new[order])), campaign.predict(new.to_numpy()))
    wrong = campaign.believe(new[["z", "y", "x"]].to_numpy()).probabilities()
    assert abs(wrong - expected).max() > 0.5  # what used to come of it


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["x", "y", "w"], "X has no 'z'; an unexpected 'w': rename, add or drop columns"),
        (["x", "y"], "X has no 'z': rename"),
        (["x", "y", "z", "id"], "X has an unexpected 'id': rename, add or drop columns until it has each of the 3"),
        (["x", "y", "y"], "X has more than one 'y'; no 'z'"),
        (["x", "y", "z", "z"], "X has more than one 'z'"),
        (["X", "Y", "Z"], "X has no 'x', 'y', 'z'; an unexpected 'X', 'Y', 'Z'"),
    ],
)
@pytest.mark.parametrize("answered", [0, 5])
def test_columns_that_are_missing_unexpected_or_repeated_are_named(columns, words, answered):
    campaign = taught(frame(), answered)
    new = pd.DataFrame(np.zeros((2, len(columns))), columns=columns)
    for ask in (campaign.believe, campaign.predict):
        with pytest.raises(ValueError, match=words):
            ask(new)


def test_where_there_are_no_names_to_compare_the_width_has_to_fit():
    X, new = frame(), frame(20, seed=1)
    named, nameless = taught(X), taught(X.to_numpy())
    expected = named.believe(new).probabilities()
    numbered = pd.DataFrame(new.to_numpy())
    for campaign in (named, nameless):
        for items in (new.to_numpy(), sp.csr_array(new.to_numpy()), numbered):
            np.testing.assert_allclose(campaign.believe(items).probabilities(), expected)
    assert_array_equal(nameless.believe(new[["x", "y", "z"]]).probabilities(), expected)
    for items in (np.zeros((2, 4)), pd.DataFrame(np.zeros((2, 4)))):
        with pytest.raises(ValueError, match="X has 4 features, expected 3"):
            named.believe(items)
        with pytest.raises(ValueError, match="X has 4 features, expected 3"):
            taught(X, 0).predict(items)


def test_numbers_that_are_the_pools_own_names_are_names():
    X = pd.DataFrame(frame().to_numpy())  # 0, 1, 2
    campaign, new = taught(X), pd.DataFrame(frame(9, seed=1).to_numpy())
    assert_array_equal(campaign.believe(new[[2, 0, 1]]).probabilities(), campaign.believe(new).probabilities())


def test_a_pool_from_a_file_has_names_too(tmp_path):
    X = frame()
    X.assign(up=(X["x"] > 0).astype(int)).to_csv(tmp_path / "pool.csv", index=False)
    data = lw.read(tmp_path / "pool.csv", labels=["up"])
    campaign = lw.Campaign(data, model=lw.LabelGP(), strategy=lw.Random())
    new = frame(20, seed=1)
    assert_array_equal(campaign.predict(new[["z", "x", "y"]]), campaign.predict(new))
    with pytest.raises(ValueError, match="unexpected 'up'"):
        campaign.predict(new.assign(up=0))


def test_names_that_are_not_unique_in_the_pool_have_to_be_the_same_in_order():
    X = np.zeros((2, 2))
    assert features_by_name(X, ["a", "a"], 2, ["a", "a"]) is X
    with pytest.raises(ValueError, match="unexpected 'b'"):
        features_by_name(X, ["a", "a"], 2, ["a", "b"])


@pytest.mark.parametrize("name", sorted(models.BY_NAME))
def test_models_refuse_other_columns_as_scikit_learn_does(name):
    X, new = frame(), frame(8, seed=1)
    Y = np.column_stack([X["x"] > 0, X["y"] > 0, X["z"] > 0])
    model = models.BY_NAME[name]().fit(X, Y)
    expected = model.predict_proba(new)
    assert expected.shape == (8, 3)
    for wrong in (new[["z", "y", "x"]], new.rename(columns={"x": "w"}), new[["x", "y"]], new.assign(w=0.0)):
        for ask in (model.posterior, model.predict_proba, model.predict):
            with pytest.raises(ValueError, match=r"[Ff]eature names|features"):
                ask(wrong)
        if hasattr(model, "partial_fit"):
            with pytest.raises(ValueError, match=r"[Ff]eature names|features"):
                model.partial_fit(wrong, Y[:8])
    assert_array_equal(model.predict_proba(new), expected)


# -- labels of which nothing was learnt --------------------------------------------------------------------------------


def test_only_labels_that_somebody_said_yes_to_are_predicted():
    X, new = frame(), frame(400, seed=1)
    for decision in (lw.ExpectedF1(cautious=False), lw.ExpectedF1("samples", cautious=False), lw.TopLabels(4)):
        campaign = taught(X, decision=decision)
        assert campaign.learnt_labels().tolist() == [True, True, False, False]
        assert not campaign.predict(new)[:, 2:].any()
        assert campaign.predict(new)[:, :2].any()
        assert campaign.predict(new, every_label=True)[:, 3].any()
        assert not campaign.predict()[:, 2:].any()


def test_what_is_left_out_has_no_say_in_what_is_kept():
    """An item gets of the learnt labels what it would get if there were no others."""
    X, new = frame(), frame(20, seed=1)
    campaign = taught(X, decision=lw.ExpectedF1("samples"))
    p = campaign.believe(new).probabilities()
    assert_array_equal(campaign.predict(new)[:, :2], lw.ExpectedF1("samples").decide(MarginalPosterior(p[:, :2])))


def test_nothing_is_predicted_before_anything_is_known():
    campaign = taught(frame(), 0, decision=lw.ExpectedF1())
    assert not campaign.predict(frame(20, seed=1)).any()
    assert campaign.predict(frame(20, seed=1), every_label=True).all()


def test_a_guessed_label_is_predicted():
    campaign = taught(frame(), decision=lw.ExpectedF1())
    campaign.add_label("like up", like={"up": 0.9})
    assert campaign.learnt_labels().tolist() == [True, True, False, False, True]
    assert campaign.predict(frame(20, seed=1))[:, 4].any()


def test_labels_that_are_known_from_the_start_are_learnt():
    data = lw.LabelData.from_arrays(frame().to_numpy(), np.tile([1, 0, np.nan], (60, 1)))
    assert lw.Campaign(data, model=lw.LabelGP(), strategy=lw.Random()).learnt_labels().tolist() == [True, False, False]


def test_limited_beliefs_say_what_is_left():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.random((30, 4)) < 0.4
    inner = lw.LabelGP().fit(X, Y).posterior(X)
    allowed = np.array([True, False, True, False])
    beliefs = LimitedPosterior(inner, allowed)
    p = inner.probabilities()
    assert_array_equal(beliefs.probabilities(), p * allowed)
    np.testing.assert_allclose(beliefs.label_counts(), p[:, allowed].sum(1))
    assert_array_equal(beliefs.ranking()[:, allowed], inner.ranking()[:, allowed])
    assert np.all(beliefs.ranking()[:, ~allowed] == -np.inf)
    dense, whole = beliefs.label_covariances().dense(), inner.label_covariances().dense()
    np.testing.assert_allclose(dense[:, allowed][:, :, allowed], whole[:, allowed][:, :, allowed])
    assert np.abs(dense[:, ~allowed]).max() <= 1e-12
    for draw in ("sample_probabilities", "sample_labels"):
        mine, theirs = (getattr(each, draw)(5, np.random.default_rng(1)) for each in (beliefs, inner))
        assert_array_equal(mine, theirs * allowed)
    assert_array_equal(beliefs.rows(np.array([3, 1])).probabilities(), (p * allowed)[[3, 1]])
    assert_array_equal(beliefs.means(), inner.means())
    assert len(beliefs.target_groups()) == len(inner.target_groups())
