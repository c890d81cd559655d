"""Paper 4, ML-LCS (UAI 2017), done again: the data and the runs. `mllcs_exhibits` shows what came of them.

Labels are told or not told as a whole; of those not told, the co-occurrence counts on the training items are known.
Precision is measured over all test items, also those without any unseen label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.campaign import Campaign
from labelwise.models import BinaryRelevance, CooccurrenceFactors, CooccurrenceTransfer, LabelGP, LatentFactors
from labelwise.numerics.metrics import macro_average_precision, precision_at
from labelwise.posterior import BoolArray, FloatArray, LabelPosterior
from labelwise.queries import Uncertainty
from labelwise.records import Answer, LabelData
from labelwise.studies.jobs import Job, Outcome
from labelwise.studies.papers.engine import Plan, every
from labelwise.studies.papers.sets import TrainTest, published_split

SETS = ("bibtex", "delicious")
MADE_UP = "made up"
N_SEEN = {"delicious": 500}  # labels told in the half-half experiments; otherwise half of them, rounded up
PRECISION_AT = (1, 3, 5)
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of the labels told, in figure 2
SWEEPS = (1, 3, 8, 20, 100)  # in figure 3
SHARES_KEPT = (0.03, 0.1, 0.3)  # of the entries, where labels are missing
FEW_SWEEPS = 10  # near where predictions are best
ITEMS_BEFORE, ANSWERS_AFTER, BATCH = 200, 100, 20  # items answered before a label is added, answers about it, at once
POOL_SIZE = 1500  # of the campaigns with an added label
MOST_KNOWN_LABELS = 200  # the most common ones: a campaign on a thousand labels would take minutes
FEWEST_POSITIVES = 20  # of an added label among the test items: below, average precision is a lottery
TUNED_STANDARD = {"feature_penalty": 0.5, "n_iterations": 20}  # for rows of unit length
FACTORS: dict[str, dict[str, Any]] = {"delicious": {"n_factors": 100, "n_iterations": 15}}  # by set
TUNED: dict[str, dict[str, Any]] = {"delicious": {"n_factors": 100, "feature_penalty": 0.5, "n_iterations": 15}}
MakeModel = Callable[[FloatArray | None, str], Any]  # of the counts and the name of the set


def _transfer(rule: str) -> MakeModel:
    def make(counts: FloatArray | None, name: str) -> CooccurrenceTransfer:
        return CooccurrenceTransfer(rule, cooccurrence=counts, random_state=0)  # type: ignore[arg-type]  # from METHODS

    return make


METHODS: dict[str, MakeModel] = {
    "LFM-SL": lambda counts, name: LatentFactors.paper(**FACTORS.get(name, {})),
    "COSTA on factors": lambda counts, name: CooccurrenceTransfer(
        "costa", cooccurrence=counts, base=LatentFactors.paper(**FACTORS.get(name, {}))
    ),
    "COSTA on classifiers": lambda counts, name: CooccurrenceTransfer(
        "costa", cooccurrence=counts, base=BinaryRelevance()
    ),
    "ML-LCS": lambda counts, name: CooccurrenceFactors.paper(cooccurrence=counts, **FACTORS.get(name, {})),
    "ML-LCS tuned": lambda counts, name: CooccurrenceFactors(
        cooccurrence=counts, random_state=0, **TUNED.get(name, {})
    ),
    "LFM tuned": lambda counts, name: LatentFactors(random_state=0, **TUNED.get(name, {})),
    "conditional": _transfer("conditional"),
    "moment": _transfer("moment"),
    "sketched GP": _transfer("sketched_gp"),
    "ridge, seen only": lambda counts, name: CooccurrenceTransfer(label_weight=0.0, noise_variance=0.3),
    "ridge, told everything": lambda counts, name: CooccurrenceTransfer(label_weight=0.0, noise_variance=0.3),
}
RANKS_UNSEEN_LAST = ("LFM-SL", "LFM tuned", "ridge, seen only")


def jobs(quick: bool, shared: Path | None) -> Plan:
    """Every exhibit's jobs; without the published sets, a made-up one shows how it goes."""
    sets, folder = ((MADE_UP,), "") if shared is None else (SETS, str(shared))
    first: dict[str, Any] = {"folder": folder, "name": sets[0]}
    compared, standard = ("LFM-SL", "COSTA on factors", "ML-LCS", "sketched GP"), ("LFM-SL", "ML-LCS")
    seeds, few_sets = range(2 if quick else 5), sets[: 1 if quick else 2]
    shares = SHARES[::3] if quick else SHARES
    return {
        "halves": [
            job
            for name in sets
            for method in METHODS
            for job in every(
                half_run, folder=folder, name=name, method=method, seed=range(n_splits(name, method, quick))
            )
        ],
        "new labels": every(label_run, folder=folder, name=sets, seed=range(4 if quick else 20)),
        "shares": every(half_run, **first, share=shares, method=compared, seed=seeds),
        "sweeps": every(sweeps_run, **first, seed=range(1 if quick else 5), most=20 if quick else 100),
        "standard": [
            Job(standard_run, {"folder": folder, "name": name, "method": method})
            for name in few_sets
            for method in (standard if quick or name == "delicious" else (*standard, "LFM tuned", "ML-LCS tuned"))
        ],
        "missing": every(missing_run, **first, kept=SHARES_KEPT, seed=seeds),
        "time": every(time_run, folder=folder, name=few_sets),
    }


