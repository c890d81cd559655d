"""Paper 2, CS-BPCA-GP (ICML 2019), done again: the data and the runs. `csbpca_exhibits` shows what came of them.

Everything runs through `Campaign`, but for the kernel update period: a campaign fits anew at times of its own. All
methods of a seed share rows, start and random code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from labelwise.campaign import Campaign
from labelwise.data import read
from labelwise.decisions import TopLabels
from labelwise.models import BinaryRelevance, CompressedLabelGP, OrthogonalTargetGP
from labelwise.numerics.metrics import macro_f1, micro_f1
from labelwise.posterior import BoolArray, FloatArray, LabelPosterior, MarginalPosterior
from labelwise.queries import (
    AdaptiveMargin,
    ExpectedLossReduction,
    LookingStrategy,
    MutualInformation,
    Random,
    Strategy,
    TargetEntropy,
)
from labelwise.records import LabelData, Question
from labelwise.studies.jobs import Job, Outcome
from labelwise.studies.papers.engine import Plan, every, with_files
from labelwise.studies.papers.sets import FILES, frequent_labels
from labelwise.studies.simulate import Answerer

SETS = ("corel5k", "bibtex", "delicious")
LABEL_SHARE = {"corel5k": 0.005, "bibtex": 0.005, "delicious": 0.025}  # of the rows; 0.005 leaves delicious 589 labels
START_SHARE, POOL_SHARE = 0.01, 0.4
MOST_TEST_ROWS = 2000
RATE = 0.5  # codes per label
DECODERS = ("lasso", "scaled_linear")
LABEL_COUNTS = (1, 2, 3, 4, 6, 8, 12)  # recovered per item, in figure 4
PERIODS = (1, 10, 50)  # answers between two searches of hyper-parameters, in figure 2
OTHER_RATES = (0.1, 0.25)
OPTIMIZERS = ("gradient", "bayes", "simplex", "lbfgs")
TYPE_TWO_LABELS = 50  # most frequent ones, as in the paper's comparison with one classifier per label


@dataclass(frozen=True, eq=False)
class PrintedSign(TargetEntropy):
    """Equation (13) as it stands in the paper: the lowest entropy first. For the ablation only."""

    def _order(self, groups: Any, variances: Any) -> FloatArray:
        return -super()._order(groups, variances)


def codes_gp(**options: Any) -> OrthogonalTargetGP:
    return OrthogonalTargetGP(projection="gaussian", **({"n_compressed": RATE} | options))


@dataclass(frozen=True)
class AskingMethod:
    """A model and a way of asking; `batch` questions at a time, more than one where a model must be fitted anew."""

    model: Callable[..., Any]
    strategy: Callable[[], Strategy | LookingStrategy]
    batch: int = 1


METHODS: dict[str, AskingMethod] = {
    "codes": AskingMethod(codes_gp, TargetEntropy),
    "codes_random": AskingMethod(codes_gp, Random),
    "evb": AskingMethod(lambda **o: codes_gp(bpca="evb", **o), TargetEntropy),
    "evb_random": AskingMethod(lambda **o: codes_gp(bpca="evb", **o), Random),
    "evb_printed_sign": AskingMethod(lambda **o: codes_gp(bpca="evb", **o), PrintedSign),
    "vb": AskingMethod(lambda **o: codes_gp(bpca="vb", **o), TargetEntropy),
    "published": AskingMethod(lambda **o: OrthogonalTargetGP.paper(**({"refit_every": 25} | o)), TargetEntropy),
    "cs_rr": AskingMethod(OrthogonalTargetGP.ridge, Random),
    "cs_br": AskingMethod(OrthogonalTargetGP.bayesian_ridge, lambda: TargetEntropy(measure="variance")),
    "cs_miml": AskingMethod(lambda **o: CompressedLabelGP.paper(recovery="fast", **o), MutualInformation, batch=10),
    "binary_relevance": AskingMethod(BinaryRelevance, Random, batch=25),
    "mmc": AskingMethod(BinaryRelevance, ExpectedLossReduction),
    "adaptive": AskingMethod(BinaryRelevance, AdaptiveMargin),
}
TYPE_TWO = ("mmc", "adaptive", "binary_relevance")  # one classifier per label
MAIN = ("codes", "codes_random", "evb", "evb_random", "vb", "cs_rr", "cs_br")  # on every set and seed
MORE = ("evb_printed_sign", "cs_miml")  # on corel5k only


def jobs(quick: bool, shared: Path | None) -> Plan:
    """Every exhibit's jobs; without the published sets there is nothing to do."""
    if shared is None:
        return {}
    sets, seeds, queries = (("corel5k",), range(2), 60) if quick else (("corel5k", "bibtex"), range(3), 150)
    one = {"name": "corel5k", "seed": range(2), "queries": queries}
    learning = every(learning_run, name=sets, seed=seeds, method=MAIN, queries=queries)
    if not quick:
        learning += every(learning_run, name="corel5k", method=MORE, seed=seeds, queries=queries)
        learning += every(learning_run, name=sets, seed=seeds, method="published", queries=queries)
        learning += every(learning_run, name="delicious", seed=0, method=(*MAIN[:3], "cs_rr"), queries=90)
    timed = (("corel5k", 100),) if quick else (("corel5k", 100), ("corel5k", 200), ("bibtex", 200))
    both: dict[str, Any] = {"method": ("codes", "evb", *TYPE_TWO), "n_labels": TYPE_TWO_LABELS}
    plan = {
        "data": every(data_run, name=SETS),
        "learning": learning,
        "period": every(period_run, **one, period=PERIODS[1:] if quick else PERIODS),
        "rates": every(learning_run, **one, method="codes", n_compressed=OTHER_RATES),
        "type_two": every(learning_run, name=sets, seed=seeds, queries=queries, **both),
        "times": [Job(times_run, {"name": name, "n_rows": n_rows}) for name, n_rows in timed],
    }
    return {group: with_files(shared, FILES, each) for group, each in plan.items()}


