"""Paper 5, BOMC (AISTATS 2010), done again: exhibits and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from labelwise.studies.papers.bomc import BAYES, MADE_UP, RIVALS, jobs
from labelwise.studies.papers.engine import (
    Claim,
    Exhibit,
    Measure,
    Paper,
    Runs,
    Versus,
    as_good,
    cells,
    holds_if,
    judge,
    picture,
    points,
    span,
    with_error,
)
from labelwise.studies.papers.figures import CurvePanel, Line, draw_differences, draw_panels
from labelwise.studies.report import Cell, Picture
from labelwise.studies.statistics import Estimate

ABSENT = {
    "Figure 1": "It is a diagram of the factor graph, no experiment.",
    "Figure 2": "It is a diagram of the factor graph, no experiment.",
    "Figure 3": "It is a diagram of the factor graph, no experiment.",
}
PAPER = Paper(
    "bomc", "BOMC: Bayesian online learning for multi-label and multi-variate measures (AISTATS 2010)", jobs, ABSENT
)
LEARNERS = (*BAYES, *RIVALS)
OURS, SINGLE, BOMC, SINGLE_BOMC = BAYES
PA, SVM = "passive-aggressive", "SVM"
MASS, EXPECTED, SAMPLED, TUNED = "class mass", "expected F1", "expected F1, 5 samples", "cross-validated"
STAND_IN = (
    "No published set was at hand: made-up rows of words stand in. They show that everything runs; what they say about "
    "the paper's claims is worth little."
)
FEWEST, ALL = 0, -1  # numbers of rows
Floats = Sequence[float]


@dataclass(frozen=True)
class LearnerRule:
    """One side of a claim: a learner, the rule that makes sets of its beliefs, and after how many rows."""

    learner: str
    rule: str
    at: int = ALL


def by_mass(learner: str, at: int = ALL) -> LearnerRule:
    return LearnerRule(learner, MASS, at)


TUNED_PA, TUNED_SVM = LearnerRule(PA, TUNED), LearnerRule(SVM, TUNED)
SAMPLED_BOMC, EXPECTED_OURS = LearnerRule(BOMC, SAMPLED), LearnerRule(OURS, EXPECTED)
CURVE_CLAIMS = (
    Versus("Figure 5", "class mass beats passive-aggressive with tuned thresholds", "above", by_mass(BOMC), TUNED_PA),
    Versus("Figure 5", "the learner beats passive-aggressive, both by class mass", "—", by_mass(BOMC), by_mass(PA)),
    Versus("Beyond", "with score noise 1 it does, both by class mass", "—", by_mass(OURS), by_mass(PA)),
    Versus("Figure 5", "class mass is as good as the batch SVM", "often", by_mass(BOMC), TUNED_SVM, as_good),
    Versus("Beyond", "with score noise 1 it is, both by class mass", "—", by_mass(OURS), by_mass(SVM), as_good),
    Versus("Figure 5", "class mass beats 5 posterior samples", "above", by_mass(BOMC), SAMPLED_BOMC),
    Versus("Beyond", "exact expected F1 is as good as class mass", "—", EXPECTED_OURS, by_mass(OURS), as_good),
)
COUPLED = "coupled labels beat independent ones"
COUPLING_CLAIMS = (
    Versus(
        "Figure 6", f"{COUPLED}, fewest rows", "on 2 of 3 groups", by_mass(BOMC, FEWEST), by_mass(SINGLE_BOMC, FEWEST)
    ),
    Versus("Figure 6", f"{COUPLED}, all rows", "on 2 of 3 groups", by_mass(BOMC), by_mass(SINGLE_BOMC)),
    Versus("Beyond", f"{COUPLED} with our settings, all rows", "—", by_mass(OURS), by_mass(SINGLE)),
)


# -- figure 5 ---------------------------------------------------------------------------------------------------------


@PAPER.exhibit("curves", shows=("Figure 5",))
def curves(runs: Runs) -> Exhibit:
    sets = runs.distinct("set")
    rows = [
        (f"{name} · {learner} · {rule}", _f1_cells(runs.where(set=name, learner=learner), rule))
        for name in sets
        for learner in LEARNERS
        for rule in _rules(learner)
        if rule != SAMPLED
    ]
    return Exhibit(
        title="Figure 5: macro-F1 against training rows",
        text=f"A random third of the rows is the test set; {len(runs.distinct('seed'))} splits. Macro-F1 is over the "
        "labels that occur in the test rows. Coupled and independent are labelwise's defaults (score noise 1); as "
        "published has the paper's settings (score noise 0.01, bias variance 10⁴). One pass each, but for the SVM, "
        "which is liblinear to convergence." + ("\n\n" + STAND_IN if sets == [MADE_UP] else ""),
        pictures=[_curves_picture(of, name) for name, of in runs.by("set").items()],
        header=["", *_stage_names(runs)],
        rows=rows,
        note="Macro-F1 with its standard error over splits.",
        claims=[*judge(CURVE_CLAIMS, partial(_gains, runs)), _sweeps_claim(runs)],
    )


def _sweeps_claim(runs: Runs) -> Claim:
    mean = [of.mean(("sweeps", -1)) for of in runs.where(learner=BOMC).by("set").values()]
    says = "messages settle to 10⁻³ in three sweeps on average"
    return Claim("Section 5.2", says, "three", f"{span(mean, '.2f')} sweeps", holds_if(max(mean) <= 3))


def _curves_picture(runs: Runs, name: str) -> Picture:
    own = {learner: EXPECTED if learner in BAYES else TUNED for learner in LEARNERS}
    rules = {"class mass": dict.fromkeys(LEARNERS, MASS), "expected F1, or tuned thresholds": own}
    panels = [
        CurvePanel(
            title,
            [Line(one, _sizes(runs), runs.where(learner=one).array(_f1_curve(rule))) for one, rule in chosen.items()],
            y_label="macro-F1",
        )
        for title, chosen in rules.items()
    ]
    caption = (
        f"{name}: macro-F1 on the test rows. Left: every learner by class mass. Right: the Bayesian learners by "
        "expected F1, their rivals by cross-validated thresholds. Band: one standard error over splits."
    )
    drawn = draw_panels(panels, columns=2, share_y=True)
    return picture(f"bomc-{name}", drawn, caption, f"Macro-F1 against training rows on {name}")


# -- figure 6 ---------------------------------------------------------------------------------------------------------


@PAPER.exhibit("curves", shows=("Figure 6",))
def coupling(runs: Runs) -> Exhibit:
    kinds = {"as published": (BOMC, SINGLE_BOMC), "score noise 1, local bias variance 1": (OURS, SINGLE)}
    rows, panels = [], []
    for name, of in runs.by("set").items():
        lines = []
        for words, pair in kinds.items():
            coupled, single = (of.where(learner=learner).array(_f1_curve(MASS)) for learner in pair)
            relative = 200 * (coupled - single) / (coupled + single)  # the paper's measure
            lines.append(Line(words, _sizes(of), relative))
            texts = [with_error(relative[:, at], "+.1f", 1) for at in _stages(relative.shape[1])]
            rows.append((f"{name} · {words}", cells(*texts)))
        panels.append(CurvePanel(name, lines, y_label="relative gain, %"))
    caption = (
        "200 (coupled − independent)/(coupled + independent) of macro-F1 by class mass: bars are means over splits, "
        "dots the splits. Pale: as published."
    )
    return Exhibit(
        title="Figure 6: what coupling by a global bias gains",
        text="The paper does not state the variance of the local biases; as published takes that of the global one, "
        "10⁴. Most of what coupling gains on few rows goes when it is 1.",
        pictures=[picture("bomc-coupling", draw_differences(panels), caption, "Relative gain by coupling labels")],
        header=["", *_stage_names(runs)],
        rows=rows,
        note="Per cent, with the standard error over splits.",
        claims=_coupling_claims(runs),
    )


def _coupling_claims(runs: Runs) -> list[Claim]:
    def variance(of: Runs, learner: str) -> float:
        return of.where(learner=learner).mean(("bias_variance", -1))

    ratios = [variance(of, SINGLE_BOMC) / variance(of, BOMC) for of in runs.by("set").values()]
    says = "the global bias is learnt more confidently than local ones"
    ours = f"{span(ratios, ',.0f')} times the precision of the median local bias"
    confident = Claim("Section 5.3.2", says, "higher precision", ours, holds_if(min(ratios) > 1))
    return [*judge(COUPLING_CLAIMS, partial(_gains, runs)), confident]


# -- figure 7 ---------------------------------------------------------------------------------------------------------


@PAPER.exhibit("curves", shows=("Figure 7",))
def times(runs: Runs) -> Exhibit:
    by_set, timed = runs.by("set"), (OURS, SINGLE, *RIVALS)
    seconds = {
        (name, learner): of.where(learner=learner).array("seconds") for name, of in by_set.items() for learner in timed
    }
    last = {pair: float(np.median(values[:, -1])) for pair, values in seconds.items()}
    panels = [
        CurvePanel(
            f"{name}, {of[0]['labels']} labels",
            [Line(learner, _sizes(of), seconds[name, learner]) for learner in timed],
            y_label="seconds",
            y_scale="log",
        )
        for name, of in by_set.items()
    ]
    single, pa, svm = ([last[name, one] / last[name, OURS] for name in by_set] for one in (SINGLE, PA, SVM))
    growth = [_growth(_sizes(of), seconds[name, OURS]) for name, of in by_set.items()]
    caption = "Seconds of the processor to train the final model, one thread; the time of cross-validation is left out."
    return Exhibit(
        title="Figure 7: training time",
        text="The rivals are scikit-learn's, which learn one label after the other, each going through all rows; "
        "labelwise learns all labels in one pass over the rows. A passive-aggressive learner written like that, "
        "with half the numbers to keep, would take less time than either.",
        pictures=[picture("bomc-times", draw_panels(panels, columns=3), caption, "Training time against rows")],
        header=["", *by_set],
        rows=[(learner, cells(*(f"{last[name, learner]:.3f} s" for name in by_set))) for learner in timed],
        note="Median over splits, all rows.",
        claims=_time_claims(growth, single, pa, svm),
    )


def _time_claims(growth: Floats, single: Floats, pa: Floats, svm: Floats) -> list[Claim]:
    """How the time grows with the rows, and the times of the others in those of coupled labels, by set."""
    power = f"seconds grow as rows to the power of {span(growth, '.2f')}"
    more, longer = "independent labels take slightly more time than coupled ones", [ratio > 1 for ratio in single]
    faster, paper = "passive-aggressive and SVM are 2 to 3 times faster", "2–3 times faster (C against F#)"
    slower = f"scikit-learn's {span(pa, '.0f')} and {span(svm, '.0f')} times slower"
    return [
        Claim("Figure 7", "training time is linear in the rows", "linear", power, holds_if(max(growth) < 1.25)),
        Claim("Figure 7", more, "slightly more", f"{span(single, '.2f')} times the time", holds_if(*longer)),
        Claim("Figure 7", faster, paper, slower, holds_if(max(*pa, *svm) < 1)),
    ]


def _growth(rows: np.ndarray, seconds: np.ndarray) -> float:
    """The exponent of the rows in the time, between the second smallest and the largest number of rows."""
    first = 1 if len(rows) > 2 else 0
    least = seconds.min(0)  # other work on the machine only adds
    return float(np.log(least[-1] / least[first]) / np.log(rows[-1] / rows[first]))


# -- figure 4 ---------------------------------------------------------------------------------------------------------


@PAPER.exhibit("curves")
def beliefs(runs: Runs) -> Exhibit:
    panels, rows = [], []
    for name, of in runs.by("set").items():
        lines = []
        for learner in (OURS, BOMC):
            kind = learner.removeprefix(OURS)
            believed, real = (of.where(learner=learner).array(_f1_curve(EXPECTED, key)) for key in ("believed", "f1"))
            lines += [Line(f"believed{kind}", _sizes(of), believed), Line(f"real{kind}", _sizes(of), real)]
            texts = [f"{believed[:, i].mean():.3f} / {real[:, i].mean():.3f}" for i in _stages(real.shape[1])]
            rows.append((f"{name} · {learner}", cells(*texts)))
        panels.append(CurvePanel(name, lines, y_label="macro-F1"))
    caption = "Macro-F1 that the sets of expected F1 are believed to have, and have, against training rows."
    drawn = draw_panels(panels, columns=3)
    return Exhibit(
        title="How far the believed F1 is to be trusted",
        text="Beliefs begin too timid and, as rows add up, become too sure: variances of correlated features shrink as "
        "if each had been seen alone. A believed F1 ranks rules and labels; it is no estimate to quote.",
        pictures=[picture("bomc-believed", drawn, caption, "Believed and real macro-F1 against training rows")],
        header=["believed / real", *_stage_names(runs)],
        rows=rows,
        note="Mean over splits, labels of the test rows.",
    )


@PAPER.exhibit("thresholds", shows=("Figure 4",))
def thresholds(runs: Runs) -> Exhibit:
    rows, pictures, claims = [], [], []
    for name, of_set in runs.by("set").items():
        for learner, of in of_set.by("learner").items():
            scores = [
                Cell(f"{of.mean(('f1', r)):.3f}", f"believed {of.mean(('believed', r)):.3f}") for r in of[0]["f1"]
            ]
            rows.append((f"{name} · {learner}", [*scores, *cells(of.mean("best"))]))
        pictures.append(_threshold_picture(of_set, name))
        claims += _threshold_claims(of_set.where(learner=BOMC), name)
    return Exhibit(
        title="Figure 4: believed and real F1 against the threshold",
        text="All training rows. The best threshold of each label is found on the test labels: nobody can reach it.",
        pictures=pictures,
        header=["", *runs[0]["f1"], "best thresholds"],
        rows=rows,
        note="Real macro-F1 under thresholds by expected F1, exactly and by posterior samples; mean over splits.",
        claims=claims,
    )


def _threshold_claims(of: Runs, name: str) -> list[Claim]:
    judged = of.mean("judged")
    chosen, best = judged * of.mean(("f1", "5 samples")), judged * of.mean("best")
    fewer = of.minus(of, ("f1", "5 samples"), ("f1", "20 samples"))
    shape = np.mean(
        [np.corrcoef(b, t)[0, 1] for r in of for b, t in zip(r["believed_curves"], r["real_curves"], strict=True)]
    )
    believed, real = of.mean(("believed", "independent")), of.mean(("f1", "independent"))
    alike = holds_if(shape >= 0.7, abs(believed - real) < 0.1)
    nearly, summed = f"5 samples find nearly the best thresholds ({name})", "F1 summed over labels 60.97 of 63.26"
    near = holds_if(chosen > 0.95 * best, chosen > 0.85 * best)
    trend = f"believed and real F1 follow a similar trend ({name})"
    follows = f"correlation {shape:.2f} over thresholds, but believed {believed:.2f} and real {real:.2f}"
    no_more = f"20 samples do no better than 5 ({name})"
    return [
        Claim("Figure 4", nearly, summed, f"{chosen:.1f} of {best:.1f}", near),
        Claim("Figure 4", trend, "roughly similar", follows, alike),
        Claim("Section 5.2", no_more, "no improvement", f"{points(fewer)} with 5", as_good([fewer])),
    ]


def _threshold_picture(runs: Runs, name: str) -> Picture:
    panels = []
    for learner, title in ((BOMC, "as published"), (OURS, "score noise 1")):
        run = runs.where(learner=learner)[0]
        for number, positives in enumerate(run["positives"]):
            lines = [
                Line(what, np.array(run["thresholds"]), np.array([run[f"{what}_curves"][number]]))
                for what in ("believed", "real")
            ]
            title_here = f"{title}, {positives} positives"
            panels.append(CurvePanel(title_here, lines, x_label="threshold", y_label="F1", x_scale="logit"))
    caption = (
        f"Four labels of {name}, from frequent to rare, one split: F1 when all items above the threshold get the label."
    )
    drawn = draw_panels(panels, columns=4, share_y=True)
    return picture(f"bomc-thresholds-{name}", drawn, caption, f"Believed and real F1 against the threshold on {name}")


@PAPER.exhibit("official")
def official(runs: Runs) -> Exhibit:
    by_set, orders = runs.by("set"), len(runs.distinct("seed"))
    rows = [
        (
            f"{learner} · {rule}",
            cells(*(with_error(of.where(learner=learner).values(("f1", -1, rule))) for of in by_set.values())),
        )
        for learner in runs.distinct("learner")
        for rule in _rules(learner)
    ]
    return Exhibit(
        title="Published training and test rows",
        text=f"All training rows, {orders} random orders of them; the SVM depends on the order through its folds only.",
        header=["", *(f"{name}, {of[0]['rows'][0]} rows" for name, of in by_set.items())],
        rows=rows,
        note="Macro-F1 over the labels of the test rows, with its standard error over orders: not over test rows.",
    )


# -- what the exhibits measure ----------------------------------------------------------------------------------------


def _rules(learner: str) -> tuple[str, ...]:
    return (MASS, EXPECTED, SAMPLED) if learner in BAYES else (MASS, TUNED)


def _f1_curve(rule: str, key: str = "f1") -> Measure:
    return lambda run: [part[rule] for part in run[key]]


def _gains(runs: Runs, *sides: LearnerRule) -> list[Estimate]:
    """Of one side over the other on each set, split by split."""
    ours, theirs = (("f1", side.at, side.rule) for side in sides)
    pairs = ([of.where(learner=side.learner) for side in sides] for of in runs.by("set").values())
    return [left.minus(right, ours, theirs) for left, right in pairs]


def _f1_cells(runs: Runs, rule: str) -> list[Cell]:
    values = runs.array(_f1_curve(rule))
    return cells(*(with_error(values[:, at]) for at in _stages(values.shape[1])))


def _sizes(runs: Runs) -> np.ndarray:
    return np.array(runs[0]["rows"], dtype=float)


def _stages(sizes: int) -> list[int]:
    """Which of so many numbers of rows the tables show."""
    return sorted({0, sizes // 2, sizes - 1})


def _stage_names(runs: Runs) -> list[str]:
    middle = ["middle"] if max(map(len, runs.values("rows"))) > 2 else []
    return ["fewest rows", *middle, "all rows"]
