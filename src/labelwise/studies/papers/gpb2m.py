"""What paper 3, GP-B²M, needs: models and questions by name, the plan of its jobs, fits in the plane, campaigns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.svm import SVC

from labelwise import queries
from labelwise.campaign import Campaign
from labelwise.data import make_shapes, shapes_probabilities
from labelwise.models import BinaryRelevance, LabelGP, LabelMixtureGP, OrthogonalTargetGP
from labelwise.numerics.metrics import evaluate, macro_average_precision, macro_roc_auc
from labelwise.posterior import FloatArray
from labelwise.studies.jobs import Job, Outcome
from labelwise.studies.papers.engine import Plan, every, with_files
from labelwise.studies.papers.sets import FILES, knowing, load_bench

KINDS = {  # columns of `make_shapes`
    "G": slice(0, 8),
    "C": slice(8, 10),
    "O": slice(10, 14),
    "E": slice(14, 18),
    "E4": slice(17, 18),
}
E2, E3, E4 = 15, 16, 17
N_TRAIN, N_PLANE_TEST = 200, 1500  # items in the plane
GRID = 60  # points each way of a map
BATCH, ROUNDS = 25, 10  # items asked in a round, rounds
N_SEEDS = 5
START = {"enron": 40, "yeast": 40, "corel5k": 130, "bibtex": 130, "delicious": 190}  # rows; a cover of the labels fits
N_USED = {"delicious": 3000}  # items of a large set
MEASURES = ("macro_roc_auc", "micro_roc_auc", "macro_average_precision")
PRUNE_RATIOS, COUNTS = (0.6, 0.8, 0.9), (5, 10)  # beside no pruning and 20 components
GP_KERNEL = ConstantKernel(4.0, (0.25, 64.0)) * RBF(0.2, (0.05, 2.0))  # bounds: a rare label's evidence has no maximum


def mixture(seed: int, **options: Any) -> LabelMixtureGP:
    return LabelMixtureGP(scale="none", random_state=seed, **options)


MODELS: dict[str, Callable[[int], Any]] = {  # features are prepared alike for all
    "mixture": mixture,
    "paper_gate": lambda seed: mixture(seed, gate="variational"),
    "linear": lambda seed: BinaryRelevance(scale="none", random_state=seed),
    "rbf_svm": lambda seed: BinaryRelevance(SVC(C=10.0), scale="none", random_state=seed),
    "gp": lambda seed: BinaryRelevance(
        GaussianProcessClassifier(GP_KERNEL, random_state=seed), scale="none", random_state=seed
    ),
    "label_gp": lambda seed: LabelGP(scale="none", random_state=seed),
    "cs_gp": lambda seed: OrthogonalTargetGP(scale="none", n_compressed=0.5, bpca="evb", random_state=seed),
    **{f"pruned_{ratio}": partial(mixture, prune_ratio=ratio) for ratio in PRUNE_RATIOS},
    **{f"components_{k}": partial(mixture, n_components=k) for k in COUNTS},
}
IN_THE_PLANE = ("mixture", "paper_gate", "linear", "rbf_svm", "gp", "label_gp")
MAPPED = ("linear", "rbf_svm", "mixture")  # whose beliefs about E4 are drawn
QUESTIONS: dict[str, Callable[[int], Any]] = {  # of the number of rows at the start
    "scheduled": lambda start: queries.LabelCovariance(start=start, candidates=None),
    "paper_score": lambda start: queries.LabelCovariance.paper(start=start),
    "covariance_only": lambda start: queries.LabelCovariance(weight=0, candidates=None),
    "variance_only": lambda start: queries.LabelCovariance.paper(weight=inf),
    "random": lambda start: queries.Random(),
    "exploring_only": lambda start: queries.LabelCovariance(weight=inf, candidates=None),
    "equal": lambda start: queries.LabelCovariance.paper(weight=1, decay=inf),
    "raw": lambda start: queries.LabelCovariance.paper(weight=1, decay=inf, standardise=False),
    "entropy": lambda start: queries.LabelCovariance("entropy", start=start, candidates=None),
    "mmc": lambda start: queries.ExpectedLossReduction(),
    "adaptive": lambda start: queries.AdaptiveMargin(),
    "audi": lambda start: queries.DummyLabelRanking(),
    "cvirs": lambda start: queries.RankedInconsistency(),
    "target_entropy": lambda start: queries.TargetEntropy(),
}


class Arm(NamedTuple):
    """A model and a way of asking."""

    model: str
    questions: str


OURS, RANDOM = Arm("mixture", "scheduled"), Arm("mixture", "random")
PAPERS_OWN, PAPERS_RANDOM = Arm("paper_gate", "paper_score"), Arm("paper_gate", "random")
LABEL_GP_RANDOM, LINEAR_RANDOM = Arm("label_gp", "random"), Arm("linear", "random")
PAPER_RIVALS = {  # with the names they have in the paper
    Arm("linear", "mmc"): "MMC",
    Arm("linear", "adaptive"): "Adaptive",
    Arm("linear", "audi"): "AUDI",
    Arm("linear", "cvirs"): "CVIRS",
    Arm("cs_gp", "target_entropy"): "CS-GP",
}
MORE_QUESTIONS = tuple(Arm("mixture", asking) for asking in ("paper_score", "covariance_only", "variance_only"))
DRAWN = (PAPERS_OWN, PAPERS_RANDOM, OURS, RANDOM, LABEL_GP_RANDOM, LINEAR_RANDOM, *PAPER_RIVALS)
ARMS = (*DRAWN, *MORE_QUESTIONS)
QUICK_ARMS = (OURS, RANDOM, LABEL_GP_RANDOM, LINEAR_RANDOM, Arm("linear", "adaptive"))
COVARIANCE, VARIANCE = Arm("paper_gate", "covariance_only"), Arm("paper_gate", "variance_only")
WEIGHT_ARMS = (
    *(COVARIANCE, VARIANCE, Arm("paper_gate", "equal"), Arm("paper_gate", "raw")),
    *(Arm("mixture", "exploring_only"), Arm("mixture", "entropy")),
)
SIZE_ARMS = {
    OURS: "ρ = 0, K = 20",
    **{Arm(f"pruned_{ratio}", "scheduled"): f"ρ = {ratio}, K = 20" for ratio in PRUNE_RATIOS},
    **{Arm(f"components_{k}", "scheduled"): f"ρ = 0, K = {k}" for k in COUNTS},
}
ABLATED = "enron"  # the set of figures 6f and 6g


def jobs(quick: bool, shared: Path | None) -> Plan:
    """Every exhibit's jobs; those on published sets only where `shared` has them."""
    seeds = range(1 if quick else N_SEEDS)
    plan = {
        "components": every(plane_components_run, seed=seeds),
        "label maps": every(label_maps_run, seed=0),
        "shapes": every(shape_kinds_run, seed=seeds, model=IN_THE_PLANE),
    }
    if shared is None:
        return plan

    def campaigns(names: Sequence[str], arms: Sequence[Arm]) -> list[Job]:
        rounds = 2 if quick else ROUNDS
        settings = (
            {"name": name, "seed": seed, "rounds": rounds, **arm._asdict()}
            for name in names
            for seed in seeds
            for arm in arms
        )
        return with_files(shared, FILES, (Job(campaign_run, each) for each in settings))

    if quick:
        return plan | {"curves": campaigns(("enron", "yeast"), QUICK_ARMS)}
    return plan | {
        "curves": campaigns(tuple(START), ARMS),
        "weights": campaigns((ABLATED,), WEIGHT_ARMS),
        "sizes": campaigns((ABLATED,), [arm for arm in SIZE_ARMS if arm not in ARMS]),
    }


