import numpy as np
from scipy.stats import kstest

from labelwise.labelling.training.chance import chance


def test_draws_are_uniform_and_independent_of_each_other():
    draws = chance(0, "control", np.arange(20_000))
    assert kstest(draws, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.03
    for other in (chance(1, "control", np.arange(20_000)), chance(0, "overlap", np.arange(20_000))):
        assert abs(np.corrcoef(draws, other)[0, 1]) < 0.03


def test_a_draw_depends_on_what_it_is_about_alone():
    alone = chance(7, "order", 12, 3)
    among = chance(7, "order", np.arange(20)[:, None], np.arange(5)[None, :])
    assert alone == among[12, 3]
    assert len(np.unique(among)) == 100
