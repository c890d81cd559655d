"""Paper 2, CS-BPCA-GP (ICML 2019), done again: plan and runs.

Everything runs through `Campaign`, but for the kernel update period: a campaign fits anew at times of its own. All
methods of a seed share rows, start and random code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.campaign import Campaign
from labelwise.decisions import TopLabels
from labelwise.models import BinaryRelevance, CompressedLabelGP, OrthogonalTargetGP
from labelwise.numerics.metrics import macro_f1, micro_f1
from labelwise.posterior import BoolArray, FloatArray, LabelPosterior, MarginalPosterior
from labelwise.queries import AdaptiveMargin, ExpectedLossReduction, MutualInformation, Random, TargetEntropy
from labelwise.records import Question
from labelwise.studies.jobs import Outcome
from labelwise.studies.papers.engine import Plan, every, with_files
from labelwise.studies.papers.sets import FILES, LABEL_SHARE, PoolSplit, load_unit_rows, split_pool
from labelwise.studies.simulate import Answerer

RATE = 0.5  # codes per label
TREATMENTS = NEUTRAL, LIFTED = "neutral", "lifted"  # how labels are ranked, the same for every method
OWN = "own"  # CS-MIML alone has a decoder that is neither
LABEL_COUNTS = (1, 2, 3, 4, 6, 8, 13, 20)  # recovered per item, in figure 4; 3, 2 and 13 are the sets' averages
PERIODS = (1, 10, 50)  # answers between two searches of hyper-parameters, in figure 2
OTHER_RATES = (0.1, 0.25)
OPTIMIZERS = {  # with the number of further starts
    "GA": ("gradient", 0),
    "GA, 3 restarts": ("gradient", 3),
    "B-OPT": ("bayes", 0),
    "S-OPT": ("simplex", 0),
    "L-BFGS": ("lbfgs", 0),
}
QUERIES = {"corel5k": 150, "bibtex": 100, "delicious": 50}
PERIOD_QUERIES, LONG_QUERIES, LONG_PERIOD = 100, 500, 50
TYPE_TWO_LABELS = 50  # most frequent ones, as in the paper's comparison with one classifier per label
TIMED_ROWS, TIMED_TARGETS = 200, 8
LEAST_RATE = 1e-4  # a label that is never expected is lifted as if it were expected so often


@dataclass(frozen=True, eq=False)
class PrintedSign(TargetEntropy):
    """Equation (13) as it stands in the paper: the lowest entropy first. For the ablation only."""

    def _order(self, groups: Any, variances: Any) -> FloatArray:
        return -super()._order(groups, variances)


def codes_gp(**options: Any) -> OrthogonalTargetGP:
    return OrthogonalTargetGP(projection="gaussian", **({"n_compressed": RATE} | options))


@dataclass(frozen=True)
class AskingMethod:
    """A model and a way of asking; `batch` questions at a time, more than one where the choice does not look at the
    model, or where a model must be fitted anew."""

    name: str
    model: Callable[..., Any]
    strategy: Callable[[], Any]
    batch: int = 1


METHODS: dict[str, AskingMethod] = {
    "paper": AskingMethod("CS-BPCA-GP", OrthogonalTargetGP.paper, TargetEntropy),
    "paper_random": AskingMethod("CS-BPCA-GP, random", OrthogonalTargetGP.paper, Random, batch=25),
    "evb": AskingMethod("CS-BPCA-GP in closed form", lambda **o: codes_gp(bpca="evb", **o), TargetEntropy),
    "evb_printed_sign": AskingMethod("the same, sign as printed", lambda **o: codes_gp(bpca="evb", **o), PrintedSign),
    "vb": AskingMethod("CS-BPCA-GP, one kernel shape", lambda **o: codes_gp(bpca="vb", **o), TargetEntropy),
    "codes": AskingMethod("codes, no PCA", codes_gp, TargetEntropy),
    "codes_random": AskingMethod("codes, no PCA, random", codes_gp, Random, batch=25),
    "cs_rr": AskingMethod("CS-RR", OrthogonalTargetGP.ridge, Random, batch=25),
    "cs_br": AskingMethod("CS-BR", OrthogonalTargetGP.bayesian_ridge, lambda: TargetEntropy(measure="variance")),
    "cs_miml": AskingMethod(
        "CS-MIML", lambda **o: CompressedLabelGP.paper(recovery="fast", **o), MutualInformation, batch=10
    ),
    "mmc": AskingMethod("MMC", BinaryRelevance, ExpectedLossReduction),
    "adaptive": AskingMethod("Adaptive", BinaryRelevance, AdaptiveMargin),
    "binary_relevance": AskingMethod("one classifier per label, random", BinaryRelevance, Random, batch=25),
}
TYPE_TWO = ("mmc", "adaptive", "binary_relevance")  # one classifier per label
TYPE_ONE = tuple(method for method in METHODS if method not in TYPE_TWO)
LONG = ("evb", "codes", "cs_rr", "cs_br", "cs_miml")  # and the paper's recipe with a longer period


def jobs(quick: bool, shared: Path | None) -> Plan:
    """Every exhibit's jobs; without the published sets there is nothing to do."""
    if shared is None:
        return {}
    seeds, sets = range(2 if quick else 5), ("corel5k",) if quick else tuple(QUERIES)
    against = {"method": ("paper", "evb", "codes", *TYPE_TWO), "n_labels": TYPE_TWO_LABELS}
    asked = {name: {"name": name, "seed": seeds, "queries": 30 if quick else QUERIES[name]} for name in sets}
    plan = {
        "data": every(data_run, name=tuple(QUERIES)),
        "learning": [job for one in asked.values() for job in every(campaign_run, **one, method=TYPE_ONE)],
        "period": every(
            kernel_period_run, name="corel5k", seed=seeds, queries=30 if quick else PERIOD_QUERIES, period=PERIODS
        ),
        "rates": [
            job
            for one in asked.values()
            for job in every(campaign_run, **one, method="codes", n_compressed=OTHER_RATES)
        ],
        "type_two": [job for one in asked.values() for job in every(campaign_run, **one, **against)],
        "times": every(search_run, name=sets, seed=seeds, n_rows=60 if quick else TIMED_ROWS),
    }
    if not quick:
        long = {"name": "corel5k", "seed": seeds, "queries": LONG_QUERIES}
        plan["long"] = every(campaign_run, **long, method=LONG)
        plan["long"] += every(campaign_run, **long, method="paper", refit_every=LONG_PERIOD)
    return {group: with_files(shared, FILES, each) for group, each in plan.items()}


