"""Label a pool by asking: random items against uncertain (item, label) pairs, at the same number of answers."""

import argparse

import numpy as np

import labelwise as lw


def found(data: lw.LabelData, strategy: lw.queries.Strategy, budget: int) -> float:
    """Share of the pool's true labels that the campaign gets right after `budget` yes/no answers."""
    campaign = lw.Campaign(data.hide(), model=lw.LabelGP(), strategy=strategy, random_state=0)
    answerer = lw.studies.Answerer(data)
    for question in lw.Campaign(data.hide(), model=lw.LabelGP(), strategy=lw.Random(), random_state=0).ask(10):
        campaign.tell(answerer.answer(question))  # ten random items, answered in full, to begin with
    spent = 10 * data.n_labels
    while spent < budget:
        questions = campaign.ask(5 if strategy.target == "items" else 5 * data.n_labels)
        campaign.tell(answerer.answers(questions))
        spent += sum(len(question.labels) for question in questions)
    truth, said = data.Y.toarray(), campaign.predict()
    return float((truth & said).sum() * 2 / (truth.sum() + said.sum()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smaller pool")
    quick = parser.parse_args().quick
    data = lw.data.make_gaussian_labels(n_items=150 if quick else 600, n_labels=12, mean_labels=3, random_state=0)
    for strategy in (lw.Random(), lw.Random(target="pairs"), lw.Uncertainty(), lw.Uncertainty(target="pairs")):
        f1 = found(data, strategy, budget=(30 if quick else 60) * data.n_labels)
        print(f"{type(strategy).__name__:12} {strategy.target:6} F1 over the pool {np.round(f1, 3)}")


if __name__ == "__main__":
    main()
