"""Paper 1, MIML (KDD 2014), done again: what came of it, as figures, tables and claims with verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from labelwise.data import make_gaussian_labels
from labelwise.experiments.figures import as_png, draw_chosen
from labelwise.experiments.findings import in_words
from labelwise.experiments.jobs import Outcome
from labelwise.experiments.report import Cell, Picture
from labelwise.experiments.reproduce.claims import Claim, Exhibit, Outcomes, Paper, Verdict
from labelwise.experiments.reproduce.figures import Line, draw_lines, draw_scatter
from labelwise.experiments.reproduce.miml import REVEALS, jobs
from labelwise.experiments.reproduce.verdicts import POINTS, beats, points
from labelwise.experiments.statistics import Estimate, paired_difference

STAGES = (0, 1, 5, 10, REVEALS)
PAPER_MINUTES = {"yeast": "3 min 25 s", "rcv1sub1": "30 min 45 s", "bibtex": "—", "delicious": "1 h 11 min"}


def exhibits(outcomes: Outcomes) -> list[Exhibit]:
    """What could be computed; the rest is left out."""
    parts: Mapping[str, Callable[[list[Outcome]], Exhibit]] = {
        "toy": _toy,
        "sets": _sets,
        "projections": _projections,
        "inference": _inference,
        "time": _time,
        "diagnosis": _diagnosis,
        "generalised": _generalised,
    }
    return [make(outcomes[name]) for name, make in parts.items() if outcomes.get(name)]


PAPER = Paper("miml", "MIML: active learning for sparse Bayesian multilabel classification (KDD 2014)", jobs, exhibits)


def _toy(runs: list[Outcome]) -> Exhibit:
    decoders = _distinct(runs, "decoder")
    rows, claims = [], []
    for decoder in decoders:
        of = [run for run in runs if run["decoder"] == decoder]
        for strategy in _distinct(of, "strategy"):
            rows.append((f"{in_words(strategy)} · {decoder}", _against_random(of, strategy)))
        end, area = (_gain(of, "mutual_information", at) for at in ("end", "area"))
        says = f"mutual information beats random ({decoder} decoder)"
        ours = f"{points(end)} at the end, {points(area)} in area, {end.n} runs"
        claims.append(Claim("Figure 2", says, "clearly above, 50 runs", ours, beats([area])))
        other = paired_difference(_areas(of, "mutual_information"), _areas(of, "uncertainty"))
        says = f"mutual information beats uncertainty sampling ({decoder} decoder)"
        claims.append(Claim("Figure 2", says, "above", f"{points(other)} in area", beats([other])))
    return Exhibit(
        title="Figure 2: items in the plane",
        paragraphs=[
            "35 overlapping Gaussian labels, 7 per item on average; 20 random items, then 25 chosen from 1000; the "
            "score is the mean of precision at 1, 2 and 3 on 300 other items."
        ],
        pictures=[
            _chosen_picture(runs),
            *(
                _curves_picture([r for r in runs if r["decoder"] == d], f"miml-toy-{d}", f"{d} decoder")
                for d in decoders
            ),
        ],
        header=["", "end", "area", "gain over random, end", "gain over random, area"],
        rows=rows,
        note="Points of mean precision at 1–3; ± one standard error over runs, gains paired run by run.",
        claims=claims,
    )


def _sets(runs: list[Outcome]) -> Exhibit:
    rows, pictures, gains = [], [], []
    for name in _distinct(runs, "set"):
        for decoder in _distinct([r for r in runs if r["set"] == name], "decoder"):
            of = [r for r in runs if r["set"] == name and r["decoder"] == decoder]
            rows += [(f"{name} · {in_words(s)} · {decoder}", _against_random(of, s)) for s in _distinct(of, "strategy")]
            pictures.append(_curves_picture(of, f"miml-{name}-{decoder}", f"{name}, {decoder} decoder"))
            gains.append(_gain(of, "mutual_information", "area"))
    better = sum(gain.sign > 0 for gain in gains)
    worse = sum(gain.sign < 0 for gain in gains)
    ours = f"beyond noise better on {better} and worse on {worse} of {len(gains)} (set, decoder) pairs"
    return Exhibit(
        title="Figure 3: published sets",
        paragraphs=["200 random items, then 100 chosen; one third of the items, fixed, is the test set."],
        pictures=pictures,
        header=["", "end", "area", "gain over random, end", "gain over random, area"],
        rows=rows,
        note="Points of mean precision at 1–3; ± one standard error over seeds, gains paired seed by seed.",
        claims=[
            Claim("Figure 3", "mutual information is best on every set", "best on 8 of 8 sets", ours, beats(gains))
        ],
    )


def _projections(runs: list[Outcome]) -> Exhibit:
    rows = []
    first: dict[str, float] = {}
    for decoder in _distinct(runs, "decoder"):
        of = [r for r in runs if r["decoder"] == decoder]
        cells = [Cell(f"{np.mean([r[f'precision_at_{k}'] for r in of]):.3f}") for k in (1, 2, 3)]
        first[decoder] = float(np.mean([r["precision_at_1"] for r in of]))
        rows.append((decoder, cells))
    ours = ", ".join(f"{name} {value:.2f}" for name, value in first.items())
    return Exhibit(
        title="What the random projection costs (yeast)",
        paragraphs=["300 random training items. The published model halves the labels by a random projection."],
        header=["projection", "precision at 1", "at 2", "at 3"],
        rows=rows,
        note=f"Mean over {len(runs) // len(first)} splits.",
        claims=[
            Claim(
                "Section 3",
                "half the label space is enough (yeast, precision at 1)",
                "not stated",
                ours,
                "does not hold" if first["published"] < first["pca"] - 0.02 else "holds",
            )
        ],
    )


def _inference(runs: list[Outcome]) -> Exhibit:
    rows = [
        (
            f"{r['set']}, run {r['seed']}",
            [
                Cell(f"{r['correlation']:.3f}"),
                Cell(f"{r['larger']:.1%}"),
                Cell(f"{r['ratio']:.2f}"),
                Cell(f"{r['spread'][0]:.2f} / {r['spread'][1]:.2f}"),
            ],
        )
        for r in runs
    ]
    correlation = min(r["correlation"] for r in runs)
    larger = min(r["larger"] for r in runs)
    wider = [r["spread"][0] > r["spread"][1] for r in runs]
    spread: Verdict = "holds" if all(wider) else "holds in part" if any(wider) else "does not hold"
    shown = runs[0]
    pictures = [
        Picture(
            "miml-inference-means",
            as_png(draw_scatter(shown["means"][1], shown["means"][0], "BML-CS", "marginal inference")),
            f"Label means of five test items of {shown['set']}, older against newer inference.",
            "Scatter of label means under both inferences",
        ),
        Picture(
            "miml-inference-variances",
            as_png(draw_scatter(shown["logs"][1], shown["logs"][0], "BML-CS", "marginal inference")),
            f"−log variance of the first label of the test items of {shown['set']}; above the line: a smaller one.",
            "Scatter of label variances under both inferences",
        ),
    ]
    return Exhibit(
        title="Figures 4a and 4b: integrating out against mean field",
        paragraphs=[
            "300 training and 80 test items, the same random projection for both. The paper's set is not at hand."
        ],
        pictures=pictures,
        header=[
            "",
            "correlation of means",
            "variance larger",
            "median ratio",
            "spread of −log variance, marginal / BML-CS",
        ],
        rows=rows,
        note="The ratio follows the split of the noise into regression and compression, which no evidence can tell.",
        claims=[
            Claim(
                "Figure 4a",
                "means of both inferences agree",
                "highly correlated",
                f"correlation at least {correlation:.3f}",
                "holds" if correlation > 0.95 else "does not hold",
            ),
            Claim(
                "Figure 4b",
                "variances are larger when integrated out",
                "higher",
                f"for at least {larger:.1%} of the labels",
                "holds" if larger > 0.95 else "does not hold",
            ),
            Claim(
                "Figure 4b",
                "variances spread more widely when integrated out",
                "wider",
                f"in {sum(wider)} of {len(wider)} runs",
                spread,
            ),
        ],
    )


def _time(runs: list[Outcome]) -> Exhibit:
    rows = [
        (
            f"{r['set']}, {r['labels']} labels",
            [
                Cell(PAPER_MINUTES[r["set"]]),
                Cell(f"{r['fit']:.2f} s"),
                Cell(f"{r['choose']:.2f} s"),
                Cell(str(r["pool"])),
            ],
        )
        for r in runs
    ]
    slowest = max(r["fit"] + r["choose"] for r in runs)
    few, many = min(runs, key=lambda r: r["labels"]), max(runs, key=lambda r: r["labels"])
    flat = many["choose"] / many["pool"] ** 2 < 3 * few["choose"] / few["pool"] ** 2
    claims = [
        Claim(
            "Table 2",
            "250 items are chosen in minutes to an hour",
            "3 to 71 minutes",
            f"at most {slowest:.1f} s",
            "holds",
        )
    ]
    if len(runs) > 1:
        ours = f"choosing: {few['choose']:.2f} s at {few['labels']} labels, {many['choose']:.2f} s at {many['labels']}"
        claims.append(
            Claim(
                "Table 2",
                "time hardly grows with the labels",
                "3 to 71 minutes, 14 to 983 labels",
                ours,
                "holds" if flat else "does not hold",
            )
        )
    return Exhibit(
        title="Table 2: time to choose 250 items",
        paragraphs=[
            "The paper's times are of a 4-core desktop of 2014 and include fitting; ours are of one thread of the "
            "machine this report was made on. The published form solves a linear system per candidate and step; here "
            "two partial Cholesky factorisations with the same pivots do it for all candidates at once."
        ],
        header=["set", "paper", "fit here", "choice here", "pool"],
        rows=rows,
        note="The SVM-based rival is not among our strategies yet. bibtex stands in for bookmarks.",
        claims=claims,
    )


def _diagnosis(runs: list[Outcome]) -> Exhibit:
    rows, pictures, claims = [], [], []
    for name in _distinct(runs, "set"):
        of = [r for r in runs if r["set"] == name]
        last: dict[str, dict[int, float]] = {}
        for rule in _distinct(of, "rule"):
            curves = np.array([r["f1"] for r in of if r["rule"] == rule])  # (runs, reveals + 1)
            rows.append((f"{name} · {in_words(rule)}", [Cell(f"{curves[:, at].mean():.3f}") for at in STAGES]))
            last[rule] = {r["seed"]: r["f1"][-1] for r in of if r["rule"] == rule}
        pictures.append(_rules_picture(of, name))
        mean = {rule: float(np.mean(list(by_seed.values()))) for rule, by_seed in last.items()}
        best = max(mean, key=lambda rule: mean[rule])
        claims += [
            Claim(
                "Figure 4c",
                f"choosing labels beats random ({name}, after {REVEALS})",
                "far above",
                f"{in_words(best)} {mean[best]:.3f}, random {mean['random']:.3f}",
                beats([paired_difference(last[best], last["random"])]),
            ),
            Claim(
                "Figure 4c",
                f"mutual information is better than variance ({name}, after {REVEALS})",
                "best",
                f"mutual information {mean['mi']:.3f}, variance {mean['variance']:.3f}",
                beats([paired_difference(last["mi"], last["variance"])]),
            ),
        ]
    return Exhibit(
        title="Figure 4c: which label of this item?",
        paragraphs=[
            "100 training items; the labels of 30 others are revealed one by one, each item its own. F1 of an item's "
            "label set, revealed labels included. Label prior: shrunk label covariance; thresholds by leave-one-out."
        ],
        pictures=pictures,
        header=["", *(f"after {at}" for at in STAGES)],
        rows=rows,
        note="Mean F1 per item over runs.",
        claims=claims,
    )


def _generalised(runs: list[Outcome]) -> Exhibit:
    rows, pictures, gains = [], [], []
    for name in _distinct(runs, "set"):
        of = [r for r in runs if r["set"] == name]
        rows += [(f"{name} · {in_words(s)}", _against_random(of, s)) for s in _distinct(of, "strategy")]
        gains.append(_gain(of, "mutual_information", "area"))
        pictures.append(_curves_picture(of, f"miml-generalised-{name}", f"{name}, pairs", cost="answers"))
    ours = ", ".join(f"{points(gain)} in area" for gain in gains)
    return Exhibit(
        title="Figure 4d: items and labels together",
        paragraphs=[
            "100 items in full, then 150 (item, label) answers a round; the test set is fixed and never asked about."
        ],
        pictures=pictures,
        header=["", "end", "area", "gain over random, end", "gain over random, area"],
        rows=rows,
        note="Points of mean precision at 1–3; ± one standard error over seeds, gains paired seed by seed.",
        claims=[Claim("Figure 4d", "mutual information beats random pairs", "above, 35 runs", ours, beats(gains))],
    )


def _distinct(runs: Iterable[Outcome], key: str) -> list[str]:
    return list(dict.fromkeys(run[key] for run in runs))


def _of(runs: Sequence[Outcome], strategy: str, at: str) -> dict[int, float]:
    """Seed to the last score, or to the mean over the curve."""
    return {
        r["seed"]: r["score"][-1] if at == "end" else float(np.mean(r["score"]))
        for r in runs
        if r["strategy"] == strategy
    }


def _areas(runs: Sequence[Outcome], strategy: str) -> dict[int, float]:
    return _of(runs, strategy, "area")


def _gain(runs: Sequence[Outcome], strategy: str, at: str) -> Estimate:
    return paired_difference(_of(runs, strategy, at), _of(runs, "random", at))


def _against_random(runs: Sequence[Outcome], strategy: str) -> list[Cell]:
    means = [Cell(f"{POINTS * Estimate.of(_of(runs, strategy, at).values()).value:.1f}") for at in ("end", "area")]
    if strategy == "random":
        return [*means, Cell("—"), Cell("—")]
    return [*means, *(Cell(points(_gain(runs, strategy, at))) for at in ("end", "area"))]


def _curves_picture(runs: Sequence[Outcome], file: str, what: str, cost: str = "items_read") -> Picture:
    lines = []
    for strategy in _distinct(runs, "strategy"):
        curves = [r for r in runs if r["strategy"] == strategy]
        lines.append(Line(strategy, np.mean([r[cost] for r in curves], 0), np.array([r["score"] for r in curves])))
    drawn = draw_lines(lines, "items read" if cost == "items_read" else "answers given", "mean precision at 1–3")
    caption = f"{what}: mean over {lines[0].values.shape[0]} runs, band: one standard error."
    return Picture(file, as_png(drawn), caption, f"Learning curves, {what}")


def _rules_picture(runs: Sequence[Outcome], name: str) -> Picture:
    lines = [
        Line(rule, np.arange(REVEALS + 1.0), np.array([r["f1"] for r in runs if r["rule"] == rule]))
        for rule in _distinct(runs, "rule")
    ]
    drawn = draw_lines(lines, "labels revealed per item", "F1 of the items' label sets")
    return Picture(
        f"miml-diagnosis-{name}", as_png(drawn), f"Active diagnosis on {name}.", f"F1 against reveals, {name}"
    )


def _chosen_picture(runs: Sequence[Outcome]) -> Picture:
    decoder, seed = runs[0]["decoder"], runs[0]["seed"]
    pool = make_gaussian_labels(1300, n_labels=35, mean_labels=7, random_state=seed).take(np.arange(1000))
    of = [r for r in runs if r["decoder"] == decoder and r["seed"] == seed]
    chosen = {r["strategy"]: r["items"] for r in of}
    caption = (
        f"What each strategy asked about in run {seed} ({decoder} decoder). Ringed: the 20 random items all start from."
    )
    return Picture(
        "miml-toy-chosen", as_png(draw_chosen(pool, chosen, of[0]["items"][:20])), caption, "Map of chosen items"
    )
