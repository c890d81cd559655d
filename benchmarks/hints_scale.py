"""What hints cost where there is much to compare: 100 000 texts and 300 labels.

    python benchmarks/hints_scale.py [--quick]

Texts of 60 words are made up of 300 topics, whose names are the labels. `learn` is the CPU time to learn the hints of
the pool (its vocabulary and its semantics), `score` that to score all items for all labels by blocks, and `peak_gib`
the most memory that the process ever held, the texts included. tf-idf is not counted: it is made anyway.
"""

import argparse
import json
import resource
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

import labelwise as lw
from labelwise.hints import learn_hints

ITEMS, LABELS, WORDS = 100_000, 300, 60
SECONDS, GIB = 60.0, 2.0
BLOCK = 4096
SYLLABLES = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu"]


def texts(n, q, rng):
    """Texts of 300 topics with 20 words each of their own, and of words that all share."""
    words = np.array(["".join(word) for word in np.array(np.meshgrid(*[SYLLABLES] * 5)).reshape(5, -1).T])
    own, common = words[: q * 20].reshape(q, 20), words[q * 20 :]
    zipf = 1 / np.arange(1, common.size + 1)
    topic = rng.integers(q, size=n)
    drawn = common[rng.choice(common.size, p=zipf / zipf.sum(), size=(n, WORDS))]
    is_own = rng.random((n, WORDS)) < 0.3
    drawn[is_own] = own[np.repeat(topic, WORDS).reshape(n, WORDS)[is_own], rng.integers(20, size=int(is_own.sum()))]
    return [" ".join(row) for row in drawn], own[:, 0], topic


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the texts")
    n = ITEMS // 10 if parser.parse_args().quick else ITEMS
    made, names, topic = texts(n, LABELS, np.random.default_rng(0))
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X = vectorizer.fit_transform(made)
    del made
    data = lw.LabelData.from_arrays(X, label_names=names, feature_names=vectorizer.get_feature_names_out())
    with threadpool_limits(1):
        began = time.process_time()
        hints = learn_hints(data)
        learnt = time.process_time()
        first = np.empty(n, dtype=np.intp)
        for start in range(0, n, BLOCK):
            first[start : start + BLOCK] = hints(data.X[start : start + BLOCK]).sum(axis=0).argmax(axis=1)
        scored = time.process_time()
    figures = {
        "items": n,
        "labels": LABELS,
        "words": data.n_features,
        "learn": round(learnt - began, 1),
        "score": round(scored - learnt, 1),
        "seconds": round(scored - began, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "right": round(float(np.mean(first == topic)), 3),
    }
    missed = [what for what, most in (("seconds", SECONDS), ("peak_gib", GIB)) if figures[what] > most]
    print(json.dumps(figures | {"missed": missed}))


if __name__ == "__main__":
    main()
