"""What a fitted model believes about a batch of items: the meeting point of models, strategies and decisions.

A model ends in a `LabelPosterior`; strategies and decisions start from one and never see the model. Everything is lazy:
a posterior holds references, computes what is asked for, and can be walked in blocks of rows. Nothing of size n × n or
n × q × q exists unless somebody asks for exactly that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part
from labelwise.numerics.linear_algebra import log_determinants_above_one

Rows = npt.NDArray[np.intp] | slice


class LabelPosterior:
    """Beliefs about the labels of n items. A model overrides `probabilities`, `rows`, and whatever it knows better.

    The defaults are those of a model that believes labels independent given the item and that has no opinion about
    how sure it is of its own probabilities.
    """

    def __init__(self, n_items: int, n_labels: int) -> None:
        self.n_items = n_items
        self.n_labels = n_labels

    @property
    def is_streamed(self) -> bool:
        """Whether the features of the items are not in memory."""
        return False

    @property
    def joint_draws(self) -> bool:
        """Whether `sample_probabilities` of blocks is one common draw, given generators in the same state."""
        return False

    def probabilities(self) -> FloatArray:
        """(n, q) probability that each label is present."""
        raise NotImplementedError

    def rows(self, rows: Rows) -> LabelPosterior:
        """The same beliefs about some of the items only."""
        raise NotImplementedError

    def label_covariances(self) -> LabelCovariances:
        """Per item, the covariance of its 0/1 labels as diagonal + low rank."""
        p = self.probabilities()
        return LabelCovariances(np.maximum(p * (1 - p), 1e-12), np.zeros((*p.shape, 0)))

    def item_covariance(self) -> ItemCovariance | None:
        """Covariance between the items, or None where the model has none."""
        return None

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        """The same covariance as that of a linear model in features, for any items, not only these.

        Without a `basis` it is exact, and None where the kernel has no features, or too many; a basis approximates the
        kernel. None also where the model has no covariance between items.
        """
        return None

    def parts(self) -> Sequence[Part] | None:
        """The features of the items in parts, as `feature_space` takes them; None where they are not at hand."""
        return None

    def feature_variances(self) -> FloatArray:
        """(n,) how little the features of each item tell, as a variance: what more training items like it would lower.

        Where the items have a covariance it is its diagonal; a model without one knows nothing of it: all zeros.
        """
        covariance = self.item_covariance()
        return np.zeros(self.n_items) if covariance is None else covariance.diagonal()

    def target_groups(self) -> tuple[TargetGroup, ...]:
        """What the model regresses on, grouped by the covariance between items; empty where it has none.

        By default one target, whatever has the covariance of `item_covariance`.
        """
        covariance = self.item_covariance()
        if covariance is None:
            return ()
        one = np.ones(1)
        return (TargetGroup(covariance, one, np.array([covariance.noise]), one),)

    def ranking(self) -> FloatArray:
        """(n, q) by what the model itself ranks the labels of an item; by default the probabilities."""
        return self.probabilities()

    def label_counts(self) -> FloatArray:
        """(n,) how many labels each item is believed to have; by default the sum of its probabilities."""
        return self.probabilities().sum(axis=1)

    def rough(self) -> LabelPosterior:
        """Nearly the same beliefs, computed faster: to score a large pool before a closer look at the best few."""
        return self

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """(s, n, q) probabilities under draws of what the model does not know; their mean over draws is close to p."""
        return np.broadcast_to(self.probabilities(), (n_samples, self.n_items, self.n_labels))

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        """(s, n, q) label sets with the marginals of `probabilities` and the dependence of `label_covariances`.

        A Gaussian copula: one standard normal per label, correlated as the labels are, cut where the marginal says.
        The 0/1 labels are then a little less correlated than the normals, as dichotomised normals always are.
        """
        p = self.probabilities()
        covariances = self.label_covariances()
        scale = np.sqrt(covariances.variances())  # (n, q)
        own = rng.standard_normal((n_samples, *p.shape)) * np.sqrt(covariances.diagonal)  # (s, n, q)
        shared = rng.standard_normal((n_samples, self.n_items, covariances.factor.shape[2]))  # (s, n, r)
        common = (shared.swapaxes(0, 1) @ covariances.factor.swapaxes(1, 2)).swapaxes(0, 1)  # (s, n, q)
        normal = (own + common) / scale
        return normal < ndtri(p)

    def given(self, values: Any, observed: Any) -> LabelPosterior:
        """The same beliefs once some of the items' own labels are known: (n, q) values and mask, dense or sparse.

        Gaussian conditioning on `label_covariances`: the best linear prediction of the other labels, kept inside
        (0, 1). A model that can do better overrides it.
        """
        from labelwise.posterior.wrapped import GivenPosterior  # which is a LabelPosterior itself

        return GivenPosterior(self, values, observed)

    def _check_known(self, values: Any, observed: Any) -> None:
        for name, matrix in (("values", values), ("observed", observed)):
            if matrix.shape != (self.n_items, self.n_labels):
                raise ValueError(f"{name} has shape {matrix.shape}, expected {(self.n_items, self.n_labels)}")

    def blocks(self, size: int = 4096) -> Iterator[tuple[slice, LabelPosterior]]:
        """Go through the batch in slices of at most `size` items."""
        for start in range(0, self.n_items, size):
            part = slice(start, min(start + size, self.n_items))
            yield part, self.rows(part)


class MarginalPosterior(LabelPosterior):
    """Beliefs that are given as probabilities and nothing else.

    Examples
    --------
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.2]]))
    >>> beliefs.sample_labels(2000, np.random.default_rng(0)).mean(0).round(1)
    array([[0.9, 0.2]])
    """

    def __init__(self, probabilities: FloatArray) -> None:
        super().__init__(*probabilities.shape)
        self._probabilities = probabilities

    def probabilities(self) -> FloatArray:
        return self._probabilities

    def rows(self, rows: Rows) -> MarginalPosterior:
        return MarginalPosterior(self._probabilities[rows])


class IgnorantPosterior(LabelPosterior):
    """Beliefs before any label is known: every label of every item is as likely as not. Costs no memory."""

    def probabilities(self) -> FloatArray:
        return np.broadcast_to(np.float64(0.5), (self.n_items, self.n_labels))

    def rows(self, rows: Rows) -> IgnorantPosterior:
        return IgnorantPosterior(np.broadcast_to(np.False_, self.n_items)[rows].size, self.n_labels)


@dataclass(frozen=True, eq=False)
class LabelCovariances:
    """One covariance over the q labels per item, diag(`diagonal`[i]) + `factor`[i] `factor`[i]ᵀ.

    Examples
    --------
    >>> cov = LabelCovariances(np.ones((2, 3)), np.ones((2, 3, 1)))
    >>> cov.dense()[0]
    array([[2., 1., 1.], [1., 2., 1.], [1., 1., 2.]])
    >>> np.allclose(cov.log_determinants(), np.log(4))
    True
    """

    diagonal: FloatArray  # (n, q), positive
    factor: FloatArray  # (n, q, r), r may be 0

    def variances(self) -> FloatArray:
        return self.diagonal + np.einsum("nqr,nqr->nq", self.factor, self.factor)  # (n, q)

    def dense(self) -> FloatArray:
        full = self.factor @ self.factor.swapaxes(1, 2)  # (n, q, q)
        full[:, np.arange(full.shape[1]), np.arange(full.shape[1])] += self.diagonal
        return full

    def only(self, open_: BoolArray, known: float) -> LabelCovariances:
        """The same where only the labels `open_` (n, q) are in doubt; the others have the variance `known` alone."""
        return LabelCovariances(np.where(open_, self.diagonal, known), np.where(open_[:, :, None], self.factor, 0.0))

    def log_determinants(self) -> FloatArray:
        """log|D + U Uᵀ| per item through the smaller of I + Uᵀ D⁻¹ U, r × r, and I + D^-½ U Uᵀ D^-½, q × q.

        Both have the same determinant (Sylvester) and no eigenvalue below 1, so their Cholesky factors are safe.
        """
        scaled = self.factor / np.sqrt(self.diagonal)[:, :, None]  # (n, q, r)
        turned = scaled.swapaxes(1, 2)
        inner = turned @ scaled if self.factor.shape[2] <= self.factor.shape[1] else scaled @ turned
        places = np.arange(inner.shape[1])
        inner[:, places, places] += 1.0
        roots = np.linalg.cholesky(inner)[:, places, places]  # (n, min(q, r))
        return np.log(self.diagonal).sum(1) + 2 * np.log(roots).sum(1)


class CorrelatedLabels(LabelCovariances):
    """diag(`diagonal`[i]) + (s sᵀ) ∘ (F Fᵀ) + U Uᵀ with s = `scale`[i], U = `own`[i], and `loadings` F for all items.

    No factor of n × q × r numbers is made unless somebody asks for it.

    Examples
    --------
    >>> p, F = np.array([[0.5, 0.2], [0.9, 0.4]]), np.array([[0.6], [0.8]])
    >>> labels = CorrelatedLabels(p * (1 - p) * 0.5, np.sqrt(p * (1 - p)), F)
    >>> plain = LabelCovariances(labels.diagonal, labels.factor)
    >>> np.allclose(labels.log_determinants(), plain.log_determinants())
    True
    """

    def __init__(
        self, diagonal: FloatArray, scale: FloatArray, loadings: FloatArray, own: FloatArray | None = None
    ) -> None:
        parts = {"diagonal": diagonal, "scale": scale, "loadings": loadings}
        parts["own"] = np.zeros((*diagonal.shape, 0)) if own is None else own  # (n, q, k)
        self.__dict__.update(parts)  # frozen, as its base is

    scale: FloatArray  # (n, q)
    loadings: FloatArray  # (q, r)
    own: FloatArray  # (n, q, k)

    @cached_property
    def factor(self) -> FloatArray:  # a field of the base, computed here
        return np.concatenate([self.scale[:, :, None] * self.loadings, self.own], axis=2)

    def variances(self) -> FloatArray:
        shared = self.scale**2 * np.einsum("qr,qr->q", self.loadings, self.loadings)
        return self.diagonal + shared + np.einsum("nqk,nqk->nq", self.own, self.own)  # (n, q)

    def only(self, open_: BoolArray, known: float) -> CorrelatedLabels:
        scale, own = np.where(open_, self.scale, 0.0), np.where(open_[:, :, None], self.own, 0.0)
        return CorrelatedLabels(np.where(open_, self.diagonal, known), scale, self.loadings, own)

    def log_determinants(self) -> FloatArray:
        """As for the base: the matrices I + Uᵀ D⁻¹ U are linear in s² / D, one product for all items."""
        (q, r), k = self.loadings.shape, self.own.shape[2]
        if r + k > q:
            return super().log_determinants()
        first, second = np.tril_indices(r)
        size = first.size
        triangles = np.empty(((r + k) * (r + k + 1) // 2, self.diagonal.shape[0]))  # row after row, (., n)
        weights = self.scale**2 / self.diagonal
        np.matmul((self.loadings[:, first] * self.loadings[:, second]).T, weights.T, out=triangles[:size])
        for column in range(k):
            weighted = self.own[:, :, column] / self.diagonal  # (n, q)
            triangles[size : size + r] = self.loadings.T @ (self.scale * weighted).T
            triangles[size + r : size + r + column + 1] = np.einsum(
                "nq,nqc->cn", weighted, self.own[:, :, : column + 1]
            )
            size += r + column + 1
        return np.log(self.diagonal).sum(1) + log_determinants_above_one(triangles, overwrite=True)


class ItemCovariance(Protocol):
    """Covariance between the items of a batch, given what the model was fitted on, as an operator.

    It is the covariance of the latent function before the observation noise, whose variance is `noise`; labels share it
    up to a scale. `columns` gives (n, m) entries without the n × n matrix. `factor` gives F (n, D), D < n, with F Fᵀ
    equal to the covariance, or None where the model has no such F.
    """

    @property
    def noise(self) -> float: ...

    def diagonal(self) -> FloatArray: ...

    def columns(self, rows: npt.NDArray[np.intp]) -> FloatArray: ...

    def factor(self) -> FloatArray | None: ...


class DivisibleCovariance(ItemCovariance, Protocol):
    """One that can be looked at for some of the items, where all of them are too many."""

    def rows(self, rows: npt.NDArray[np.intp]) -> ItemCovariance: ...


@dataclass(frozen=True, eq=False)
class TargetGroup:
    """Targets of a model that share a covariance between items up to their scales.

    Target g of the group has the variance `scales`[g] · diagonal + `noises`[g] at an item, noise included, and counts
    `weights`[g]. `covariance` is that of the batch in common units, with `covariance.noise` for the noise there. Where
    the batch is too large for variances to be kept, `covariance` is a `DivisibleCovariance` and `bounds` are upper
    bounds. Whoever computes some of the variances may lower the bounds to them.
    """

    covariance: ItemCovariance
    scales: FloatArray  # (k,)
    noises: FloatArray  # (k,)
    weights: FloatArray  # (k,)
    bounds: FloatArray | None = None  # (n,) never below the diagonal

    def entropies(self, variances: FloatArray) -> FloatArray:
        """(m,) Σ_g w_g ln(s_g v + n_g) for variances v (m,) in common units; grows with v."""
        total = (self.weights * np.log(np.maximum(self.noises, 1e-300))).sum()
        for scale, noise, weight in zip(self.scales, self.noises, self.weights, strict=True):
            total = total + weight * np.log1p(scale / max(noise, 1e-300) * variances)
        return total

    def spreads(self, variances: FloatArray) -> FloatArray:
        """(m,) Σ_g w_g (s_g v + n_g)."""
        return float(self.weights @ self.scales) * variances + float(self.weights @ self.noises)