# -- data -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PoolSplit:
    """One shuffle: the pool with the rows to start from first, and the test set."""

    pool: LabelData
    n_start: int
    test: LabelData
    cardinality: float  # mean number of labels in the whole set, as the paper takes it

    @property
    def truth(self) -> BoolArray:
        return np.asarray(self.test.Y.toarray(), dtype=bool)


def load(file: str, name: str, *, n_labels: int | None = None, share: float | None = None) -> LabelData:
    """A set as the paper prepares it: labels on too few rows dropped, then rows without labels; rows of unit length.

    `n_labels` keeps only the most frequent ones, `share` is the least part of the rows that a label must be on.
    """
    data = read(Path(file))
    data = frequent_labels(data, (LABEL_SHARE[name] if share is None else share) * data.n_items, n_labels)
    rows = np.flatnonzero(np.diff(data.Y.indptr))
    X, Y = normalize(data.X[rows]), data.Y[rows]
    return LabelData.from_arrays(X, Y, item_ids=map(str, rows), label_names=data.label_names)


def split(data: LabelData, seed: int) -> PoolSplit:
    """1 % to start from, 40 % to ask about, the first rows of the rest to test on."""
    order = np.random.default_rng([seed, 2]).permutation(data.n_items)
    n_start, n_pool = round(START_SHARE * data.n_items), round(POOL_SHARE * data.n_items)
    pool = data.take(order[: n_start + n_pool])
    return PoolSplit(pool, n_start, data.take(order[n_start + n_pool :][:MOST_TEST_ROWS]), data.cardinality)


def top_sets(scores: FloatArray, counts: npt.NDArray[np.integer]) -> BoolArray:
    """(n, q) the highest labels of each item, as many as its count says."""
    sets = np.zeros(scores.shape, dtype=bool)
    for count in np.unique(counts):
        rows = counts == count
        sets[rows] = TopLabels(int(count)).decide(MarginalPosterior(scores[rows]))
    return sets


def macro(sets: BoolArray, truth: BoolArray) -> float:
    """Macro-F1 over all labels, as the paper has it: a label without positives counts 0."""
    found = macro_f1(sets, truth)
    return found.value * (truth.shape[1] - found.left_out) / truth.shape[1]


# -- runs -------------------------------------------------------------------------------------------------------------


def data_run(file: str, name: str) -> Outcome:
    """Table 1: rows and labels that are left by the paper's rule, and by the one used here."""
    by_rule, used = load(file, name, share=0.005), load(file, name)
    return {
        "set": name,
        "rule": [by_rule.n_items, by_rule.n_labels],
        "used": [used.n_items, used.n_labels],
        "share": LABEL_SHARE[name],
        "cardinality": used.cardinality,
    }


