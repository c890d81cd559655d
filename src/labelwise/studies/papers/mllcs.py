"""Paper 4, ML-LCS (UAI 2017): what is run. Its methods with its settings, ours beside them; see `mllcs_exhibits`.

Labels are told or not told as a whole; of those not told, the co-occurrence counts on the training items are known.
Precision is measured over all test items, also those without any unseen label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.campaign import Campaign
from labelwise.models import BinaryRelevance, CooccurrenceFactors, LabelGP, LatentFactors
from labelwise.models import CooccurrenceTransfer as Transfer
from labelwise.models.factors.cooccurrence_factors import PAPER_PRECISION_AT
from labelwise.numerics.metrics import macro_average_precision, precision_at
from labelwise.numerics.recovery.label_sketches import average_weights
from labelwise.posterior import FloatArray, LabelPosterior
from labelwise.queries import Uncertainty
from labelwise.records import Answer, LabelData
from labelwise.studies.jobs import Outcome
from labelwise.studies.papers.engine import Plan, every
from labelwise.studies.papers.sets import (
    MADE_UP,
    TAGGED_TEXTS,
    LabelSplit,
    available,
    count_pairs,
    find_arff,
    load_split,
    split_items,
    split_labels,
    split_texts,
)

SETS = ("bibtex", "mediamill", "delicious")
FACTOR_SHARE = 0.8  # of all labels: the paper's number of factors
SHARES = (0.2, 0.3, 0.4, 0.6, 0.7, 0.8)  # of the labels told, in figure 2; one half is that of table 2
STEPS = (1, 3, 5, 10, 15, 20, 40, 70, 100, 200, 300, 400, 500)  # sweeps after which precision is measured
SHARE_SWEEPS = 100  # in figure 2, which has many splits; the paper finds convergence by then
FEW_SWEEPS = 10  # near where predictions are best
SLOW_SETS = {"delicious": (40, 100)}  # sweeps, and those of the first split
KEPT = ((0.03, 1500), (0.1, 1500), (0.3, 1500), (1.0, 100), (1.0, 300))  # share of the entries told, of so many items
ITEMS_BEFORE, ANSWERS_AFTER, BATCH = 200, 100, 20  # items answered before a label is added, answers about it, at once
POOL_SIZE = 1500  # of the campaigns with an added label
MOST_KNOWN_LABELS = 200  # the most common ones: a campaign on a thousand labels would take minutes
FEWEST_POSITIVES = 20  # of an added label among the test items: below, average precision is a lottery
OURS: dict[str, Any] = {"feature_penalty": 0.5, "n_iterations": 20}  # for rows of unit length, where nothing is chosen
TUNED: dict[str, dict[str, Any]] = defaultdict(
    dict, delicious={"n_factors": 500, "feature_penalty": 0.5, "n_iterations": 15}
)
PATHS = ("LFM-SL", "COSTA on factors", "ML-LCS")
METHODS: dict[str, Callable[[FloatArray, str], Any]] = {  # models by their counts and the name of the set
    "LFM tuned": lambda c, name: LatentFactors(random_state=0, **TUNED[name]),
    "COSTA tuned": lambda c, name: Transfer("costa", cooccurrence=c, base=LatentFactors(random_state=0, **TUNED[name])),
    "ML-LCS tuned": lambda c, name: CooccurrenceFactors(cooccurrence=c, random_state=0, **TUNED[name]),
    "COSTA on classifiers": lambda c, name: Transfer("costa", cooccurrence=c, base=BinaryRelevance()),
    "conditional": lambda c, name: Transfer("conditional", cooccurrence=c, random_state=0),
    "moment": lambda c, name: Transfer("moment", cooccurrence=c, random_state=0),
    "sketched GP": lambda c, name: Transfer("sketched_gp", cooccurrence=c, random_state=0),
    "ridge, seen only": lambda c, name: Transfer(label_weight=0.0, noise_variance=0.3),
    "ridge, told everything": lambda c, name: Transfer(label_weight=0.0, noise_variance=0.3),
}
RANKS_UNSEEN_LAST = ("LFM tuned", "ridge, seen only")
BY_TEXTS: dict[str, Callable[[FloatArray], Any]] = {
    "COSTA tuned": lambda c: Transfer("costa", cooccurrence=c, base=LatentFactors(**OURS)),
    "ML-LCS tuned": lambda c: CooccurrenceFactors(cooccurrence=c, **OURS),
    "sketched GP": lambda c: Transfer("sketched_gp", cooccurrence=c, random_state=0),
}


def jobs(quick: bool, shared: Path | None) -> Plan:
    """Every exhibit's jobs; without the published sets, a made-up one shows how it goes."""
    sets, folder = [MADE_UP], ""
    if shared is not None:
        sets, folder = [s for s in SETS if s != "mediamill" or find_arff(shared, s, s)], str(shared)
    first: dict[str, Any] = {"folder": folder, "name": sets[0]}
    few, seeds = sets[: 1 if quick else None], range(2 if quick else 5)
    closed = [m for m in METHODS if not quick or "tuned" not in m]
    tagged, told = available(shared, [TAGGED_TEXTS]), SHARES[:: 3 if quick else 1]
    return {
        "paths": [
            job
            for name, seed in product(few, seeds)
            for job in every(path_run, folder=folder, name=name, seed=seed, most=n_sweeps(name, seed, quick))
        ],
        "halves": [
            job
            for name, method in product(few, closed)
            if not (method == "COSTA on classifiers" and name == "delicious")  # liblinear, 500 times
            for job in every(half_run, folder=folder, name=name, method=method, seed=seeds)
        ],
        "shares": every(path_run, **first, seed=seeds, most=20 if quick else SHARE_SWEEPS, share=told),
        "standard": every(standard_run, **first, seed=seeds, most=n_sweeps(sets[0], 0, quick)),
        "missing": every(missing_run, **first, kept=KEPT[:: 3 if quick else 1], seed=range(2 if quick else 10)),
        "texts": every(text_run, folder=folder, name=tagged, seed=range(1 if quick else 5)),
        "new labels": every(
            label_run, folder=folder, name=[s for s in sets if s != "mediamill"], seed=range(4 if quick else 20)
        ),
    }


