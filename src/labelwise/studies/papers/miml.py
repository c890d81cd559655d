"""Paper 1, MIML (KDD 2014), done again: the data and the runs. `miml_exhibits` shows what came of them.

Everything runs through `Campaign`, with a fixed test set; the paper tests small sets on what was not selected, which
favours strategies that take the odd items away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.svm import SVC

from labelwise.campaign import Campaign
from labelwise.data import make_gaussian_labels, read
from labelwise.decisions import Threshold
from labelwise.models import BinaryRelevance, CompressedLabelGP
from labelwise.numerics.choosing import open_entries
from labelwise.numerics.metrics import precision_at, sample_f1
from labelwise.posterior import BoolArray, FloatArray, LabelPosterior
from labelwise.queries import AdaptiveMargin, Choice, Diagnosis, LookingStrategy, MutualInformation, Random, Strategy
from labelwise.queries.base import Target
from labelwise.queries.diagnosis import Rule
from labelwise.records import LabelData
from labelwise.studies.jobs import Job, Outcome
from labelwise.studies.papers.engine import Plan, every, with_files
from labelwise.studies.papers.sets import FILES, knowing
from labelwise.studies.simulate import Answerer, Schedule, simulate

AT = (1, 2, 3)  # k of precision@k
ADAPTIVE = "li_adaptive"
LABELS_PER_ITEM = 30
DECODERS: dict[str, Callable[..., CompressedLabelGP]] = {
    "published": CompressedLabelGP.paper,
    "greedy recovery": partial(CompressedLabelGP.paper, recovery="fast"),
    "identity": lambda **options: CompressedLabelGP(projection="identity", **options),
    "pca": lambda **options: CompressedLabelGP(projection="pca", **options),
}
STRATEGIES: dict[str, Callable[[], Strategy | LookingStrategy]] = {
    "mutual_information": MutualInformation,
    "uncertainty": lambda: MutualInformation(criterion="entropy"),
    "random": Random,
    ADAPTIVE: AdaptiveMargin,  # with a classifier for each label, as in the paper
    "li_random": Random,  # with the same classifiers
}
ASKED = ("mutual_information", "uncertainty", "random")  # in MIML's own model
CLASSIFIERS = ("logistic", "SVMs")  # the rival's
PENALTIES = (0.1, 1.0, 10.0)  # that the folds choose from for the SVMs
N_FOLDS = 3
PAIR_STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "mutual_information": lambda: MutualInformation(
        target="pairs", diagnosis=Diagnosis(labels_per_item=LABELS_PER_ITEM, rule="mi")
    ),
    "uncertainty": lambda: MutualInformation(
        target="pairs", criterion="entropy", diagnosis=Diagnosis(labels_per_item=LABELS_PER_ITEM, rule="variance")
    ),
    "random": lambda: RandomLabelsOfRandomItems(),
    "scattered": lambda: Random(target="pairs"),
}
SETS = ("yeast", "medical", "enron", "rcv1sub1", "delicious")
TIMED = ("yeast", "rcv1sub1", "bibtex", "delicious")
TIMED_METHODS = ("published", "greedy recovery", "identity", ADAPTIVE)
PICKED = 250  # items, in table 2
LARGE_SETS = ("delicious", "rcv1sub1")  # sets with a pool of 4000, a test set of their own and a start of 500
RULES = ("mi", "variance", "random")
PRIORS: dict[str, Callable[..., CompressedLabelGP]] = {
    "sparse": CompressedLabelGP.paper,
    "covariance": partial(CompressedLabelGP, label_prior="covariance"),
}
REVEALS = 30
RIVAL_VERSION = 2  # since the rival's SVMs have a C chosen by folds
PRIOR_SHAPES = (1e-3, 1.0, 10.0)  # a₀ and b₀, in figure 1


def jobs(quick: bool, shared: Path | None) -> Plan:
    """Every exhibit's jobs; those on published sets only where `shared` has them."""
    decoders = ("published",) if quick else ("published", "identity")
    plan = {
        "prior": every(prior_run, shape=PRIOR_SHAPES, rate=PRIOR_SHAPES),
        "toy": _with_rivals(every(toy_run, seed=range(4 if quick else 50), decoder=decoders, strategy=ASKED), ["SVMs"]),
    }
    if shared is None:
        return plan
    seeds = range(2 if quick else 5)
    sets = ("medical", "yeast") if quick else SETS
    timed = ("yeast",) if quick else TIMED
    pairs = ("medical",) if quick else ("medical", "enron")
    diagnosed = ("medical",) if quick else ("rcv1sub1", "medical", "enron")
    on_sets: dict[str, list[Job]] = {
        "data": every(size_run, name=sets),
        "sets": _with_rivals(
            every(set_run, name=sets, seed=seeds, decoder=decoders, strategy=ASKED), tuple(CLASSIFIERS)
        ),
        "projections": every(
            set_run, name="yeast", seed=seeds, decoder=("identity", "pca", "published"), strategy="random"
        ),
        "inference": every(inference_run, name=("medical", "yeast"), seed=range(1 if quick else 5)),
        "time": [
            job
            for job in every(time_run, name=timed, seed=seeds, method=TIMED_METHODS)
            if (job.settings["name"], job.settings["method"]) != ("delicious", "published")  # over 18 CPU minutes
        ],
        "diagnosis": every(
            diagnosis_run, name=diagnosed, seed=range(2 if quick else 35), prior=tuple(PRIORS), rule=RULES
        ),
        "generalised": every(
            generalised_run, name=pairs, seed=seeds, decoder=decoders, strategy=tuple(PAIR_STRATEGIES)
        ),
    }
    return plan | {group: with_files(shared, FILES, each) for group, each in on_sets.items()}


