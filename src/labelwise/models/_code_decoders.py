"""From predicted codes to scores of labels, by name: the family that the compressed models choose their decoder from.

Codes here are those of labels that are not centred, r = Φ y. Scores order the labels of an item; only those of the
linear decoder are beliefs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from labelwise.models._label_decoders import Codes, CovarianceDecoder
from labelwise.numerics.box_lasso import recover_basis_pursuit, recover_box_lasso
from labelwise.numerics.fast_recovery import recover_fast, smoothed_score
from labelwise.numerics.gaussian_recovery import LabelPrior, project_prior, ridge_prior
from labelwise.numerics.greedy_pursuit import recover_binary_pursuit, recover_cosamp, recover_omp
from labelwise.numerics.label_codes import CompressedLabels
from labelwise.posterior import FloatArray

DecoderName = Literal[
    "lasso", "lp", "omp", "binary_mp", "cosamp", "l2", "correlation", "linear", "scaled_linear", "sparse"
]
DECODERS = get_args(DecoderName)
RIDGE_SHARE = 0.1  # of the mean variance of a code: what the regression is taken to leave open
BLOCK = 4096  # items decoded at a time


@dataclass(frozen=True, eq=False)
class CodeDecoder:
    """Decoders for one code Φ, base rates π and number of labels κ that pursuits pick."""

    projection: FloatArray  # (c, q)
    rates: FloatArray  # (q,) π
    n_picks: int

    @cached_property
    def linear(self) -> CovarianceDecoder:
        """Independent labels of mean π and variance π (1 − π), given their code: equation (27)."""
        prior = LabelPrior(self.rates, np.diag(self.rates * (1 - self.rates)))
        return CovarianceDecoder(project_prior(prior, self.projection))

    @cached_property
    def noise(self) -> float:
        """The variance that the linear decoder grants a predicted code."""
        spread = (self.projection**2 @ (self.rates * (1 - self.rates))).mean()
        return max(RIDGE_SHARE * float(spread), 1e-12)

    def linear_codes(self, codes: FloatArray) -> Codes:
        """Centred codes with their variance, as the linear decoder takes them."""
        return Codes(codes - self.projection @ self.rates, np.full((codes.shape[0], 1), self.noise))

    def scores(self, codes: FloatArray, name: str) -> FloatArray:
        """(n, q) by the named decoder, in blocks of items."""
        parts = [self._scores(codes[start : start + BLOCK], name) for start in range(0, codes.shape[0], BLOCK)]
        return np.vstack(parts) if parts else np.zeros((0, self.rates.size))

    def _scores(self, codes: FloatArray, name: str) -> FloatArray:
        Phi = self.projection
        if name == "lasso":
            return recover_box_lasso(codes, Phi)
        if name == "lp":
            return recover_basis_pursuit(codes, Phi)
        if name == "l2":
            return codes @ np.linalg.pinv(Phi).T
        if name == "correlation":
            return codes @ Phi
        if name in PURSUITS:
            return PURSUITS[name](codes, Phi, self.n_picks)
        if name == "sparse":
            compressed = CompressedLabels(codes, np.full(codes.shape[0], self.noise))
            return smoothed_score(recover_fast(compressed, Phi), compressed, ridge_prior(Phi))
        mean = self.linear.decode(self.linear_codes(codes)).mean
        if name == "linear":
            return mean
        if name == "scaled_linear":
            return (mean - self.rates) / np.sqrt(self.rates * (1 - self.rates))
        raise ValueError(f"decoder must be one of {', '.join(map(repr, DECODERS))}, got {name!r}")


PURSUITS = {"omp": recover_omp, "binary_mp": recover_binary_pursuit, "cosamp": recover_cosamp}
