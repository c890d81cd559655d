"""Paper 3, GP-B²M (NeurIPS 2021), done again: what came of it, as figures, tables and claims with verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from labelwise.experiments.findings import in_words
from labelwise.experiments.jobs import Outcome
from labelwise.experiments.mixture_figures import draw_label_gains, thirds_by
from labelwise.experiments.report import Cell, Picture
from labelwise.experiments.reproduce.claims import Claim, Exhibit, Outcomes, Paper
from labelwise.experiments.reproduce.figures import Line, draw_lines
from labelwise.experiments.reproduce.gpb2m import PAPER_RIVALS, Arm, jobs
from labelwise.experiments.reproduce.gpb2m_plane import NAMES, cell, components, distinct, picture, shapes, sizes
from labelwise.experiments.reproduce.verdicts import POINTS, beats, points, told
from labelwise.experiments.statistics import Estimate, paired_difference

DRAWN = (("mixture", "scheduled"), ("mixture", "random"), ("label_gp", "random"), ("linear", "random"), *PAPER_RIVALS)
FOUR = ("enron", "yeast", "bibtex", "corel5k")
AREA_NOTE = "Points of macro ROC-AUC, mean over the curve; ± one standard error over seeds, paired seed by seed."


def exhibits(outcomes: Outcomes) -> list[Exhibit]:
    """What could be computed; the rest is left out."""
    curves = outcomes.get("curves")
    parts: Mapping[str, Callable[[list[Outcome]], Exhibit]] = {
        "components": components,
        "shapes": shapes,
        "sizes": sizes,
        "curves": _curves,
    }
    shown = [make(outcomes[name]) for name, make in parts.items() if outcomes.get(name)]
    if curves and outcomes.get("weights"):
        shown.append(_weights([*curves, *outcomes["weights"]]))
    return [*shown, _labels(curves)] if curves else shown


PAPER = Paper(
    "gpb2m", "GP-B²M: a Gaussian process-Bayesian Bernoulli mixture for active learning (NeurIPS 2021)", jobs, exhibits
)


def _curves(runs: list[Outcome]) -> Exhibit:
    rows, pictures = [], []
    for name in distinct(runs, "set"):
        of = [run for run in runs if run["set"] == name]
        rows += [(f"{name} · {_arm_name(*arm)}", _arm_cells(of, arm)) for arm in _arms(of)]
        pictures.append(_curves_picture(of, name))
    return Exhibit(
        title="Figure 6: learning curves",
        paragraphs=[
            "40 items that have every label, then ten at a time; 500 other items are the test set. Frequent labels; "
            "words by tf-idf and 300 singular vectors of the pool. The mixture has 15 components, one fit.",
            "Scheduled: ln|cov| plus a falling weight on what an item takes from the variance of the pool. Published: "
            "the paper's, the item's own variance, both terms standardised.",
            "MMC, Adaptive, AUDI and CVIRS choose by, and are judged by, one logistic regression per label; CS-GP is "
            "`OrthogonalTargetGP` with its own entropy.",
        ],
        pictures=pictures,
        header=["", "area", "end", "micro AUC, end", "average precision, end", "gain over random", "each seed"],
        rows=rows,
        note=AREA_NOTE,
        claims=_curve_claims(runs),
    )


def _curve_claims(runs: list[Outcome]) -> list[Claim]:
    sets = [name for name in FOUR if any(run["set"] == name for run in runs)]
    gains = {
        questions: [_gain([r for r in runs if r["set"] == s], questions) for s in sets]
        for questions in ("scheduled", "published", "covariance_only", "variance_only")
        if any(run["questions"] == questions for run in runs)
    }
    ahead = sum(gain.value > 0 for gain in gains["scheduled"])
    pooled = Estimate.of(d for name in sets for d in _seed_gains([r for r in runs if r["set"] == name]).values())
    claims = [
        Claim(
            "Figure 6", f"{in_words(q)} beats random in the same model ({', '.join(sets)})", "above", told(d), beats(d)
        )
        for q, d in gains.items()
    ]
    claims.append(
        Claim(
            "Figure 6",
            "with the schedule the area is larger on at least three sets of four",
            "on all five",
            f"on {ahead} of {len(sets)}; {points(pooled)} over {pooled.n} runs",
            "holds" if ahead >= 3 else "does not hold" if ahead <= len(sets) / 2 else "undecided",
        )
    )
    for arm, rival in PAPER_RIVALS.items():
        if arm in _arms(runs):
            lead = [_difference(runs, s, ("mixture", "scheduled"), arm) for s in sets]
            claims.append(Claim("Figure 6", f"the mixture beats {rival}", "above", told(lead), beats(lead)))
    for rival in ("linear", "label_gp"):
        lead = [_difference(runs, s, ("mixture", "random"), (rival, "random")) for s in sets]
        says = f"the mixture beats {NAMES[rival]}, both asking at random"
        claims.append(Claim("Figure 6", says, "above" if rival == "linear" else "not tried", told(lead), beats(lead)))
    return claims


def _weights(runs: list[Outcome]) -> Exhibit:
    tried = {run["set"] for run in runs if run["questions"] == "raw"}
    of = [run for run in runs if run["set"] in tried and run["model"] == "mixture"]
    kinds = [q for q in distinct(of, "questions") if q != "random"]
    words = {
        "scheduled": "10 e^(−answered / 100), variance of the pool",
        "published": "4 e^(−r / 3), own variance",
        "covariance_only": "0",
        "variance_only": "infinite, own variance",
        "exploring_only": "infinite, variance of the pool",
        "raw": "1, own variance, raw terms",
        "entropy": "10 e^(−answered / 100), summed entropies instead of ln|cov|",
    }
    sets = sorted(tried)
    rows = [(words[q], [Cell(points(_gain([r for r in of if r["set"] == name], q))) for name in sets]) for q in kinds]
    raw, none = (
        [_difference(of, name, ("mixture", q), ("mixture", "random")).value for name in sets]
        for q in ("raw", "covariance_only")
    )
    same = float(np.abs(np.array(raw) - none).max())
    return Exhibit(
        title="Figure 6f: the weight of exploring",
        header=["weight η", *(f"gain over random, {name}" for name in sets)],
        rows=rows,
        note=AREA_NOTE,
        claims=[
            Claim(
                "Section 3.3",
                "η = 1 on the raw terms matters",
                "gradually reduced",
                f"differs from η = 0 by at most {POINTS * same:.1f} points",
                "does not hold" if same < 0.005 else "holds",
            )
        ],
    )


def _labels(runs: list[Outcome]) -> Exhibit:
    gains, rows = {}, []
    for name in distinct(runs, "set"):
        frequency, ours, theirs = (
            np.mean([run[key] for run in _of(runs, name, *arm)], axis=0)
            for key, arm in (
                ("frequency", ("mixture", "scheduled")),
                ("average_precision", ("mixture", "scheduled")),
                ("average_precision", ("linear", "random")),
            )
        )
        judged = np.isfinite(ours) & np.isfinite(theirs)
        gains[name] = frequency[judged], ours[judged], theirs[judged]
        rows.append((name, [Cell(text) for text in _third_cells(*gains[name])]))
    rare = {name: _rare_gain(*gain) for name, gain in gains.items()}
    up = sum(delta > 0 for delta in rare.values())
    return Exhibit(
        title="Figure 7: which labels gain",
        paragraphs=["The mixture with scheduled questions against logistic regression with random ones, at the end."],
        pictures=[
            picture(
                "gpb2m-labels",
                draw_label_gains(gains, "logistic regression"),
                "Each dot a label; the line joins the rarest, middle and commonest third.",
            )
        ],
        header=["set", "rarest third", "middle", "commonest"],
        rows=rows,
        note="Mean gain in average precision, and median gain in per cent, averaged over seeds before.",
        claims=[
            Claim(
                "Figure 7",
                "rare labels gain over logistic regression",
                "gain most",
                ", ".join(f"{name} {delta:+.3f}" for name, delta in rare.items()) + " for the rarest third",
                "holds" if up == len(rare) else "holds in part" if up else "does not hold",
            )
        ],
    )


def _third_cells(frequency: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> list[str]:
    per_cent = 100 * (ours - theirs) / np.maximum(theirs, 1e-12)
    return [f"{(ours - theirs)[p].mean():+.3f} · {np.median(per_cent[p]):+.0f} %" for p in thirds_by(frequency)]


def _rare_gain(frequency: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> float:
    return float((ours - theirs)[thirds_by(frequency)[0]].mean())


def _arms(runs: Sequence[Outcome]) -> list[Arm]:
    return list(dict.fromkeys((run["model"], run["questions"]) for run in runs))


def _arm_name(model: str, questions: str) -> str:
    if (model, questions) in PAPER_RIVALS:
        return PAPER_RIVALS[model, questions]
    return in_words(questions) if model == "mixture" else f"{NAMES[model].split(',')[0]}, {in_words(questions)}"


def _of(runs: Iterable[Outcome], name: str, model: str, questions: str) -> list[Outcome]:
    wanted = {"set": name, "model": model, "questions": questions}
    return [run for run in runs if wanted.items() <= run.items()]


def _areas(runs: Sequence[Outcome], arm: Arm) -> dict[int, float]:
    of = [run for run in runs if (run["model"], run["questions"]) == arm]
    return {run["seed"]: float(np.mean(run["macro_roc_auc"])) for run in of}


def _difference(runs: Sequence[Outcome], name: str, arm: Arm, other: Arm) -> Estimate:
    of = [run for run in runs if run["set"] == name]
    return paired_difference(_areas(of, arm), _areas(of, other))


def _gain(runs: Sequence[Outcome], questions: str) -> Estimate:
    return paired_difference(_areas(runs, ("mixture", questions)), _areas(runs, ("mixture", "random")))


def _seed_gains(runs: Sequence[Outcome]) -> dict[int, float]:
    """Seed to the gain of scheduled over random questions."""
    ours, random = (_areas(runs, ("mixture", questions)) for questions in ("scheduled", "random"))
    return {seed: ours[seed] - random[seed] for seed in ours.keys() & random.keys()}


def _arm_cells(runs: Sequence[Outcome], arm: Arm) -> list[Cell]:
    of = [run for run in runs if (run["model"], run["questions"]) == arm]
    ends = [
        np.mean([run[key][-1] for run in of]) for key in ("macro_roc_auc", "micro_roc_auc", "macro_average_precision")
    ]
    cells = [cell(float(np.mean([run["macro_roc_auc"] for run in of]))), *(cell(float(end)) for end in ends)]
    if arm == ("mixture", "random"):
        return [*cells, Cell("—"), Cell("—")]
    ours, random = _areas(runs, arm), _areas(runs, ("mixture", "random"))
    each = " ".join(f"{POINTS * (ours[seed] - random[seed]):+.1f}" for seed in sorted(ours))
    return [*cells, Cell(points(paired_difference(ours, random))), Cell(each)]


def _curves_picture(runs: Sequence[Outcome], name: str) -> Picture:
    lines = []
    for arm in (arm for arm in _arms(runs) if arm in DRAWN):
        of = [run for run in runs if (run["model"], run["questions"]) == arm]
        values = np.array([run["macro_roc_auc"] for run in of])
        lines.append(Line(_arm_name(*arm), np.array(of[0]["items"], dtype=float), values))
    drawn = draw_lines(lines, "items read", "macro ROC-AUC")
    return picture(f"gpb2m-{name}", drawn, f"{name}: mean over {lines[0].values.shape[0]} seeds.")