def _with_rivals(jobs: list[Job], kinds: Sequence[str]) -> list[Job]:
    """The same jobs and, once for each set and seed, those of the rival, which has classifiers of its own."""
    alone = {
        tuple(value for name, value in job.settings.items() if name not in ("decoder", "strategy")): job for job in jobs
    }
    rivals = [
        replace(job, settings={**job.settings, "decoder": kind, "strategy": strategy}, version=RIVAL_VERSION)
        for job in alone.values()
        for kind in kinds
        for strategy in (ADAPTIVE, "li_random")
        if kind != "SVMs" or job.settings.get("name") not in LARGE_SETS  # hours
    ]
    return [*jobs, *rivals]


# -- runs -------------------------------------------------------------------------------------------------------------


def prior_run(shape: float, rate: float) -> Outcome:
    """Figure 1: the factor of the prior that makes labels sparse, (1 + y²/2b₀)^−a₀ as printed and with a₀ + ½.

    `concave_to` is how far from zero each is concave, found on the drawn points: a sum of second differences below 0.
    """
    y = np.linspace(0.0, 6.0, 6001)
    found: Outcome = {"y": y[::50].tolist()}
    for name, power in (("printed", shape), ("right", shape + 0.5)):
        value = np.exp(-power * np.log1p(y**2 / (2 * rate)))
        bends_down = np.diff(value, 2) < 0
        found[name] = {"value": value[::50].tolist(), "concave_to": float(y[1:-1][bends_down].max(initial=0.0))}
    return found


def toy_run(seed: int, decoder: str, strategy: str) -> Outcome:
    """Figure 2: 20 random items, then 25 chosen ones of 1000, in the plane."""
    data = make_gaussian_labels(1300, n_labels=35, mean_labels=7, random_state=seed)
    pool, test = data.take(np.arange(1000)), data.take(np.arange(1000, 1300))
    schedule = Schedule(start=20, rounds=5, batch=5)
    if decoder == "SVMs":
        model: Any = tuned_svms(SVC(gamma="scale"), pool, schedule.start, seed)
    else:
        model = DECODERS[decoder](kernel="rbf", scale="none", random_state=seed)
    return _campaign(pool, test, model, strategy, schedule, seed)


def size_run(file: str, name: str) -> Outcome:
    """Table 1: items, features and labels."""
    data = read(file)
    return {"size": [data.n_items, data.n_features, data.n_labels]}


def set_run(file: str, name: str, seed: int, decoder: str, strategy: str) -> Outcome:
    """Figure 3: random items to start with, then 100 chosen ones, on a published set."""
    large = name in LARGE_SETS
    pool, test = _halves(read(file), 2000 if large else None, seed, n_train=4000 if large else None)
    schedule = Schedule(start=500 if large else 200, rounds=4, batch=25)
    if decoder == "SVMs":
        model: Any = tuned_svms(SVC(kernel="linear"), pool, schedule.start, seed)
    elif decoder == "logistic":
        model = BinaryRelevance()
    else:
        quick = {"recovery": "fast"} if name == "delicious" and decoder == "published" else {}
        model = DECODERS[decoder](kernel="linear", random_state=seed, **quick)
    return _campaign(pool, test, model, strategy, schedule, seed)


