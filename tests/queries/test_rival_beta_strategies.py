"""BetaScore and CorrelatedBeta from outside, on toys whose answer is known, and against loops over both answers."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import ndtri
from scipy.stats import multivariate_normal

import labelwise as lw
from moving_beliefs import ONE, STILL, THREE, TWO, Draws, Kin, chosen, directions, nearest_of_best_clusters, pool

SEEDS = range(6)

# ---- BetaScore


def regret(truth, belief, alpha, beta):
    """∫ |truth − t| t^(α−1) (1−t)^(β−1) dt between the two."""
    if abs(truth - belief) < 1e-12:
        return 0.0
    return abs(quad(lambda t: (truth - t) * t ** (alpha - 1) * (1 - t) ** (beta - 1), belief, truth)[0])


def gains(draws, alpha, beta):
    """(n, n) by both answers, the draws weighted by how likely they made them, summed over labels."""
    s, n, q = draws.shape
    found = np.zeros((n, n))
    for i, j, answer in itertools.product(range(n), range(q), (0, 1)):
        likelihood = draws[:, i, j] if answer else 1 - draws[:, i, j]
        after, before = likelihood @ draws[:, :, j] / likelihood.sum(), draws[:, :, j].mean(0)
        moves = zip(after.tolist(), before.tolist(), strict=True)
        found[i] += likelihood.sum() / s * np.array([regret(a, b, alpha, beta) for a, b in moves])
    return found


def families():
    """Sixteen items of one label: five that go one way, three another, eight that no draw moves at all.

    Some of the first family also go a little the third way, each a little more: the nearest to their centre is clear.
    """
    first = [[(0.5, 0.3, ONE + tilt * THREE)] for tilt in (0.0, 0.3, 0.4, 0.5, 0.6)]
    second = [[(0.5, 0.3, TWO)] for _ in range(3)]
    return directions(*first, *second, *[[(0.5, 0.0, STILL)]] * 8)


def test_the_gains_of_the_families():
    """Section 1, batch: what the toy below says, by brute force: rows of a family point one way, across nothing."""
    r = gains(families(), 0.1, 3.0)
    assert_allclose(r[8:], 0.0, atol=1e-12)
    assert_allclose(r[:5, 5:], 0.0, atol=1e-12)
    assert r[:5, :5].min() > 1e-3 and r[5:8, 5:8].min() > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_has_one_of_every_family(seed):
    """Section 1, batch: the top half by Σ_k r_ik, rows to unit length, one item for each of B clusters.

    All items are equally uncertain (p̄ = ½); those that no draw moves tell nothing, and are never asked.
    """
    rows = chosen(lw.BetaScore(), Draws(families()), 2, seed=seed)
    assert len({row // 5 for row in rows}) == 2 and max(rows) < 8


def test_the_item_nearest_the_centre_of_its_family_is_asked():
    """Section 1, batch: gains by brute force, top half, unit rows, best of all clusterings, nearest to each centre."""
    strategy = lw.BetaScore()
    r = gains(families(), strategy.alpha, strategy.beta)
    top = sorted(np.argsort(-r.sum(1), kind="stable")[:8].tolist())
    assert top == list(range(8))
    unit = r[top] / np.linalg.norm(r[top], axis=1, keepdims=True)
    (near,) = (row for row in nearest_of_best_clusters(unit, 2) if row < 5)
    centre = unit[:5].mean(0)
    distances = np.sort(((unit[:5] - centre) ** 2).sum(1))
    assert distances[1] > 1.2 * distances[0]  # nearest by far enough
    for seed in SEEDS:
        assert [row for row in chosen(strategy, Draws(families()), 2, seed=seed) if row < 5] == [near]


@pytest.mark.parametrize("seed", SEEDS)
def test_only_the_top_half_is_asked(seed):
    """Section 1, batch: T = 0.5: an odd direction among the lower half is no reason to ask, however different."""
    strong = [[(0.5, 0.35, ONE)]] * 10
    weak = [[(0.5, 0.05, TWO)]] * 5 + [[(0.5, 0.05, THREE)]] * 5
    assert max(chosen(lw.BetaScore(), Draws(directions(*weak, *strong)[:, ::-1]), 3, seed=seed)) < 10


@pytest.mark.parametrize("seed", SEEDS)
def test_rare_labels_are_asked_first(seed):
    """Section 1, idea: Beta scores tilt towards rare labels: of two families alike but for p and 1 − p, the rarer."""
    common, rare = [[(0.94, 0.05, ONE)]] * 6, [[(0.06, 0.05, TWO)]] * 6
    assert min(chosen(lw.BetaScore(), Draws(directions(*common, *rare)), 2, seed=seed)) >= 6
    assert max(chosen(lw.BetaScore(), Draws(directions(*rare, *common)), 2, seed=seed)) < 6


@pytest.mark.parametrize("seed", SEEDS)
def test_gains_add_up_over_labels(seed):
    """Section 1, gain: Σ_j r_ikj: three labels that each tell a little beat one that tells a bit more."""
    three = [[(0.5, 0.2, ONE)] * 3] * 5
    single = [[(0.5, 0.22, TWO), (0.5, 0.0, STILL), (0.5, 0.0, STILL)]] * 5
    assert max(chosen(lw.BetaScore(), Draws(directions(*three, *single)), 2, seed=seed)) < 5


def test_labels_that_are_closed_tell_nothing():
    """Section 1, gain: the answer counts; of items whose moving label is answered nothing is left to be asked for."""
    beliefs = Draws(
        directions(*[[(0.5, 0.3, ONE), (0.5, 0.0, STILL)]] * 6, *[[(0.5, 0.0, STILL), (0.5, 0.2, TWO)]] * 6)
    )
    closed = np.zeros((12, 2), dtype=bool)
    closed[:6, 0] = True
    for seed in SEEDS:
        assert min(chosen(lw.BetaScore(), beliefs, 2, closed=closed, seed=seed)) >= 6
        assert max(chosen(lw.BetaScore(), beliefs, 2, seed=seed)) < 6


@pytest.mark.parametrize("seed", SEEDS)
def test_families_of_gaussian_beliefs(seed):
    """Section 1, posteriors: C = Φ₂(z_i, z_k; ρ) − p_i p_k; kin tell of one another, the others nothing."""
    C = np.zeros((16, 16))
    C[:4, :4], C[4:8, 4:8] = 0.9 + 0.1 * np.eye(4), 0.9 + 0.1 * np.eye(4)
    C[8:, 8:] = 1e-9 * np.eye(8)
    rows = chosen(lw.BetaScore(), Kin(np.full((16, 2), 0.4), C), 2, seed=seed)
    assert {row // 4 for row in rows} == {0, 1}


def scores(strategy, beliefs, known=None, seed=0):
    """(n,) of all open items, in the order of the pool."""
    known = pool(beliefs.n_items, beliefs.n_labels) if known is None else known
    wanted = {"known": known} if getattr(strategy, "looks_at_answers", False) else {}
    rng = np.random.default_rng(seed)
    choice = strategy.choose(beliefs, known.observed_mask(), beliefs.n_items, rng, **wanted)
    return choice.scores[np.argsort(choice.rows)]


@pytest.mark.parametrize("beta", [1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_summed_gains(seed, beta):
    """Section 1, gain and batch: Σ_k Σ_j r_ikj by brute force over both answers; references are all items of so few.

    What is taken off for the noise of 100 draws is a few hundredths at most; here no draw is noise.
    """
    rng = np.random.default_rng(seed)
    draws = 1 / (1 + np.exp(1 - 1.5 * rng.normal(size=(4, 8, 2))))
    expected = gains(draws, 0.1, beta).sum(1)
    got = scores(lw.BetaScore(alpha=0.1, beta=beta), Draws(draws))
    assert_allclose(got, expected, rtol=0.06)
    assert np.ptp(expected) > 0.3 * expected.mean()  # which is more than that


@pytest.mark.parametrize("noise", [1.0, 0.3])
def test_scores_of_gaussian_beliefs(noise):
    """Section 1, posteriors: the same of Gaussian beliefs, by C = Φ₂(z_i, z_k; ρ) − p_i p_k with the Φ₂ of scipy.

    In units of the noise of an answer, ρ = c / √((1+v_i)(1+v_k)); with itself an item has the variance of its p.
    """
    rng = np.random.default_rng(5)
    W, p = rng.normal(size=(6, 3)), rng.uniform(0.05, 0.9, (6, 2))
    C, z = W @ W.T / 2, ndtri(p)
    rho = C / np.sqrt(np.outer(1 + np.diag(C), 1 + np.diag(C)))
    expected = np.zeros(6)
    for i, k, j in itertools.product(range(6), range(6), range(2)):
        both = multivariate_normal([0, 0], [[1, rho[i, k]], [rho[i, k], 1]]).cdf([z[i, j], z[k, j]])
        C_ik = both - p[i, j] * p[k, j]
        yes, no = p[k, j] + C_ik / p[i, j], p[k, j] - C_ik / (1 - p[i, j])
        expected[i] += p[i, j] * regret(yes, p[k, j], 0.1, 3.0) + (1 - p[i, j]) * regret(no, p[k, j], 0.1, 3.0)
    assert_allclose(scores(lw.BetaScore(alpha=0.1, beta=3.0), Kin(p, noise * C, noise)), expected, rtol=1e-4)


class Alone(Draws):
    """Items of one label that each move by 0.4 up or down, with no regard to one another; one draw for all blocks."""

    def __init__(self, places):
        super().__init__(np.full((1, places.size, 1), 0.5))
        self.places = places

    def sample_probabilities(self, n_samples, rng):
        return (0.5 + rng.choice([-0.4, 0.4], size=(n_samples, 120, 1)))[:, self.places]

    def rows(self, rows):
        return Alone(self.places[rows])


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_of_draws_is_taken_off(seed):
    """Section 1, pitfalls: independent items have E[Ĉ²] ≈ V_i V_k (S−1) / S², which masquerades as gain: subtract it.

    100 of 120 items are references, so that 5 in 6 items have the gain about themselves, and no other. Of the 99 other
    references the noise of 100 draws would make as much again.
    """
    own = gains(0.5 + 0.4 * np.array([1.0, -1.0])[:, None, None], 0.1, 1.0)[0, 0]
    rng = np.random.default_rng(seed)
    lively = 0.5 + rng.choice([-0.4, 0.4], size=(100, 40, 1))
    raw = gains(lively, 0.1, 1.0)
    noise = 100 * raw[~np.eye(40, dtype=bool)].mean()
    assert noise > 0.8 * own
    left = scores(lw.BetaScore(alpha=0.1, beta=1.0), Alone(np.arange(120)), seed=seed).mean() - own * 100 / 120
    assert -0.1 * noise < left < 0.6 * noise


# ---- CorrelatedBeta


def sets_of(*kinds):
    """(n, q) answers: pairs of how many items, and which of the labels they have."""
    return np.array([present for count, present in kinds for _ in range(count)], dtype=bool)


def answered_first(answers, beliefs):
    """Beliefs about a pool whose first rows were answered so and never move, the pool, and where the rest starts."""
    n, q = answers.shape
    still = np.tile(np.where(answers, 0.9, 0.1), (4, 1, 1))
    draws = np.concatenate([still, beliefs], axis=1)
    Y = np.concatenate([answers, np.zeros((beliefs.shape[1], q), dtype=bool)])
    return Draws(draws), pool(draws.shape[1], q, Y=Y, known=range(n)), n


def how_often(strategy, answers, beliefs, place, n, order=None):
    """In how many of twelve batches an open item is."""
    order = np.arange(answers.shape[1]) if order is None else np.array(order)
    posterior, known, start = answered_first(answers[:, order], beliefs[:, :, order])
    return sum(start + place in chosen(strategy, posterior, n, known=known, seed=seed) for seed in range(12))


ALWAYS = sets_of((40, (1, 1, 0)), (40, (0, 1, 0)), (40, (0, 0, 1)))  # the first label never without the second
OFTEN = sets_of((32, (1, 1, 0)), (8, (1, 0, 0)), (40, (0, 1, 0)), (40, (0, 0, 1)))  # in 0.8, and turned round in 0.44
SELDOM = sets_of((26, (1, 1, 0)), (14, (1, 0, 0)), (40, (0, 1, 0)), (40, (0, 0, 1)))  # in 0.65
TURNED = sets_of((36, (1, 1, 0)), (9, (1, 0, 0)), (4, (0, 1, 0)), (40, (0, 0, 1)))  # in 0.8, but turned round in 0.9


def implied_and_lonely(label=1):
    """200 items with the first two labels predicted; one with one of them alone, that moves another way, a little."""
    many = [[(0.8, 0.15, ONE), (0.8, 0.15, ONE), (0.05, 0.0, STILL)]] * 200
    return directions(*many, [(0.8, 0.01, TWO) if j == label else (0.05, 0.0, STILL) for j in range(3)])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_an_implied_label_is_dropped_whatever_the_order_of_labels(order):
    """Section 2, formulas: if P(k|j) ≥ 0.7 and ≥ P(j|k), drop k where both are predicted; tests: M = 1 and dropping.

    The stratum of the implied label then holds the one item that has it alone, which every batch of two has, in every
    order of labels (pitfall: implications looked up in another order). Where the implication is not in the answers the
    stratum has 201 items, of which two are candidates. By gain alone the item is never asked for.
    """
    assert how_often(lw.CorrelatedBeta(), ALWAYS, implied_and_lonely(), 200, 2, order) == 12
    assert how_often(lw.CorrelatedBeta(), SELDOM, implied_and_lonely(), 200, 2, order) <= 3
    assert how_often(lw.BetaScore(), ALWAYS, implied_and_lonely(), 200, 2, order) == 0


@pytest.mark.parametrize(("answers", "dropped"), [(ALWAYS, 1), (OFTEN, 1), (TURNED, 0)])
def test_of_two_labels_the_one_that_is_more_surely_implied_is_dropped(answers, dropped):
    """Section 2, formulas: the two conditions, P(k|j) ≥ 0.7 and ≥ P(j|k): the label with the larger share given the
    other is dropped, and the other one keeps its stratum of 201."""
    for label in (0, 1):
        times = how_often(lw.CorrelatedBeta(), answers, implied_and_lonely(label), 200, 2)
        assert times == 12 if label == dropped else times <= 3


EXCLUSIVE = sets_of((60, (1, 0)), (60, (0, 1)))
TOGETHER = sets_of((30, (1, 0)), (30, (1, 1)), (30, (0, 1)))


def exclusive_and_both():
    """100 items with either label predicted, and one with both, that tells most."""
    first = [[(0.8, 0.15, ONE), (0.1, 0.0, STILL)]] * 100
    second = [[(0.1, 0.0, STILL), (0.8, 0.05, TWO)]] * 100
    return directions(*first, *second, [(0.6, 0.35, ONE), (0.6, 0.35, TWO)])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_item_that_contradicts_an_exclusion_is_a_candidate(order):
    """Section 2, formulas: pairs of which one is without the other in more than 0.98 form the conflict set.

    The one item that predicts both is then always among the candidates, and tells most of them; where the answers have
    both together, it is one of 101 in its strata.
    """
    assert how_often(lw.CorrelatedBeta(), EXCLUSIVE, exclusive_and_both(), 200, 2, order) == 12
    assert how_often(lw.CorrelatedBeta(), TOGETHER, exclusive_and_both(), 200, 2, order) <= 3


def test_one_answer_makes_no_exclusion():
    """Section 2, pitfalls: one observation of j makes exclusions look certain; a minimum of N_jj is required."""
    once = sets_of((1, (1, 0)), (1, (0, 1)), (30, (0, 0)))
    assert how_often(lw.CorrelatedBeta(), once, exclusive_and_both(), 200, 2) <= 3


@pytest.mark.parametrize("seed", SEEDS)
def test_every_stratum_has_candidates(seed):
    """Section 2, formulas: up to B at random from each stratum: a label predicted for one item of 300 is not missed."""
    answers = sets_of((20, (1, 0)), (20, (0, 1)), (20, (1, 1)))
    beliefs = directions(*[[(0.8, 0.15, ONE), (0.1, 0.0, STILL)]] * 300, [(0.1, 0.0, STILL), (0.8, 0.01, TWO)])
    posterior, known, start = answered_first(answers, beliefs)
    assert start + 300 in chosen(lw.CorrelatedBeta(), posterior, 2, known=known, seed=seed)
    assert start + 300 not in chosen(lw.BetaScore(), posterior, 2, known=known, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_fewer_candidates_than_questions(seed):
    """Section 2, pitfalls: fewer than B candidates must not fail, and none comes twice."""
    answers = sets_of((20, (1, 0)), (20, (0, 1)))
    beliefs = directions(*[[(0.8, 0.1, ONE), (0.1, 0.0, STILL)]] * 3, [(0.1, 0.0, STILL), (0.8, 0.1, TWO)])
    posterior, known, _ = answered_first(answers, beliefs)
    rows = chosen(lw.CorrelatedBeta(), posterior, 4, known=known, seed=seed)
    assert sorted(rows) == [40, 41, 42, 43]


def weights_by_counting(answers):
    """(q,) Σ_j A_jl by loops over the answered items."""
    q = answers.shape[1]
    share = np.zeros((q, q))
    for j, k in itertools.permutations(range(q), 2):
        having = [row for row in answers.tolist() if row[j]]
        share[j, k] = sum(row[k] for row in having) / len(having) if having else 0.0
    largest = share.sum(1).max()
    A = share / (2 * largest) if largest > 0 else share
    return np.array([1 + A[:, k].sum() for k in range(q)])


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_scores_weigh_labels_by_what_comes_with_them(order):
    """Section 2, formulas: Σ_j Σ_l A_jl r_l = Σ_l c_l r_l with c_l = Σ_j A_jl from M = N_jk / N_jj by counting.

    The last label was never answered yes: its entries are undefined, so 0, and it keeps its own gain.
    """
    rng = np.random.default_rng(0)
    answers = sets_of((12, (1, 1, 0, 0)), (13, (1, 0, 0, 0)), (15, (0, 1, 1, 0)), (10, (0, 0, 1, 0)))[:, list(order)]
    weights = weights_by_counting(answers)
    assert np.ptp(weights) > 0.3 and weights.min() == 1.0
    draws = (1 / (1 + np.exp(1 - rng.normal(size=(4, 6, 4)))))[:, :, list(order)]
    beliefs, known, _ = answered_first(answers, draws)
    got = scores(lw.CorrelatedBeta(alpha=0.1, beta=3.0, reference_share=1.0), beliefs, known)
    expected = sum(c * gains(draws[:, :, [k]], 0.1, 3.0).sum(1) for k, c in enumerate(weights))
    assert_allclose(got, expected, rtol=0.06)
    plain = gains(draws, 0.1, 3.0).sum(1)
    assert np.abs(got / plain - 1).max() > 0.15


def test_without_cooccurrence_gains_are_those_of_the_beta_score():
    """Section 2, tests: no co-occurrence → A = identity → BESRA."""
    answers = sets_of((20, (1, 0, 0)), (20, (0, 1, 0)), (20, (0, 0, 1)))
    draws = 1 / (1 + np.exp(1 - np.random.default_rng(1).normal(size=(4, 6, 3))))
    beliefs, known, _ = answered_first(answers, draws)
    got = scores(lw.CorrelatedBeta(alpha=0.1, beta=3.0, reference_share=1.0), beliefs, known)
    assert_allclose(got, scores(lw.BetaScore(alpha=0.1, beta=3.0), Draws(draws)), rtol=1e-9)


def test_items_without_a_predicted_label_are_left_out_later_on():
    """Section 2, formulas: ⌊E √(1 − (t−1) / T_r)⌋ empties: some in the first rounds, none after the last."""
    answers = sets_of((20, (1, 0)), (20, (0, 1)))
    beliefs = directions(*[[(0.3, 0.2, ONE), (0.3, 0.2, ONE)]] * 200, *[[(0.8, 0.01, TWO), (0.1, 0.0, STILL)]] * 6)
    posterior, known, start = answered_first(answers, beliefs)
    for seed in SEEDS:
        late = chosen(lw.CorrelatedBeta(until=20), posterior, 2, known=known, seed=seed)
        assert min(late) >= start + 200
        early = chosen(lw.CorrelatedBeta(until=10_000), posterior, 2, known=known, seed=seed)
        assert min(early) < start + 200
