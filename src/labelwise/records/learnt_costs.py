"""Price lists learnt from measured times: robust, and close to the list they start from while there is little."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import FloatArray
from labelwise.records.asking import MAX_SECONDS
from labelwise.records.costs import Costs

LEARNT = ("read", "read_word", "open", "pick", "accept", "look", "answer", "cell")  # prices that times tell of
SPEED_SD = 0.6  # of a person's speed, as a log factor on all prices
OWN_SD = 0.4  # of each price beside it
NOISE_SD = 0.35  # of single times, as a log factor, before any were seen
NOISE_WEIGHT = 10.0  # times that this counts for
TAIL = 4.0  # degrees of freedom of Student's t: a time far off counts little
SHORTEST = 0.1  # seconds
STEPS = 50


@dataclass(frozen=True, eq=False)
class MeasuredTimes:
    """What was measured: of e events, the seconds, the kind of question, and what was done in it.

    Parameters
    ----------
    seconds : (e,)
    question : (e,) of "item", "pair", "further" and "sweep"
    words : (e,) of the item; NaN where it is not known
    answers : (e,) labels that were answered
    picked, accepted : (e,) labels picked by hand (keys, clicks, typing), and from suggestions
    """

    seconds: FloatArray
    question: npt.NDArray[np.str_]
    words: FloatArray
    answers: npt.NDArray[np.intp]
    picked: npt.NDArray[np.intp]
    accepted: npt.NDArray[np.intp]

    def only(self, which: npt.NDArray[np.bool_]) -> MeasuredTimes:
        """Those marked in the mask, (e,)."""
        return MeasuredTimes(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


def learn_costs(times: MeasuredTimes, prior: Costs) -> Costs:
    """The price list that measured times speak for, shrunk to `prior` where they say little.

    The log of a time is that of its price by the list plus noise with heavy tails (Student's t), so a single time that
    is far off moves little. A price is that of the prior times two factors, both log-normal around 1: the person's
    speed, which all prices share, and one of its own. The most probable factors are found by Gauss-Newton steps with
    reweighting. Prices that were never seen follow the person's speed. Prices of labels, and of other units than
    seconds, are not learnt.

    Times that are no times (negative, zero, NaN) and questions of no known kind are left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> person, words = replace(Costs.short_text(), read_word=0.4, pick=7.0), rng.uniform(10, 150, 50)
    >>> picked = rng.integers(0, 5, 50)
    >>> none = np.zeros(50, dtype=int)
    >>> seconds = person.whole_item(picked, words=words)
    >>> times = MeasuredTimes(seconds, np.full(50, "item"), words, picked, picked, none)
    >>> learnt = learn_costs(times, Costs.short_text())
    >>> round(learnt.read_word, 1), round(learnt.pick)
    (0.4, 7)
    """
    names = [name for name in LEARNT if (getattr(prior, name) or 0.0) > 0]
    if prior.unit != "s" or prior.labels is not None or not names:
        return prior
    counts = _design(times, prior, names)  # (e, p)
    usable = np.isfinite(times.seconds) & (times.seconds > 0) & (counts.sum(axis=1) > 0)
    if not usable.any():
        return prior
    start = np.array([getattr(prior, name) for name in names], dtype=np.float64)
    observed = np.log(np.clip(times.seconds[usable], SHORTEST, MAX_SECONDS))
    factors = np.exp(_log_factors(observed, counts[usable] * start))
    return replace(prior, **dict(zip(names, (start * factors).tolist(), strict=True)))


def _design(times: MeasuredTimes, prior: Costs, names: list[str]) -> FloatArray:
    """(e, p) how often each event pays each price."""
    is_item, is_pair, is_further, is_sweep = (times.question == kind for kind in ("item", "pair", "further", "sweep"))
    opened = is_item | is_pair
    lengths = np.where(np.isfinite(times.words), np.maximum(times.words, 0.0), prior.typical_words)
    one_by_one = is_pair | is_further | (is_item & (not prior.picks))
    accepts = is_item * times.accepted
    columns = {
        "read": opened,
        "read_word": opened * lengths,
        "open": is_item | is_sweep,
        "pick": is_item * times.picked + (accepts if prior.accept is None else 0),
        "accept": accepts,
        "look": np.zeros(times.seconds.size),  # what somebody only looked at is not known
        "answer": one_by_one * times.answers,
        "cell": is_sweep * times.answers,
    }
    return np.column_stack([columns[name].astype(np.float64) for name in names])


def _log_factors(observed: FloatArray, paid: FloatArray) -> FloatArray:
    """(p,) the most probable log factors on prices, by log times (e,) and what each event pays by the prior (e, p)."""
    p = paid.shape[1]
    precision = np.linalg.inv(SPEED_SD**2 * np.ones((p, p)) + OWN_SD**2 * np.eye(p))
    paying = paid.sum(axis=1)
    theta = np.full(p, np.clip(np.median(observed - np.log(paying)), -3.0, 3.0))
    for _ in range(STEPS):
        prices = paid * np.exp(theta)
        totals = prices.sum(axis=1)
        residuals = observed - np.log(totals)
        variance = _noise_variance(residuals)
        weights = (TAIL + 1) / (TAIL + residuals**2 / variance) / variance
        J = prices / totals[:, None]  # (e, p) derivative of the log price by each log factor
        step = np.linalg.solve(
            J.T @ (weights[:, None] * J) + precision, J.T @ (weights * residuals) - precision @ theta
        )
        theta = theta + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-6:
            break
    return theta


def _noise_variance(residuals: FloatArray) -> float:
    """Of single log times, by the median, with some weight on what is usual."""
    spread = (np.median(np.abs(residuals)) / 0.6745) ** 2
    return float((residuals.size * spread + NOISE_WEIGHT * NOISE_SD**2) / (residuals.size + NOISE_WEIGHT))