def n_splits(name: str, method: str, quick: bool) -> int:
    """Closed forms are cheap; the factor models on many labels are not, and liblinear even less."""
    if method == "LFM tuned":  # for the standard setting
        return 0
    if name == "delicious":
        if quick:
            return int(method == "sketched GP")
        return 0 if method == "COSTA on classifiers" else 5
    if quick:
        return 0 if "tuned" in method else 2
    return 10 if method in ("sketched GP", "moment") else 5


# -- data --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ToldLabels:
    """Official training and test items, and which labels are told."""

    train: LabelData
    test: LabelData
    seen: Any  # label numbers
    unseen: Any

    @property
    def Y(self) -> BoolArray:
        return self.train.Y.toarray()

    @property
    def truth(self) -> BoolArray:
        return self.test.Y.toarray()

    @property
    def observed(self) -> BoolArray:
        told = np.zeros(self.train.Y.shape, dtype=bool)
        told[:, self.seen] = True
        return told

    def counts(self) -> FloatArray:
        """(q, q) co-occurrence counts of all labels on the training items: all that is told of unseen labels."""
        return count(self.Y)


def count(Y: BoolArray) -> FloatArray:
    """(q, q) items that carry both labels."""
    sparse = sp.csr_array(Y.astype(np.float64))
    return np.asarray((sparse.T @ sparse).toarray())


