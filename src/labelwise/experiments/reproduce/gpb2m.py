"""Paper 3, GP-B²M (NeurIPS 2021), done again: what is computed. `gpb2m_exhibits` says what came of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.svm import SVC

from labelwise.campaign import Campaign
from labelwise.data import make_shapes, shapes_probabilities
from labelwise.experiments.jobs import Job, Outcome
from labelwise.experiments.metrics import evaluate, macro_average_precision, macro_roc_auc
from labelwise.experiments.reproduce.gpb2m_data import BATCH, FILES, LEAST, START, load_bench
from labelwise.experiments.simulate import Answerer
from labelwise.models import BinaryRelevance, LabelGP, LabelMixtureGP, OrthogonalTargetGP
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

TYPES = {"G": slice(0, 8), "C": slice(8, 10), "O": slice(10, 14), "E": slice(14, 18)}  # columns of `make_shapes`
N_TRAIN, N_TEST = 200, 1500
GRID = 60  # points each way of a gate map
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
    "published": lambda: LabelCovariance.published(start=START),
    "covariance_only": lambda: LabelCovariance(weight=0),
    "variance_only": lambda: LabelCovariance.published(weight=inf),
    "random": Random,
    "exploring_only": lambda: LabelCovariance(weight=inf),
    "raw": lambda: LabelCovariance.published(weight=1, decay=inf, standardise=False),
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
SEEDS, ROUNDS = 3, 12
CAMPAIGN_MIXTURE: dict[str, Any] = {"n_components": 15, "restarts": 1}
LEARNERS: dict[str, Callable[[int], Any]] = {  # of campaigns, whose features are prepared alike for all
    "mixture": lambda seed: mixture(seed, **CAMPAIGN_MIXTURE),
    "linear": lambda seed: BinaryRelevance(scale="none", random_state=seed),
    "label_gp": RIVALS["label_gp"],
    "cs_gp": lambda seed: OrthogonalTargetGP(scale="none", random_state=seed),
}
Arm = tuple[str, str]  # model, questions
PAPER_RIVALS: dict[Arm, str] = {  # with the names they have in the paper
    ("linear", "mmc"): "MMC",
    ("linear", "adaptive"): "Adaptive",
    ("linear", "audi"): "AUDI",
    ("linear", "cvirs"): "CVIRS",
    ("cs_gp", "target_entropy"): "CS-GP",
}
ARMS: tuple[Arm, ...] = (
    *(("mixture", name) for name in ("scheduled", "published", "covariance_only", "variance_only", "random")),
    ("label_gp", "random"),
    ("linear", "random"),
    *PAPER_RIVALS,
)
QUICK_ARMS: tuple[Arm, ...] = (
    ("mixture", "scheduled"),
    ("mixture", "random"),
    ("label_gp", "random"),
    ("linear", "random"),
    ("linear", "adaptive"),
)


def mixture(seed: int, **options: Any) -> LabelMixtureGP:
    return LabelMixtureGP(scale="none", random_state=seed, **options)


def jobs(quick: bool, shared: Path | None) -> Mapping[str, Sequence[Job]]:
    """Every exhibit's jobs; those on published sets only where `shared` has them."""
    plan: dict[str, list[Job]] = {
        "shapes": [
            Job(shapes_run, {"seed": seed, "model": model})
            for seed in range(3 if quick else 4)
            for model in (*MIXTURES, *RIVALS)
        ],
        "components": [Job(components_run, {"seed": 0})],
        "sizes": [
            Job(sizes_run, {"seed": seed, "n_train": n, "n_components": k, "prune_ratio": ratio})
            for seed in range(1 if quick else 3)
            for n in (60, N_TRAIN)
            for k in ((10, 30) if quick else (5, 10, 20, 30))
            for ratio in ((0.0, 0.6) if n == N_TRAIN else (0.0,))
        ],
    }
    if shared is None:
        return plan
    plan["curves"] = [
        Job(campaign_run, _settings(shared, name, seed, quick) | {"model": model, "questions": questions})
        for name in (("enron", "yeast") if quick else FILES)
        for seed in range(SEEDS)
        for model, questions in (QUICK_ARMS if quick else ARMS)
    ]
    if not quick:
        plan["weights"] = [
            Job(campaign_run, _settings(shared, name, seed, quick) | {"model": "mixture", "questions": questions})
            for name in ("enron", "corel5k")
            for seed in range(SEEDS)
            for questions in ("exploring_only", "raw", "entropy")
        ]
    return plan


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
    data = make_shapes(N_TRAIN + N_TEST, random_state=seed)
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
        "auc": _by_type(beliefs, truth),
        "macro": macro_roc_auc(beliefs, truth).value,
        "ceiling": _by_type(shapes_probabilities(X), truth),
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
        "average_precision": [macro_average_precision(beliefs[:, [j]], truth[:, [j]]).value for j in _labels(truth)],
    }


def _by_type(beliefs: FloatArray, truth: Any) -> dict[str, float]:
    return {kind: macro_roc_auc(beliefs[:, part], truth[:, part]).value for kind, part in TYPES.items()}


def _labels(truth: Any) -> range:
    return range(truth.shape[1])


def _settings(shared: Path, name: str, seed: int, quick: bool) -> dict[str, Any]:
    rounds = 4 if quick else ROUNDS
    return {"file": str(shared / FILES[name]), "least": LEAST[name], "name": name, "seed": seed, "rounds": rounds}
