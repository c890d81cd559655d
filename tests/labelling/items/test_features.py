import base64

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.data.bundled import make_digit_pictures
from labelwise.labelling import ProjectError
from labelwise.labelling.items.features import SIDE, Featurizer, pack, unpack


def test_rows_survive_packing():
    X = np.random.default_rng(0).standard_normal((5, 3))
    assert np.array_equal(unpack(pack(X), 3, sparse=False), X)
    S = sp.random_array((6, 9), density=0.3, format="csr", rng=np.random.default_rng(1))
    again = unpack(pack(S), 9, sparse=True)
    assert np.array_equal(again.toarray(), S.toarray())
    assert again.shape == (6, 9)


def test_words_are_learnt_from_the_pool_and_blanks_are_empty_rows():
    featurizer = Featurizer({"kind": "text", "field": "body"}).fit([{"body": "red car"}, {"body": "blue car"}])
    X = featurizer.transform([{"body": None}, {"body": "green car"}])
    assert X.shape == (2, 3)
    assert np.diff(X.indptr).tolist() == [0, 1]


def test_texts_without_words_are_told():
    with pytest.raises(ProjectError, match="no features can be made"):
        Featurizer({"kind": "text", "field": None}).fit(["", "!"])


def test_pictures_from_files_and_addresses_are_the_same(tmp_path):
    address = make_digit_pictures(1).items[0]["image"]
    path = tmp_path / "digit.png"
    path.write_bytes(base64.b64decode(address.partition(",")[2]))
    featurizer = Featurizer({"kind": "images", "field": None})
    X = featurizer.transform([address, str(path)])
    assert X.shape == (2, SIDE * SIDE)
    assert np.array_equal(X[0], X[1])
    assert X.min() < 0.2 and X.max() == 1.0


@pytest.mark.parametrize("content", ["missing.png", "data:image/png;base64,AAAA"])
def test_a_broken_picture_is_told(tmp_path, content):
    with pytest.raises(ProjectError, match="cannot be read"):
        Featurizer({"kind": "images", "field": None}).transform([content])


def test_an_unknown_kind_is_told():
    with pytest.raises(ProjectError, match="got 'sound'"):
        Featurizer({"kind": "sound"})
