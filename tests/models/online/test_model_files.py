"""Saved models: bit-equal, resumable, and never a pickle."""

import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.models.online.model import OnlineBayes


def stream(n=200, d=40, q=20, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.2, random_state=rng, format="csr")
    return X, X @ rng.normal(size=(d, q)) > 0.3


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"coupling": "independent", "dtype": "float64"},
        {"block_size": 16, "half_life": 50.0, "label_prior": (1.0, 9.0)},
        {"hash_features": 64, "random_state": 3, "score_noise": np.float64(0.5)},
        {"coupling": "pairwise"},
    ],
)
def test_round_trip_is_bit_equal_and_goes_on_alike(settings, tmp_path):
    X, Y = stream()
    straight = OnlineBayes(**settings).partial_fit(X[:120], Y[:120])
    straight.save(tmp_path / "model.npz")
    loaded = OnlineBayes.load(tmp_path / "model.npz")
    assert loaded.get_params() == straight.get_params()
    for name, array in straight.state_.arrays().items():
        np.testing.assert_array_equal(loaded.state_.arrays()[name], array, err_msg=name)
        assert loaded.state_.arrays()[name].dtype == array.dtype
    np.testing.assert_array_equal(loaded.predict_proba(X), straight.predict_proba(X))
    wider = np.hstack([Y, Y[:, :3]])
    for model in (straight, loaded):
        model.partial_fit(X[120:], wider[120:])
    assert loaded.n_seen_ == straight.n_seen_ == 200
    np.testing.assert_array_equal(loaded.predict_proba(X), straight.predict_proba(X))


def test_the_name_given_is_the_name_written_and_replaced_whole(tmp_path):
    X, Y = stream()
    path = tmp_path / "checkpoint"
    OnlineBayes().partial_fit(X, Y).save(path)
    OnlineBayes("independent").partial_fit(X, Y).save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint"]
    assert OnlineBayes.load(path).coupling == "independent"


def test_no_pickle_inside(tmp_path):
    X, Y = stream()
    OnlineBayes().partial_fit(X, Y).save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        assert json.loads(file["header"].tobytes())["settings"]["coupling"] == "global"
        assert all(file[name].dtype != object for name in file.files)
    with zipfile.ZipFile(tmp_path / "m.npz") as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())


def test_file_holds_seen_features_only(tmp_path):
    X = sp.csr_array(([1.0, 1.0], ([0, 1], [3, 999_999])), shape=(2, 1_000_000))
    OnlineBayes().partial_fit(X, np.eye(2, dtype=int)).save(tmp_path / "m.npz")
    assert (tmp_path / "m.npz").stat().st_size < 10_000
    assert OnlineBayes.load(tmp_path / "m.npz").n_features_in_ == 1_000_000


def test_feature_names_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas", reason="needs the package pandas")
    frame = pandas.DataFrame(np.eye(3), columns=["a", "b", "c"])
    OnlineBayes().fit(frame, np.eye(3)).save(tmp_path / "m.npz")
    loaded = OnlineBayes.load(tmp_path / "m.npz")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    assert loaded.predict_proba(frame).shape == (3, 3)


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.ones(2))
    with pytest.raises(ValueError, match=r"is no labelwise\.OnlineBayes file"):
        OnlineBayes.load(tmp_path / "other.npz")


def test_a_state_of_chance_cannot_be_saved(tmp_path):
    X, Y = stream()
    model = OnlineBayes(random_state=np.random.RandomState(0)).fit(X, Y)
    with pytest.raises(ValueError, match="random_state must be an int or None"):
        model.save(tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []
