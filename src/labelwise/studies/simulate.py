"""One simulated campaign: somebody who knows the truth answers, and a test set nobody asks about keeps the score."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from labelwise.campaign import Campaign, Costs
from labelwise.models import LabelModel
from labelwise.numerics.metrics import evaluate
from labelwise.numerics.user_input import check_at_least
from labelwise.posterior import BoolArray
from labelwise.queries import LookingStrategy, Strategy
from labelwise.queries.base import Target
from labelwise.records import Answer, LabelData, Question
from labelwise.records.asking import VERIFY

Row = dict[str, Any]
SPLIT_STREAM = 1  # keeps the draw of the test set apart from the campaign's own chance


@dataclass(frozen=True)
class Schedule:
    """How a simulated campaign goes.

    Parameters
    ----------
    start : int
        Random items answered in full before the strategy takes over, as in `Campaign`: drawn by the seed alone, so that
        every model and strategy of a seed starts from the same.
    rounds, batch : int
        After the start, `rounds` times `batch` questions, and an evaluation after each.
    pair_batch : int, optional
        Questions per round of a strategy that asks for pairs; by default `batch`. With batch × labels a round costs
        as many answers as one of whole items.
    test_share : float
        Share of the items set aside for testing, drawn by the seed alone; not used when a test set is given.
    pool_limit : int, optional
        Largest pool: this many of the other items, drawn by the seed alone.
    test_limit : int, optional
        Largest test set: of a random share the items drawn first, of a given set an even draw.
    costs : Costs, optional
        What reading, picking and answering cost, in seconds: strategies weigh it, and the rows of a result sum it up.
        As in `Campaign`.

    Examples
    --------
    >>> Schedule(start=20, rounds=2, batch=10).batch
    10
    """

    start: int = 30
    rounds: int = 10
    batch: int = 25
    pair_batch: int | None = None
    test_share: float = 1 / 3
    pool_limit: int | None = None
    test_limit: int | None = None
    costs: Costs | None = None

    def __post_init__(self) -> None:
        check_at_least(self, 0, "rounds")
        check_at_least(self, 1, "start", "batch", "pair_batch", "pool_limit", "test_limit")
        if not 0 < self.test_share < 1:
            raise ValueError(f"test_share must lie between 0 and 1, got {self.test_share!r}")

    def questions(self, target: str) -> int:
        """Questions in a round of a strategy that asks for "items" or "pairs"."""
        return self.pair_batch if target == "pairs" and self.pair_batch is not None else self.batch


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a campaign: one row of figures per evaluation, and what was asked before each.

    `asked[r]` lists (item, label) of round r, the label None where all open labels were asked; round 0 is the start.

    Examples
    --------
    >>> asked = (("a", None), ("b", None)), (("a", "cat"), ("c", "cat"))
    >>> result = Result(({"macro_f1": 0.2}, {"macro_f1": 0.5}), asked)
    >>> result.rows[-1]["macro_f1"], result.items(), result.items(slice(1, None))
    (0.5, ['a', 'b', 'c'], ['a', 'c'])
    """

    rows: tuple[Row, ...]
    asked: tuple[tuple[tuple[str, str | None], ...], ...]

    def items(self, rounds: slice = slice(None)) -> list[str]:
        """The distinct items asked about in these rounds, in order."""
        return list(dict.fromkeys(item for batch in self.asked[rounds] for item, _ in batch))


