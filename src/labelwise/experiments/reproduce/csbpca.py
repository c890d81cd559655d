"""Paper 2, CS-BPCA-GP (ICML 2019), done again: what is computed. `csbpca_exhibits` says what came of it.

Everything runs through `Campaign`, but for the kernel update period: a campaign fits anew at times of its own. All
methods of a seed share rows, start and random code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.campaign import Campaign
from labelwise.experiments.jobs import Job, Outcome
from labelwise.experiments.metrics import micro_f1
from labelwise.experiments.reproduce.csbpca_data import FILES, LABEL_SHARE, Split, load, macro, split, top_sets
from labelwise.experiments.simulate import Answerer
from labelwise.models import BinaryRelevance, CompressedLabelGP, OrthogonalTargetGP
from labelwise.posterior import FloatArray, LabelPosterior
from labelwise.queries import (
    AdaptiveMargin,
    ExpectedLossReduction,
    LookingStrategy,
    MutualInformation,
    Random,
    Strategy,
    TargetEntropy,
)
from labelwise.records import Question

RATE = 0.5  # codes per label
DECODERS = ("lasso", "scaled_linear")
SPARSITIES = (1, 2, 3, 4, 6, 8, 12)
PERIODS = (1, 10, 50)
RATES = (0.1, 0.25)
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
class Method:
    """A model and a way of asking; `batch` questions at a time, more than one where a model must be fitted anew."""

    model: Callable[..., Any]
    strategy: Callable[[], Strategy | LookingStrategy]
    batch: int = 1


METHODS: dict[str, Method] = {
    "codes": Method(codes_gp, TargetEntropy),
    "codes_random": Method(codes_gp, Random),
    "evb": Method(lambda **o: codes_gp(bpca="evb", **o), TargetEntropy),
    "evb_random": Method(lambda **o: codes_gp(bpca="evb", **o), Random),
    "evb_printed_sign": Method(lambda **o: codes_gp(bpca="evb", **o), PrintedSign),
    "vb": Method(lambda **o: codes_gp(bpca="vb", **o), TargetEntropy),
    "published": Method(lambda **o: OrthogonalTargetGP.published(**({"refit_every": 25} | o)), TargetEntropy),
    "cs_rr": Method(OrthogonalTargetGP.ridge, Random),
    "cs_br": Method(OrthogonalTargetGP.bayesian_ridge, lambda: TargetEntropy(measure="variance")),
    "cs_miml": Method(lambda **o: CompressedLabelGP.published(recovery="fast", **o), MutualInformation, batch=10),
    "binary_relevance": Method(BinaryRelevance, Random, batch=25),
    "mmc": Method(BinaryRelevance, ExpectedLossReduction),
    "adaptive": Method(BinaryRelevance, AdaptiveMargin),
}
TYPE_TWO = ("mmc", "adaptive", "binary_relevance")  # one classifier per label
MAIN = ("codes", "codes_random", "evb", "evb_random", "vb", "cs_rr", "cs_br")  # on every set and seed
MORE = ("evb_printed_sign", "cs_miml")  # on corel5k only


def jobs(quick: bool, shared: Path | None) -> Mapping[str, Sequence[Job]]:
    """Every exhibit's jobs; without the published sets there is nothing to do."""
    if shared is None:
        return {}
    sets, seeds, queries = (("corel5k",), range(2), 60) if quick else (("corel5k", "bibtex"), range(3), 150)

    def learning(name: str, seed: int, method: str, queries: int = queries, **options: Any) -> Job:
        settings = {"file": str(shared / FILES[name]), "name": name, "seed": seed, "method": method}
        return Job(learning_run, settings | {"queries": queries} | options)

    def period(seed: int, answers: int) -> Job:
        settings = {"file": str(shared / FILES["corel5k"]), "name": "corel5k", "seed": seed}
        return Job(period_run, settings | {"period": answers, "queries": queries})

    plan: dict[str, list[Job]] = {
        "data": [Job(data_run, {"file": str(shared / FILES[name]), "name": name}) for name in FILES],
        "learning": [learning(name, seed, method) for name in sets for seed in seeds for method in MAIN],
    }
    if not quick:
        plan["learning"] += [learning("corel5k", seed, method) for method in MORE for seed in seeds]
        plan["learning"] += [learning(name, seed, "published") for name in sets for seed in seeds]
        plan["learning"] += [learning("delicious", 0, method, 90) for method in (*MAIN[:3], "cs_rr")]
    plan["period"] = [period(seed, answers) for seed in range(2) for answers in (PERIODS[1:] if quick else PERIODS)]
    plan["rates"] = [learning("corel5k", seed, "codes", n_compressed=rate) for seed in range(2) for rate in RATES]
    both = ("codes", "evb", *TYPE_TWO)
    plan["type_two"] = [learning(n, s, m, n_labels=TYPE_TWO_LABELS) for n in sets for s in seeds for m in both]
    plan["times"] = [
        Job(times_run, {"file": str(shared / FILES[name]), "name": name, "n_rows": n_rows})
        for name, n_rows in ((("corel5k", 100),) if quick else (("corel5k", 100), ("corel5k", 200), ("bibtex", 200)))
    ]
    return plan


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

    plan = queries, max(1, queries // 6)
    campaign = ask_and_answer(parts, made, made.model(random_state=seed, **options), seed, plan, keep)
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
    parts: Split,
    method: Method,
    model: Any,
    seed: int,
    plan: tuple[int, int],
    on_check: Callable[[Campaign, int], None],
) -> Campaign:
    """A campaign of `plan[0]` questions; `on_check` sees it at the start and after every `plan[1]` of them."""
    queries, every = plan
    campaign = Campaign(parts.pool.hide(), model=model, strategy=method.strategy(), random_state=seed)
    answerer, labels = Answerer(parts.pool), parts.pool.label_names
    start = [Question(item, labels, "cold start") for item in parts.pool.item_ids[: parts.n_start]]
    campaign.tell(answerer.answers(start))
    on_check(campaign, 0)
    asked = 0
    while asked < queries:
        size = min(method.batch, every - asked % every, queries - asked)
        campaign.tell(answerer.answers(campaign.ask(size)))
        asked += size
        if asked % every == 0:
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
        model = codes_gp(gp="separate", bpca="pca", n_targets=8, optimizer=optimizer, restarts=3, random_state=0).fit(
            X, Y
        )
        found[optimizer] = [(process_time() - began) / model.n_targets_, model.log_posterior_ / model.n_targets_]
    return {"set": name, "n_rows": n_rows, "found": found}


def scores_of(beliefs: LabelPosterior, parts: Split) -> Outcome:
    """Macro-F1 of the top labels, as many as the set has on average, by each decoder; micro-F1 by the first."""
    counts = np.full(beliefs.n_items, max(1, round(parts.cardinality)))
    sets = {decoder: top_sets(_scores(beliefs, decoder), counts) for decoder in DECODERS}
    found = {decoder: macro(each, parts.truth) for decoder, each in sets.items()}
    return found | {"micro": micro_f1(sets[DECODERS[0]], parts.truth)}


def at_the_end(beliefs: LabelPosterior, parts: Split) -> Outcome:
    """Macro-F1 against the number of labels recovered, and the recall of every label with its frequency."""
    n, truth = beliefs.n_items, parts.truth
    scores = _scores(beliefs, DECODERS[0])
    sweep = {str(count): macro(top_sets(scores, np.full(n, count)), truth) for count in SPARSITIES}
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
