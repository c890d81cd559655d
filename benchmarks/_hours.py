"""What a campaign brings for a person's hours, beside the usual way: what `time_saving.py` and `arena.py` share.

The usual way: 300 random items are read, their labels picked by typing, and one logistic regression per label is fitted
to the set's words. A campaign has the same pool and a person who does the same.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

import labelwise as lw
from labelwise.files import write_text
from labelwise.numerics.metrics import macro_average_precision, precision_at
from labelwise.studies import Answerer
from labelwise.studies.ranking import holm

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
FULL, START, ROUND, LAST, POOL = 300, 20, 20, 340, 2000
ROUNDS = tuple(range(START, LAST + 1, ROUND))  # items after which a campaign learns
LEVEL = 0.05  # of tests
LISTS = [f"{kind}:{level}" for kind in ("short_text", "long_text", "picture") for level in ("low", "mid", "high")]
MIDDLE = "short_text:mid"


def score(beliefs, truth):
    p, most = beliefs.probabilities(), min(3, truth.shape[1])
    precision = np.mean([precision_at(p, truth, k) for k in range(1, most + 1)])
    return [macro_average_precision(p, truth).value, float(precision)]


def campaign_rounds(pool, test, options, seed, recall=1.0, rounds=ROUNDS):
    """After each round [items, labels picked, macro-AP, precision@1-3], and CPU seconds of choosing and of learning.

    Learning is all that a first belief after new answers takes: the fit, and the figures on the test set.
    """
    campaign = lw.Campaign(pool.hide(), random_state=seed, **options)
    answerer, truth = Answerer(pool, recall=recall, random_state=seed), test.Y.toarray()
    for n in (n for n in rounds if n <= pool.n_items):
        began = time.process_time()
        asked = campaign.ask(n - campaign.spent().items) if n else []
        chosen = time.process_time()
        campaign.tell(answerer.answers(asked))
        picked = sum(sum(answer.values.values()) for answer in campaign.answers)
        told = time.process_time()
        point = [n, picked, *score(campaign.believe(test.X), truth)]
        yield point, chosen - began, time.process_time() - told


def usual_way(pool, test, seed, recall=1.0, n=FULL):
    """[items, labels picked, macro-AP, precision@1-3] of 300 random items."""
    rows = np.random.default_rng(seed + 100).permutation(pool.n_items)[:n]
    found = Answerer(pool, recall=recall, random_state=seed)
    questions = [lw.Question(pool.item_ids[row], pool.label_names) for row in rows]
    Y = np.array([[answer.values[name] for name in pool.label_names] for answer in found.answers(questions)])
    model = lw.BinaryRelevance().fit(pool.X[rows], Y)
    return [len(rows), int(Y.sum()), *score(model.posterior(test.X), test.Y.toarray())]


def kept(path, make):
    """What `make` returns, from the disk where it was done before; written whole or not at all."""
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    began = time.perf_counter()
    with threadpool_limits(1):
        found = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(found))
    print(f"{path.stem}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def seconds(points, costs):
    """Of (..., [items, labels picked, ...]) whole items, by a price list."""
    points = np.asarray(points, dtype=float)
    return float(costs.whole_item()) * points[..., 0] + float(costs.pick) * points[..., 1]


def reached(x, y, goal):
    """Where a curve of straight lines is above the goal to its end; infinity where it is not."""
    below = np.flatnonzero(np.asarray(y) < goal)
    if below.size == 0:
        return float(x[0])
    k = below[-1]
    return float(np.interp(goal, y[k : k + 2], x[k : k + 2])) if k + 1 < len(y) else float("inf")


def share(curve, usual, costs, level=1.0):
    """Of the usual way's seconds, until a curve has this part of its macro-AP and of its precision@1-3."""
    x = seconds(curve, costs) / seconds(usual, costs)
    return [reached(x, np.asarray(curve)[:, column], level * usual[column]) for column in (2, 3)]


def mean_curve(curves):
    """Of seeds, as far as all of them go."""
    length = min(map(len, curves))
    return np.mean([each[:length] for each in curves], axis=0)


def time_shares(curves, usual):
    """Of curves averaged over seeds: shares by price list, and at the middle one for each metric and seed."""
    curve, goal = mean_curve(curves), np.mean(usual, axis=0)
    by_list = {which: max(share(curve, goal, lw.Costs.named(which))) for which in LISTS}
    middle = lw.Costs.named(MIDDLE)
    ap, precision = share(curve, goal, middle)
    return {
        "share": rounded(max(by_list.values())),
        "by_list": {which: rounded(value) for which, value in by_list.items()},
        "macro_ap": rounded(ap),
        "precision": rounded(precision),
        "by_seed": [rounded(max(share(c, u, middle))) for c, u in zip(curves, usual, strict=True)],
        "usual": np.round(goal, 4).tolist(),
    }


def paired(gains):
    """The mean of differences that are paired by seed, its standard error, and p of a t-test."""
    n = len(gains)
    error = np.std(gains, ddof=1) / np.sqrt(n) if n > 1 else float("nan")
    p = float(stats.ttest_1samp(gains, 0.0).pvalue) if n > 1 and error > 1e-12 else float("nan")
    return {"gain": rounded(np.mean(gains), 4), "standard_error": rounded(error, 4), "p": rounded(p, 5)}


def beyond_noise(rows, sign):
    """Names of paired rows with a gain of this sign: adjusted by Holm for the number of rows, and unadjusted."""
    judged = {name: row for name, row in rows.items() if row["p"] is not None}
    adjusted = dict(zip(judged, holm([row["p"] for row in judged.values()]), strict=True))
    those = [name for name, row in judged.items() if sign * row["gain"] > 0]
    return [n for n in those if adjusted[n] < LEVEL], [n for n in those if judged[n]["p"] < LEVEL]


def rounded(value, digits=3):
    return round(float(value), digits) if np.isfinite(value) else None


def over_sets(table, pick):
    """Median and worst of the shares of a table, None being infinite."""
    values = [np.inf if pick(row) is None else pick(row) for row in table.values()]
    return {"median": rounded(np.median(values)), "worst": rounded(max(values))} if values else {}