def learning_run(
    file: str, name: str, seed: int, method: str, queries: int, n_labels: int | None = None, **options: Any
) -> Outcome:
    """Figures 3 to 7: macro-F1 by both decoders at seven times of a campaign, and more at the end."""
    parts = split(load(file, name, n_labels=n_labels), seed)
    made = METHODS[method]
    curve: list[Outcome] = []
    began = process_time()

    def keep(campaign: Campaign, asked: int) -> None:
        curve.append({"queries": asked, **scores_of(campaign.believe(parts.test.X), parts)})

    every_sixth = max(1, queries // 6)
    model = made.model(random_state=seed, **options)
    campaign = ask_and_answer(parts, made, model, seed, queries, every_sixth, keep)
    beliefs = campaign.believe(parts.test.X)
    rate = getattr(beliefs, "target_weights", lambda: np.empty(0))().size / parts.test.n_labels
    return {
        "set": name,
        "method": method,
        "seed": seed,
        "n_compressed": options.get("n_compressed", RATE),
        "curve": curve,
        "cpu_seconds": process_time() - began,
        "targets_per_label": rate,
        **at_the_end(beliefs, parts),
    }


def ask_and_answer(
    parts: PoolSplit,
    method: AskingMethod,
    model: Any,
    seed: int,
    queries: int,
    check_every: int,
    on_check: Callable[[Campaign, int], None],
) -> Campaign:
    """A campaign of so many questions; `on_check` sees it at the start and after every `check_every` of them."""
    campaign = Campaign(parts.pool.hide(), model=model, strategy=method.strategy(), random_state=seed)
    answerer, labels = Answerer(parts.pool), parts.pool.label_names
    start = [Question(item, labels, "cold start") for item in parts.pool.item_ids[: parts.n_start]]
    campaign.tell(answerer.answers(start))
    on_check(campaign, 0)
    asked = 0
    while asked < queries:
        size = min(method.batch, check_every - asked % check_every, queries - asked)
        campaign.tell(answerer.answers(campaign.ask(size)))
        asked += size
        if asked % check_every == 0:
            on_check(campaign, asked)
    return campaign


def period_run(file: str, name: str, seed: int, period: int, queries: int) -> Outcome:
    """Figure 2: hyper-parameters learnt again after every `period` answers and at no other time."""
    parts = split(load(file, name), seed)
    X, Y = parts.pool.X, parts.pool.Y.toarray()
    model = codes_gp(random_state=seed, refit_every=period).fit(X[: parts.n_start], Y[: parts.n_start])
    closed = np.zeros(Y.shape, dtype=bool)
    closed[: parts.n_start] = True
    rng, began = np.random.default_rng(seed), process_time()
    curve = []
    for asked in range(1, queries + 1):
        row = TargetEntropy().choose(model.posterior(X), sp.csr_array(closed), 1, rng).rows
        closed[row] = True
        model.partial_fit(X[row], Y[row])
        if asked % (queries // 3) == 0:
            curve.append({"queries": asked, **scores_of(model.posterior(parts.test.X), parts)})
    return {"set": name, "seed": seed, "period": period, "curve": curve, "cpu_seconds": process_time() - began}


def times_run(file: str, name: str, n_rows: int) -> Outcome:
    """Table 2: CPU seconds per target to search its hyper-parameters, and the log posterior reached, in nats."""
    parts = split(load(file, name), 0)
    X, Y = parts.pool.X[:n_rows], parts.pool.Y[:n_rows]
    codes_gp(gp="separate", bpca="pca", n_targets=1, random_state=0).fit(X[:20], Y[:20])  # what is slow the first time
    found = {}
    for optimizer in OPTIMIZERS:
        began = process_time()
        model = codes_gp(gp="separate", bpca="pca", n_targets=8, optimizer=optimizer, restarts=3, random_state=0)
        model.fit(X, Y)
        found[optimizer] = [(process_time() - began) / model.n_targets_, model.log_posterior_ / model.n_targets_]
    return {"set": name, "n_rows": n_rows, "found": found}


def scores_of(beliefs: LabelPosterior, parts: PoolSplit) -> Outcome:
    """Macro-F1 of the top labels, as many as the set has on average, by each decoder; micro-F1 by the first."""
    counts = np.full(beliefs.n_items, max(1, round(parts.cardinality)))
    sets = {decoder: top_sets(_scores(beliefs, decoder), counts) for decoder in DECODERS}
    found = {decoder: macro(each, parts.truth) for decoder, each in sets.items()}
    return found | {"micro": micro_f1(sets[DECODERS[0]], parts.truth)}


def at_the_end(beliefs: LabelPosterior, parts: PoolSplit) -> Outcome:
    """Macro-F1 against the number of labels recovered, and the recall of every label with its frequency."""
    n, truth = beliefs.n_items, parts.truth
    scores = _scores(beliefs, DECODERS[0])
    sweep = {str(count): macro(top_sets(scores, np.full(n, count)), truth) for count in LABEL_COUNTS}
    own = np.clip(np.rint(beliefs.label_counts()), 1, beliefs.n_labels).astype(int)
    even = np.full(n, max(1, round(float(own.mean()))))  # what the inferred counts have to beat: more labels score more
    average = top_sets(_scores(beliefs, DECODERS[1]), np.full(n, max(1, round(parts.cardinality))))
    recall = (average & truth).sum(axis=0) / np.maximum(truth.sum(axis=0), 1)
    return {
        "sweep": sweep,
        "inferred": macro(top_sets(scores, own), truth),
        "same_on_average": macro(top_sets(scores, even), truth),
        "average_count": max(1, round(parts.cardinality)),
        "recall": recall.round(4).tolist(),
        "positives": truth.sum(axis=0).tolist(),
    }


def _scores(beliefs: Any, decoder: str) -> FloatArray:
    return beliefs.scores(decoder) if hasattr(beliefs, "codes") else beliefs.ranking()