class Answerer:
    """Answers any question from data whose labels are all known, without fatigue; where it picks, it may forget.

    Parameters
    ----------
    truth : LabelData
    recall : float
        The probability that a true label of an item is found when several are asked about at once, and so picked from
        a list. What is missed is missed whenever the item is asked about; a question about one label, and one that
        verifies labels, is answered rightly.
    random_state : int
        Draws what is missed.

    Examples
    --------
    >>> truth = LabelData.from_arrays([[0.0], [1.0]], [[1, 0], [1, 1]], item_ids=["a", "b"], label_names=["cat", "dog"])
    >>> Answerer(truth).answer(Question("a", ("cat", "dog"))).values
    {'cat': True, 'dog': False}
    """

    def __init__(self, truth: LabelData, *, recall: float = 1.0, random_state: int = 0) -> None:
        check_known(truth, "the pool")
        if not 0 < recall <= 1:
            raise ValueError(f"recall is the share of the true labels that are found, above 0 and up to 1: {recall!r}")
        names, Y = truth.label_names, truth.Y
        rows, labels = Y.nonzero()
        begins = np.searchsorted(rows, np.arange(truth.n_items + 1))
        found = np.random.default_rng([random_state, 5]).random(labels.size) < recall
        self._present = [{names[j] for j in labels[a:b]} for a, b in pairwise(begins)]
        self._found = [{names[j] for j in labels[a:b][found[a:b]]} for a, b in pairwise(begins)]
        self._rows = {item: row for row, item in enumerate(truth.item_ids)}

    def answer(self, question: Question) -> Answer:
        row = self._rows[question.item]
        is_picked = len(question.labels) > 1 and question.reason != VERIFY
        present = self._found[row] if is_picked else self._present[row]
        return Answer.to(question, present.intersection(question.labels))

    def answers(
        self, questions: Iterable[Question], verify: Callable[[Answer], Question | None] = lambda answer: None
    ) -> list[Answer]:
        """Answers to these questions, and to what `verify`, say `campaign.verify`, asks after each of them."""
        found = []
        for question in questions:
            found.append(self.answer(question))
            further = verify(found[-1])
            if further is not None:
                found.append(self.answer(further))
        return found


def simulate(  # noqa: PLR0913 (every setting by its name; most are rarely given)
    data: LabelData,
    *,
    model: LabelModel,
    strategy: Strategy | LookingStrategy | Target,
    schedule: Schedule | None = None,
    seed: int = 0,
    test: LabelData | None = None,
    decision: Any = None,
    hints: str | None = "auto",
) -> Result:
    """Run one campaign on data whose labels are all known and keep the score on a test set.

    Parameters
    ----------
    data : LabelData
        Everything known; hidden from the campaign until it asks.
    model, strategy
        As in `Campaign`; a `random_state` of the model left at None is set to the seed. "items" and "pairs" stand for
        the default strategy of a campaign, with its guard.
    schedule : Schedule, optional
    seed : int
        Draws the test set, the start and the campaign's own chance. Runs with one seed are paired: they share the
        first two whatever the model and the strategy.
    test : LabelData, optional
        A published test set; else a random share of the items. Never what the strategy happened to leave over.
    decision : object with `decide(posterior)`, optional
        As in `Campaign`: what the F1 measures judge; by default the default decision.
    hints : "auto" or None
        Whether the names of the labels are believed, as in `Campaign`.

    Returns
    -------
    Result
        Its rows hold `round` and its `questions`; so far `items_read` (distinct items asked), `answers` (yes or no to
        one label of one item), `readings` (an item is read once for answers in a row about it) and `cost`; then
        `seconds_asking`, `seconds_fitting` and every measure of `metrics.evaluate` on the test set.

    Examples
    --------
    >>> import labelwise as lw
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2))
    >>> data = LabelData.from_arrays(X, X > 0)
    >>> plan = Schedule(start=5, rounds=2, batch=5)
    >>> result = simulate(data, model=lw.BinaryRelevance(), strategy=lw.Random(), schedule=plan)
    >>> [(row["items_read"], row["answers"]) for row in result.rows]
    [(5, 10), (10, 20), (15, 30)]
    """
    schedule = schedule or Schedule()
    pool, test = split(data, schedule, seed, test)
    target = target_of(strategy)
    batch = schedule.questions(target)
    check_enough(pool, schedule, target)
    answerer, score = Answerer(pool), _Score(test)
    campaign = Campaign(
        pool.hide(),
        model=model,
        strategy=strategy,
        decision=decision,
        start=schedule.start,
        costs=schedule.costs,
        hints=hints,
        random_state=seed,
    )
    start = schedule.start * (pool.n_labels if target == "pairs" else 1)  # questions
    rows: list[Row] = []
    asked = []
    for number in range(schedule.rounds + 1):
        began = perf_counter()
        questions = campaign.ask(batch if number else start)
        seconds_asking = perf_counter() - began
        campaign.tell(answerer.answers(questions))
        whole = number == 0 or target == "items"
        asked.append(tuple(dict.fromkeys((q.item, None if whole else q.labels[0]) for q in questions)))
        rows.append({"round": number, "questions": len(asked[-1]), **score.after(campaign, seconds_asking)})
    return Result(tuple(rows), tuple(asked))


