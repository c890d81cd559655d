"""Slow rivals of a hierarchy of labels: all label sets one by one, and integrals on grids."""

import itertools

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


def label_sets(parents, answers):
    """All label sets (tuples of 0 and 1) in which a child implies its parent and that agree with answers (None: no)."""
    for y in itertools.product((0, 1), repeat=len(parents)):
        implied = all(p < 0 or y[p] >= y[c] for c, p in enumerate(parents))
        if implied and all(answer is None or answer == y[c] for c, answer in enumerate(answers)):
            yield y


def margins(parents, answers, yes, no):
    """(q,) margins of both sides: a label that the answers leave open is split at zero, the others keep theirs."""
    sets = np.array(list(label_sets(parents, answers)))
    known = sets.min(0) == sets.max(0)
    return np.where(known, yes, 0.0), np.where(known, no, 0.0)


def stories(parents, answers):
    """Sides of the scores (1: yes, 0: no, -1: free, as the parent is irrelevant) in each label set."""
    return [
        tuple(-1 if p >= 0 and y[p] == 0 else y[c] for c, p in enumerate(parents)) for y in label_sets(parents, answers)
    ]


def chances(gap, variance, margin_yes, margin_no):
    """(3, q) that a score is above zero by its margin, below it by the other, or anywhere, in the order 0, 1, -1."""
    scale = np.sqrt(variance)
    yes, no = ndtr((gap - margin_yes) / scale), ndtr((-gap - margin_no) / scale)
    return np.array([no, yes, np.ones_like(yes)])


def exact_scores(mean, variance, parents, answers, margin_yes, margin_no):
    """Mean and variance of every score after the answers, against a bias of zero."""
    c = np.arange(len(mean))
    margin_yes, margin_no = margins(parents, answers, margin_yes, margin_no)
    weights, means, squares = [], [], []
    inside = [_truncated(*each) for each in zip(mean, variance, margin_yes, margin_no, strict=True)]
    for story in stories(parents, answers):
        side = np.array(story)
        weights.append(np.prod(chances(mean, variance, margin_yes, margin_no)[side, c]))
        moments = np.array([inside[k][s] for k, s in enumerate(side)])
        means.append(moments[:, 0])
        squares.append(moments[:, 1])
    p = np.array(weights) / np.sum(weights)
    first = p @ np.array(means)
    return first, p @ np.array(squares) - first**2


def _truncated(mean, variance, margin_yes, margin_no):
    """First and second moment of a score that lies below -margin_no, above margin_yes, or anywhere: sums on a grid."""
    sd, found = np.sqrt(variance), []
    for low, high in ((-np.inf, -margin_no), (margin_yes, np.inf), (-np.inf, np.inf)):
        a, b = max(low, mean - 12 * sd), min(high, mean + 12 * sd)
        f = a + (b - a) * (NODES + 1) / 2
        density = WEIGHTS * norm.pdf(f, mean, sd)
        found.append((f @ density / density.sum(), f**2 @ density / density.sum()))
    return found


def settle(mean, variance, parents, answers, margin_yes, margin_no, hub, sweeps=200):
    """Expectation propagation of the same against a Gaussian hub: means, variances of scores, and those of the hub.

    A site per label. What a label hears of the others is found by going through all label sets, and the moments of its
    tilted belief by sums over a grid of the hub.
    """
    q, every = len(mean), stories(parents, answers)
    margin_yes, margin_no = margins(parents, answers, margin_yes, margin_no)
    sites, matched = np.zeros((q, 2)), np.zeros((q, 2))
    prior = np.array([1 / hub[1], hub[0] / hub[1]])
    t, weight = np.polynomial.hermite_e.hermegauss(80)
    for _ in range(sweeps):
        before = sites.copy()
        cavities = prior + before.sum(0) - before  # (q, 2)
        S, M = 1 / cavities[:, 0], cavities[:, 1] / cavities[:, 0]
        chance = chances(mean - M, variance + S, margin_yes, margin_no)  # (3, q)
        for c in range(q):
            about = np.zeros(3)  # weight of all else where this score is on the side of no, yes, or free
            for story in every:
                about[story[c]] += np.prod([chance[s, k] for k, s in enumerate(story) if k != c])
            if about[0] == about[1] == 0:
                matched[c] = mean[c], variance[c]
                continue
            b = M[c] + np.sqrt(S[c]) * t
            pieces = _truncated_given(mean[c], variance[c], b, margin_yes[c], margin_no[c])  # (3, grid) × 3
            p = weight[None] * about[:, None] * pieces[0]
            p /= p.sum()
            b_mean = (p @ b).sum()
            b_variance = (p @ b**2).sum() - b_mean**2
            matched[c, 0] = (p * pieces[1]).sum()
            matched[c, 1] = (p * pieces[2]).sum() - matched[c, 0] ** 2
            sites[c] = 1 / b_variance - cavities[c, 0], b_mean / b_variance - cavities[c, 1]
        if np.allclose(sites, before, rtol=1e-11, atol=1e-12):
            break
    total = prior + sites.sum(0)
    return matched[:, 0], matched[:, 1], total[1] / total[0], 1 / total[0]


def _truncated_given(mean, variance, b, margin_yes, margin_no):
    """Chance, first and second moment of a score on each side of each b of a grid; each (3, grid)."""
    sd = np.sqrt(variance)
    z_no, z_yes = (b - margin_no - mean) / sd, (b + margin_yes - mean) / sd
    no, yes = ndtr(z_no), ndtr(-z_yes)
    first = np.array([mean - sd * norm.pdf(z_no) / no, mean + sd * norm.pdf(z_yes) / yes, np.full_like(b, mean)])
    second = np.array(
        [
            mean**2 + variance - sd * norm.pdf(z_no) / no * (2 * mean + sd * z_no),
            mean**2 + variance + sd * norm.pdf(z_yes) / yes * (2 * mean + sd * z_yes),
            np.full_like(b, mean**2 + variance),
        ]
    )
    return np.array([no, yes, np.ones_like(b)]), first, second
