"""Made-up texts whose words go together by topic."""

import numpy as np
import scipy.sparse as sp


def words(n=400, d=300, topics=8, seed=0, rate=0.5):
    """Counts of words that are used by topic, and the topic of each text."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(topics, size=n)
    rates = rng.gamma(0.1, 1.0, size=(topics, d))
    return sp.csr_array(rng.poisson(rate * rates[topic]).astype(float)), topic