def target_of(strategy: Strategy | LookingStrategy | Target) -> Target:
    """Whether a strategy asks for "items" or "pairs".

    >>> from labelwise.queries import Random
    >>> target_of(Random(target="pairs")), target_of("items")
    ('pairs', 'items')
    """
    return strategy if isinstance(strategy, str) else strategy.target


def split(data: LabelData, schedule: Schedule, seed: int, test: LabelData | None = None) -> tuple[LabelData, LabelData]:
    """The pool to ask about and the set to test on, by the seed alone."""
    check_known(data, "the data")
    order = np.random.default_rng([seed, 0, SPLIT_STREAM]).permutation(data.n_items)
    if test is None:
        n_test = round(schedule.test_share * data.n_items)
        if not 1 <= n_test < data.n_items:
            raise ValueError(f"{data.n_items} items cannot be split into a pool and a test set; bring more")
        test, order = data.take(np.sort(order[:n_test][: schedule.test_limit])), order[n_test:]
    else:
        check_known(test, "the test set")
        check_alike(data, test)
        if schedule.test_limit is not None and test.n_items > schedule.test_limit:
            test = test.take(np.linspace(0, test.n_items - 1, schedule.test_limit).astype(np.intp))
    return data.take(np.sort(order[: schedule.pool_limit])), test


class _Score:
    """What was paid, in items read, answers given and cost, and what the test set says."""

    def __init__(self, test: LabelData) -> None:
        self._X = test.X
        self._truth: BoolArray = test.Y.toarray()

    def after(self, campaign: Campaign, seconds_asking: float) -> Row:
        began = perf_counter()
        campaign.believe(self._X[:1])  # fits; what comes after is prediction only
        seconds_fitting = perf_counter() - began
        spent, beliefs = campaign.spent(), campaign.believe(self._X)
        return {
            "items_read": spent.items,
            "readings": spent.readings,
            "answers": spent.answers,
            "cost": spent.cost,
            "seconds_asking": seconds_asking,
            "seconds_fitting": seconds_fitting,
            **evaluate(beliefs.probabilities(), self._truth, campaign.decide(beliefs)),
        }


def check_known(data: LabelData, what: str) -> None:
    """A simulation needs the truth of every entry; refuse data with unknown labels."""
    unknown = data.n_items * data.n_labels - data.n_observed
    if unknown:
        raise ValueError(
            f"{unknown} labels of {what} are unknown, but a simulation has to answer any question; "
            "keep only the items that are labelled in full"
        )


def check_alike(data: LabelData, test: LabelData) -> None:
    """Refuse a test set with other labels or features than the data."""
    if data.label_names != test.label_names:
        odd = sorted(set(data.label_names) ^ set(test.label_names))
        detail = f"only one of them has {odd[:5]}" if odd else "they are in another order"
        raise ValueError(f"the test set and the data must have the same labels: {detail}")
    if data.n_features != test.n_features:
        raise ValueError(f"the test set has {test.n_features} features, but the data have {data.n_features}")


def check_enough(pool: LabelData, schedule: Schedule, target: str) -> None:
    """Refuse a schedule that asks for more than the pool holds."""
    asked = schedule.rounds * schedule.questions(target)
    left = pool.n_items - schedule.start
    room = left if target == "items" else left * pool.n_labels
    if left < 0 or asked > room:
        raise ValueError(
            f"{schedule.start} items to start and {schedule.rounds} rounds of {schedule.questions(target)} {target} "
            f"do not fit a pool of {pool.n_items} items with {pool.n_labels} labels; lower start, rounds or batch"
        )
