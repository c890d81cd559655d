"""Paper 3, GP-B²M (NeurIPS 2021), done again: the data and the runs. `gpb2m_exhibits` shows what came of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC

from labelwise.campaign import Campaign
from labelwise.data import make_shapes, read, shapes_probabilities
from labelwise.models import BinaryRelevance, LabelGP, LabelMixtureGP, OrthogonalTargetGP
from labelwise.numerics.metrics import evaluate, macro_average_precision, macro_roc_auc
from labelwise.posterior import FloatArray
from labelwise.queries import (
    AdaptiveMargin,
    DummyLabelRanking,
    ExpectedLossReduction,
    LabelCovariance,
    LookingStrategy,
    Random,
    RankedInconsistency,
    Strategy,
    TargetEntropy,
)
from labelwise.records import LabelData
from labelwise.studies.jobs import Job, Outcome
from labelwise.studies.papers.engine import Plan, every, with_files
from labelwise.studies.papers.sets import FILES, frequent_labels
from labelwise.studies.simulate import Answerer

KINDS = {"G": slice(0, 8), "C": slice(8, 10), "O": slice(10, 14), "E": slice(14, 18)}  # columns of `make_shapes`
N_TRAIN, N_PLANE_TEST = 200, 1500  # items in the plane
GRID = 60  # points each way of a gate map
START, BATCH, ROUNDS = 40, 10, 12  # items known at first, items asked in a round, rounds
N_TEST, N_POOL = 500, 800  # items of a published set
N_DIMENSIONS = 300  # singular vectors of words
FEWEST_POSITIVES = {"enron": 20, "yeast": 20, "corel5k": 100, "bibtex": 200, "delicious": 1000}  # of a label
N_SEEDS = 3
MEASURES = ("macro_roc_auc", "micro_roc_auc", "macro_average_precision")
GP_KERNEL = ConstantKernel(4.0, (0.25, 64.0)) * RBF(0.2, (0.05, 2.0))  # bounds: a rare label's evidence has no maximum

RIVALS: dict[str, Callable[[int], Any]] = {
    "linear": lambda seed: BinaryRelevance(random_state=seed),
    "rbf_svm": lambda seed: BinaryRelevance(SVC(C=10.0), random_state=seed),
    "gp": lambda seed: BinaryRelevance(GaussianProcessClassifier(GP_KERNEL, random_state=seed), random_state=seed),
    "label_gp": lambda seed: LabelGP(scale="none", random_state=seed),
}
QUESTIONS: dict[str, Callable[[], Strategy | LookingStrategy]] = {
    "scheduled": lambda: LabelCovariance(start=START),
    "published": lambda: LabelCovariance.paper(start=START),
    "covariance_only": lambda: LabelCovariance(weight=0),
    "variance_only": lambda: LabelCovariance.paper(weight=inf),
    "random": Random,
    "exploring_only": lambda: LabelCovariance(weight=inf),
    "raw": lambda: LabelCovariance.paper(weight=1, decay=inf, standardise=False),
    "entropy": lambda: LabelCovariance("entropy", start=START),
    "mmc": ExpectedLossReduction,
    "adaptive": AdaptiveMargin,
    "audi": DummyLabelRanking,
    "cvirs": RankedInconsistency,
    "target_entropy": TargetEntropy,
}
MIXTURES: dict[str, dict[str, Any]] = {
    "mixture": {"n_components": 30, "gate": "regression"},
    "mixture_variational": {"n_components": 30, "gate": "variational"},
}
CAMPAIGN_MIXTURE: dict[str, Any] = {"n_components": 15, "restarts": 1}
LEARNERS: dict[str, Callable[[int], Any]] = {  # of campaigns, whose features are prepared alike for all
    "mixture": lambda seed: mixture(seed, **CAMPAIGN_MIXTURE),
    "linear": lambda seed: BinaryRelevance(scale="none", random_state=seed),
    "label_gp": RIVALS["label_gp"],
    "cs_gp": lambda seed: OrthogonalTargetGP(scale="none", random_state=seed),
}


class Arm(NamedTuple):
    """A model and a way of asking."""

    model: str
    questions: str


PAPER_RIVALS = {  # with the names they have in the paper
    Arm("linear", "mmc"): "MMC",
    Arm("linear", "adaptive"): "Adaptive",
    Arm("linear", "audi"): "AUDI",
    Arm("linear", "cvirs"): "CVIRS",
    Arm("cs_gp", "target_entropy"): "CS-GP",
}
OWN_QUESTIONS = ("scheduled", "published", "covariance_only", "variance_only")  # in order of interest
OURS, RANDOM = Arm("mixture", "scheduled"), Arm("mixture", "random")
LABEL_GP_RANDOM, LINEAR_RANDOM = Arm("label_gp", "random"), Arm("linear", "random")
ARMS = (*(Arm("mixture", q) for q in OWN_QUESTIONS), RANDOM, LABEL_GP_RANDOM, LINEAR_RANDOM, *PAPER_RIVALS)
QUICK_ARMS = (OURS, RANDOM, LABEL_GP_RANDOM, LINEAR_RANDOM, Arm("linear", "adaptive"))


def mixture(seed: int, **options: Any) -> LabelMixtureGP:
    return LabelMixtureGP(scale="none", random_state=seed, **options)


def jobs(quick: bool, shared: Path | None) -> Plan:
    """Every exhibit's jobs; those on published sets only where `shared` has them."""
    seeds, counts = range(1 if quick else 3), (10, 30) if quick else (5, 10, 20, 30)
    plan = {
        "shapes": every(shapes_run, seed=range(3 if quick else 4), model=(*MIXTURES, *RIVALS)),
        "components": every(components_run, seed=0),
        "sizes": [
            Job(sizes_run, {"seed": seed, "n_train": n, "n_components": k, "prune_ratio": ratio})
            for seed in seeds
            for n in (60, N_TRAIN)
            for k in counts
            for ratio in ((0.0, 0.6) if n == N_TRAIN else (0.0,))
        ],
    }
    if shared is None:
        return plan

    def campaigns(names: Sequence[str], arms: Sequence[Arm]) -> list[Job]:
        rounds = 4 if quick else ROUNDS
        settings = (
            {"least": FEWEST_POSITIVES[name], "name": name, "seed": seed, "rounds": rounds, **arm._asdict()}
            for name in names
            for seed in range(N_SEEDS)
            for arm in arms
        )
        return with_files(shared, FILES, (Job(campaign_run, each) for each in settings))

    if quick:
        return plan | {"curves": campaigns(("enron", "yeast"), QUICK_ARMS)}
    weights = [Arm("mixture", questions) for questions in ("exploring_only", "raw", "entropy")]
    curves = campaigns(tuple(FEWEST_POSITIVES), ARMS)
    return plan | {"curves": curves, "weights": campaigns(("enron", "corel5k"), weights)}