def n_sweeps(name: str, seed: int, quick: bool) -> int:
    """The paper's 500 where they fit."""
    if quick:
        return 20
    return STEPS[-1] if name not in SLOW_SETS else SLOW_SETS[name][seed == 0]


# -- runs --------------------------------------------------------------------------------------------------------------


def path_run(folder: str, name: str, seed: int, most: int, share: float | None = None) -> Outcome:
    """Tables 2 and 3, Figures 2 and 3: the paper's methods with its settings, some labels told, on their way."""
    return follow_sweeps(split_labels(folder, name, seed, share), most)


def follow_sweeps(problem: LabelSplit, most: int) -> Outcome:
    """Precision of LFM-SL, COSTA and ML-LCS against sweeps, and CPU seconds of a sweep: one fit with counts, one not.

    Factors beyond the number of told labels are 0 from the start and in every sweep: they are left out.
    """
    train, test, seen, unseen = problem.train, problem.test, problem.seen, problem.unseen
    Y, counts, steps = problem.Y, problem.counts(), [n for n in STEPS if n <= most]
    k = min(int(np.ceil(FACTOR_SHARE * train.n_labels - 1e-9)), seen.size)
    models = {
        "LFM-SL": LatentFactors.paper(n_factors=k),
        "ML-LCS": CooccurrenceFactors.paper(n_factors=k, cooccurrence=counts),
    }
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in PATHS if unseen.size or name in models}
    seconds = {}
    for name, model in models.items():
        ends = []
        for stage in model.staged_fit(train.X, Y, problem.observed, at=steps):
            ends.append(process_time())
            scores = stage.posterior(test.X).scores()
            found[name].append(measure(problem, scores, told_only=name == "LFM-SL"))
            if name == "LFM-SL" and unseen.size:
                costa = with_costa(scores, seen, unseen, counts)
                found["COSTA on factors"].append(measure(problem, costa))
        seconds[name] = (ends[-1] - ends[0]) / max(steps[-1] - steps[0], 1)
    sizes = [train.n_items, test.n_items, train.X.shape[1], seen.size, unseen.size]
    return {"sizes": sizes, "n_factors": k, "steps": steps, "found": found, "seconds": seconds}


