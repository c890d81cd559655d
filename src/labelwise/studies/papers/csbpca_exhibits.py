"""Paper 2, CS-BPCA-GP (ICML 2019), done again: exhibits and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from labelwise.studies.jobs import Outcome
from labelwise.studies.papers.csbpca import DECODERS, LABEL_COUNTS, OPTIMIZERS, TYPE_TWO, jobs
from labelwise.studies.papers.engine import (
    Claim,
    Exhibit,
    Measure,
    Paper,
    Runs,
    Versus,
    beats,
    cells,
    holds_if,
    picture,
    with_error,
)
from labelwise.studies.papers.figures import Line, draw_lines
from labelwise.studies.report import Cell, Picture
from labelwise.studies.statistics import Estimate

PAPER = Paper("csbpca", "CS-BPCA-GP: fast direct search in an optimally compressed target space (ICML 2019)", jobs)
NAMES = {
    "codes": "codes, no PCA, entropy",
    "codes_random": "codes, no PCA, random",
    "evb": "CS-BPCA-GP (closed form), entropy",
    "evb_random": "CS-BPCA-GP (closed form), random",
    "evb_printed_sign": "CS-BPCA-GP (closed form), sign as printed",
    "vb": "CS-BPCA-GP (iterated), entropy",
    "published": "the paper's own recipe",
    "cs_rr": "CS-RR",
    "cs_br": "CS-BR",
    "cs_miml": "CS-MIML",
    "binary_relevance": "one classifier per label, random",
    "mmc": "MMC",
    "adaptive": "Adaptive",
}
OPTIMIZER_NAMES = {"gradient": "GA", "bayes": "B-OPT", "simplex": "S-OPT", "lbfgs": "L-BFGS"}
PAPER_SECONDS = {"corel5k": (0.58, 0.08, 0.08), "bibtex": (8.71, 0.48, 0.51), "delicious": (1.83, 0.17, 0.20)}
PAPER_SIZES = {"corel5k": (5000, 132), "bibtex": (7013, 127), "delicious": (8172, 157)}  # rows, labels of its table 1
LASSO, SCALED = DECODERS
beats_clearly = partial(beats, tie=0.005)  # of macro-F1: less is noise with three seeds
LEARNING_CLAIMS = (  # a method against another
    Versus("Figure 5", "CS-BPCA-GP beats CS-RR", "clearly", "evb", "cs_rr"),
    Versus("Figure 5", "CS-BPCA-GP beats CS-BR", "clearly", "evb", "cs_br"),
    Versus("Figure 5", "CS-BPCA-GP beats CS-MIML", "clearly", "evb", "cs_miml"),
    Versus("Section 3.1", "the second compression helps", "optimal compression", "evb", "codes"),
    Versus("Section 3.2", "entropy beats random questions (CS-BPCA-GP)", "by design", "evb", "evb_random"),
    Versus("Section 3.2", "entropy beats random questions (no PCA)", "—", "codes", "codes_random"),
    Versus("Equation 13", "the sign as printed asks better questions", "printed so", "evb_printed_sign", "evb"),
)


@PAPER.exhibit("data")
def data(runs: Runs) -> Exhibit:
    sizes = {run["set"]: [PAPER_SIZES[run["set"]], run["rule"], run["used"]] for run in runs}
    return Exhibit(
        title="Table 1: the data",
        text="The paper drops labels on less than 0.5 % of the rows and then rows without labels. On the public files "
        "that does not give its table 1. Delicious is cut at 2.5 % here, which gives about as many labels as the "
        "paper has. BookMark and WebAPI are not at hand.",
        header=["", "paper", "0.5 % rule on the public files", "used here"],
        rows=[(name, cells(*("{} × {}".format(*size) for size in each))) for name, each in sizes.items()],
        note="Rows × labels.",
        claims=[
            Claim(
                "Table 1",
                "the 0.5 % rule gives the data of the paper",
                "corel5k 5000 × 132, bibtex 7013 × 127, delicious 8172 × 157",
                ", ".join("{} {} × {}".format(name, *rule) for name, (_, rule, _) in sizes.items()),
                holds_if(all(tuple(rule) == paper for paper, rule, _ in sizes.values())),
            )
        ],
    )


@PAPER.exhibit("period")
def period(runs: Runs) -> Exhibit:
    rows, pictures, gains = [], [], {}
    periods = sorted(runs.distinct("period"))
    for name, of_set in runs.by("set").items():
        of = {p: of_set.where(period=p) for p in periods}
        rows += [(f"{name} · every {p} answers", _end_cells(of[p], SCALED, LASSO, seconds=True)) for p in periods]
        gains[name] = of[periods[0]].minus(of[periods[-1]], ("curve", -1, LASSO))
        lines = [_line(of[p], f"every {p}", LASSO) for p in periods]
        pictures.append(_picture(lines, f"csbpca-period-{name}", f"{name}: kernel update period"))
    says = f"learning the kernel after every {periods[0]} answers beats after every {periods[-1]}"
    return Exhibit(
        title="Figure 2: how often hyper-parameters are learnt",
        text="Codes without PCA, shared shape, L-BFGS from the last optimum, the weak prior on.",
        pictures=pictures,
        header=["", "macro-F1, scaled linear", "macro-F1, lasso", "CPU seconds"],
        rows=rows,
        claims=[_claim("Figure 2", says, "smaller periods are better", gains)],
    )


@PAPER.exhibit("rates", "learning")
def rates(runs: Runs, learning: Runs) -> Exhibit:
    rows, pictures, gains = [], [], {}
    for name, of in runs.by("set").items():
        usual = learning.where(set=name)
        groups = {f"codes, rate {rate}": each for rate, each in of.by("n_compressed").items()}
        groups["codes, rate 0.5"] = usual.where(method="codes")
        groups |= {NAMES[method]: usual.where(method=method) for method in ("evb", "vb")}
        rows += [
            (f"{name} · {label}", [*cells(f"{of.mean('targets_per_label'):.2f}"), *_end_cells(of, LASSO, SCALED)])
            for label, of in groups.items()
        ]
        gains[name] = groups[NAMES["evb"]].minus(groups["codes, rate 0.5"], ("curve", -1, LASSO))
        lines = [_line(of, label, LASSO) for label, of in groups.items()]
        pictures.append(_picture(lines, f"csbpca-rates-{name}", f"{name}: compression"))
    says = "the rate that Bayesian PCA finds beats fixed compression"
    return Exhibit(
        title="Figure 3: compression",
        text="Targets per label at the end; Bayesian PCA starts from a rate of 0.5 and cuts it by what it sees.",
        pictures=pictures,
        header=["", "targets per label", "macro-F1, lasso", "macro-F1, scaled linear"],
        rows=rows,
        note="What Bayesian PCA keeps grows with the rows seen: it is a threshold on them, not a trait of the labels.",
        claims=[_claim("Figure 3", says, "much better in most cases", gains, " against codes at rate 0.5")],
    )


@PAPER.exhibit("learning")
def label_counts(runs: Runs) -> Exhibit:
    rows, pictures, best_is_average, gains = [], [], [], {}
    for name, of in runs.where(method="codes").by("set").items():
        values = of.array(lambda run: [run["sweep"][str(count)] for count in LABEL_COUNTS])  # (runs, counts)
        average, best = of[0]["average_count"], LABEL_COUNTS[int(values.mean(0).argmax())]
        best_is_average.append(best == average)
        mean = zip(LABEL_COUNTS, values.mean(0), strict=True)
        rows.append((f"{name} (average {average})", [Cell(f"{v:.3f}", bold=count == best) for count, v in mean]))
        gains[name] = of.minus(of, "inferred", "same_on_average")
        line = Line(name, np.array(LABEL_COUNTS, dtype=float), values)
        drawn = draw_lines([line], "labels recovered per item", "macro-F1")
        pictures.append(picture(f"csbpca-sparsity-{name}", drawn, f"{name}.", f"Macro-F1 by sparsity, {name}"))
    says = "a number of labels inferred per item beats the same number for all"
    return Exhibit(
        title="Figure 4: how many labels are recovered",
        text="Macro-F1 of the lasso decoder at the end of the campaigns without PCA.",
        pictures=pictures,
        header=["", *map(str, LABEL_COUNTS)],
        rows=rows,
        claims=[
            Claim(
                "Figure 4",
                "the average number of labels is the best to recover",
                "best on all sets",
                f"best on {sum(best_is_average)} of {len(best_is_average)}; more labels raise macro-F1",
                holds_if(*best_is_average),
            ),
            _claim("Section 5", says, "suggested as future work", gains),
        ],
    )


@PAPER.exhibit("learning")
def learning(runs: Runs) -> Exhibit:
    drawn = ("codes", "evb", "cs_rr", "cs_br", "cs_miml", "codes_random")
    rows, pictures = [], []
    for name, of_set in runs.by("set").items():
        by_method = of_set.by("method")
        rows += [
            (f"{name} · {NAMES[method]}", _end_cells(of, LASSO, SCALED, "micro", seconds=True))
            for method, of in by_method.items()
        ]
        named = {method: "random" if method == "codes_random" else NAMES[method] for method in drawn}
        lines = [_line(by_method[method], named[method], LASSO) for method in drawn if method in by_method]
        pictures.append(_picture(lines, f"csbpca-learning-{name}", f"{name}: type I rivals"))
    found = [(line, _gains(runs, line.ours, line.theirs, ("curve", -1, LASSO))) for line in LEARNING_CLAIMS]
    return Exhibit(
        title="Figure 5: against other compressed models",
        text="1 % of the rows to start from, then one question at a time out of 40 %; tests on 2000 others. As many "
        "labels are recovered as the whole set has on average, as in the paper (its test labels are part of that). "
        "The paper's own recipe has a kernel of its own per target by S-OPT, learnt every 25 answers.",
        pictures=pictures,
        header=["", "macro-F1, lasso", "macro-F1, scaled linear", "micro-F1, lasso", "CPU seconds"],
        rows=rows,
        note="At the end, ± one standard error over seeds. CS-MIML has its own decoder, and asks ten at a time.",
        claims=[_claim(line.where, line.says, line.paper, gains) for line, gains in found if gains],
    )


@PAPER.exhibit("type_two")
def one_classifier_per_label(runs: Runs) -> Exhibit:
    def missed(of: Runs) -> float:
        return of.mean(lambda run: sum(recall == 0 for recall in run["recall"]))

    rows, pictures, zeros = [], [], {}
    for name, of_set in runs.by("set").items():
        for method, of in of_set.by("method").items():
            scores = _end_cells(of, LASSO, SCALED)
            rows.append((f"{name} · {NAMES[method]}", [*scores, Cell(f"{missed(of):.1f}"), _seconds(of)]))
        lines = [_line(of, NAMES[method], SCALED) for method, of in of_set.by("method").items()]
        pictures.append(_picture(lines, f"csbpca-type-two-{name}", f"{name}: the 50 most frequent labels"))
    for method, of_method in runs.by("method").items():
        zeros[method] = float(np.mean([missed(of) for of in of_method.by("set").values()]))
    says = "CS-BPCA-GP misses fewer labels altogether than Adaptive"
    ours = f"{zeros['evb']:.1f} against {zeros['adaptive']:.1f} of 50; without PCA {zeros['codes']:.1f}"
    fewer = Claim("Figure 7", says, "1 and 2 against 7 and 9", ours, holds_if(zeros["evb"] < zeros["adaptive"]))
    return Exhibit(
        title="Figures 6 and 7: against one classifier per label, and rare labels",
        text="The 50 most frequent labels, one question at a time. MMC and Adaptive choose by, and are judged by, one "
        "logistic regression per label where the paper has support vector machines; random questions are asked of "
        "the same. Labels never recovered are those of the scaled linear decoder, or of the classifiers.",
        pictures=pictures,
        header=["", "macro-F1, lasso", "macro-F1, scaled linear", "labels with recall 0", "CPU seconds"],
        rows=rows,
        note="At the end, ± one standard error over seeds.",
        claims=[
            *(
                _claim(
                    "Figure 6",
                    f"CS-BPCA-GP beats {NAMES[rival]}, {where}",
                    "not tried" if rival == "binary_relevance" else "especially early",
                    _gains(runs, "evb", rival, measure),
                )
                for rival in TYPE_TWO
                for where, measure in (("at the end", ("curve", -1, SCALED)), ("over the curve", _area(SCALED)))
            ),
            fewer,
        ],
    )


@PAPER.exhibit("times")
def times(runs: Runs) -> Exhibit:
    rows = []
    for run in runs:
        best = max(value for _, value in run["found"].values())
        texts = [f"{seconds:.3f} ({best - value:.2f})" for seconds, value in (run["found"][o] for o in OPTIMIZERS)]
        paper = " / ".join(map(str, PAPER_SECONDS.get(run["set"], ()))) or "—"
        rows.append((f"{run['set']}, {run['n_rows']} rows", cells(*texts, paper)))
    simplex, *others = (runs.array(("found", o, 0)) for o in ("simplex", "gradient", "lbfgs"))
    ascent, quasi_newton = (seconds / simplex for seconds in others)
    return Exhibit(
        title="Table 2: time to search hyper-parameters",
        text="CPU seconds per target from a cold start, eight leading directions; in brackets the nats per target that "
        "the log posterior stays below the best of the four. All have cached products and element-wise gradients; "
        "GA has three restarts.",
        header=["", *(OPTIMIZER_NAMES[o] for o in OPTIMIZERS), "paper: GA / B-OPT / S-OPT"],
        rows=rows,
        claims=[
            Claim(
                "Table 2",
                "search without gradients is several times faster than gradient ascent",
                "7 to 19 times",
                f"gradient ascent with restarts takes {min(ascent):.1f} to {max(ascent):.1f} times the simplex's time; "
                f"L-BFGS {min(quasi_newton):.2f} to {max(quasi_newton):.2f} times",
                "holds in part" if min(ascent) > 1 else "does not hold",
            )
        ],
    )


# -- what the exhibits measure ----------------------------------------------------------------------------------------


def _area(measure: str) -> Measure:
    """The mean over the curve."""
    return lambda run: float(np.mean([point[measure] for point in run["curve"]]))


def _gains(runs: Runs, ours: str, theirs: str, measure: Measure) -> dict[str, Estimate]:
    """Of two methods on each set that has both."""
    pairs = {name: [of.where(method=method) for method in (ours, theirs)] for name, of in runs.by("set").items()}
    return {name: left.minus(right, measure) for name, (left, right) in pairs.items() if left and right}


def _claim(where: str, says: str, paper: str, gains: Mapping[str, Estimate], more: str = "") -> Claim:
    ours = "macro-F1 " + ", ".join(f"{gain.value:+.3f} ({name})" for name, gain in gains.items())
    return Claim(where, says, paper, ours + more, beats_clearly(gains.values()))


def _end_cells(runs: Runs, *measures: str, seconds: bool = False) -> list[Cell]:
    found = cells(*(with_error(runs.by_seed(("curve", -1, measure)).values()) for measure in measures))
    return [*found, _seconds(runs)] if seconds else found


def _seconds(runs: Runs) -> Cell:
    return Cell(f"{runs.mean('cpu_seconds'):.1f}")


def _line(runs: Sequence[Outcome], name: str, measure: str) -> Line:
    x = np.array([point["queries"] for point in runs[0]["curve"]], dtype=float)
    return Line(name, x, np.array([[point[measure] for point in run["curve"]] for run in runs]))


def _picture(lines: Sequence[Line], file: str, what: str) -> Picture:
    drawn = draw_lines(lines, "questions", "macro-F1")
    caption = f"{what}. Mean over {len(lines[0].values)} runs, band: one standard error."
    return picture(file, drawn, caption, f"Learning curves, {what}")