def shape_kinds_run(seed: int, model: str) -> Outcome:
    """Figure 5: 200 items of the synthetic set, area under the ROC curve by kind of label."""
    data = make_shapes(N_TRAIN + N_PLANE_TEST, random_state=seed)
    Y, began = data.Y.toarray(), perf_counter()
    fitted = _fit_plane(model, seed, data.X[:N_TRAIN], Y[:N_TRAIN])
    seconds = perf_counter() - began
    X, truth = data.X[N_TRAIN:], Y[N_TRAIN:]
    beliefs = fitted.predict_proba(X)
    return {
        "seconds": seconds,
        "auc": auc_by_kind(beliefs, truth),
        "macro": macro_roc_auc(beliefs, truth).value,
        "ceiling": auc_by_kind(shapes_probabilities(X), truth),
    }


def auc_by_kind(beliefs: FloatArray, truth: Any) -> dict[str, float]:
    return {kind: macro_roc_auc(beliefs[:, part], truth[:, part]).value for kind, part in KINDS.items()}


def _fit_plane(model: str, seed: int, X: Any, Y: Any) -> Any:
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # a rival's kernel at its bounds
        return MODELS[model](seed).fit(X, Y)


def label_maps_run(seed: int) -> Outcome:
    """Figure 4a, b, d: the items that have E4, and where each model expects it."""
    data = make_shapes(N_TRAIN, random_state=seed)
    Y, places = data.Y.toarray(), _grid()
    maps = {model: _fit_plane(model, seed, data.X, Y).predict_proba(places)[:, E4] for model in MAPPED}
    maps["exact"] = shapes_probabilities(places)[:, E4]
    return {
        "points": data.X.round(4).tolist(),
        "has": Y[:, E4].astype(bool).tolist(),
        "maps": {name: p.reshape(GRID, GRID).round(4).tolist() for name, p in maps.items()},
    }