def tuned_svms(svm: SVC, pool: LabelData, start: int, seed: int) -> BinaryRelevance:
    """One SVM per label, with the C that ranks best on the random items that a campaign with this seed starts from."""
    campaign = Campaign(pool.hide(), strategy=Random(), start=start, hints=None, random_state=seed)
    row_of = {item: row for row, item in enumerate(pool.item_ids)}
    known = pool.take([row_of[question.item] for question in campaign.ask(start)])
    Y, folds = known.Y.toarray(), list(KFold(N_FOLDS).split(np.arange(start)))

    def score(C: float) -> float:
        model = BinaryRelevance(clone(svm).set_params(C=C))
        held_out = [model.fit(known.X[fit], Y[fit]).posterior(known.X[rest]).ranking() for fit, rest in folds]
        scores, truth = np.vstack(held_out), np.vstack([Y[rest] for _, rest in folds])
        return float(np.mean([precision_at(scores, truth, k) for k in AT]))

    return BinaryRelevance(clone(svm).set_params(C=max(PENALTIES, key=score)))


def _campaign(pool: LabelData, test: LabelData, model: Any, strategy: str, schedule: Schedule, seed: int) -> Outcome:
    """Precision@1, 2 and 3 on the test set after each round, labels ranked by the model's own score."""
    campaign = Campaign(
        pool.hide(), model=model, strategy=STRATEGIES[strategy](), start=schedule.start, hints=None, random_state=seed
    )
    answerer, truth = Answerer(pool), test.Y.toarray()
    asked: list[str] = []
    precision, read_items = [], []
    for number in range(schedule.rounds + 1):
        questions = campaign.ask(schedule.batch if number else schedule.start)
        campaign.tell(answerer.answers(questions))
        asked += [question.item for question in questions]
        scores = campaign.believe(test.X).ranking()
        precision.append([precision_at(scores, truth, k) for k in AT])
        read_items.append(campaign.spent().items)
    return {
        "items": asked,
        "items_read": read_items,
        "precision": precision,
        "score": [float(np.mean(each)) for each in precision],
        "constant": [precision_at(np.broadcast_to(pool.Y.mean(axis=0), truth.shape), truth, k) for k in AT],
    }


def inference_run(file: str, name: str, seed: int) -> Outcome:
    """Figures 4a and 4b: the same projection and rows, marginal against mean-field inference."""
    train, test = _halves(read(file), 80, seed, n_train=300)
    beliefs = [
        CompressedLabelGP.paper(kernel="linear", inference=inference, random_state=seed)
        .fit(train.X, train.Y)
        .posterior(test.X)
        for inference in ("marginal", "mean_field")
    ]
    means = [b.means() for b in beliefs]
    variances = [b.variances() for b in beliefs]
    logs = [-np.log(v) for v in variances]
    return {
        "correlation": float(np.corrcoef(means[0].ravel(), means[1].ravel())[0, 1]),
        "larger": float((variances[0] > variances[1]).mean()),
        "ratio": float(np.median(variances[1] / variances[0])),
        "spread": [float(np.ptp(np.percentile(log[:, 0], [5, 95]))) for log in logs],
        "means": [m[:5].ravel().tolist() for m in means],
        "logs": [log[:, 0].tolist() for log in logs],
    }


def time_run(file: str, name: str, seed: int, method: str) -> Outcome:
    """Table 2: CPU seconds to fit and to choose 250 of a pool; of the rival, 250 times those of one round."""
    n_train, n_pool = (200, 2000) if name == "yeast" else (500, 4000)
    data, _ = _halves(read(file), 10, seed)
    sample = data.take(np.arange(n_train + n_pool))
    known = knowing(sample, np.arange(n_train))
    for n_picked in (1, PICKED):  # the first time compiles, on few rows
        rows = n_train if n_picked > 1 else n_train // 10
        fit, choose = (
            _timed_rival(known, rows) if method == ADAPTIVE else _timed(sample, n_train, rows, method, n_picked)
        )
    return {"labels": data.n_labels, "pool": n_pool, "seconds": {"fit": fit, "choose": choose}}


