"""A Bernoulli mixture of labels whose component is chosen by Gaussian processes of the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from labelwise.models.base import LabelModel
from labelwise.models.mixture.fitting import MixtureOptions, fit_mixture, warm_mixture
from labelwise.models.mixture.state import FittedMixture, MixturePosterior
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.user_input import check_at_least, check_choices

CHOICES = {
    "gate": ("regression", "variational"),
    "gate_moments": ("quadrature", "probit", "sampling"),
    "kernel_fit": ("evidence", "elbo", "fixed"),
    "equation9": ("full", "printed"),
    "scale": ("auto", "none"),
}
OUTGROWN = 2  # `partial_fit` starts afresh with more than so many times the rows of the last fit


@dataclass(eq=False, repr=False)
class LabelMixtureGP(LabelModel, MixtureOptions):
    """Label sets as a mixture of components, with Gaussian processes saying which component an item comes from.

    Every component has a probability for every label, with a Beta prior; an item belongs to component k with
    probability σ(f_k(x)) / Σ_j σ(f_j(x)), every f_k a Gaussian process with the same kernel. Variables that make the
    gates conjugate give variational updates in closed form. The components describe how labels depend on one another,
    and people can read them; `posterior(X).given(...)` is exact. `docs/mathematics/label_mixture_gp.md` has the
    formulas.

    The defaults gave the best results in our measurements; `LabelMixtureGP.paper()` is the model as printed.
    `LabelGP` is cheaper and predicts single labels as well or better on most sets. This model is for label
    covariance, readable components, partial rows and patterns of few labels.

    Parameters
    ----------
    n_components : int
        Largest number of components of a mixture; never more than there are distinct rows.
    restarts : int
        Fits from different starts, whose predictions are averaged.
    gate : "regression" or "variational"
        How weights of new items are predicted: by a regression of the training items' responsibilities on their
        features, or by the variational gates, as in the paper, which are far too flat.
    gate_moments : "quadrature", "probit" or "sampling"
        The rule for mean and variance of the variational gates.
    kernel_fit : "evidence", "elbo" or "fixed"
        Length-scale by the evidence of one regression of all labels. Or length-scale and signal variance by the
        mixture's own bound, as in the paper, which takes it too long. Or as given.
    length_scale : float, optional
        Of the rbf kernel, in units of the prepared features: with "fixed" the median distance over √2 by default,
        otherwise where the search begins.
    signal_variance : float
        Of every gate's Gaussian process.
    label_prior : float or (float, float)
        Beta prior of a component's label probabilities: a number is the strength, in answers, of the label's base
        rate; two numbers are the same prior for all labels.
    prior_mean : "balanced", "size" or float
        Of the gates' Gaussian processes. "balanced" is −ln(k − 1), where the σ of all gates add up to about one;
        "size" gives every σ the share of its component at the start.
    prune_ratio : float
        After convergence, components with fewer effective observations than this share of the mean are dropped and the
        rest is fitted on. As in the paper, effective observations are the answers of a component and of its prior.
    equation9 : "full" or "printed"
        "printed" leaves two terms out of the update of responsibilities, as the paper prints it.
    scale : "auto" or "none"
        How features are prepared. "auto": columns of dense features standardised, unless they look like principal
        axes, then rows scaled to unit length; rows of at most ten dense features keep their lengths.
    max_sweeps, tolerance : int, float
        Sweeps over all parameters end when the bound changes by less than `tolerance`, relative, or at `max_sweeps`.
    n_search : int
        Rows, drawn at random, on which the length-scale is chosen.
    max_exact, n_inducing : int
        With more rows than `max_exact` the variational gates are functions of `n_inducing` rows. They cost as much as
        exact gates there, and the regression gate, which predicts, stays exact up to 6000 rows.
    n_jobs : int, optional
        Threads: over the restarts, and over the components of each where there are fewer restarts than threads.
    random_state : int, RandomState, Generator or None
        Draws the starts, the rows of the search and the inducing rows.

    Attributes
    ----------
    elbo_ : list of float
        The bound after every sweep of the restart where it ended highest.
    length_scale_ : float
    n_components_ : int
        Of all restarts together, c.
    label_probabilities_ : (c, q) array
        Expected probability of every label in every component.
    component_sizes_ : (c,) array
        Items in each component, as the sum of responsibilities.
    responsibilities_ : (n_items_, c) array
        Of the training items, those of one restart summing to one.
    restart_ : (c,) array
        The restart every component belongs to.
    n_items_ : int
        Distinct rows learnt from.

    References
    ----------
    Shi, Yu & Yu, A Gaussian process-Bayesian Bernoulli mixture model for multi-label active learning, NeurIPS 2021.
    Galy-Fajou, Wenzel, Donner & Opper, Multi-class Gaussian process classification made conjugate, UAI 2019.

    Examples
    --------
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([X > 0.5, X <= 0.5, X > 0.7])
    >>> model = LabelMixtureGP(n_components=3, random_state=0).fit(X, Y)
    >>> beliefs = model.posterior(np.array([[0.1], [0.9]]))
    >>> model.predict([[0.1], [0.9]])
    array([[0, 1, 0],
           [1, 0, 1]])
    >>> told = beliefs.given(np.array([[1, 0, 0], [0, 1, 0]]), np.array([[True, False, False], [False, True, False]]))
    >>> bool(told.probabilities()[1, 2] < beliefs.probabilities()[1, 2])  # its second label speaks against its third
    True
    """

    _: KW_ONLY
    random_state: Any = None

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """The model as it is printed in the paper: one fit by its printed update, prior means of zero, the kernel by
        the bound, variational gates by sampling; uniform Beta priors, because it gives none. It is there to compare
        with: the full update, a base-rate prior and a kernel by the evidence predict far better with the same gates.
        `parameters` add to these settings or replace them.
        """
        stated: dict[str, Any] = {"restarts": 1, "equation9": "printed", "prior_mean": 0.0, "kernel_fit": "elbo"}
        stated |= {"gate": "variational", "gate_moments": "sampling", "label_prior": (1.0, 1.0), "max_exact": 2000}
        return cls(**(stated | parameters))

    def fit(self, X: Any, Y: Any, observed: Any = None, *, on_step: Callable[[int, float], None] | None = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0 and 1; unknown entries are NaN or not `observed`.

        `on_step` is called with the number and the bound of every sweep of every restart.
        """
        self._check_parameters()
        X, Y, observed = self._check_training(X, Y, observed)
        return self._keep(fit_mixture(X, Y, observed, MixtureOptions.of(self), self._generator(), on_step))

    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Add answers: a few sweeps on everything, from the state of the last `fit`. Kernel and components stay.

        The result depends on the rows since that fit, not on how they are split into pieces. With more than twice its
        rows the model is fitted again from scratch. `classes` is there for scikit-learn only.
        """
        if not hasattr(self, "_fitted"):
            return self.fit(X, Y, observed)
        self._check_parameters()
        X, Y, observed = self._check_training(X, Y, observed, reset=False)
        return self._keep(
            warm_mixture(self._fitted, (X, Y, observed), MixtureOptions.of(self), self._generator(), OUTGROWN)
        )

    def posterior(self, X: Any) -> MixturePosterior:
        """Beliefs about the items X; unaffected by what the model learns later."""
        X = self._check_items(X)
        return MixturePosterior(self._fitted, X)

    def components(self, n_labels: int = 5, n_items: int = 3) -> list[Component]:
        """The components of the restart with the highest bound, the largest first.

        Parameters
        ----------
        n_labels : int
            Labels to list for each, the likeliest first.
        n_items : int
            Training items to list for each, the most typical first, as rows in the order of their first answers.

        Examples
        --------
        >>> X = np.repeat([[0.0], [9.0]], [30, 20], axis=0) + np.linspace(0, 1, 50)[:, None]
        >>> Y = np.repeat([[0, 1], [1, 0]], [30, 20], axis=0)
        >>> for part in LabelMixtureGP(n_components=2, random_state=0).fit(X, Y).components(n_labels=1):
        ...     print(round(part.size), part.labels, part.probabilities.round(1))
        30 [1] [1.]
        20 [0] [0.9]
        """
        for name, value in (("n_labels", n_labels), ("n_items", n_items)):
            if value < 0:
                raise ValueError(f"{name} must not be negative, got {value!r}")
        check_is_fitted(self)
        best = int(np.argmax([restart.bounds[-1] for restart in self._fitted.restarts]))
        part = self._fitted.parts[best]
        return describe_components(self.label_probabilities_[part], self.responsibilities_[:, part], n_labels, n_items)

    def _keep(self, fitted: FittedMixture) -> Self:
        self._fitted = fitted
        self.elbo_ = list(max(fitted.restarts, key=lambda restart: restart.bounds[-1]).bounds)
        self.length_scale_ = fitted.length_scale
        self.label_probabilities_, self.responsibilities_ = fitted.label_probabilities, fitted.responsibilities
        self.component_sizes_ = self.responsibilities_.sum(axis=0)
        sizes = [each.n_components for each in fitted.restarts]
        self.restart_, self.n_components_ = np.repeat(np.arange(len(sizes)), sizes), sum(sizes)
        self.n_items_ = len(fitted.rows)
        return self

    def _check_parameters(self) -> None:
        check_choices(self, **CHOICES)
        check_at_least(self, 1, "n_components", "restarts", "max_sweeps")
        check_at_least(self, 2, "n_search", "max_exact", "n_inducing")
        check_at_least(self, 0, "tolerance")
        for name in ("length_scale", "signal_variance"):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                raise ValueError(f"{name} must be positive and finite, got {value!r}")
        if not 0 <= self.prune_ratio < 1:
            raise ValueError(f"prune_ratio must be at least 0 and below 1, got {self.prune_ratio!r}")
        if not np.all(np.asarray(self.label_prior) > 0) or np.shape(self.label_prior) not in ((), (2,)):
            raise ValueError(
                f"label_prior must be a positive strength or two positive numbers, got {self.label_prior!r}"
            )
        if isinstance(self.prior_mean, str) and self.prior_mean not in ("balanced", "size"):
            raise ValueError(f'prior_mean must be "balanced", "size" or a number, got {self.prior_mean!r}')


@dataclass(frozen=True, eq=False)
class Component:
    """One kind of item: how many there are, which labels they have, and which items show it best."""

    size: float  # training items that belong to it, as a sum of responsibilities
    share: float  # of all training items
    labels: npt.NDArray[np.intp]  # (l,) the likeliest, best first
    probabilities: FloatArray  # (l,) of those labels
    base_rates: FloatArray  # (l,) of those labels over all components
    items: npt.NDArray[np.intp]  # (i,) training rows, the most typical first
    responsibilities: FloatArray  # (i,) how surely they belong to it


def describe_components(
    label_probabilities: FloatArray, responsibilities: FloatArray, n_labels: int, n_items: int
) -> list[Component]:
    """The components of one mixture, from (k, q) and (n, k), the largest first."""
    sizes = responsibilities.sum(axis=0)  # (k,)
    base_rates = sizes @ label_probabilities / sizes.sum()  # (q,)
    components = []
    for k in np.argsort(-sizes, kind="stable"):
        labels = np.argsort(-label_probabilities[k], kind="stable")[:n_labels]
        items = np.argsort(-responsibilities[:, k], kind="stable")[:n_items]
        components.append(
            Component(
                size=float(sizes[k]),
                share=float(sizes[k] / sizes.sum()),
                labels=labels,
                probabilities=label_probabilities[k, labels],
                base_rates=base_rates[labels],
                items=items,
                responsibilities=responsibilities[items, k],
            )
        )
    return components
