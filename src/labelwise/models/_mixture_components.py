"""A label mixture for people to read: what each component is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelwise.posterior import FloatArray


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
    found = []
    for k in np.argsort(-sizes, kind="stable"):
        labels = np.argsort(-label_probabilities[k], kind="stable")[:n_labels]
        items = np.argsort(-responsibilities[:, k], kind="stable")[:n_items]
        found.append(
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
    return found