def with_costa(scores: FloatArray, seen: Any, unseen: Any, counts: FloatArray) -> FloatArray:
    """The log-odds of unseen labels as averages of those of the seen ones by their counts; without any count, last."""
    weights = average_weights(counts[np.ix_(seen, unseen)])
    costa = scores.copy()
    costa[:, unseen] = np.where(weights.sum(axis=0) > 0, scores[:, seen] @ weights, -np.inf)
    return costa


def measure(problem: LabelSplit, scores: FloatArray, *, told_only: bool = False) -> dict[str, Any]:
    """Precision over all labels and among the unseen ones, and how often an unseen label comes first."""
    if told_only:
        scores = scores.copy()
        scores[:, problem.unseen] = -np.inf
    apart = problem.unseen.size and not told_only
    return {
        "joint": precisions(scores, problem.truth),
        "unseen": precisions(*problem.on_unseen(scores)) if apart else None,
        "unseen_first": float(np.isin(scores.argmax(axis=1), problem.unseen).mean()),
    }


def half_run(folder: str, name: str, seed: int, method: str) -> Outcome:
    """Tables 2 and 3: other methods on the same splits."""
    problem = split_labels(folder, name, seed)
    model = METHODS[method](problem.counts(), name)
    told = np.ones(problem.Y.shape, dtype=bool) if method == "ridge, told everything" else problem.observed
    began = process_time()
    model.fit(problem.train.X, problem.Y, told)
    seconds = process_time() - began
    scores = ranking(model.posterior(problem.test.X))
    return {"seconds": seconds, **measure(problem, scores, told_only=method in RANKS_UNSEEN_LAST)}


def standard_run(folder: str, name: str, seed: int, most: int) -> Outcome:
    """Table 4: all labels told, with the paper's settings and with ours."""
    problem = split_items(folder, name, seed)
    ours = {"LFM tuned": LatentFactors(**OURS), "ML-LCS tuned": CooccurrenceFactors(**OURS)}
    tuned = {
        method: precisions(ranking(model.fit(problem.train.X, problem.Y).posterior(problem.test.X)), problem.truth)
        for method, model in ours.items()
    }
    return {**follow_sweeps(problem, most), "tuned": tuned}


def missing_run(folder: str, name: str, seed: int, kept: Sequence[float]) -> Outcome:
    """Few entries or few items told: without counts, with those of all items, with those told; and no model at all."""
    share, n_items = kept
    train, test = load_split(folder, name)
    rng = np.random.default_rng([seed, 11])
    rows = np.sort(rng.permutation(train.n_items)[: int(n_items)])
    common = np.argsort(-np.asarray(train.Y.sum(axis=0)).ravel(), kind="stable")[:40]
    Y, truth = train.Y[rows].toarray()[:, common], test.Y.toarray()[:, common]
    observed = rng.random(Y.shape) < share
    complete = Y if share < 1 else train.Y.toarray()[:, common]
    counts = {"counts of all": count_pairs(complete), "counts of those told": count_pairs(Y & observed)}
    paper = {"n_factors": int(FACTOR_SHARE * common.size), "n_iterations": STEPS[-1]}
    models: dict[str, Any] = {}
    for arm, make, settings in (
        ("ours", lambda cls, **more: cls(**more), OURS),
        ("paper", lambda cls, **more: cls.paper(**more), paper),
    ):
        models[f"{arm}, without counts"] = make(LatentFactors, **settings)
        for label, M in counts.items():
            models[f"{arm}, {label}"] = make(CooccurrenceFactors, cooccurrence=M, **settings)
    found = {
        label: precisions(ranking(model.fit(train.X[rows], Y, observed).posterior(test.X)), truth)
        for label, model in models.items()
    }
    shares = (Y & observed).sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    found["constant"] = precisions(np.tile(shares, (len(truth), 1)), truth)
    return {"found": found}


def text_run(folder: str, name: str, seed: int) -> Outcome:
    """Unseen labels by counts of the same items, by counts of names in other texts, and by how common they are."""
    problem, by_texts = split_texts(folder, seed)
    own = problem.counts()
    found = {}
    for source, counts in (("items", own), ("texts", by_texts)):
        for method, make in BY_TEXTS.items():
            model = make(counts).fit(problem.train.X, problem.Y, problem.observed)
            found[f"{method} · {source}"] = _unseen(problem, ranking(model.posterior(problem.test.X)))
    found["constant"] = _unseen(problem, np.tile(own.diagonal(), (problem.test.n_items, 1)))
    named = (by_texts - np.diag(by_texts.diagonal()))[problem.unseen].any(axis=1)
    return {"found": found, "named": float(named.mean())}


