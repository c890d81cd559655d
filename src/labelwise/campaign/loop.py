"""The one learning loop: ask, tell, believe. A person and a simulation differ only in who answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone

from labelwise.campaign.answers import (
    AnswerBook,
    as_questions,
    by_item,
    check_number,
    embed_rows,
    interleave,
    random_questions,
    refit_point,
    start_questions,
)
from labelwise.campaign.defaults import START_OF, default_decision, default_model, default_strategy, is_left_open
from labelwise.campaign.estimates import OpinionQuality
from labelwise.campaign.guard import Guard, evidence_point, strategy_evidence
from labelwise.campaign.new_labels import GuessLearner, HintLearner, NewLabel, with_all_opinions, with_room
from labelwise.campaign.standing import AnswerArrays, Standing, measure_standing
from labelwise.campaign.sweeps import SweepWorth, sweep_page, worth_sweeping
from labelwise.campaign.widget import campaign_widget
from labelwise.hints.reasons import ExplainedBeliefs
from labelwise.models.semi_supervised import for_blocks
from labelwise.posterior import LabelPosterior, LimitedPosterior
from labelwise.posterior.tilted import RaisedItems, RaisedPosterior
from labelwise.posterior.wrapped import StreamedPosterior
from labelwise.records import (
    Answer,
    Label,
    LabelData,
    Opinions,
    PickCounts,
    Question,
    Suggestion,
    features_by_name,
    in_shards,
)
from labelwise.records.asking import RISK, VERIFY, WORTH_ASKING
from labelwise.records.costs import Costs, Spent
from labelwise.records.missed import MOST_VERIFIED, worth_verifying
from labelwise.views.html import campaign_frame, campaign_plot, of_campaign


class Campaign:
    """Learn the labels of a pool of items by asking a few well-chosen questions.

    The state of a campaign is its data, its settings and the list of answers. A campaign rebuilt from the same three
    has the same beliefs and asks the same next question. The model is derived from them. It is fitted from scratch
    after 1, 2, 3, 5, 8, 12, 18, ... answers (each step half as many again as the one before); in between, its
    `partial_fit` adds new answers. A model without `partial_fit` is fitted on everything each time.

    Parameters
    ----------
    data : LabelData
        The pool. Labels that are observed in it count as known from the start.
    model : estimator with `fit(X, Y, observed=)` and `posterior(X)`, or a name in `labelwise.models.BY_NAME`, optional
        Default: `SemiSupervised` for whole items and `LabelGP("rbf+linear")` for pairs; "auto" is `AutoModel`. The
        campaign fits a clone, never the model itself. If its `random_state` is None, the clone gets the campaign's.
    strategy : object with `target` and `choose(posterior, closed, n, rng)`, or a name in `labelwise.queries.BY_NAME`
        What to ask, see `labelwise.queries`. Default, or "auto": whole items that tell most about the others, by
        `LabelCovariance(weight=inf)`, or, if `costs` has prices of labels, (item, label) pairs by `BalancedPairs`;
        "items" and "pairs" choose one of the two. A strategy with `looks_at_answers = True` also gets `known`, the pool
        with its features and all answers; one with `looks_at_costs = True` gets the `costs`.
    decision : object with `decide(posterior)`, optional
        How `predict` turns beliefs into label sets; by default the sets of highest expected F1, item by item, see
        docs/decisions.md.
    start : int, optional
        Random items that are answered in full before the strategy chooses. Default: 10, or 20 where pairs are asked;
        0 if you pass a strategy.
    control : float or Guard, optional
        Share of the questions that are drawn at random and marked `reason="control"`: an unbiased sample of the pool
        for base rates and error estimates. A `Guard` raises the share if the strategy does not pay. Default: a `Guard`,
        or 0 if you pass a strategy.
    costs : Costs, optional
        What reading an item, picking a label and answering cost, in seconds: `spent` sums them up, and a strategy with
        `looks_at_costs = True` weighs them. By default the strategy's. Without any, `spent` takes `Costs.short_text()`,
        and to the strategy all answers cost the same.
    hints : "auto", None, or a list of names in `labelwise.hints.BY_NAME` and objects with `fit`
        What the names and descriptions of the labels say of the items, weighed by the answers; "auto" is all that are
        built in. They need features whose names are words. For other features, and for names that are codes, nothing
        changes. None switches them off.
    opinions : list of Opinions
        What others say of the items: a language model, an older classifier, rules. Weighed by the answers as hints are,
        judged by `opinion_quality`, never taken as answers. `data.with_opinions` does the same.
    sweeps : bool
        Also ask about one label of many items at once where that brings twice as much for the time, see docs/costs.md.
    random_state : int
    answers : earlier answers, to continue a campaign

    Examples
    --------
    >>> import labelwise as lw
    >>> data = LabelData.from_arrays(np.eye(4), label_names=["a", "b"])
    >>> campaign = Campaign(data, model=lw.BinaryRelevance(), strategy=lw.Random(), random_state=0)
    >>> question = campaign.ask(1)[0]
    >>> question.labels, question.reason
    (('a', 'b'), 'cold start')
    >>> campaign.tell([Answer.to(question, present={"a"})])
    >>> campaign.believe().probabilities().round(2)[0]
    array([0.75, 0.25])
    """

    _repr_html_, to_frame, plot, widget = of_campaign, campaign_frame, campaign_plot, campaign_widget

    def __init__(  # noqa: PLR0913 (every setting by its name; most are rarely given)
        self,
        data: LabelData,
        *,
        model: Any = None,
        strategy: Any = None,
        decision: Any = None,
        start: int | None = None,
        control: float | Guard | None = None,
        costs: Costs | None = None,
        hints: str | Iterable[Any] | None = "auto",
        opinions: Iterable[Opinions] = (),
        sweeps: bool = False,
        random_state: int = 0,
        answers: Iterable[Answer] = (),
    ) -> None:
        if not isinstance(data, LabelData):
            raise TypeError(f"data must be a LabelData, got {type(data).__name__}; see labelwise.LabelData.from_arrays")
        chosen_here = is_left_open(strategy)
        control = (Guard() if chosen_here else 0.0) if control is None else control
        if not isinstance(control, Guard) and not 0 <= control <= 1:
            raise ValueError(f"control is the share of random questions, between 0 and 1, got {control!r}")
        self.strategy = default_strategy(strategy, by_label=costs is not None and costs.labels is not None)
        self.model = default_model(model, self.strategy.target)
        self.decision = default_decision(decision)
        self.start = (START_OF[self.strategy.target] if chosen_here else 0) if start is None else start
        self.control, self.sweeps = control, sweeps
        self.random_state = random_state
        self._book = AnswerBook(data)
        self._evidence: tuple[int, float]
        self._new_labels: dict[str, NewLabel] = {}
        self._hints = HintLearner(hints)
        self._shown: tuple[Any, Any, Any] | None = None  # the model, the pool, and the model that has seen the pool
        self._use(with_all_opinions(data, opinions))
        self.use_costs(costs)
        self.tell(answers)

    def __repr__(self) -> str:
        named = f"{type(self.model).__name__}, {type(self.strategy).__name__}, {len(self._book)} answers"
        return f"Campaign({self._data!r}, {named})"

    # -- what is known ------------------------------------------------------------------------------------------------

    @property
    def data(self) -> LabelData:
        """The pool, with the items and labels added since, but without the answers."""
        return self._data

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers so far, oldest first."""
        return tuple(self._book.answers)

    @property
    def new_labels(self) -> dict[str, NewLabel]:
        """The hints of labels; to rebuild a campaign, give them to it again by `guess_label`."""
        return dict(self._new_labels)

    def hinted_labels(self) -> npt.NDArray[np.bool_]:
        """(q,) labels of which something is believed before the first answer: by names, descriptions or opinions."""
        hints = self._hints.of(self._data)
        return np.zeros(self._data.n_labels, dtype=bool) if hints is None else np.asarray(hints.says().any(axis=0))

    def labelled(self) -> LabelData:
        """The pool with every answer in it: what to save, to export, or to train something else on."""
        rows, Y, observed = self._book.training()
        known = embed_rows(observed, rows, self._data.Y.shape)
        return replace(self._data, Y=embed_rows(Y, rows, known.shape), observed=known)

    def spent(self) -> Spent:
        """Items, readings and answers so far, and what they cost: seconds, unless the prices have another unit."""
        return self._book.spent(self.costs)

    def base_rates(self) -> npt.NDArray[np.float64]:
        """(q,) share of the items that have each label, from random answers only; NaN for a label without any.

        A strategy asks about items that may have a label, so its answers do not show how common the label is. Use the
        rates in `labelwise.ClassMass(campaign.base_rates())`.
        """
        yes, no = self._book.random_counts()
        return np.divide(yes, yes + no, out=np.full(yes.size, np.nan), where=yes + no > 0)

    def random_counts(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """(q,) how often a random question about each label was answered yes, and (q,) how often no."""
        return self._book.random_counts()

    def opinion_quality(self) -> list[OpinionQuality]:
        """Precision and recall of each source of opinions, judged by the random share, which is answered blind.

        Only answers with the reason "control" count: for others the person may have seen what the source says.
        """
        return [self._book.judge(name) for name in self._data.opinion_names]

    # -- the loop -----------------------------------------------------------------------------------------------------

    def ask(self, n: int = 1, *, exclude: Iterable[str | tuple[str, str]] = ()) -> list[Question]:
        """The n questions most worth asking now, best first; fewer if fewer are open.

        Questions about one item come together, so that a person reads it once. Asking changes nothing: until the next
        `tell` the same call gives the same questions. `exclude` lists items, or (item, label) pairs, to leave out, such
        as those that somebody holds or has skipped.
        """
        check_number(n)
        rng = np.random.default_rng([self.random_state, len(self._book)])
        closed = self._book.closed(exclude)
        begin = self._start_questions(closed, n)
        closed = self._book.without(closed, begin)
        n = min(n - len(begin), closed.shape[0] * closed.shape[1] - closed.nnz)
        if n == 0:
            return begin
        drawn = rng.random(n) < self.random_share()
        asked = random_questions(self._data, closed, int(drawn.sum()), self.strategy.target, rng)
        closed = self._book.without(closed, asked)
        model = self.fitted()
        beliefs = self._pool_posterior(model)
        worth = self._worth_sweeping(closed) if self.sweeps and model is not None else ()
        if worth and worth[0].times >= WORTH_ASKING:
            return begin + asked + sweep_page(beliefs, self._data, closed, worth[0].label)[: n - len(asked)]
        choice = self.strategy.choose(beliefs, closed, n - len(asked), rng, **self._wanted(self.labelled))
        reason = "strategy" if model is not None else "cold start"
        chosen = as_questions(self._data, closed, (choice.rows, choice.labels, choice.scores), reason)
        return by_item(begin + interleave(asked, chosen, drawn))

    def random_share(self) -> float:
        """The probability that a question is drawn at random; with a guard it depends on the evidence."""
        if not isinstance(self.control, Guard):
            return self.control
        point = evidence_point(len(self._book))
        if self._evidence[0] != point:
            told = self._book.told(point)
            rng = np.random.default_rng([self.random_state, point, 3])
            learn = self._learner(told, self._settled_model(point))
            seconds = self._book.seconds(self.costs, point)
            self._evidence = (point, strategy_evidence(told, self._data.X, learn, rng, seconds))
        of_strategy = getattr(self.strategy, "trust", None)
        return self.control.share(self.strategy.target, self._evidence[1], of_strategy)

    def ask_about(self, items: LabelData, n: int) -> list[Question]:
        """The n questions most worth asking about these items, given their known labels.

        The items are not in the pool, for example the patients of today. What the campaign has learnt from the pool,
        and the labels observed in `items`, decide which label to pay for next. See `labelwise.queries.Diagnosis`.
        """
        check_number(n)
        self._data.check_alike(items)
        closed = items.observed_mask()
        beliefs = self.believe(items.X).given(items.Y, closed)
        rng = np.random.default_rng([self.random_state, len(self._book), 1])
        choice = self.strategy.choose(beliefs, closed, n, rng, **self._wanted(lambda: items))
        return as_questions(items, closed, (choice.rows, choice.labels, choice.scores), "strategy")

    def tell(self, answers: Answer | Iterable[Answer]) -> None:
        """Take answers: all of them, or none if one is invalid.

        An answer that contradicts an earlier one needs `correction=True`; repeating an answer changes nothing.
        """
        self._book.add([answers] if isinstance(answers, Answer) else answers)

    def verify(self, answer: Answer) -> Question | None:
        """A question about labels of the same item that were not picked but are likely; None if none is.

        A person who picks labels forgets some. Ask before the answer is told, while the item is still open, and tell
        both together: `campaign.tell([answer, Answer.to(question, present=...)])`. The yes and no to these labels then
        stand in place of "not picked". At most five labels are asked about: by the beliefs, by how often picking has
        missed each label so far, and by how rare it is; see docs/costs.md. None for an answer about one label, where
        labels are answered one by one (`Costs` without `pick`), and while neither answers nor names say anything.
        """
        row = self._book.row(answer.item)
        believed = self.hinted_labels() | (self.fitted() is not None)
        if not believed.any() or not answer.picked or not self.costs.picks:
            return None
        open_ = np.zeros(self._data.n_labels, dtype=bool)
        open_[[self._book.column(name) for name, there in answer.values.items() if not there]] = True
        p = np.asarray(self.believe(self._data.X[[row]]).probabilities())[0]
        miss_rates, rates = self._book.pick_counts().by_label(), self._book.example_rates()
        worth = worth_verifying(np.where(open_ & believed, p, 0.0), miss_rates, rates)[:MOST_VERIFIED]
        names = self._data.label_names
        return Question(answer.item, tuple(names[label] for label in worth), VERIFY) if worth.size else None

    def pick_counts(self) -> PickCounts:
        """Of each label, how often picking missed it, and how often it found it, on items with verified labels."""
        return self._book.pick_counts()

    def believe(self, X: Any = None) -> LabelPosterior:
        """Beliefs about new items, or about the pool; before the first answer by hints, or one half for every label.

        Columns of a data frame are matched by name, in any order; missing, unexpected and repeated ones are refused.
        """
        model, tree = self.fitted(), self._book.tree
        X = self._data.X if X is None else features_by_name(X, self._data.feature_names, self._data.n_features)
        beliefs = self._hints.before_answers(X, self._data) if model is None else self._guessed(model, X)
        return beliefs if tree is None else RaisedPosterior(beliefs, RaisedItems(tree.probabilities))

    def suggest(self, items: Iterable[str], *, least: float = 0.1, most: int = 8) -> list[tuple[Suggestion, ...]]:
        """The most likely labels of items of the pool, with probability, source and the words that speak for them.

        Labels of a probability of at least `least`, and at most `most` of an item. Names alone are enough: before the
        first answer it has what they suggest.
        """
        rows = np.array([self._book.row(item) for item in items], dtype=np.intp)
        return self.believed(rows).suggest(rows.size, self._data.label_names, least, most)

    def believed(self, rows: npt.NDArray[np.intp]) -> ExplainedBeliefs:
        """What is believed of these rows of the pool, and then of a sample, with the parts that it is made of."""
        return self._hints.believed(self._data, rows, self.believe)

    def predict(self, X: Any = None, *, every_label: bool = False) -> npt.NDArray[np.bool_]:
        """(n, q) label sets of new items, or of the pool; in the pool, what was answered stands.

        Labels of which nothing was learnt (see `learnt_labels`) are left out unless `every_label` is wanted. They are
        equally probable for all items, and a rule that looks for rare labels gives them to everything.
        """
        sets = self.decide(self.believe(X), every_label=every_label)
        if X is None:
            rows, Y, observed = self._book.training()
            sets[rows] = np.where(observed, Y, sets[rows])
        return sets if self._book.tree is None else np.asarray(self._book.tree.upwards(sets))

    def decide(self, beliefs: LabelPosterior, *, every_label: bool = False) -> npt.NDArray[np.bool_]:
        """(n, q) label sets by the campaign's decision, of beliefs about any items; see `predict`."""
        learnt = np.ones(beliefs.n_labels, dtype=bool) if every_label else self.learnt_labels()
        beliefs = beliefs if learnt.all() else LimitedPosterior(beliefs, learnt)
        sets, tree = learnt & np.asarray(self.decision.decide(beliefs)), self._book.tree
        return sets if tree is None else np.asarray(tree.upwards(sets))

    def learnt_labels(self) -> npt.NDArray[np.bool_]:
        """(q,) labels with a yes so far, or with a hint."""
        return self._book.labels_with_yes() | np.isin(self._data.label_names, list(self._new_labels))

    def status(
        self, *, target_f1: float | None = None, worth_an_hour: float | None = None, risk: float = RISK
    ) -> Standing:
        """How the campaign stands, judged by its random questions: F1, gain of the strategy, advice whether to go on.

        It fits the model about forty times, without the items that judge it. `Standing.asked_for` explains the goals.
        """
        told, seconds = self._book.told(), np.asarray(self._book.seconds(self.costs, len(self._book)), dtype=np.float64)
        rng = np.random.default_rng([self.random_state, len(self._book), 2])
        found = measure_standing(told, self.spent(), seconds, self._data.X, self._learner(told), self.decide, rng)
        found = found.asked_for(target_f1, worth_an_hour, risk)
        return replace(found, sweeps=self._worth_sweeping(self._book.closed(())))

    def use_costs(self, costs: Costs | None, *, weigh: bool = True) -> None:
        """Count and ask by other prices from now on; None takes the strategy's, or those of short texts.

        Only prices that somebody gave change what is asked, and not even those without `weigh`.
        """
        given = getattr(self.strategy, "costs", None) if costs is None else costs
        if given is not None and not isinstance(given, Costs):  # `Diagnosis` has prices of labels alone
            given = Costs.laboratory(tuple(given))
        chosen: Costs = given or Costs.short_text()
        chosen.of_labels(self._data.label_names)  # a price for a label that is not there is refused
        self.costs, self.priced = chosen, given is not None and weigh

    # -- growing ------------------------------------------------------------------------------------------------------

    def add_label(
        self, name: str | Label, *, like: Mapping[str, float] | None = None, counts: Mapping[str, float] | None = None
    ) -> Self:
        """Add a label, unknown for every item so far, also in counts of the model; `like` and `counts` are hints."""
        data = self._data.with_label(name)
        name = data.label_names[-1]
        start = None if like is None and counts is None else NewLabel.of(name, data.label_names, like, counts)
        self._new_labels |= {} if start is None else {name: start}
        self.model = with_room(self.model, data.n_labels)
        self._use(data)
        return self

    def guess_label(
        self, name: str, *, like: Mapping[str, float] | None = None, counts: Mapping[str, float] | None = None
    ) -> Self:
        """Give a hint for a label without answers: which labels it occurs with. Its answers take over.

        `like`: of some labels, the share of their items that have this one, too. `counts`: how many items have both.
        """
        self._book.column(name)
        self._new_labels[name] = NewLabel.of(name, self._data.label_names, like, counts)
        self._use(self._data)
        return self

    def add_items(self, more: LabelData) -> Self:
        """Add items to the pool, with the same features and labels; labels observed in them count as known."""
        self._use(self._data.with_items(more))
        return self

    # -- inside -------------------------------------------------------------------------------------------------------

    def _use(self, data: LabelData) -> None:
        """(Re)build everything that follows from the data: look-ups, what is known, and the wish for a fresh model."""
        self._data = data
        self._book.use(data)
        self._fit: tuple[Any, int, int] | None = None  # model, answers it was fitted on, answers it has seen
        self._evidence = (-1, 0.0)  # answers that the evidence for the strategy rests on, and what it is
        self._guesses = GuessLearner(data, self._new_labels, self._fresh_model)

    def fitted(self) -> Any:
        """The model fitted to the answers so far, or None if nothing is known."""
        n = len(self._book)
        if self._book.is_empty:
            return None
        start = refit_point(n, self._book.corrected) if hasattr(self.model, "partial_fit") else n
        model, _, seen = self._fit = self._fit_on_first(start)
        if seen < n:
            self._fit = None  # a failure half-way must not leave a model that has seen some of it
            rows, Y, observed = self._book.added(seen)
            if rows.size:
                model.partial_fit(self._data.X[rows], Y, observed=observed)
            self._fit = (model, start, n)
        return model

    def _fit_on_first(self, n_answers: int) -> tuple[Any, int, int]:
        """The model fitted on the first answers, which may have been told of later ones since; see `_fit`."""
        if self._fit is not None and self._fit[1] == n_answers:
            return self._fit
        rows, Y, observed = self._book.training(n_answers)
        return self._fresh_model().fit(self._data.X[rows], Y, observed=observed), n_answers, n_answers

    def _settled_model(self, n_answers: int) -> Any:
        """An unfitted model that keeps what the last fit within the first n answers has searched for.

        It follows from these answers alone, so that a campaign rebuilt from its answers gets the same.
        """
        start = refit_point(n_answers)
        if not hasattr(self.model, "settled") or not self._book.training(start)[0].size:
            return self._fresh_model()
        self._fit = self._fit_on_first(start)
        return self._fit[0].settled()

    def _fresh_model(self) -> Any:
        model = clone(self._model_with_pool())
        if "random_state" in model.get_params(deep=False) and model.random_state is None:
            model.set_params(random_state=self.random_state)
        return self._hints.wrap(model, self._data)

    def _model_with_pool(self) -> Any:
        """The model; one with `learn_pool` has been shown the features of all items, once, if it can read them."""
        X = self._data.X
        if self._shown is None or self._shown[0] is not self.model or self._shown[1] is not X:
            model = for_blocks(self.model, self._data.blocks)
            learns = hasattr(model, "learn_pool") and (not in_shards(X) or getattr(model, "reads_shards", False))
            self._shown = (self.model, X, model.learn_pool(X) if learns else model)
        return self._shown[2]

    def _learner(self, told: AnswerArrays, unfitted: Any = None) -> Callable[[npt.NDArray[np.bool_]], Any]:
        """From a mask of these answers to a model that learnt from those, or None where there is nothing to learn.

        `unfitted` is cloned; by default it is the campaign's model.
        """

        def learn(allowed: npt.NDArray[np.bool_]) -> Any:
            rows, Y, observed = self._book.training_on(told.only(allowed))
            model = self._fresh_model() if unfitted is None else clone(unfitted)
            return model.fit(self._data.X[rows], Y, observed=observed) if rows.size else None

        return learn

    def _pool_posterior(self, model: Any) -> LabelPosterior:
        if model is None:
            return self._hints.before_answers(self._data.X, self._data)
        return self._guessed(model, self._data.X)

    def _guessed(self, model: Any, X: Any) -> LabelPosterior:
        """The model's beliefs, with guesses at labels that were added with one; by parts where X is in shards."""
        if in_shards(X):
            believe = (lambda rows: self._guessed(model, rows)) if self._guesses else model.posterior
            return StreamedPosterior(X, self._data.n_labels, believe)  # without guesses it can be sent elsewhere
        n, refit = len(self._book), refit_point(len(self._book), self._book.corrected)
        return self._guesses.blend(model.posterior(X), X, model, self._book.training, n, refit)

    def _worth_sweeping(self, closed: sp.csr_array) -> tuple[SweepWorth, ...]:
        return worth_sweeping(self.believe(), self.labelled(), closed, self.costs, self.learnt_labels())

    def _wanted(self, known: Callable[[], LabelData]) -> dict[str, Any]:
        """What the strategy wants to see beside beliefs."""
        looks = getattr(self.strategy, "looks_at_answers", False)
        extra: dict[str, Any] = {"known": known().without_opinions()} if looks else {}
        if self.priced and getattr(self.strategy, "looks_at_costs", False):
            extra["costs"] = self.costs.of_labels(self._data.label_names)
        return extra

    def _start_questions(self, closed: sp.csr_array, n: int) -> list[Question]:
        """What is left to ask of the random items that are answered in full before the strategy takes over."""
        if not self.start:
            return []
        sizes = {"start": self.start, "n": n, "target": self.strategy.target, "random_state": self.random_state}
        return start_questions(self._data, closed, self._book.full_rows(), **sizes)
