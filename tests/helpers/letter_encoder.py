"""An encoder that counts three letters: quick, exact, and needs nothing."""

import numpy as np


class Letters:
    name = "letters"

    def __init__(self):
        self.n_encoded = 0

    def encode(self, texts):
        self.n_encoded += len(texts)
        return np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=float).reshape(-1, 3)


LETTERS = Letters()