def _unseen(problem: LabelSplit, scores: FloatArray) -> list[float]:
    """Precision at 1, 3, 5 and average precision by label, among the unseen labels."""
    scores, truth = problem.on_unseen(scores)
    return [*precisions(scores, truth), macro_average_precision(np.nan_to_num(scores), truth).value]


def ranking(posterior: Any) -> FloatArray:
    """(n, q) what a model ranks labels by: log-odds of the factor models, 0/1 scores of transfer."""
    name = next(name for name in ("scores", "means", "probabilities") if hasattr(posterior, name))
    return np.array(getattr(posterior, name)())


def precisions(scores: FloatArray, truth: Any) -> list[float]:
    return [precision_at(scores, truth, k) for k in PAPER_PRECISION_AT]


@dataclass(frozen=True)
class AboutOneLabel:
    """Asks about the last label alone, where the model is least certain."""

    target: str = "pairs"

    def choose(self, posterior: LabelPosterior, closed: Any, n: int, rng: np.random.Generator) -> Any:
        others = np.ones(closed.shape, dtype=bool)
        others[:, -1] = closed[:, [-1]].toarray()[:, 0]
        return Uncertainty("pairs").choose(posterior, sp.csr_array(others), n, rng)


def label_run(folder: str, name: str, seed: int) -> Outcome:
    """Average precision on the test items of a label added after 200 items, as 100 answers about it come in.

    Two campaigns on the same pool, with the same model and the same way of asking. One is told, for every known label,
    which share of its items carries the new one, counted on training items outside the pool.
    """
    train, test = load_split(folder, name)
    rng = np.random.default_rng([seed, 23])
    rows = rng.permutation(train.n_items)
    n_pool = min(POOL_SIZE, train.n_items // 2)
    pool, others = train.take(rows[:n_pool]), train.Y[rows[n_pool:]].toarray()
    truth = test.Y.toarray()
    fewest = FEWEST_POSITIVES if name != MADE_UP else 5
    label = int(rng.choice(np.flatnonzero(truth.sum(axis=0) >= fewest)))
    counts = count_pairs(others)
    common = np.argsort(-counts.diagonal(), kind="stable")[: MOST_KNOWN_LABELS + 1]
    known = np.sort(common[common != label][:MOST_KNOWN_LABELS])
    like = {train.label_names[j]: float(counts[j, label] / max(counts[j, j], 1.0)) for j in known}
    follow = partial(_curve, pool, known, label, test.X, truth[:, [label]])
    about = {"label": train.label_names[label], "share": float(truth[:, label].mean())}
    answers = list(range(0, ANSWERS_AFTER + 1, BATCH))
    return {**about, "answers": answers, "guess": follow(like), "nothing": follow(None)}


def _curve(pool: LabelData, known: Any, label: int, X: Any, truth: Any, like: dict[str, float] | None) -> list[float]:
    names = [pool.label_names[j] for j in known]
    Y = pool.Y.toarray()
    before = min(ITEMS_BEFORE, pool.n_items // 2)
    answers = [Answer(str(i), dict(zip(names, Y[i, known].tolist(), strict=True))) for i in range(before)]
    unlabelled, model = LabelData.from_arrays(pool.X, label_names=names), LabelGP("linear", random_state=0)
    campaign = Campaign(unlabelled, model=model, strategy=AboutOneLabel(), answers=answers)
    added, found = pool.label_names[label], []
    campaign.add_label(added, like=like)
    for _ in range(0, ANSWERS_AFTER + 1, BATCH):
        p = campaign.believe(X).probabilities()[:, -1:]
        found.append(macro_average_precision(p, truth).value)
        if len(found) <= ANSWERS_AFTER // BATCH:
            asked = campaign.ask(BATCH)
            campaign.tell([Answer(q.item, {added: bool(Y[int(q.item), label])}) for q in asked])
    return found