# -- how labels are recovered and judged ------------------------------------------------------------------------------


def lift(expected: FloatArray) -> FloatArray:
    """(n, q) by how much more than usual each label is expected, in units of the spread of a label of that frequency.

    The usual is the mean over the items. This raises rare labels, which are never among the highest otherwise.

    >>> lift(np.array([[0.8, 0.0], [0.6, 0.2]])).round(2)
    array([[ 0.22, -0.33],
           [-0.22,  0.33]])
    """
    rates = np.clip(expected.mean(axis=0), LEAST_RATE, 1 - LEAST_RATE)
    return (expected - rates) / np.sqrt(rates * (1 - rates))


def ranking(beliefs: Any, treatment: str) -> FloatArray:
    """(n, q) what labels are ranked by, with one treatment for all methods.

    Neutral: the paper's l1 decoder for codes, probabilities for classifiers. Lifted: `lift` of what every label is
    expected to be, by the linear decoder for codes, by probabilities for classifiers. Own: what the model ranks by.
    """
    has_codes = hasattr(beliefs, "scores")
    if treatment == OWN:
        return beliefs.ranking()
    if treatment == NEUTRAL:
        return beliefs.scores("lasso") if has_codes else beliefs.probabilities()
    return lift(beliefs.scores("linear") if has_codes else beliefs.probabilities())


def top_sets(scores: FloatArray, counts: npt.NDArray[np.integer]) -> BoolArray:
    """(n, q) the highest labels of each item, as many as its count says."""
    sets = np.zeros(scores.shape, dtype=bool)
    for count in np.unique(counts):
        rows = counts == count
        sets[rows] = TopLabels(int(count)).decide(MarginalPosterior(scores[rows]))
    return sets


def macro(sets: BoolArray, truth: BoolArray) -> float:
    """Macro-F1 over all labels, as the paper has it: a label without positives counts 0."""
    over_known = macro_f1(sets, truth)
    return over_known.value * (truth.shape[1] - over_known.left_out) / truth.shape[1]


def scores_of(beliefs: LabelPosterior, parts: PoolSplit, treatments: Sequence[str] = TREATMENTS) -> Outcome:
    """Macro-F1 of the top labels, as many as the set has on average, by each treatment; micro-F1 by the neutral one."""
    counts = np.full(beliefs.n_items, max(1, round(parts.cardinality)))
    sets = {treatment: top_sets(ranking(beliefs, treatment), counts) for treatment in treatments}
    scores = {treatment: macro(each, parts.truth) for treatment, each in sets.items()}
    return scores | {"micro": micro_f1(sets[NEUTRAL], parts.truth)}


def at_the_end(beliefs: LabelPosterior, parts: PoolSplit) -> Outcome:
    """Macro-F1 against the number of labels recovered, and by treatment the recall of every label, frequent first."""
    n, truth = beliefs.n_items, parts.truth
    scores = ranking(beliefs, NEUTRAL)
    counts = [count for count in LABEL_COUNTS if count <= beliefs.n_labels]
    own = np.clip(np.rint(beliefs.label_counts()), 1, beliefs.n_labels).astype(int)
    even = np.full(n, max(1, round(float(own.mean()))))  # what the inferred counts have to beat: more labels score more
    average = max(1, round(parts.cardinality))
    order = np.argsort(-truth.sum(axis=0), kind="stable")
    return {
        "sweep": {str(count): macro(top_sets(scores, np.full(n, count)), truth) for count in counts},
        "inferred": macro(top_sets(scores, own), truth),
        "same_on_average": macro(top_sets(scores, even), truth),
        "average_count": average,
        "recall": {
            treatment: recalls(top_sets(ranking(beliefs, treatment), np.full(n, average)), truth)[order].tolist()
            for treatment in TREATMENTS
        },
    }


