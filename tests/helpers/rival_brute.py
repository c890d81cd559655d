"""Greedy information by dense inverses, step by step, and pools of many shapes to try it on."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import labelwise as lw
from labelwise.numerics.information import (
    LowRankBlocks,
    array_blocks,
)

CRITERIA = ["mi", "entropy", "mi_fixed_rest"]
CLOSE = 1e-8  # scores nearer to one another than this may be taken in any order, but for twins
SOURCES = str(Path(lw.__file__).parents[1])


class Brute:
    """Greedy selection from the dense covariance of the pool, every gain by np.linalg at every step."""

    def __init__(self, F, noise, *, known=None, in_pool=None, given=(), criterion="mi", costs=None, eligible=None):
        F = np.asarray(F.toarray() if sp.issparse(F) else F, dtype=float)
        self.n, rank = F.shape
        noise = np.broadcast_to(np.asarray(noise, dtype=float), self.n)
        prior = np.eye(rank) + (0 if known is None else known)
        self.C = F @ np.linalg.solve(prior, F.T) + np.diag(noise)
        self.exists = np.ones(self.n, dtype=bool) if in_pool is None else in_pool
        self.eligible = np.ones(self.n, dtype=bool) if eligible is None else eligible
        self.costs = np.broadcast_to(np.asarray(1.0 if costs is None else costs, dtype=float), self.n)
        self.chosen, self.criterion = [int(one) for one in given], criterion
        self.twin = [(F[i].tobytes(), noise[i], self.costs[i]) for i in range(self.n)]
        self.fixed = self.precision()

    def variance(self):
        A = self.chosen
        told = np.einsum("ij,ij->j", self.C[A], np.linalg.solve(self.C[np.ix_(A, A)], self.C[A])) if A else 0.0
        return np.diag(self.C) - told

    def precision(self):
        rest = self.exists.copy()
        rest[self.chosen] = False
        rest, found = np.flatnonzero(rest), np.full(self.n, np.nan)
        found[rest] = np.diag(np.linalg.inv(self.C[np.ix_(rest, rest)]))
        return found

    def open(self):
        found = self.exists & self.eligible
        found[self.chosen] = False
        return np.flatnonzero(found)

    def gains(self):
        if self.criterion == "entropy":
            return 0.5 * np.log(self.variance())
        return 0.5 * np.log(self.variance() * (self.precision() if self.criterion == "mi" else self.fixed))

    def take(self, index):
        self.chosen.append(int(index))

    def assert_right(self, picks, n, *, stop=False):
        """Each pick is the best of its step, the first of its twins, and has the gain that it is said to have."""
        n_open = len(self.open())
        for step, (pick, gain) in enumerate(zip(picks.indices, picks.gains, strict=True)):
            left = self.open()
            assert pick in left, f"step {step}: {pick} is not open"
            gains, fell_back = self.gains(), step >= picks.n_by_criterion
            if self.criterion != "entropy":
                best = gains[left].max()
                assert best < CLOSE if fell_back else best > -CLOSE, f"step {step}: best gain {best}, {fell_back=}"
            assert not (fell_back and stop)
            scores = (self.variance() if fell_back or self.criterion == "entropy" else gains) / self.costs
            slack = CLOSE * (1 + np.abs(scores[left]).max())
            better = left[scores[left] > scores[pick] + slack]
            assert not len(better), f"step {step}: {pick} before {better}, {fell_back=}"
            twins = [one for one in left if one < pick and self.twin[one] == self.twin[pick]]
            assert not twins, f"step {step}: {pick} before its earlier twins {twins}"
            np.testing.assert_allclose(gain, gains[pick], rtol=1e-6, atol=1e-7)
            self.take(pick)
        if len(picks.indices) < min(n, n_open):
            assert stop and self.gains()[self.open()].max() < CLOSE


def problem(seed, n=None):
    """A pool of one of several shapes with some of all the settings there are: (matrix, noise, blocks, settings)."""
    rng = np.random.default_rng(seed)
    n, rank = int(rng.integers(1, 120)) if n is None else n, int(rng.integers(1, 12))
    F = rng.normal(size=(n, rank)) * rng.gamma(rng.choice([0.3, 1, 5]), size=(n, 1))
    shape = ("any", "twins", "best first", "best last", "whole numbers", "many zeros")[rng.integers(6)]
    order = np.argsort(np.linalg.norm(F, axis=1))
    F = {
        "any": F,
        "twins": F[rng.integers(max(1, n // 4), size=n)],
        "best first": F[order[::-1]],
        "best last": F[order],
        "whole numbers": F.round(),
        "many zeros": F * (rng.random((n, 1)) < 0.5),
    }[shape].astype(rng.choice([np.float32, np.float64]))
    if rng.random() < 0.4:
        F = sp.csr_array(F * (rng.random(F.shape) < 0.4))
    noise = 0.3 if rng.random() < 0.5 else rng.uniform(0.05, 2, n)
    in_pool = rng.random(n) < 0.7 if rng.random() < 0.4 else None
    settings = {"criterion": str(rng.choice(CRITERIA))}
    if rng.random() < 0.4:
        settings["costs"] = rng.choice([1.0, 2.0, 3.0], n)
    if rng.random() < 0.4:
        settings["eligible"] = rng.random(n) < 0.7
    if rng.random() < 0.4:
        there = np.arange(n) if in_pool is None else np.flatnonzero(in_pool)
        settings["given"] = rng.permutation(there)[: int(rng.integers(4))]
    known = None
    if rng.random() < 0.4:
        outside = rng.normal(size=(int(rng.integers(1, 8)), rank)) * rng.choice([0.1, 1, 10])
        known = outside.T @ outside
    size, held = int(rng.choice([1, 2, 3, 5, 17, 1000])), rng.choice([None, 1, 2, 5, 20])
    return F, noise, size, {"known_gram": known, "in_pool": in_pool, "n_candidates": held}, settings, rng


def rivals(seed, n=None):
    F, noise, size, pool, settings, rng = problem(seed, n)
    brute = Brute(F, noise, known=pool["known_gram"], in_pool=pool["in_pool"], **settings)
    return brute, LowRankBlocks(array_blocks(F, noise, size=size), **pool), settings, rng


def campaign_over(X, strategy, model=None):
    names = ["a", "b", "c"]
    said = np.random.default_rng(8).random((30, 3)) < 0.4
    answers = [lw.Answer(str(row), dict(zip(names, map(bool, one), strict=True))) for row, one in enumerate(said)]
    pool = lw.LabelData.from_arrays(X, label_names=names)
    return lw.Campaign(pool, model=model or lw.LabelGP("linear"), strategy=strategy, random_state=0, answers=answers)


def asked(campaign, rounds=2, n=8):
    found = []
    for _ in range(rounds):
        questions = campaign.ask(n)
        found += [(question.item, question.labels) for question in questions]
        campaign.tell([lw.Answer(one.item, dict.fromkeys(one.labels, True)) for one in questions])
    return found


def in_another_process(script, *arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([SOURCES, str(Path(__file__).parent)])}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
