"""What a campaign pays, in seconds of a person's time: for every item read, every label picked, every yes or no."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import FloatArray
from labelwise.records.asking import MAX_SECONDS, SWEEP_PAGE

Level = Literal["low", "mid", "high"]
NAMED = ("short_text", "long_text", "picture")  # lists that need no prices: see `Costs.named`
SHORT_TEXT, LONG_TEXT = 50, 250  # words of an item whose length is not known
FREE = 1e-3  # of the cheapest label that is not free: what a free one counts as where a gain is divided by its price
LEARNT_PRICES = ("read", "read_word", "open", "pick", "accept", "look", "answer", "cell")  # prices that times tell of
SPEED_SD = 0.6  # of a person's speed, as a log factor on all prices
OWN_SD = 0.4  # of each price beside it
NOISE_SD = 0.35  # of single times, as a log factor, before any were seen
NOISE_WEIGHT = 10.0  # times that this counts for
STUDENT_TAIL = 4.0  # degrees of freedom of Student's t: a time far off counts little
SHORTEST_TIME = 0.1  # seconds
LEARNING_STEPS = 50
_NONNEGATIVE = {
    "read": "reading an item",
    "read_word": "reading a word",
    "typical_words": "a typical item in words",
    "open": "opening and saving an item",
    "pick": "picking a label",
    "accept": "accepting a suggestion",
    "look": "looking at a suggestion",
    "cell": "a cell of a grid",
}
_TEXT: dict[str, tuple[float, float, float]] = {
    "read_word": (0.10, 0.25, 0.34),
    "answer": (1.0, 1.7, 2.7),
    "open": (1.5, 3.0, 5.0),
    "pick": (2.4, 4.0, 8.0),
    "accept": (0.5, 0.7, 1.5),
    "look": (0.3, 0.5, 1.0),
    "cell": (1.5, 3.0, 6.0),
    "switch": (1.0, 1.3, 1.57),
}  # low, mid, high, in seconds; the sources are in the docstring of Costs
_PICTURE = {name: prices for name, prices in _TEXT.items() if name != "read_word"} | {
    "read": (1.0, 1.5, 3.0),
    "cell": (0.1, 0.5, 1.0),
}


@dataclass(frozen=True)
class Costs:
    """The price of each thing a person does for a campaign, in seconds, or of each label, in seconds or in money.

    A whole item costs `read + read_word · words + open + pick · (labels picked) + accept · (suggestions accepted) +
    look · (suggestions looked at)`. A question about one label costs the reading and `answer`; further labels of an
    item that is open anyway cost `answer` each. Strategies weigh what a question is worth against its price, campaigns
    and reports sum up what was paid.

    Where people read and pick labels, start from a named list: `Costs.short_text()`, `Costs.long_text()` or
    `Costs.picture()`, each with a level. Change single prices with `dataclasses.replace`. `Costs.laboratory(prices)` is
    for single labels with a price each. The published ranges, in seconds:

    ============  =========================================  ==========  ==========  ==========
    price         of                                         low         mid         high
    ============  =========================================  ==========  ==========  ==========
    `read_word`   reading a word                             0.10        0.25        0.34
    `read`        taking in a picture                        1           1.5         3
    `open`        opening an item, deciding "done", saving   1.5         3           5
    `pick`        picking a label by typing a few letters    2.4         4           8
    `accept`      accepting a suggestion                     0.5         0.7         1.5
    `look`        looking at a suggestion                    0.3         0.5         1
    `answer`      a yes or no with the item in mind          1           1.7         2.7
    `cell`        a picture in a grid; a snippet of text     0.1; 1.5    0.5; 3      1; 6
    `switch`      another kind of question than before       × 1         × 1.3       × 1.57
    ============  =========================================  ==========  ==========  ==========

    Reading: 238 words a minute (Brysbaert, How many words do we read per minute?, 2019), and abstracts that are
    screened in 29 to 79 s. Pictures, yes or no, grids: Krishna et al., Embracing error to enable rapid crowdsourcing,
    CHI 2016, and reports of practitioners. Picking, suggestions, opening: the keystroke-level model (Card, Moran and
    Newell), with 1.35 s for a mental step and 0.2 s for a key. Switching: Lasecki et al., CHI 2015. They are starting
    values: a project measures what its own people need.

    Parameters
    ----------
    read : float
        Of taking in an item, whatever is then asked about it. Answers about one item that follow one another are one
        reading.
    answer : float
        Of one yes or no.
    labels : mapping of label names to prices, or (q,) prices in the order of the labels, optional
        Labels whose answers have a price of their own, 0 for free; the others of a mapping cost `answer`. Whole items
        are then paid label by label.
    read_word, typical_words : float
        Of reading one word, and the words of an item whose length is not known.
    open : float
        Of opening a whole item, and of saving it.
    pick : float, optional
        Of picking a label. Without it nobody picks: every label of a whole item is answered yes or no.
    accept, look : float, optional
        Of accepting and of looking at a suggestion. Without them accepting costs as much as picking, looking nothing.
    cell : float, optional
        Of judging one item of a sweep of one label over many. Without it, of reading the item and answering.
    switch : float
        Factor on a question of another kind than the one before.
    unit : str
        "s" for seconds. Any other word, say "EUR", where the prices are not times.

    Examples
    --------
    >>> costs = Costs.short_text()
    >>> float(costs.whole_item(picked=2, words=40))
    21.0
    >>> costs.pair(words=[10, 100]).round(1)
    array([ 4.2, 26.7])
    >>> Costs(read=1, labels={"biopsy": 80}).of_labels(["fever", "biopsy"]).prices(2)
    array([ 1., 80.])
    """

    read: float = 0.0
    answer: float = 1.0
    labels: Mapping[str, float] | Sequence[float] | None = None
    read_word: float = 0.0
    typical_words: float = SHORT_TEXT
    open: float = 0.0
    pick: float | None = None
    accept: float | None = None
    look: float | None = None
    cell: float | None = None
    switch: float = 1.0
    unit: str = "s"

    def __post_init__(self) -> None:
        for name, of in _NONNEGATIVE.items():
            _check(of, getattr(self, name), 0.0)
        named = self.labels if isinstance(self.labels, Mapping) else dict(enumerate(_or_empty(self.labels)))
        for label, price in named.items():
            _check(f"label {label!r}", price, 0.0)
        _check("switching", self.switch, 1.0)
        if not (self.answer > 0 and isfinite(self.answer)):
            raise ValueError(f"the cost of an answer must be more than 0, got {self.answer!r}")

    # -- named lists --------------------------------------------------------------------------------------------------

    @classmethod
    def short_text(cls, level: Level = "mid") -> Self:
        """Texts that are read word by word, 50 words where the length is not known."""
        return cls(**_at(_TEXT, level), typical_words=SHORT_TEXT)

    @classmethod
    def long_text(cls, level: Level = "mid") -> Self:
        """The same for longer texts, 250 words where the length is not known: abstracts, reports."""
        return cls(**_at(_TEXT, level), typical_words=LONG_TEXT)

    @classmethod
    def picture(cls, level: Level = "mid") -> Self:
        """Pictures: taken in at a glance, and cheaper still in a grid."""
        return cls(**_at(_PICTURE, level))

    @classmethod
    def laboratory(cls, prices: Mapping[str, float] | Sequence[float], *, unit: str = "s") -> Self:
        """Each label has its own price, in seconds or in money, and reading costs nothing: a clinic's tests.

        A label that a mapping does not name costs the median of those that are not free.

        >>> tests = Costs.laboratory({"fever": 0, "blood": 20, "biopsy": 80}, unit="EUR")
        >>> tests.of_labels(["fever", "biopsy", "scan"]).prices(3)
        Traceback (most recent call last):
        ...
        ValueError: there is a cost for the label 'blood', but no such label
        >>> tests.of_labels(["fever", "blood", "biopsy", "scan"]).prices(4)
        array([ 0., 20., 80., 50.])
        """
        given = list(prices.values() if isinstance(prices, Mapping) else prices)
        paid = [price for price in given if price > 0]
        return cls(answer=float(np.median(paid)) if paid else 1.0, labels=prices, unit=unit)

    @classmethod
    def named(cls, name: str) -> Self:
        """A named list, with its level after a colon: "short_text", "long_text:high", "picture:low".

        >>> Costs.named("picture:low") == Costs.picture("low")
        True
        """
        which, _, level = name.replace("-", "_").partition(":")
        if which not in NAMED or level not in ("", *get_args(Level)):
            levels = ", ".join(f":{level}" for level in get_args(Level))
            raise ValueError(f"there is no price list {name!r}; there are {', '.join(NAMED)}, each with {levels}")
        make = {"short_text": cls.short_text, "long_text": cls.long_text, "picture": cls.picture}[which]
        return make(level or "mid")  # type: ignore[arg-type]  # a Level: looked at above

    # -- prices of what is asked --------------------------------------------------------------------------------------

    @property
    def picks(self) -> bool:
        """Whether a person picks the labels of a whole item; else each is answered, and paid, by itself."""
        return self.pick is not None and self.labels is None

    def reading(self, words: npt.ArrayLike | None = None) -> FloatArray:
        """Of taking in items of so many words; `typical_words` where that is None or not known (NaN)."""
        lengths = np.asarray(self.typical_words if words is None else words, dtype=np.float64)
        lengths = np.where(np.isfinite(lengths), lengths, self.typical_words)
        if (lengths < 0).any():
            raise ValueError(f"items have 0 words or more, got {lengths.min():g}")
        return np.asarray(self.read + self.read_word * lengths)

    def whole_item(
        self,
        picked: npt.ArrayLike = 0,
        *,
        words: npt.ArrayLike | None = None,
        accepted: npt.ArrayLike = 0,
        looked: npt.ArrayLike = 0,
    ) -> FloatArray:
        """Of whole items: so many labels picked by typing, suggestions accepted, and suggestions looked at."""
        pick = self.answer if self.pick is None else self.pick
        accept = pick if self.accept is None else self.accept
        look = 0.0 if self.look is None else self.look
        by_hand = pick * np.asarray(picked, dtype=np.float64)
        suggested = accept * np.asarray(accepted, dtype=np.float64) + look * np.asarray(looked, dtype=np.float64)
        return np.asarray(self.reading(words) + self.open + by_hand + suggested)

    def pair(self, words: npt.ArrayLike | None = None) -> FloatArray:
        """Of a question about one label of an item that has to be opened for it."""
        return np.asarray(self.reading(words) + self.answer)

    def further(self, labels: npt.ArrayLike = 1) -> FloatArray:
        """Of so many more labels, yes or no, of an item that is open anyway."""
        return np.asarray(self.answer * np.asarray(labels, dtype=np.float64))

    def sweep(self, cells: npt.ArrayLike = 1) -> FloatArray:
        """Of one label over so many items on one page."""
        cell = float(self.pair()) if self.cell is None else self.cell
        return np.asarray(self.open + cell * np.asarray(cells, dtype=np.float64))

    @property
    def tile(self) -> float:
        """Of one item of a sweep, with its part of opening and saving a full page.

        >>> Costs.picture().tile, Costs.short_text().tile
        (0.625, 3.125)
        """
        return float(self.sweep(SWEEP_PAGE)) / SWEEP_PAGE

    def switched(self, seconds: npt.ArrayLike, kinds: npt.ArrayLike) -> FloatArray:
        """The times (e,) of questions of these kinds (e,) in a row: dearer where the kind changes.

        >>> Costs(switch=1.5).switched([2, 2, 2], ["item", "pair", "pair"])
        array([2., 3., 2.])
        """
        kind = np.asarray(kinds)
        changes = np.concatenate([np.zeros(min(kind.size, 1), dtype=bool), kind[1:] != kind[:-1]])
        return np.asarray(seconds, dtype=np.float64) * np.where(changes, self.switch, 1.0)

    def of_answers(
        self,
        events: npt.NDArray[np.intp],
        labels: npt.NDArray[np.intp],
        yes: npt.NDArray[np.bool_],
        *,
        opened: npt.NDArray[np.bool_],
        further: npt.NDArray[np.bool_] | None = None,
        swept: npt.NDArray[np.bool_] | None = None,
        words: npt.ArrayLike | None = None,
    ) -> FloatArray:
        """(e,) what each event of a campaign costs, oldest first.

        Parameters
        ----------
        events, labels, yes : (a,) of single answers: the event they belong to, the label, what was said
        opened : (e,) whether the item was opened for the event, or was open from the one before
        further : (e,) whether it is yes or no to further labels of the whole item before it, optional
        swept : (e,) whether it is of a sweep of one label over many items, optional
        words : (e,) of the event's item, optional
        """
        n = opened.size
        n_labels = len(self.labels) if self.labels is not None else int(labels.max(initial=-1)) + 1
        one_by_one = np.bincount(events, weights=self.prices(n_labels)[labels], minlength=n)
        further = np.zeros(n, dtype=bool) if further is None else further
        swept = np.zeros(n, dtype=bool) if swept is None else swept
        whole = ((np.bincount(events, minlength=n) > 1) | np.append(further[1:], False)[:n]) & ~further
        of_labels = one_by_one
        if self.picks:
            of_labels = np.where(
                whole, float(self.pick or 0.0) * np.bincount(events, weights=yes, minlength=n), one_by_one
            )
        opening = np.where(opened, self.reading(words), 0.0) + np.where(whole, self.open, 0.0)
        of_tiles = self.reading(words) + one_by_one if self.cell is None or self.labels is not None else self.tile
        seconds: FloatArray = np.where(swept, of_tiles, opening + of_labels)
        kinds = np.where(swept, 2, whole)
        seconds[~further] = self.switched(seconds[~further], kinds[~further])  # to stay with an item is no switch
        return seconds

    def times(self, factor: float) -> Self:
        """The same prices so many times over, say for questions that several people answer.

        >>> float(Costs.short_text().times(2).whole_item(picked=2, words=40))
        42.0
        """
        names = ("read", "answer", "read_word", "open", "pick", "accept", "look", "cell")
        prices = {name: price * factor for name in names if (price := getattr(self, name)) is not None}
        if isinstance(self.labels, Mapping):
            return replace(self, **prices, labels={name: price * factor for name, price in self.labels.items()})
        labels = None if self.labels is None else tuple(price * factor for price in self.labels)
        return replace(self, **prices, labels=labels)

    # -- labels -------------------------------------------------------------------------------------------------------

    def of_labels(self, names: Iterable[str]) -> Self:
        """The same with the prices of these labels in their order; a price for a label that is not there is refused."""
        names = list(names)
        if not isinstance(self.labels, Mapping):
            self.prices(len(names))
            return self
        unknown = [name for name in self.labels if name not in set(names)]
        if unknown:
            raise ValueError(f"there is a cost for the label {unknown[0]!r}, but no such label")
        return replace(self, labels=tuple(self.labels.get(name, self.answer) for name in names))

    def prices(self, n_labels: int) -> FloatArray:
        """(q,) the price of an answer to each label."""
        if isinstance(self.labels, Mapping):
            raise ValueError("costs by label names need the names: use costs.of_labels(names)")
        if self.labels is None:
            return np.full(n_labels, float(self.answer))
        if len(self.labels) != n_labels:
            raise ValueError(f"there are costs of {len(self.labels)} labels, but {n_labels} labels")
        return np.array(self.labels, dtype=np.float64)


@dataclass(frozen=True)
class Spent:
    """What was paid so far: distinct items, readings of them, single answers, and the sum of their prices.

    `cost` is in the `unit` of the prices; `seconds` is the same where that is time, and NaN where it is not.

    Examples
    --------
    >>> import labelwise as lw
    >>> campaign = lw.Campaign(lw.data.make_shapes(40, random_state=0).hide(), random_state=0)
    >>> campaign.spent().items
    0
    """

    items: int
    readings: int
    answers: int
    cost: float
    unit: str = "s"

    @property
    def seconds(self) -> float:
        return self.cost if self.unit == "s" else float("nan")


def divisors(prices: FloatArray) -> FloatArray:
    """Prices to divide a gain by: a free label counts as a thousandth of the cheapest other one, so it is asked first.

    >>> divisors(np.array([0.0, 20.0, 80.0]))
    array([2.e-02, 2.e+01, 8.e+01])
    """
    paid = prices[prices > 0]
    return np.where(prices > 0, prices, FREE * paid.min() if paid.size else 1.0)


def _at(prices: Mapping[str, tuple[float, float, float]], level: Level) -> dict[str, Any]:
    levels = get_args(Level)
    if level not in levels:
        raise ValueError(f"level must be one of {', '.join(levels)}, got {level!r}")
    return {name: of_levels[levels.index(level)] for name, of_levels in prices.items()}


def _or_empty(prices: Sequence[float] | None) -> Sequence[float]:
    return () if prices is None else prices


def _check(of: str, price: float | None, least: float) -> None:
    if price is not None and not (price >= least and isfinite(price)):
        raise ValueError(f"the cost of {of} must be {least:g} or more, got {price!r}")


# -- learnt from measured times ---------------------------------------------------------------------------------------


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

    Examples
    --------
    >>> picked, none = np.array([3, 1]), np.zeros(2, dtype=int)
    >>> times = MeasuredTimes(np.array([9.5, 2]), np.array(["item", "pair"]), np.full(2, 40.0), picked, picked, none)
    >>> times.only(times.question == "pair").seconds
    array([2.])
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
    seconds, are not learnt. Times that are no times (negative, zero, NaN) and questions of no known kind are left out.

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
    names = [name for name in LEARNT_PRICES if (getattr(prior, name) or 0.0) > 0]
    if prior.unit != "s" or prior.labels is not None or not names:
        return prior
    counts = _design(times, prior, names)  # (e, p)
    usable = np.isfinite(times.seconds) & (times.seconds > 0) & (counts.sum(axis=1) > 0)
    if not usable.any():
        return prior
    start = np.array([getattr(prior, name) for name in names], dtype=np.float64)
    observed = np.log(np.clip(times.seconds[usable], SHORTEST_TIME, MAX_SECONDS))
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
    for _ in range(LEARNING_STEPS):
        prices = paid * np.exp(theta)
        totals = prices.sum(axis=1)
        residuals = observed - np.log(totals)
        variance = _noise_variance(residuals)
        weights = (STUDENT_TAIL + 1) / (STUDENT_TAIL + residuals**2 / variance) / variance
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