def recalls(sets: BoolArray, truth: BoolArray) -> FloatArray:
    """(q,) share of the items with a label that it was recovered for; 0 for a label that no item has."""
    return ((sets & truth).sum(axis=0) / np.maximum(truth.sum(axis=0), 1)).round(4)


# -- runs -------------------------------------------------------------------------------------------------------------


def data_run(file: str, name: str) -> Outcome:
    """Table 1: rows and labels that are left by the paper's rule, and by the one used here."""
    by_rule, used = load_unit_rows(file, name, share=0.005), load_unit_rows(file, name)
    return {
        "rule": [by_rule.n_items, by_rule.n_labels],
        "used": [used.n_items, used.n_labels],
        "share": LABEL_SHARE[name],
        "cardinality": used.cardinality,
    }


def campaign_run(
    file: str, name: str, seed: int, method: str, queries: int, n_labels: int | None = None, **options: Any
) -> Outcome:
    """Figures 3 to 7: macro-F1 by both treatments at seven times of a campaign, and more at the end."""
    parts = split_pool(load_unit_rows(file, name, n_labels=n_labels), seed)
    made = METHODS[method]
    treatments = (*TREATMENTS, OWN) if method == "cs_miml" else TREATMENTS
    curve: list[Outcome] = []
    began = process_time()
    campaign = Campaign(
        parts.pool.hide(), model=made.model(random_state=seed, **options), strategy=made.strategy(), random_state=seed
    )
    for asked in asked_at_sixths(campaign, parts, made.batch, queries):
        beliefs = campaign.believe(parts.test.X)
        n_targets = beliefs.target_weights().size if hasattr(beliefs, "target_weights") else np.nan
        scores = scores_of(beliefs, parts, treatments)
        curve.append({"queries": asked, "rate": n_targets / parts.test.n_labels, **scores})
    return {"curve": curve, "cpu_seconds": process_time() - began, **at_the_end(beliefs, parts)}


def asked_at_sixths(campaign: Campaign, parts: PoolSplit, batch: int, queries: int) -> Iterator[int]:
    """Ask so many questions; how many were asked by now, at the start and after every sixth of them."""
    answerer, labels = Answerer(parts.pool), parts.pool.label_names
    start = [Question(item, labels, "cold start") for item in parts.pool.item_ids[: parts.n_start]]
    campaign.tell(answerer.answers(start))
    asked = 0
    for mark in np.unique(np.linspace(0, queries, 7).round().astype(int)):
        while asked < mark:
            size = min(batch, int(mark) - asked)
            campaign.tell(answerer.answers(campaign.ask(size)))
            asked += size
        yield asked


def kernel_period_run(file: str, name: str, seed: int, period: int, queries: int) -> Outcome:
    """Figure 2: the paper's recipe, kernels searched after every `period` answers and at no other time, Bayesian PCA
    estimated again at every answer."""
    parts = split_pool(load_unit_rows(file, name), seed)
    X, Y = parts.pool.X, parts.pool.Y.toarray()
    began = process_time()
    model = OrthogonalTargetGP.paper(random_state=seed, kernel_every=period)
    model.fit(X[: parts.n_start], Y[: parts.n_start])
    closed = np.zeros(Y.shape, dtype=bool)
    closed[: parts.n_start] = True
    rng, curve = np.random.default_rng(seed), []
    for asked in range(1, queries + 1):
        row = TargetEntropy().choose(model.posterior(X), sp.csr_array(closed), 1, rng).rows
        closed[row] = True
        model.partial_fit(X[row], Y[row])
        if asked % max(1, queries // 5) == 0:
            curve.append({"queries": asked, **scores_of(model.posterior(parts.test.X), parts)})
    return {"curve": curve, "cpu_seconds": process_time() - began}


def search_run(file: str, name: str, seed: int, n_rows: int) -> Outcome:
    """Table 2: CPU seconds per target to search its hyper-parameters, and the log posterior reached, in nats."""
    parts = split_pool(load_unit_rows(file, name), seed)
    X, Y = parts.pool.X[:n_rows], parts.pool.Y[:n_rows]
    plain = {"gp": "separate", "bpca": "pca", "n_targets": TIMED_TARGETS, "random_state": seed}
    codes_gp(**plain).fit(X[:20], Y[:20])  # what is slow the first time
    found = {}
    for words, (optimizer, restarts) in OPTIMIZERS.items():
        began = process_time()
        model = codes_gp(optimizer=optimizer, restarts=restarts, **plain).fit(X, Y)
        found[words] = [(process_time() - began) / model.n_targets_, model.log_posterior_ / model.n_targets_]
    return {"found": found}