# -- data -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """A pool whose first items are known, everything about the same pool, and a test set nobody asks about."""

    known: LabelData
    truth: LabelData
    test: LabelData


def load_bench(file: str | Path, least: int, seed: int) -> Bench:
    """Frequent labels only; a random pool and test set; features prepared on the pool; a start that has every label.

    Sparse rows (words) are weighted by tf-idf and projected on the pool's 300 leading singular vectors; dense features
    are standardised. Rows are then scaled to unit length.
    """
    data = frequent_labels(read(file), least)
    rng = np.random.default_rng([seed, 3])
    order = rng.permutation(data.n_items)
    test, pool = data.take(order[:N_TEST]), data.take(order[N_TEST : N_TEST + N_POOL])
    X_pool, X_test = _prepared(pool.X, test.X)
    pool, test = (replace(part, X=X, feature_names=None) for part, X in ((pool, X_pool), (test, X_test)))
    return Bench(knowing(pool, covering_rows(pool.Y, START, rng)), pool, test)


def covering_rows(Y: sp.csr_array, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """n random rows that have every label where n rows can: first a random cover, then any.

    >>> Y = sp.csr_array(np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=bool))
    >>> all(3 in covering_rows(Y, 2, np.random.default_rng(seed)) for seed in range(9))
    True
    """
    order = rng.permutation(Y.shape[0])
    lacking = np.asarray(Y.sum(0) > 0).ravel()
    first = []
    for row in order:  # rows that bring a label not seen before
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        if lacking[labels].any():
            first.append(row)
            lacking[labels] = False
    rest = order[~np.isin(order, first)]
    return np.concatenate([np.array(first, dtype=np.intp), rest])[:n]


def knowing(data: LabelData, rows: npt.NDArray[np.intp]) -> LabelData:
    """The same items, of which only these rows are known."""
    mask = np.zeros((data.n_items, 1), dtype=bool)
    mask[rows] = True
    observed = sp.csr_array(np.broadcast_to(mask, data.Y.shape))
    return replace(data, Y=sp.csr_array(data.Y.multiply(observed)), observed=observed)


def _prepared(pool: Any, test: Any) -> tuple[Any, Any]:
    if not sp.issparse(pool):
        scaler = StandardScaler().fit(pool)
        return normalize(scaler.transform(pool)), normalize(scaler.transform(test))
    weights = TfidfTransformer(sublinear_tf=False).fit(pool)
    dimensions = min(N_DIMENSIONS, *(size - 1 for size in pool.shape))
    leading = TruncatedSVD(dimensions, random_state=0).fit(weights.transform(pool))
    X_pool, X_test = (normalize(leading.transform(weights.transform(X))) for X in (pool, test))
    return X_pool, X_test


# -- runs --------------------------------------------------------------------------------------------------------------


def shapes_run(seed: int, model: str) -> Outcome:
    """Figure 5: 200 items of the synthetic set, area under the ROC curve by kind of label."""
    made = mixture(seed, **MIXTURES[model]) if model in MIXTURES else RIVALS[model](seed)
    return {"seed": seed, "model": model, **_on_shapes(made, seed, N_TRAIN)}


def sizes_run(seed: int, n_train: int, n_components: int, prune_ratio: float) -> Outcome:
    """How many components, and how many to drop: figure 6g and section 4.2."""
    made = mixture(seed, n_components=n_components, prune_ratio=prune_ratio, restarts=1, gate="variational")
    found = _on_shapes(made, seed, n_train)
    settings = {"n_train": n_train, "n_components": n_components, "prune_ratio": prune_ratio}
    return {"seed": seed, **settings, "kept": made.n_components_, **found}


def _on_shapes(model: Any, seed: int, n_train: int) -> Outcome:
    data = make_shapes(N_TRAIN + N_PLANE_TEST, random_state=seed)
    Y = data.Y.toarray()
    began = perf_counter()
    with warnings.catch_warnings():  # a rival's kernel at its bounds
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X[:n_train], Y[:n_train])
    seconds = perf_counter() - began
    X, truth = data.X[N_TRAIN:], Y[N_TRAIN:]
    beliefs = model.predict_proba(X)
    return {
        "seconds": seconds,
        "auc": _by_kind(beliefs, truth),
        "macro": macro_roc_auc(beliefs, truth).value,
        "ceiling": _by_kind(shapes_probabilities(X), truth),
    }