def split(folder: str, name: str, seed: int, share: float | None = None) -> ToldLabels:
    """A random half, or share, of the labels told."""
    train, test = load(folder, name)
    q = train.n_labels
    n_seen = int(np.ceil(q * share)) if share is not None else N_SEEN.get(name, -(-q // 2))
    order = np.random.default_rng(seed).permutation(q)
    return ToldLabels(train, test, order[:n_seen], order[n_seen:])


def load(folder: str, name: str) -> TrainTest:
    """Published training and test items, or made-up ones."""
    return made_up() if name == MADE_UP else published_split(folder, name)


@lru_cache(maxsize=1)
def made_up(n: int = 700, seed: int = 0) -> TrainTest:
    """Short texts on a few themes, tagged by theme: for runs without the published sets."""
    rng = np.random.default_rng(seed)
    themes = rng.dirichlet(np.full(8, 0.15), size=n)  # (n, themes)
    words = themes @ rng.dirichlet(np.full(120, 0.1), size=8)  # (n, words)
    X = (rng.poisson(25 * words) > 0).astype(float)
    tags = themes @ rng.gamma(0.25, size=(8, 30)) * 1.2
    Y = rng.random((n, 30)) < np.minimum(tags, 0.9)
    data = LabelData.from_arrays(sp.csr_array(X), Y)
    return TrainTest(data.take(np.arange(n - 200)), data.take(np.arange(n - 200, n)))


# -- runs --------------------------------------------------------------------------------------------------------------


def half_run(folder: str, name: str, seed: int, method: str, share: float | None = None) -> Outcome:
    """Tables 2 and 3, Figure 2: some labels told, the others known by their counts."""
    problem = split(folder, name, seed, share)
    model = METHODS[method](problem.counts(), name)
    if share is not None:  # fewer sweeps: there are many shares
        known = model.get_params()
        model.set_params(**{key: FEW_SWEEPS for key in ("n_iterations", "base__n_iterations") if key in known})
    told = np.ones(problem.Y.shape, dtype=bool) if method == "ridge, told everything" else problem.observed
    began = perf_counter()
    model.fit(problem.train.X, problem.Y, told)
    fitted = perf_counter()
    scores = ranking(model.posterior(problem.test.X))
    if method in RANKS_UNSEEN_LAST:
        scores[:, problem.unseen] = -np.inf
    return {
        "set": name,
        "seed": seed,
        "method": method,
        "share": share,
        "seconds": fitted - began,
        "joint": precisions(scores, problem.truth),
        "unseen": None if method in RANKS_UNSEEN_LAST else unseen_precisions(scores, problem),
        "unseen_first": float(np.isin(scores.argmax(axis=1), problem.unseen).mean()),
    }


def sweeps_run(folder: str, name: str, seed: int, most: int) -> Outcome:
    """Figure 3: precision at 1 against the number of sweeps."""
    problem = split(folder, name, seed)
    counts, found = problem.counts(), []
    steps = [n for n in SWEEPS if n <= most]
    for n in steps:
        model = CooccurrenceFactors.paper(cooccurrence=counts, n_iterations=n)
        scores = ranking(model.fit(problem.train.X, problem.Y, problem.observed).posterior(problem.test.X))
        found.append((precisions(scores, problem.truth)[0], unseen_precisions(scores, problem)[0]))
    joint, unseen = zip(*found, strict=True)
    return {"set": name, "seed": seed, "sweeps": steps, "joint": list(joint), "unseen": list(unseen)}


def standard_run(folder: str, name: str, method: str) -> Outcome:
    """Table 4: all labels told."""
    train, test = load(folder, name)
    model = METHODS[method](None, name)
    if "tuned" in method:
        model.set_params(**TUNED_STANDARD)
    elif name not in FACTORS:
        model.set_params(n_iterations=20)
    scores = ranking(model.fit(train.X, train.Y.toarray()).posterior(test.X))
    return {"set": name, "method": method, "joint": precisions(scores, test.Y.toarray())}


def missing_run(folder: str, name: str, seed: int, kept: float) -> Outcome:
    """Only a share of all (item, label) entries told: without counts, with those of all entries, with those told."""
    train, test = load(folder, name)
    rng = np.random.default_rng([seed, 11])
    rows = np.sort(rng.permutation(train.n_items)[:1500])
    common = np.argsort(-np.asarray(train.Y.sum(axis=0)).ravel(), kind="stable")[:40]
    Y, truth = train.Y[rows].toarray()[:, common], test.Y.toarray()[:, common]
    observed = rng.random(Y.shape) < kept
    models = {
        "without counts": LatentFactors.paper(n_iterations=20),
        "counts of all": CooccurrenceFactors.paper(cooccurrence=count(Y), n_iterations=20),
        "counts of those told": CooccurrenceFactors.paper(cooccurrence=count(Y & observed), n_iterations=20),
    }
    found = {
        label: precisions(ranking(model.fit(train.X[rows], Y, observed).posterior(test.X)), truth)
        for label, model in models.items()
    }
    return {"set": name, "seed": seed, "kept": kept, "found": found}


def time_run(folder: str, name: str) -> Outcome:
    """CPU seconds per sweep with and without counts, and of the sketched GP in all."""
    problem = split(folder, name, 0)
    counts = problem.counts()
    k = FACTORS.get(name, {}).get("n_factors", 80)
    found = {}
    for label, make in {
        "LFM-SL": lambda n: LatentFactors.paper(n_factors=k, n_iterations=n),
        "ML-LCS": lambda n: CooccurrenceFactors.paper(n_factors=k, n_iterations=n, cooccurrence=counts),
    }.items():
        _seconds(make(1), problem)  # the first time compiles
        seconds = [_seconds(make(n), problem) for n in (2, 17)]
        found[label] = (seconds[1] - seconds[0]) / 15
    sketched = _seconds(CooccurrenceTransfer(cooccurrence=counts, random_state=0), problem)
    return {"set": name, "n_factors": k, "per_sweep": found, "sketched": sketched}


def _seconds(model: Any, problem: ToldLabels) -> float:
    began = process_time()  # other processes may be at work
    model.fit(problem.train.X, problem.Y, problem.observed)
    return process_time() - began


def ranking(posterior: Any) -> FloatArray:
    """(n, q) what a model ranks labels by: log-odds of the factor models, 0/1 scores of transfer."""
    for name in ("scores", "means"):
        if hasattr(posterior, name):
            return np.array(getattr(posterior, name)())
    return np.array(posterior.probabilities())


def precisions(scores: FloatArray, truth: Any) -> list[float]:
    return [precision_at(scores, truth, k) for k in PRECISION_AT]


def unseen_precisions(scores: FloatArray, problem: ToldLabels) -> list[float]:
    return precisions(scores[:, problem.unseen], problem.truth[:, problem.unseen])


# -- a label added in mid-campaign -------------------------------------------------------------------------------------


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

    Two campaigns on the same pool, with the same model and the same way of asking; one is told, for every known label,
    which share of its items carries the new one, counted on training items outside the pool.
    """
    train, test = load(folder, name)
    rng = np.random.default_rng([seed, 23])
    rows = rng.permutation(train.n_items)
    n_pool = min(POOL_SIZE, train.n_items // 2)
    pool, others = train.take(rows[:n_pool]), train.Y[rows[n_pool:]].toarray()
    truth = test.Y.toarray()
    fewest = FEWEST_POSITIVES if name != MADE_UP else 5
    label = int(rng.choice(np.flatnonzero(truth.sum(axis=0) >= fewest)))
    counts = count(others)
    common = np.argsort(-counts.diagonal(), kind="stable")[: MOST_KNOWN_LABELS + 1]
    known = np.sort(common[common != label][:MOST_KNOWN_LABELS])
    like = {train.label_names[j]: float(counts[j, label] / max(counts[j, j], 1.0)) for j in known}
    curves = {
        start: _curve(pool, known, label, test.X, truth[:, [label]], like if start == "guess" else None)
        for start in ("guess", "nothing")
    }
    return {
        "set": name,
        "seed": seed,
        "label": train.label_names[label],
        "share": float(truth[:, label].mean()),
        "answers": list(range(0, ANSWERS_AFTER + 1, BATCH)),
        **curves,
    }


def _curve(pool: LabelData, known: Any, label: int, X: Any, truth: Any, like: dict[str, float] | None) -> list[float]:
    names = [pool.label_names[j] for j in known]
    Y = pool.Y.toarray()
    before = min(ITEMS_BEFORE, pool.n_items // 2)
    answers = [Answer(str(i), dict(zip(names, Y[i, known].tolist(), strict=True))) for i in range(before)]
    campaign = Campaign(
        LabelData.from_arrays(pool.X, label_names=names),
        model=LabelGP("linear", random_state=0),
        strategy=AboutOneLabel(),
        answers=answers,
    )
    added = pool.label_names[label]
    campaign.add_label(added, like=like)
    found = []
    for _ in range(0, ANSWERS_AFTER + 1, BATCH):
        p = campaign.believe(X).probabilities()[:, -1:]
        found.append(macro_average_precision(p, truth).value)
        if len(found) <= ANSWERS_AFTER // BATCH:
            asked = campaign.ask(BATCH)
            campaign.tell([Answer(q.item, {added: bool(Y[int(q.item), label])}) for q in asked])
    return found
