"""Paper 2, CS-BPCA-GP (ICML 2019), done again: what came of it, as figures, tables and claims with verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from labelwise.experiments.figures import as_png
from labelwise.experiments.jobs import Outcome
from labelwise.experiments.report import Cell, Picture
from labelwise.experiments.reproduce.claims import Claim, Exhibit, Outcomes, Paper, Verdict
from labelwise.experiments.reproduce.csbpca import DECODERS, OPTIMIZERS, SPARSITIES, TYPE_TWO, jobs
from labelwise.experiments.reproduce.csbpca_data import PAPER_SIZES
from labelwise.experiments.reproduce.figures import Line, draw_lines
from labelwise.experiments.statistics import Estimate, paired_difference
from labelwise.posterior import FloatArray

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
LASSO, SCALED = DECODERS
SAYS_SEVEN = "CS-BPCA-GP misses fewer labels altogether than Adaptive"
TIE = 0.005  # of macro-F1: less is noise with three seeds


def exhibits(outcomes: Outcomes) -> list[Exhibit]:
    """What could be computed; the rest is left out."""
    learning = outcomes.get("learning", [])
    parts: Mapping[str, Callable[[list[Outcome]], Exhibit]] = {
        "data": _data,
        "period": _period,
        "rates": lambda runs: _rates(runs, learning),
        "sparsity": _sparsity,
        "learning": _learning,
        "type_two": _type_two,
        "times": _times,
    }
    have = {**outcomes, "sparsity": learning}
    return [make(have[name]) for name, make in parts.items() if have.get(name)]


PAPER = Paper(
    "csbpca", "CS-BPCA-GP: fast direct search in an optimally compressed target space (ICML 2019)", jobs, exhibits
)


def _data(runs: list[Outcome]) -> Exhibit:
    rows, matches = [], []
    for run in runs:
        paper = PAPER_SIZES[run["set"]]
        matches.append(tuple(run["rule"]) == paper)
        cells = [f"{paper[0]} × {paper[1]}", "{} × {}".format(*run["rule"]), "{} × {}".format(*run["used"])]
        rows.append((run["set"], [Cell(cell) for cell in cells]))
    sizes = ", ".join("{} {} × {}".format(run["set"], *run["rule"]) for run in runs)
    return Exhibit(
        title="Table 1: the data",
        paragraphs=[
            "The paper drops labels on less than 0.5 % of the rows and then rows without labels. On the public files "
            "that does not give its table 1. Delicious is cut at 2.5 % here, which gives about as many labels as the "
            "paper has. BookMark and WebAPI are not at hand."
        ],
        header=["", "paper", "0.5 % rule on the public files", "used here"],
        rows=rows,
        note="Rows × labels.",
        claims=[
            Claim(
                "Table 1",
                "the 0.5 % rule gives the data of the paper",
                "corel5k 5000 × 132, bibtex 7013 × 127, delicious 8172 × 157",
                sizes,
                "holds" if all(matches) else "does not hold",
            )
        ],
    )


def _period(runs: list[Outcome]) -> Exhibit:
    rows, pictures, gains = [], [], {}
    periods = sorted({run["period"] for run in runs})
    for name in _distinct(runs, "set"):
        of = {p: [r for r in runs if r["set"] == name and r["period"] == p] for p in periods}
        for p in periods:
            cells = [_mean(_ends(of[p], SCALED)), _mean(_ends(of[p], LASSO)), _seconds(of[p])]
            rows.append((f"{name} · every {p} answers", cells))
        gains[name] = paired_difference(_ends(of[periods[0]], LASSO), _ends(of[periods[-1]], LASSO))
        lines = [_line(of[p], f"every {p}", LASSO) for p in periods]
        pictures.append(_picture(lines, f"csbpca-period-{name}", f"{name}: kernel update period"))
    says = f"learning the kernel after every {periods[0]} answers beats after every {periods[-1]}"
    return Exhibit(
        title="Figure 2: how often hyper-parameters are learnt",
        paragraphs=["Codes without PCA, shared shape, L-BFGS from the last optimum, the weak prior on."],
        pictures=pictures,
        header=["", "macro-F1, scaled linear", "macro-F1, lasso", "CPU seconds"],
        rows=rows,
        claims=[Claim("Figure 2", says, "smaller periods are better", _differences(gains), _beats(*gains.values()))],
    )


def _rates(runs: list[Outcome], learning: list[Outcome]) -> Exhibit:
    rows, pictures, gains = [], [], {}
    for name in _distinct(runs, "set"):
        groups = {
            f"codes, rate {run['n_compressed']}": _of(runs, name, n_compressed=run["n_compressed"]) for run in runs
        }
        groups["codes, rate 0.5"] = _of(learning, name, method="codes")
        groups |= {NAMES[m]: _of(learning, name, method=m) for m in ("evb", "vb")}
        for label, group in groups.items():
            rate = np.mean([run["targets_per_label"] for run in group])
            cells = [Cell(f"{rate:.2f}"), _mean(_ends(group, LASSO)), _mean(_ends(group, SCALED))]
            rows.append((f"{name} · {label}", cells))
        gains[name] = paired_difference(_ends(groups[NAMES["evb"]], LASSO), _ends(groups["codes, rate 0.5"], LASSO))
        lines = [_line(group, label, LASSO) for label, group in groups.items()]
        pictures.append(_picture(lines, f"csbpca-rates-{name}", f"{name}: compression"))
    return Exhibit(
        title="Figure 3: compression",
        paragraphs=[
            "Targets per label at the end; Bayesian PCA starts from a rate of 0.5 and cuts it by what it sees."
        ],
        pictures=pictures,
        header=["", "targets per label", "macro-F1, lasso", "macro-F1, scaled linear"],
        rows=rows,
        note="What Bayesian PCA keeps grows with the rows seen: it is a threshold on them, not a trait of the labels.",
        claims=[
            Claim(
                "Figure 3",
                "the rate that Bayesian PCA finds beats fixed compression",
                "much better in most cases",
                f"{_differences(gains)} against codes at rate 0.5",
                _beats(*gains.values()),
            )
        ],
    )


def _sparsity(runs: list[Outcome]) -> Exhibit:
    rows, pictures, best_is_average, gains = [], [], [], {}
    for name in _distinct(runs, "set"):
        of = _of(runs, name, method="codes")
        values = np.array([[run["sweep"][str(count)] for count in SPARSITIES] for run in of])  # (runs, counts)
        average = of[0]["average_count"]
        best = SPARSITIES[int(values.mean(0).argmax())]
        best_is_average.append(best == average)
        cells = [
            Cell(f"{value:.3f}", bold=count == best) for count, value in zip(SPARSITIES, values.mean(0), strict=True)
        ]
        rows.append((f"{name} (average {average})", cells))
        gains[name] = paired_difference(
            {r["seed"]: r["inferred"] for r in of}, {r["seed"]: r["same_on_average"] for r in of}
        )
        pictures.append(_sparsity_picture(name, values))
    count = sum(best_is_average)
    verdict: Verdict = "holds" if all(best_is_average) else "holds in part" if any(best_is_average) else "does not hold"
    return Exhibit(
        title="Figure 4: how many labels are recovered",
        paragraphs=["Macro-F1 of the lasso decoder at the end of the campaigns without PCA."],
        pictures=pictures,
        header=["", *map(str, SPARSITIES)],
        rows=rows,
        claims=[
            Claim(
                "Figure 4",
                "the average number of labels is the best to recover",
                "best on all sets",
                f"best on {count} of {len(best_is_average)}; more labels raise macro-F1",
                verdict,
            ),
            Claim(
                "Section 5",
                "a number of labels inferred per item beats the same number for all",
                "suggested as future work",
                _differences(gains),
                _beats(*gains.values()),
            ),
        ],
    )


def _sparsity_picture(name: str, values: FloatArray) -> Picture:
    line = Line(name, np.array(SPARSITIES, dtype=float), values)
    drawn = draw_lines([line], "labels recovered per item", "macro-F1")
    return Picture(f"csbpca-sparsity-{name}", as_png(drawn), f"{name}.", f"Macro-F1 by sparsity, {name}")


def _learning(runs: list[Outcome]) -> Exhibit:
    rows, pictures = [], []
    for name in _distinct(runs, "set"):
        methods = _distinct([run for run in runs if run["set"] == name], "method")
        for method in methods:
            of = _of(runs, name, method=method)
            cells = [_mean(_ends(of, LASSO)), _mean(_ends(of, SCALED)), _mean(_ends(of, "micro")), _seconds(of)]
            rows.append((f"{name} · {NAMES[method]}", cells))
        shown = [m for m in ("codes", "evb", "cs_rr", "cs_br", "cs_miml", "codes_random") if m in methods]
        lines = [_line(_of(runs, name, method=m), "random" if m == "codes_random" else NAMES[m], LASSO) for m in shown]
        pictures.append(_picture(lines, f"csbpca-learning-{name}", f"{name}: type I rivals"))
    return Exhibit(
        title="Figure 5: against other compressed models",
        paragraphs=[
            "1 % of the rows to start from, then one question at a time out of 40 %; tests on 2000 others. As many "
            "labels are recovered as the whole set has on average, as in the paper (its test labels are part of that). "
            "The paper's own recipe has a kernel of its own per target by S-OPT, learnt every 25 answers."
        ],
        pictures=pictures,
        header=["", "macro-F1, lasso", "macro-F1, scaled linear", "micro-F1, lasso", "CPU seconds"],
        rows=rows,
        note="At the end, ± one standard error over seeds. CS-MIML has its own decoder, and asks ten at a time.",
        claims=_learning_claims(runs),
    )


def _learning_claims(runs: list[Outcome]) -> list[Claim]:
    def gains(method: str, other: str) -> dict[str, Estimate]:
        pairs = {name: [_of(runs, name, method=m) for m in (method, other)] for name in _distinct(runs, "set")}
        return {name: paired_difference(_ends(a, LASSO), _ends(b, LASSO)) for name, (a, b) in pairs.items() if a and b}

    planned = [
        ("Figure 5", "CS-BPCA-GP beats CS-RR", "clearly", "evb", "cs_rr"),
        ("Figure 5", "CS-BPCA-GP beats CS-BR", "clearly", "evb", "cs_br"),
        ("Figure 5", "CS-BPCA-GP beats CS-MIML", "clearly", "evb", "cs_miml"),
        ("Section 3.1", "the second compression helps", "optimal compression", "evb", "codes"),
        ("Section 3.2", "entropy beats random questions (CS-BPCA-GP)", "by design", "evb", "evb_random"),
        ("Section 3.2", "entropy beats random questions (no PCA)", "—", "codes", "codes_random"),
        ("Equation 13", "the sign as printed asks better questions", "printed so", "evb_printed_sign", "evb"),
    ]
    claims = []
    for where, says, paper, method, other in planned:
        found = gains(method, other)
        if found:
            claims.append(Claim(where, says, paper, _differences(found), _beats(*found.values())))
    return claims


def _type_two(runs: list[Outcome]) -> Exhibit:
    rows, pictures, missed = [], [], []
    methods = _distinct(runs, "method")
    for name in _distinct(runs, "set"):
        for method in methods:
            of = _of(runs, name, method=method)
            zero = np.mean([sum(r == 0 for r in run["recall"]) for run in of])
            cells = [_mean(_ends(of, LASSO)), _mean(_ends(of, SCALED)), Cell(f"{zero:.1f}"), _seconds(of)]
            rows.append((f"{name} · {NAMES[method]}", cells))
            missed.append((method, float(zero)))
        lines = [_line(_of(runs, name, method=m), NAMES[m], SCALED) for m in methods]
        pictures.append(_picture(lines, f"csbpca-type-two-{name}", f"{name}: the 50 most frequent labels"))
    zeros = {method: float(np.mean([z for m, z in missed if m == method])) for method, _ in missed}
    counts = f"{zeros['evb']:.1f} against {zeros['adaptive']:.1f} of 50; without PCA {zeros['codes']:.1f}"
    return Exhibit(
        title="Figures 6 and 7: against one classifier per label, and rare labels",
        paragraphs=[
            "The 50 most frequent labels, one question at a time. MMC and Adaptive choose by, and are judged by, one "
            "logistic regression per label where the paper has support vector machines; random questions are asked of "
            "the same. Labels never recovered are those of the scaled linear decoder, or of the classifiers."
        ],
        pictures=pictures,
        header=["", "macro-F1, lasso", "macro-F1, scaled linear", "labels with recall 0", "CPU seconds"],
        rows=rows,
        note="At the end, ± one standard error over seeds.",
        claims=[
            *_type_two_claims(runs),
            Claim("Figure 7", SAYS_SEVEN, "1 and 2 against 7 and 9", counts, _fewer(zeros["evb"], zeros["adaptive"])),
        ],
    )


def _type_two_claims(runs: list[Outcome]) -> list[Claim]:
    """At the end, and over the whole curve, where the paper sees the larger difference."""
    claims = []
    for rival in TYPE_TWO:
        for where, of in (("at the end", _ends), ("over the curve", _areas)):
            pairs = {n: [_of(runs, n, method=m) for m in ("evb", rival)] for n in _distinct(runs, "set")}
            gains = {name: paired_difference(of(a, SCALED), of(b, SCALED)) for name, (a, b) in pairs.items()}
            says = f"CS-BPCA-GP beats {NAMES[rival]}, {where}"
            paper = "not tried" if rival == "binary_relevance" else "especially early"
            claims.append(Claim("Figure 6", says, paper, _differences(gains), _beats(*gains.values())))
    return claims


def _fewer(ours: float, theirs: float) -> Verdict:
    return "holds" if ours < theirs else "does not hold"


def _times(runs: list[Outcome]) -> Exhibit:
    rows, ratios, gaps = [], [], []
    for run in runs:
        found = run["found"]
        best = max(value for _, value in found.values())
        cells = [Cell(f"{found[o][0]:.3f} ({best - found[o][1]:.2f})") for o in OPTIMIZERS]
        paper = PAPER_SECONDS.get(run["set"])
        cells.append(Cell(" / ".join(map(str, paper)) if paper else "—"))
        rows.append((f"{run['set']}, {run['n_rows']} rows", cells))
        ratios.append(found["gradient"][0] / found["simplex"][0])
        gaps.append(found["lbfgs"][0] / found["simplex"][0])
    slower = min(ratios) > 1
    return Exhibit(
        title="Table 2: time to search hyper-parameters",
        paragraphs=[
            "CPU seconds per target from a cold start, eight leading directions; in brackets the nats per target that "
            "the log posterior stays below the best of the four. All have cached products and element-wise gradients; "
            "GA has three restarts."
        ],
        header=["", *(OPTIMIZER_NAMES[o] for o in OPTIMIZERS), "paper: GA / B-OPT / S-OPT"],
        rows=rows,
        claims=[
            Claim(
                "Table 2",
                "search without gradients is several times faster than gradient ascent",
                "7 to 19 times",
                f"gradient ascent with restarts takes {min(ratios):.1f} to {max(ratios):.1f} times the simplex's time; "
                f"L-BFGS {min(gaps):.2f} to {max(gaps):.2f} times",
                "holds in part" if slower else "does not hold",
            )
        ],
    )


def _distinct(runs: Iterable[Outcome], key: str) -> list[str]:
    return list(dict.fromkeys(run[key] for run in runs))


def _of(runs: Iterable[Outcome], name: str, **wanted: object) -> list[Outcome]:
    return [run for run in runs if run["set"] == name and all(run[key] == value for key, value in wanted.items())]


def _ends(runs: Sequence[Outcome], measure: str) -> dict[int, float]:
    """Seed to the last value."""
    return {run["seed"]: run["curve"][-1][measure] for run in runs}


def _areas(runs: Sequence[Outcome], measure: str) -> dict[int, float]:
    """Seed to the mean over the curve."""
    return {run["seed"]: float(np.mean([point[measure] for point in run["curve"]])) for run in runs}


def _mean(by_seed: Mapping[int, float]) -> Cell:
    found = Estimate.of(by_seed.values())
    error = "" if np.isnan(found.standard_error) else f" ± {found.standard_error:.3f}"
    return Cell(f"{found.value:.3f}{error}")


def _seconds(runs: Sequence[Outcome]) -> Cell:
    return Cell(f"{np.mean([run['cpu_seconds'] for run in runs]):.1f}")


def _differences(found: Mapping[str, Estimate]) -> str:
    return "macro-F1 " + ", ".join(f"{each.value:+.3f} ({name})" for name, each in found.items())


def _beats(*differences: Estimate) -> Verdict:
    """Few seeds: what counts is a difference beyond noise, or one of the same sign and more than TIE on every set."""
    signs = [1 if d.sign > 0 or d.value > TIE else -1 if d.sign < 0 or d.value < -TIE else 0 for d in differences]
    if all(sign > 0 for sign in signs):
        return "holds"
    if any(sign > 0 for sign in signs):
        return "holds in part"
    return "undecided" if all(sign == 0 for sign in signs) else "does not hold"


def _line(runs: Sequence[Outcome], name: str, measure: str) -> Line:
    x = np.array([point["queries"] for point in runs[0]["curve"]], dtype=float)
    return Line(name, x, np.array([[point[measure] for point in run["curve"]] for run in runs]))


def _picture(lines: Sequence[Line], file: str, what: str) -> Picture:
    drawn = draw_lines(lines, "questions", "macro-F1")
    caption = f"{what}. Mean over {lines[0].values.shape[0]} runs, band: one standard error."
    return Picture(file, as_png(drawn), caption, f"Learning curves, {what}")
