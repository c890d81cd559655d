"""What the opinions of a language model save, and how well it is judged: simulated by flipping labels.

    python benchmarks/opinions.py [--quick] [--sets a,b] [--seeds 3] [--campaigns 400]

The model says yes to 70 % of the labels that items have, and is right in 60 % of the cases (precision .6, recall .7 of
every label, as far as a rate allows it). `items`: as in label_names.py, the part of 300 random items from which on the
default model is as good as 300 tagged items and logistic regression, in macro average precision and in precision@1-3,
with nothing but the answers, with opinions, with names, and with both. `alone` has the figures of the opinions without
any answer, beside those of the 300 items. `covered`: of a hundred simulated campaigns on a made-up set, those in which
the precision, and the recall, of the model in all items lies within the 90 % interval that the random share states.
"""

import argparse
import json
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

import label_names
import labelwise as lw
from _label_names_sets import available, split
from label_names import DATA, FULL, curve, score
from labelwise.hints import learn_hints

SETS = ("imdb", "movies_omdb", "bibtex")
PRECISION, RECALL = 0.6, 0.7
ARMS = ("answers", "opinions", "names", "both")
BLIND_ITEMS, NEEDED = 60, 85  # items of the random share; campaigns in a hundred


def flipped(Y, rng):
    """(n, q) what the simulated model says yes to."""
    rate = np.clip(Y.mean(axis=0), 1e-9, 1 - 1e-9)
    wrong = np.minimum(RECALL * rate * (1 - PRECISION) / PRECISION / (1 - rate), 1.0)
    return np.where(Y, rng.random(Y.shape) < RECALL, rng.random(Y.shape) < wrong)


def spoken_of(data, seed):
    """The set with the model's opinions."""
    return data.with_opinions("model 7", flipped(data.Y.toarray(), np.random.default_rng(seed)).astype(float))


def run(name, seed):
    """Curves of one set and seed with each kind of hint."""
    began = time.process_time()
    pool, test = split(DATA, name, seed)
    pool, test = spoken_of(pool, [seed, 1]), spoken_of(test, [seed, 2])
    rows = np.random.default_rng(seed + 100).permutation(pool.n_items)[:FULL]
    plain_pool = pool.without_opinions()
    usual = lw.BinaryRelevance().fit(plain_pool.X[rows], plain_pool.Y[rows].toarray())
    found = {"usual": score(usual.posterior(test.without_opinions().X), test.Y.toarray())}
    model = lw.SemiSupervised(blocks=pool.blocks, random_state=0).learn_pool(pool.X)
    arms = {
        "answers": model,
        "opinions": lw.HintedModel(model, learn_hints(pool, ["opinions"])),
        "names": lw.HintedModel(model, learn_hints(pool, ["lexical", "semantics"])),
        "both": lw.HintedModel(model, learn_hints(pool)),
    }
    found |= {arm: curve(each, pool, test, rows) for arm, each in arms.items()}
    print(f"{name} {seed}: {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def summary(name, seeds):
    runs = [run(name, seed) for seed in seeds]
    shares = {arm: float(np.mean([label_names.share(each, arm) for each in runs])) for arm in ARMS}
    alone = np.mean([each["opinions"][0][1:] for each in runs], axis=0)
    return {
        "items": {arm: round(value, 3) for arm, value in shares.items()},
        "alone": alone.round(3).tolist(),
        "usual": np.mean([each["usual"] for each in runs], axis=0).round(3).tolist(),
    }


def judged(seed, n=2000, q=12):
    """Whether the interval of a campaign holds the true precision, and recall; and how wide both are."""
    rng = np.random.default_rng(seed)
    moods = rng.normal(size=(n, 3)) @ rng.normal(size=(3, q)) + rng.normal(size=(n, q))  # labels of an item go together
    Y = moods > np.sqrt(1 + 3) * rng.uniform(0.3, 1.6, size=q)  # rates of about 5 to 40 %
    said = flipped(Y, rng)
    names = [f"label {j}" for j in range(q)]
    data = lw.LabelData.from_arrays(np.zeros((n, 1)), label_names=names).with_opinions("model 7", said.astype(float))
    settings = {"strategy": lw.Random(), "control": 1.0, "random_state": seed}
    campaign = lw.Campaign(data, model=lw.BinaryRelevance(), **settings)
    for question in campaign.ask(BLIND_ITEMS):
        there = {names[j] for j in np.flatnonzero(Y[int(question.item)])}
        campaign.tell(lw.Answer.to(question, there))
    (found,) = campaign.opinion_quality()
    truth = (said & Y).sum() / np.array([said.sum(), Y.sum()])
    pairs = list(zip((found.precision, found.recall), truth, strict=True))
    return [each.low <= value <= each.high for each, value in pairs], [each.high - each.low for each, _ in pairs]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="imdb, one seed, 40 campaigns")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--campaigns", type=int, default=400)
    options = parser.parse_args()
    sets = available(DATA, ("imdb",) if options.quick else tuple(options.sets.split(",")))
    with threadpool_limits(1):
        trials = [judged(seed) for seed in range(40 if options.quick else options.campaigns)]
        held = np.array([each for each, _ in trials])
        widths = np.array([each for _, each in trials])
        table = {name: summary(name, range(1 if options.quick else options.seeds)) for name in sets}
    for name, figures in table.items():
        print(f"{name:14}", json.dumps(figures))
    covered = {
        "campaigns": len(held),
        "precision": round(100 * float(held[:, 0].mean()), 1),
        "recall": round(100 * float(held[:, 1].mean()), 1),
        "width": widths.mean(axis=0).round(3).tolist(),
        "items": BLIND_ITEMS,
    }
    missed = [what for what in ("precision", "recall") if covered[what] < NEEDED]
    print(json.dumps({"covered": covered, "tables": table, "missed": missed}))


if __name__ == "__main__":
    main()