def _timed(sample: LabelData, n_train: int, rows: int, method: str, n_picked: int) -> tuple[float, float]:
    """Seconds to fit on so many rows, beliefs about the pool included, and to choose."""
    train, pool = sample.take(np.arange(rows)), sample.take(np.arange(n_train, sample.n_items))
    began = process_time()
    beliefs = DECODERS[method](kernel="linear", random_state=0).fit(train.X, train.Y).posterior(pool.X)
    fitted = process_time()
    MutualInformation().choose(beliefs, sp.csr_array(pool.Y.shape, dtype=bool), n_picked, np.random.default_rng(0))
    return fitted - began, process_time() - fitted


def _timed_rival(known: LabelData, rows: int) -> tuple[float, float]:
    """Seconds of 250 rounds: classifiers fitted on the known rows, and one item chosen."""
    began = process_time()
    beliefs = BinaryRelevance().fit(known.X[:rows], known.Y[:rows]).posterior(known.X)
    fitted = process_time()
    AdaptiveMargin().choose(beliefs, known.observed_mask(), 1, np.random.default_rng(0), known=known)
    return PICKED * (fitted - began), PICKED * (process_time() - fitted)


def diagnosis_run(file: str, name: str, seed: int, prior: str, rule: str) -> Outcome:
    """Figure 4c: reveal the labels of 30 new items one by one; F1 of the items' label sets after each."""
    train, test = _halves(read(file), 30, seed, n_train=100)
    model = PRIORS[prior](projection="gaussian", kernel="linear", random_state=seed)
    beliefs = model.fit(train.X, train.Y).posterior(test.X)
    truth = test.Y.toarray()
    known = np.zeros_like(truth)
    rng = np.random.default_rng([seed, 7])
    curve = []
    for reveal in range(REVEALS + 1):
        now = beliefs.given(truth, known) if reveal else beliefs
        sets = np.where(known, truth, now.probabilities() > model.thresholds_)
        curve.append(float(sample_f1(sets, truth)))
        rows, labels = _next_labels(rule, now, known, model.thresholds_, rng)
        known[rows, labels] = True
    return {"f1": curve}


@dataclass(frozen=True)
class RandomLabelsOfRandomItems:
    """Questions about some random open labels of one random item after the other."""

    labels_per_item: int = LABELS_PER_ITEM
    target: Target = "pairs"

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        free = open_entries(closed)
        order = rng.random(free.shape).argsort(axis=1)  # (n, q)
        rows = rng.permutation(np.flatnonzero(free.any(axis=1)))
        pairs = [(row, label) for row in rows for label in order[row][free[row, order[row]]][: self.labels_per_item]]
        items, labels = np.array(pairs[:n], dtype=np.intp).reshape(-1, 2).T
        return Choice(items, labels, np.zeros(items.size))


def generalised_run(file: str, name: str, seed: int, decoder: str, strategy: str) -> Outcome:
    """Figure 4d: 100 items in full, then 30 labels of one item after the other; F1 on items that nobody asks about."""
    schedule = Schedule(start=100, rounds=6, batch=1, pair_batch=5 * LABELS_PER_ITEM)
    model = DECODERS[decoder](kernel="linear", random_state=seed)
    result = simulate(
        read(file),
        model=model,
        strategy=PAIR_STRATEGIES[strategy](),
        schedule=schedule,
        seed=seed,
        decision=Threshold(0.3),
        hints=None,
    )
    return {
        "items_read": [row["items_read"] for row in result.rows],
        "answers": [row["answers"] for row in result.rows],
        "score": [row["sample_f1"] for row in result.rows],
    }


def _next_labels(
    rule: str, beliefs: LabelPosterior, known: BoolArray, thresholds: FloatArray, rng: np.random.Generator
) -> tuple[Any, Any]:
    """One more label of every item."""
    if rule == "random":
        return np.arange(len(known)), np.argmax(np.where(known, -1.0, rng.random(known.shape)), axis=1)
    diagnosis = Diagnosis(rule=cast(Rule, rule), threshold=thresholds)
    rows, labels, _ = diagnosis.labels_of(beliefs, sp.csr_array(known), rng)
    return rows, labels


def _halves(data: LabelData, n_test: int | None, seed: int, n_train: int | None = None) -> tuple[LabelData, LabelData]:
    """Different random items to learn from and to test on; a third of them is the test set where no number is given."""
    order = np.random.default_rng([seed, 5]).permutation(data.n_items)
    n_test = data.n_items // 3 if n_test is None else n_test
    return data.take(order[n_test : None if n_train is None else n_test + n_train]), data.take(order[:n_test])