def _grid() -> FloatArray:
    """(g², 2) places in the unit square, rows from bottom to top."""
    line = (np.arange(GRID) + 0.5) / GRID
    return np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)


def plane_components_run(seed: int) -> Outcome:
    """Figures 1c and 4c: what the components of a fit on the plane are, where, and who has E4."""
    data = make_shapes(N_TRAIN + N_PLANE_TEST, random_state=seed)
    X, Y = np.asarray(data.X), data.Y.toarray()
    model = mixture(seed).fit(X[:N_TRAIN], Y[:N_TRAIN])
    parts, theta = model.components(n_labels=5, n_items=3), model.label_probabilities_
    with_e4, has = theta[:, E4] > 0.5, Y[:, E4] > 0
    told = model.responsibilities_[has[:N_TRAIN]]
    new = model.posterior(X[N_TRAIN:][has[N_TRAIN:]]).component_weights()
    return {
        "maps": _gate_maps(model, parts[0].size).round(4).tolist() if seed == 0 else [],
        "points": X[:N_TRAIN].round(4).tolist(),
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
        "n_with_e4": int(with_e4.sum()),
        "exclusive": float((theta[:, E3] - theta[:, E2])[with_e4].mean()) if with_e4.any() else 0.0,
        "told_in_e4": _top_share(told, model.restart_, with_e4),  # training items with E4, given their labels
        "new_in_e4": _top_share(new, model.restart_, with_e4),  # new items with E4, by their features
    }


def _gate_maps(model: LabelMixtureGP, largest: float) -> FloatArray:
    """(k, g, g) weights on the grid of the restart whose largest component has this size, the largest first."""
    sizes = model.component_sizes_
    best = np.flatnonzero(model.restart_ == model.restart_[np.abs(sizes - largest).argmin()])
    order = best[np.argsort(-sizes[best], kind="stable")]
    return model.posterior(_grid()).component_weights()[:, order].T.reshape(-1, GRID, GRID)


def _top_share(weights: FloatArray, restart: Any, wanted: Any) -> float:
    """Share of the items whose likeliest component of a restart is a wanted one, mean over restarts."""
    shares = []
    for r in np.unique(restart):
        part = np.flatnonzero(restart == r)
        shares.append(wanted[part[weights[:, part].argmax(1)]].mean())
    return float(np.mean(shares))


def campaign_run(file: str, name: str, seed: int, rounds: int, model: str, questions: str) -> Outcome:
    """Figures 6 and 7: items that have every label to start from, then 25 at a time; every model is fitted anew.

    Each round is a campaign of its own that knows what was answered before: in one long campaign some models would be
    fitted anew and others go on from their last state.
    """
    n_start = START[name]
    bench = load_bench(file, n_start, seed, N_USED.get(name))
    truth, known = bench.test.Y.toarray(), bench.known
    rows = {item: row for row, item in enumerate(bench.truth.item_ids)}
    is_known = np.diff(known.observed_mask().indptr) > 0
    curve, kept = [], []
    began = perf_counter()
    for number in range(rounds + 1):
        asking = QUESTIONS[questions](n_start)
        campaign = Campaign(known, model=MODELS[model](seed), strategy=asking, random_state=seed + 1000 * number)
        beliefs = campaign.believe(bench.test.X).probabilities()
        curve.append(evaluate(beliefs, truth))
        kept.append(getattr(campaign.fitted(), "n_components_", 0))
        if number < rounds:
            is_known[[rows[question.item] for question in campaign.ask(BATCH)]] = True
            known = knowing(bench.truth, np.flatnonzero(is_known))
    seconds = perf_counter() - began
    by_label = [(beliefs[:, [j]], truth[:, [j]]) for j in range(truth.shape[1])]
    counts = np.asarray(bench.truth.Y.sum(0)).ravel() + truth.sum(0)
    return {
        "labels": truth.shape[1],
        "lacking": int((np.asarray(bench.known.Y.sum(0)).ravel() == 0).sum()),  # labels that the start has not
        "n_pool": bench.truth.n_items,
        "n_test": bench.test.n_items,
        "seconds": seconds,
        "items": [n_start + BATCH * number for number in range(rounds + 1)],
        **{measure: [scores[measure] for scores in curve] for measure in MEASURES},
        "kept": kept,  # components of all restarts together
        "frequency": (counts / (bench.truth.n_items + len(truth))).tolist(),
        "average_precision": [macro_average_precision(p, y).value for p, y in by_label],
        "roc_auc": [macro_roc_auc(p, y).value for p, y in by_label],
    }
