"""Paper 3, GP-B²M (NeurIPS 2021), done again: what came of it, as figures, tables and claims with verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from labelwise.experiments.figures import as_png
from labelwise.experiments.findings import in_words
from labelwise.experiments.jobs import Outcome
from labelwise.experiments.mixture_figures import (
    ComponentView,
    GateMaps,
    draw_components,
    draw_gates,
    draw_label_gains,
    draw_overlap,
    thirds_by,
)
from labelwise.experiments.report import Cell, Picture
from labelwise.experiments.reproduce.claims import Claim, Exhibit, Outcomes, Paper, Verdict
from labelwise.experiments.reproduce.figures import Line, draw_lines
from labelwise.experiments.reproduce.gpb2m import MIXTURES, N_TRAIN, PAPER_RIVALS, RIVALS, TYPES, Arm, jobs
from labelwise.experiments.reproduce.verdicts import POINTS, beats, points, told
from labelwise.experiments.statistics import Estimate, paired_difference

NAMES = {
    "mixture": "label mixture",
    "mixture_variational": "label mixture, variational gate",
    "linear": "logistic regression, one per label",
    "rbf_svm": "RBF SVM, one per label",
    "gp": "GP classifier, one per label",
    "label_gp": "LabelGP",
}
PAPER_AUC = {"GP-B²M": (0.83, 0.70, 0.86, 0.82), "binary relevance": (0.79, 0.68, 0.72, 0.58)}
DRAWN = (("mixture", "scheduled"), ("mixture", "random"), ("label_gp", "random"), ("linear", "random"), *PAPER_RIVALS)
NEAR = 0.02  # of the best rival
FOUR = ("enron", "yeast", "bibtex", "corel5k")
AREA_NOTE = "Points of macro ROC-AUC, mean over the curve; ± one standard error over seeds, paired seed by seed."


def exhibits(outcomes: Outcomes) -> list[Exhibit]:
    """What could be computed; the rest is left out."""
    curves = outcomes.get("curves")
    parts: Mapping[str, Callable[[list[Outcome]], Exhibit]] = {
        "components": _components,
        "shapes": _shapes,
        "sizes": _sizes,
        "curves": _curves,
    }
    shown = [make(outcomes[name]) for name, make in parts.items() if outcomes.get(name)]
    if curves and outcomes.get("weights"):
        shown.append(_weights([*curves, *outcomes["weights"]]))
    return [*shown, _labels(curves)] if curves else shown


PAPER = Paper(
    "gpb2m", "GP-B²M: a Gaussian process-Bayesian Bernoulli mixture for active learning (NeurIPS 2021)", jobs, exhibits
)


def _components(runs: list[Outcome]) -> Exhibit:
    run = runs[0]
    keys = ("size", "labels", "probabilities", "base_rates")
    views = [ComponentView(*(part[key] for key in keys)) for part in run["components"]]
    typical = [np.array(part["items"], dtype=np.intp) for part in run["components"]]
    maps = GateMaps(np.array(run["maps"]), (0.0, 1.0, 0.0, 1.0), np.array(run["points"]), typical)
    names = [view.name for view in views]
    purest = sum(max(view.probabilities) > 0.5 for view in views)
    return Exhibit(
        title="Figures 1c and 4: what the components are",
        paragraphs=[f"{N_TRAIN} items of the synthetic set in the plane, one fit with {len(views)} components."],
        pictures=[
            _picture(
                "gpb2m-overlap", draw_overlap(maps, names), "Each place in the colour of its likeliest component."
            ),
            _picture(
                "gpb2m-gates", draw_gates(maps, names), "Where each component is likely; its typical items ringed."
            ),
            _picture(
                "gpb2m-components",
                draw_components(views),
                "The likeliest labels of each component; a tick where the label is on average.",
            ),
        ],
        claims=[
            Claim(
                "Figure 1c",
                "components are readable groups of labels",
                "shown",
                f"{purest} of {len(views)} components have a label that is likelier than not",
                "holds" if purest >= len(views) / 2 else "does not hold",
            )
        ],
    )


def _shapes(runs: list[Outcome]) -> Exhibit:
    auc = {model: _mean_auc(runs, model) for model in _distinct(runs, "model")}
    rows = [(f"{name} (paper)", [*map(_cell, values), Cell("—")]) for name, values in PAPER_AUC.items()]
    rows += [(NAMES[model], [_cell(auc[model][kind]) for kind in (*TYPES, "macro")]) for model in auc]
    ceiling = [_cell(float(np.mean([run["ceiling"][kind] for run in runs]))) for kind in TYPES]
    rows.append(("exact probabilities", [*ceiling, Cell("—")]))
    over = {kind: auc["mixture"][kind] - auc["linear"][kind] for kind in TYPES}
    best = {kind: max(auc[rival][kind] for rival in RIVALS) for kind in TYPES}
    behind = {kind: auc["mixture"][kind] - best[kind] for kind in TYPES}
    near = [difference >= -NEAR for difference in behind.values()]
    linear: Verdict = "holds" if over["E"] >= 0.2 and over["O"] >= 0.1 else "holds in part"
    return Exhibit(
        title="Figure 5: kinds of labels in the plane",
        paragraphs=[
            f"{N_TRAIN} training and 1500 test items; G: one shape each, C: in exactly one or in more, O: overlaps, "
            f"E: an ellipse and random parts of it. {MIXTURES['mixture']['n_components']} components, four restarts."
        ],
        header=["ROC-AUC", *TYPES, "macro"],
        rows=rows,
        note=f"Mean over {_n_seeds(runs)} seeds. The paper does not give its shapes; these are ours.",
        claims=[
            Claim(
                "Figure 5",
                "the mixture beats linear binary relevance on every kind of label",
                "+.04 G, +.02 C, +.14 O, +.24 E",
                _by_kind(over),
                linear if min(over.values()) > 0 else "does not hold",
            ),
            Claim(
                "Figure 5",
                f"and is at most {NEAR} below the best non-linear rival",
                "not tried",
                _by_kind(behind),
                "holds" if all(near) else "holds in part" if any(near) else "does not hold",
            ),
        ],
    )


def _sizes(runs: list[Outcome]) -> Exhibit:
    def of(n_train: int, n_components: int, ratio: float) -> list[Outcome]:
        wanted = {"n_train": n_train, "n_components": n_components, "prune_ratio": ratio}
        return [run for run in runs if wanted.items() <= run.items()]

    sizes = sorted(set(_distinct(runs, "n_components")))
    few = min(_distinct(runs, "n_train"))
    settings = ((few, 0.0), (N_TRAIN, 0.0), (N_TRAIN, 0.6))
    macro = {(s, k): float(np.mean([run["macro"] for run in of(s[0], k, s[1])])) for s in settings for k in sizes}
    rows = [
        (f"{n} items" + (f", pruned at {ratio}" if ratio else ""), [_cell(macro[(n, ratio), k]) for k in sizes])
        for n, ratio in settings
    ]
    kept = ", ".join(f"{np.mean([run['kept'] for run in of(N_TRAIN, k, 0.6)]):.0f} of {k}" for k in sizes)
    first, last = (sizes[int(np.argmax([macro[setting, k] for k in sizes]))] for setting in settings[:2])
    lost = [macro[settings[2], k] - macro[settings[1], k] for k in sizes]
    return Exhibit(
        title="Sections 4.2 and 4.3: how many components",
        paragraphs=[f"The synthetic set, one fit each. Pruning once after convergence leaves {kept} components."],
        header=["macro ROC-AUC", *(f"K = {k}" for k in sizes)],
        rows=rows,
        note=f"Mean over {_n_seeds(runs)} seeds.",
        claims=[
            Claim(
                "Section 4.2",
                "fewer components are better at first",
                "fewer early, more later",
                f"best with {first} at {few} items and with {last} at {N_TRAIN}",
                "holds" if first < last else "does not hold",
            ),
            Claim(
                "Section 4.2",
                "dropping small components (ρ = 0.6) helps",
                "shown for ρ",
                ", ".join(f"{POINTS * value:+.1f}" for value in lost) + " points for rising K",
                "holds" if min(lost) > 0 else "holds in part" if max(lost) > 0.002 else "does not hold",
            ),
        ],
    )


def _curves(runs: list[Outcome]) -> Exhibit:
    rows, pictures = [], []
    for name in _distinct(runs, "set"):
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
    kinds = [q for q in _distinct(of, "questions") if q != "random"]
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
    for name in _distinct(runs, "set"):
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
            _picture(
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
    cells = [_cell(float(np.mean([run["macro_roc_auc"] for run in of]))), *(_cell(float(end)) for end in ends)]
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
    return _picture(f"gpb2m-{name}", drawn, f"{name}: mean over {lines[0].values.shape[0]} seeds.")


def _picture(file: str, figure: Figure, caption: str) -> Picture:
    return Picture(file, as_png(figure), caption, caption)


def _mean_auc(runs: Sequence[Outcome], model: str) -> dict[str, float]:
    of = [run for run in runs if run["model"] == model]
    by_kind = {kind: float(np.mean([run["auc"][kind] for run in of])) for kind in TYPES}
    return by_kind | {"macro": float(np.mean([run["macro"] for run in of]))}


def _by_kind(values: Mapping[str, float]) -> str:
    return ", ".join(f"{value:+.3f} {kind}" for kind, value in values.items())


def _cell(value: float) -> Cell:
    return Cell(f"{value:.3f}")


def _n_seeds(runs: Sequence[Outcome]) -> int:
    return len({run["seed"] for run in runs})


def _distinct(runs: Iterable[Outcome], key: str) -> list:
    return list(dict.fromkeys(run[key] for run in runs))