def components_run(seed: int) -> Outcome:
    """Figures 1c and 4: what the components of a fit on the plane are, and where."""
    data = make_shapes(N_TRAIN, random_state=seed)
    model = mixture(seed, n_components=12, restarts=1).fit(data.X, data.Y)
    parts = model.components(n_labels=5, n_items=3)
    order = np.argsort(-model.component_sizes_, kind="stable")
    line = (np.arange(GRID) + 0.5) / GRID
    places = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)  # (g², 2), rows from bottom to top
    weights = model.posterior(places).component_weights()[:, order]
    return {
        "maps": weights.T.reshape(-1, GRID, GRID).round(4).tolist(),
        "points": data.X.round(4).tolist(),
        "components": [
            {
                "size": part.size,
                "labels": [data.label_names[j] for j in part.labels],
                "probabilities": part.probabilities.tolist(),
                "base_rates": part.base_rates.tolist(),
                "items": part.items.tolist(),
            }
            for part in parts
        ],
    }


def campaign_run(file: str, least: int, name: str, seed: int, rounds: int, model: str, questions: str) -> Outcome:
    """Figure 6: 40 items that have every label, then ten at a time."""
    bench = load_bench(file, least, seed)
    truth = bench.test.Y.toarray()
    campaign = Campaign(bench.known, model=LEARNERS[model](seed), strategy=QUESTIONS[questions](), random_state=seed)
    answerer = Answerer(bench.truth)
    curve = []
    began = perf_counter()
    for number in range(rounds + 1):
        if number:
            campaign.tell(answerer.answers(campaign.ask(BATCH)))
        beliefs = campaign.believe(bench.test.X).probabilities()
        curve.append(evaluate(beliefs, truth))
    return {
        "set": name,
        "seed": seed,
        "model": model,
        "questions": questions,
        "labels": truth.shape[1],
        "seconds": perf_counter() - began,
        "items": [START + BATCH * number for number in range(rounds + 1)],
        **{measure: [scores[measure] for scores in curve] for measure in MEASURES},
        "frequency": truth.mean(0).tolist(),
        "average_precision": [
            macro_average_precision(beliefs[:, [j]], truth[:, [j]]).value for j in range(truth.shape[1])
        ],
    }


def _by_kind(beliefs: FloatArray, truth: Any) -> dict[str, float]:
    return {kind: macro_roc_auc(beliefs[:, part], truth[:, part]).value for kind, part in KINDS.items()}
