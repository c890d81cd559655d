"""Encoders by name, path or object; and their vectors, which are computed once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from labelwise.encoders import CachedVectors, as_encoder, encode_cached, find_encoder
from letter_encoder import Letters


def test_an_object_with_encode_is_found_again_by_its_name():
    encoder = as_encoder(Letters())
    assert encoder.name == "letters" and find_encoder("letters") is encoder
    assert_array_equal(encoder.encode(["aab", "c"]), [[2, 1, 0], [0, 0, 1]])
    assert find_encoder("no such encoder") is None and find_encoder("") is None


def test_transformers_of_scikit_learn():
    found = as_encoder(HashingVectorizer(n_features=8)).encode(["red apple", "green"])
    assert found.shape == (2, 8) and found.dtype == np.float32
    with pytest.raises(ValueError, match=r"TfidfVectorizer\(\) is not fitted: fit it"):
        as_encoder(TfidfVectorizer())
    fitted = TfidfVectorizer().fit(["red apple", "green"])
    assert_allclose(as_encoder(fitted).encode(["apple"]), [[1, 0, 0]])


def test_import_paths():
    path = "letter_encoder:Letters"
    assert_array_equal(as_encoder(path).encode(["b"]), [[0, 1, 0]])
    assert as_encoder("letter_encoder:LETTERS").encode(["b"]).shape == (1, 3)
    for wrong in ("letter_encoder:Nothing", "no_such_module:Letters", "letter_encoder:"):
        with pytest.raises(ValueError, match=r"there is no encoder at .*write package\.module:name"):
            as_encoder(wrong).encode(["b"])
    with pytest.raises(ValueError, match=r"one of minilm, .* got 'maxilm'"):
        as_encoder("maxilm")
    with pytest.raises(TypeError, match="an object with `encode` or `transform`, got 7"):
        as_encoder(7)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda texts: np.ones((len(texts) + 1, 2)), r"shape \(3, 2\) for 2 items"),
        (lambda texts: np.ones(len(texts)), r"shape \(2,\) for 2 items"),
        (lambda texts: [[1.0], [1.0, 2.0]], "gave no array of numbers"),
        (lambda texts: np.array([[1.0], [np.nan]]), "gave NaN or infinity for 'second'"),
    ],
)
def test_bad_vectors_are_refused(answer, message):
    class Bad:
        def encode(self, texts):
            return answer(texts)

    with pytest.raises(ValueError, match=message):
        as_encoder(Bad()).encode(["first", "second"])


def test_vectors_are_computed_once_and_kept_in_files(tmp_path):
    letters = Letters()
    texts = ["abc", "b", "abc", "cab\udcff"]
    first = encode_cached(as_encoder(letters), texts, folder=tmp_path)
    assert letters.n_encoded == 3  # one is there twice
    said = []
    again = encode_cached(as_encoder(letters), [*texts, "c"], folder=tmp_path, progress=lambda *done: said.append(done))
    assert letters.n_encoded == 4 and said == [(4, 5), (5, 5)]
    assert_array_equal(again[:4], first)
    assert_array_equal(first, letters.encode(texts))
    cache = CachedVectors("letters", tmp_path)
    cache.refresh()
    assert cache.missing(["b", "x"]) == ["x"]
    assert all(isinstance(each, np.memmap) for each in cache._files)


def test_files_that_are_broken_are_computed_again(tmp_path):
    letters = Letters()
    encode_cached(as_encoder(letters), ["abc"], folder=tmp_path)
    (file,) = tmp_path.rglob("*.npy")
    file.write_bytes(file.read_bytes()[:40])
    assert_array_equal(encode_cached(as_encoder(letters), ["abc"], folder=tmp_path), [[1, 1, 1]])
    assert letters.n_encoded == 2


def test_an_encoder_without_a_name_is_not_cached(tmp_path):
    class Nameless:
        calls = 0

        def encode(self, texts):
            self.calls += 1
            return np.ones((len(texts), 2))

    encoder = Nameless()
    for _ in range(2):
        encode_cached(as_encoder(encoder), ["a"], folder=tmp_path)
    assert encoder.calls == 2 and not list(tmp_path.iterdir())
