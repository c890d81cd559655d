"""What forgotten labels cost a campaign, and how much of it is recovered by asking about the likeliest ones again.

    python benchmarks/forgetting.py [--quick] [--sets a,b] [--seeds 5] [--finished]

A person reads 300 random items, the same in every arm, and picks their labels: all of them, or each with probability
0.8. With verification, the person is asked after each item about the labels that `Campaign.verify` names, and answers
rightly. The model is the default of a campaign; it learns after 20 items and then after every 50 or so. Sets whose
labels have names or descriptions are those of `label_names.py`, and every arm knows the names.

`recovered` is the gain by verification in macro average precision after 300 items, over what forgetting costs; both
are means over sets and seeds. `by_set` has the same for each set, with the four scores, the labels asked about and
found, and the seconds by `Costs.short_text()`. `equal_seconds` compares the scores at the time that the 300 items take
without verification, by straight lines between rounds: what verification gains or loses for somebody who forgets, and
for somebody who does not.

Sets come from the folder LABELWISE_SHARED_DATA, or ../shared/data beside the repository. A finished run is kept in
runs/forgetting and not done again; `--finished` does nothing new and sums up what is there.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import labelwise as lw
from _label_names_sets import BAGS, TEXTS
from _label_names_sets import split as split_named
from _label_saving_sets import available, load, split
from labelwise.numerics.metrics import macro_average_precision
from labelwise.records.asking import VERIFY
from labelwise.studies import Answerer

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LABELWISE_SHARED_DATA", ROOT.parent / "shared" / "data"))
RUNS = ROOT / "runs" / "forgetting"
SETS = ("medical", "goemotions", "reuters21578", "tmc2007-500", "enron", "bibtex")
ROUNDS, POOL = (20, 50, 100, 150, 200, 250, 300), 2000
FROM = 150  # items, from which on the score is kept
ARMS = {"full": (1.0, False), "full_verified": (1.0, True), "forgets": (0.8, False), "verified": (0.8, True)}

PLAIN = {"verified": "forgets", "full_verified": "full"}  # the arm without verification
MODEL = "semi_supervised"


def kept(name, seed, arm, rounds):
    return RUNS / f"{name}-{arm}-{seed}-{rounds[-1]}.json"


def run(name, seed, arm, rounds=ROUNDS):
    """[items, seconds, macro-AP, labels verified, found] after each round; from the disk where it was done before."""
    path = kept(name, seed, arm, rounds)
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    began = time.perf_counter()
    recall, verifies = ARMS[arm]
    pool, test = split_named(DATA, name, seed) if name in (*BAGS, *TEXTS) else split(load(DATA, name), seed, POOL)
    truth, curve = test.Y.toarray(), []
    campaign = lw.Campaign(pool.hide(), strategy="random", model=MODEL, start=rounds[-1], random_state=seed)
    answerer = Answerer(pool, recall=recall, random_state=seed)
    verify = {"verify": campaign.verify} if verifies else {}
    for n in rounds:
        campaign.tell(answerer.answers(campaign.ask(n - campaign.spent().items), **verify))
        if n >= min(FROM, rounds[-1]):
            score = macro_average_precision(campaign.believe(test.X).probabilities(), truth).value
            further = [a for a in campaign.answers if a.reason == VERIFY]
            found = sum(sum(a.values.values()) for a in further)
            curve.append([n, campaign.spent().seconds, score, sum(len(a.values) for a in further), found])
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(curve), encoding="utf-8")
    part.replace(path)
    print(
        f"{name} {seed} {arm}: {curve[-1][2]:.3f} in {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True
    )
    return curve


def summary(name, seeds, rounds):
    """Of one set: scores and seconds at the end by arm, the share recovered, and the gain at equal seconds."""
    curves = {arm: np.mean([run(name, seed, arm, rounds) for seed in seeds], axis=0) for arm in ARMS}
    last = {arm: curve[-1] for arm, curve in curves.items()}
    cost, gain = last["full"][2] - last["forgets"][2], last["verified"][2] - last["forgets"][2]
    equal = {
        arm: float(np.interp(last[plain][1], curves[arm][:, 1], curves[arm][:, 2])) - last[plain][2]
        for arm, plain in PLAIN.items()
    }
    return {
        "recovered": round(gain / cost, 3) if cost > 0 else None,
        "cost": round(cost, 4),
        "gain": round(gain, 4),
        "macro_ap": {arm: round(at[2], 4) for arm, at in last.items()},
        "seconds": {arm: round(at[1]) for arm, at in last.items()},
        "asked_and_found": [round(number, 1) for number in last["verified"][3:]],
        "asked_in_vain": round(last["full_verified"][3], 1),
        "equal_seconds": {arm: round(value, 4) for arm, value in equal.items()},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="medical, one seed, 100 items")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--finished", action="store_true", help="sum up what is there")
    chosen = parser.parse_args()
    rounds, seeds = ((20, 50, 100), range(1)) if chosen.quick else (ROUNDS, range(chosen.seeds))
    sets = available(DATA, ("medical",) if chosen.quick else tuple(chosen.sets.split(",")))
    if not sets:
        sys.exit(f"no set found in {DATA}; set LABELWISE_SHARED_DATA")
    todo = [(name, seed, arm, rounds) for seed in seeds for name in sets for arm in ARMS]
    if not chosen.finished:
        with threadpool_limits(1):
            for each in todo:
                run(*each)
    missing = {each[:2] for each in todo if not kept(*each).exists()}
    done = {name: [seed for seed in seeds if (name, seed) not in missing] for name in sets}
    by_set = {name: summary(name, found, rounds) for name, found in done.items() if found}
    cost, gain = (float(np.mean([found[which] for found in by_set.values()])) for which in ("cost", "gain"))
    equal = {arm: round(float(np.mean([f["equal_seconds"][arm] for f in by_set.values()])), 4) for arm in PLAIN}
    figures = {
        "recovered": round(gain / cost, 3) if cost > 0 else None,
        "cost": round(cost, 4),
        "gain": round(gain, 4),
        "equal_seconds": equal,
        "sets": len(by_set),
        "seeds": min(map(len, done.values())),
        "items": rounds[-1],
        "by_set": by_set,
        "version": lw.__version__,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
