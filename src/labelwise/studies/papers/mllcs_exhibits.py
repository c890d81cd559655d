"""Paper 4, ML-LCS (UAI 2017), done again: exhibits and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelwise.studies.papers.engine import (
    Claim,
    Exhibit,
    Paper,
    Runs,
    beats,
    cells,
    holds_if,
    picture,
    points,
)
from labelwise.studies.papers.figures import Line, draw_lines
from labelwise.studies.papers.mllcs import METHODS, PRECISION_AT, jobs
from labelwise.studies.report import Cell
from labelwise.studies.statistics import Estimate

PAPER = Paper("mllcs", "ML-LCS: labels never annotated, by co-occurrence counts (UAI 2017)", jobs)
PAPER_JOINT = {
    "bibtex": {"LFM-SL": ".42 .23 .17", "COSTA on factors": ".43 .31 .25", "ML-LCS": ".51 .37 .30"},
    "delicious": {"LFM-SL": ".41 .28 .23", "COSTA on factors": ".44 .37 .30", "ML-LCS": ".52 .45 .41"},
}
PAPER_UNSEEN = {"bibtex": {"COSTA on factors": ".23 .16 .12", "ML-LCS": ".34 .20 .14"}}
PAPER_STANDARD = {"bibtex": {"LFM-SL": ".628 .374 .273", "ML-LCS": ".643 .398 .293"}}
GOALS = {  # what we ask of our best model: all labels, and unseen ones only
    "bibtex": {"joint": (0.50, 0.32, 0.24), "unseen": (0.27, 0.165, 0.12)},
    "delicious": {"joint": (0.645, 0.585, 0.54)},
}
STANDARD_GOALS = {"bibtex": (0.63, 0.40, 0.29)}
BEST_SWEEPS = 8  # after which precision was best in our trials
PARTS = {"joint": "all labels", "unseen": "unseen labels"}


@dataclass(frozen=True)
class HalfClaim:
    """That a method beats another on all labels, or on unseen ones; the paper's figures are those of bibtex."""

    where: str
    part: str
    paper: str
    ours: str
    theirs: str


HALF_CLAIMS = (
    HalfClaim("Table 2", "joint", ".51 against .42", "ML-LCS", "LFM-SL"),
    HalfClaim("Table 2", "joint", ".51 against .43", "ML-LCS", "COSTA on factors"),
    HalfClaim("Table 3", "unseen", ".34 against .23", "ML-LCS", "COSTA on factors"),
    HalfClaim("Table 2", "joint", ".51 against .42", "ML-LCS tuned", "LFM-SL"),
    HalfClaim("Table 3", "unseen", ".34 against .23", "ML-LCS tuned", "COSTA on factors"),
    HalfClaim("beyond", "joint", "—", "sketched GP", "ML-LCS tuned"),
    HalfClaim("beyond", "unseen", "—", "sketched GP", "ML-LCS tuned"),
)


@PAPER.exhibit("halves")
def halves(runs: Runs) -> Exhibit:
    by_set = runs.by("set")
    return Exhibit(
        title="Tables 2 and 3: half of the labels never told",
        text="Half of the labels, drawn at random, have no answers at all; their co-occurrence counts on the training "
        "items are known. Official training and test items; precision at 1, 3 and 5 over all test items. LFM-SL, "
        "COSTA on factors and ML-LCS have the paper's settings; the tuned one chooses its penalty and the number "
        "of sweeps on labels and items hidden from it.\n\n"
        "Ridge on the seen labels alone, and ridge that was told every label, are the floor and the ceiling.",
        header=["", "seen and unseen", "spread", "unseen only", "unseen first", "paper", "seconds", "splits"],
        rows=[
            (f"{name} · {method}", _half_cells(name, method, of.where(method=method)))
            for name, of in by_set.items()
            for method in METHODS
            if of.where(method=method)
        ],
        note="Precision at 1, 3, 5, mean over label splits; spread: standard deviation of precision at 1 over splits; "
        "unseen first: items whose first label is an unseen one.",
        claims=[claim for name, of in by_set.items() for claim in _half_claims(name, of)],
    )


def _half_cells(name: str, method: str, of: Runs) -> list[Cell]:
    ours = method == "sketched GP"
    below = PAPER_UNSEEN.get(name, {}).get(method, "")
    return [
        Cell(_triple(of.values("joint")), bold=ours),
        Cell(f"±{np.std(of.values(('joint', 0)), ddof=1):.3f}" if len(of) > 1 else "—"),
        Cell("—" if of[0]["unseen"] is None else _triple(of.values("unseen")), bold=ours),
        Cell(f"{of.mean('unseen_first'):.0%}"),
        Cell(PAPER_JOINT.get(name, {}).get(method, "—"), small=f"unseen {below}" if below else ""),
        *cells(f"{np.median(of.values('seconds')):.1f}", str(len(of))),
    ]


def _half_claims(name: str, runs: Runs) -> list[Claim]:
    claims = []
    for line in HALF_CLAIMS:
        part = line.part
        left, right = (Runs(r for r in runs.where(method=m) if r[part] is not None) for m in (line.ours, line.theirs))
        left, right = (Runs(r for r in a if r["seed"] in b.values("seed")) for a, b in ((left, right), (right, left)))
        if left:
            gain, (ours, theirs) = left.minus(right, (part, 0)), (of.mean((part, 0)) for of in (left, right))
            says = f"{line.ours} beats {line.theirs} on {PARTS[part]} ({name})"
            words = f"{ours:.3f} against {theirs:.3f} at 1, {points(gain)}, {gain.n} splits"
            claims.append(Claim(line.where, says, line.paper if name == "bibtex" else "above", words, beats([gain])))
    best = runs.where(method="sketched GP")
    for part, goal in GOALS.get(name, {}).items():
        if best:
            claims.append(
                _goal(
                    "the sketched GP", goal, best.values(part), f" on {PARTS[part]} ({name})", f", {len(best)} splits"
                )
            )
    return claims


@PAPER.exhibit("shares")
def shares(runs: Runs) -> Exhibit:
    told, by_method, name = runs.distinct("share"), runs.by("method"), runs[0]["set"]
    first = {(m, s): of.where(share=s) for m, of in by_method.items() for s in told}
    lines = [
        Line(m, 100 * np.array(told), np.array([first[m, s].values(("joint", 0)) for s in told]).T) for m in by_method
    ]
    drawn = draw_lines(lines, "percent of labels told", "precision at 1, all labels")
    caption = f"Figure 2 on {name}: mean over {len(lines[0].values)} label splits, band: one standard error."

    def above(where: str, says: str, paper: str, ours: str, theirs: str) -> Claim:
        gains = [first[ours, s].minus(first[theirs, s], ("joint", 0)) for s in told]
        words = ", ".join(f"{100 * gain.value:+.1f}" for gain in gains) + " points"
        return Claim(where, f"{says} at every share ({name})", paper, words, beats(gains))

    return Exhibit(
        title="Figure 2: from few to most labels told",
        pictures=[picture("mllcs-shares", drawn, caption, "Precision at 1 against the share of labels told")],
        header=["precision at 1", *(f"{s:.0%}" for s in told)],
        rows=[(m, cells(*(first[m, s].mean(("joint", 0)) for s in told))) for m in by_method],
        note="Factor models with the paper's settings, 10 sweeps.",
        claims=[
            above("Figure 2", "ML-LCS is above COSTA", "at 20 to 80 %", "ML-LCS", "COSTA on factors"),
            above("beyond", "the sketched GP is above ML-LCS", "—", "sketched GP", "ML-LCS"),
        ],
    )


@PAPER.exhibit("sweeps")
def sweeps(runs: Runs) -> Exhibit:
    steps = runs[0]["sweeps"]
    named = {"all labels": "joint", "unseen only": "unseen"}
    lines = [Line(label, np.array(steps, dtype=float), runs.array(key)) for label, key in named.items()]
    caption = f"Figure 3 on {runs[0]['set']}: ML-LCS with the paper's settings, mean over {len(runs)} label splits."
    drawn = draw_lines(lines, "sweeps", "precision at 1")
    at = min(range(len(steps)), key=lambda i: abs(steps[i] - BEST_SWEEPS))
    late = runs.minus(runs, ("unseen", -1), ("unseen", at))
    says, ours = "some 100 sweeps are needed (unseen labels)", f"{points(late)} from {steps[at]} sweeps to {steps[-1]}"
    return Exhibit(
        title="Figure 3: how many sweeps?",
        pictures=[picture("mllcs-sweeps", drawn, caption, "Precision at 1 against sweeps")],
        header=["precision at 1", *(str(n) for n in steps)],
        rows=[(line.name, cells(*line.mean)) for line in lines],
        note="The objective still rises after the best predictions are past.",
        claims=[Claim("Figure 3", says, "converges in about 100", ours, holds_if(late.value >= 0))],
    )


@PAPER.exhibit("standard")
def standard(runs: Runs) -> Exhibit:
    rows, claims = [], []
    for name, of in runs.by("set").items():
        found = {run["method"]: run["joint"] for run in of}
        paper = PAPER_STANDARD.get(name, {})
        rows += [(f"{name} · {method}", cells(*values, paper.get(method, "—"))) for method, values in found.items()]
        if name in STANDARD_GOALS:
            best = max(found.values(), key=lambda values: values[1])
            claims.append(_goal("the best factor model", STANDARD_GOALS[name], [best], f" ({name})"))
        for ours, theirs, more in (("ML-LCS", "LFM-SL", ""), ("ML-LCS tuned", "LFM tuned", ", tuned")):
            if ours in found and theirs in found:
                counts, without = found[ours][0], found[theirs][0]
                says = f"counts help where all labels are told ({name}{more})"
                words = f"{100 * (counts - without):+.1f} points at 1: {counts:.3f} against {without:.3f}"
                claims.append(Claim("Table 4", says, "+1.5 points", words, holds_if(100 * (counts - without) >= 1)))
    return Exhibit(
        title="Table 4: every label told",
        text="The counts are a function of the training labels here: there is nothing in them that is not told.",
        header=["", *(f"precision at {k}" for k in PRECISION_AT), "paper"],
        rows=rows,
        note="One fit each: nothing is drawn. A difference below one point counts as none.",
        claims=claims,
    )


@PAPER.exhibit("missing")
def missing(runs: Runs) -> Exhibit:
    rows, claims = [], []
    for kept, of in runs.by("kept").items():
        found = {label: [run["found"][label] for run in of] for label in of[0]["found"]}
        rows += [(f"{kept:.0%} kept · {label}", cells(_triple(values))) for label, values in found.items()]
        gain = of.minus(
            of, lambda r: np.mean(r["found"]["counts of all"]), lambda r: np.mean(r["found"]["without counts"])
        )
        says = f"counts help with {kept:.0%} of the entries told"
        words = f"{points(gain)} in the mean of precision at 1, 3, 5; {gain.n} masks"
        claims.append(Claim("Section 6", says, "more, the more are missing", words, beats([gain])))
    return Exhibit(
        title="Missing labels",
        text=f"1500 items and the 40 most common labels of {runs[0]['set']}; entries told at random.",
        header=["", "precision at 1, 3, 5"],
        rows=rows,
        note="Mean over masks. Counts of all: from the complete labels, as if from elsewhere.",
        claims=claims,
    )


@PAPER.exhibit("time")
def time(runs: Runs) -> Exhibit:
    rows, ratios = [], []
    for r in runs:
        lfm, lcs = (r["per_sweep"][m] for m in ("LFM-SL", "ML-LCS"))
        ratios.append(lcs / lfm)
        texts = f"{1000 * lfm:.0f} ms", f"{1000 * lcs:.0f} ms", f"{r['sketched']:.1f} s"
        rows.append((f"{r['set']}, {r['n_factors']} factors", cells(*texts)))
    ours = ", ".join(f"{ratio:.2f}" for ratio in ratios) + " times as long"
    says = "a sweep costs little more with counts"
    return Exhibit(
        title="Time",
        header=["", "a sweep of LFM-SL", "a sweep of ML-LCS", "the sketched GP, whole, with its choices"],
        rows=rows,
        note="CPU seconds, added up over threads.",
        claims=[Claim("Section 6", says, "slightly more", ours, holds_if(max(ratios) < 1.5))],
    )


@PAPER.exhibit("new labels")
def new_labels(runs: Runs) -> Exhibit:
    rows, pictures, claims, answers = [], [], [], runs[0]["answers"]
    middle = len(answers) // 2
    for name, of in runs.by("set").items():
        curves = {start: of.array(start) for start in ("guess", "nothing")}
        for start, values in curves.items():
            texts = cells(*(values[:, at].mean() for at in (0, middle, -1)))
            rows.append((f"{name} · start from {start}", [*texts, Cell(f"{values.mean():.3f}", bold=True)]))
        lines = [Line(f"start from {s}", np.array(answers, dtype=float), v) for s, v in curves.items()]
        file, drawn = f"mllcs-new-{name}", draw_lines(lines, "answers about the new label", "average precision")
        caption = (
            f"{name}: {len(of)} labels, each added after 200 answered items; band: one standard error over labels."
        )
        instead = f"Average precision of a new label against answers, {name}"
        pictures.append(picture(file.replace(" ", "-"), drawn, caption, instead))
        gains = curves["guess"].mean(axis=1) - curves["nothing"].mean(axis=1)
        gain, ahead = Estimate.of(gains), np.sum(gains > 0)
        ours = f"{points(gain)} of average precision over the next 100 answers; ahead for {ahead} of {gain.n} labels"
        claims.append(Claim("beyond", f"a new label starts ahead by its counts ({name})", "—", ours, beats([gain])))
    return Exhibit(
        title="A label added in mid-campaign",
        text="200 items are answered; then one more label is added and 100 questions are asked about it, where the "
        "campaign is least certain. One campaign is told which share of each known label's items carries the new "
        "one, counted on other items; the other is told nothing. At most 200 known labels, the most common ones. "
        "Average precision on the test items.",
        pictures=pictures,
        header=["", "at once", *(f"after {answers[at]}" for at in (middle, -1)), "mean"],
        rows=rows,
        note="The same pools, models and ways of asking, paired label by label.",
        claims=claims,
    )


def _goal(who: str, goal: Sequence[float], values: Sequence[Sequence[float]], where: str, more: str = "") -> Claim:
    says = f"{who} reaches {', '.join(f'{v:g}' for v in goal)}{where}"
    return Claim("goal", says, "—", _triple(values) + more, holds_if(*(np.mean(values, axis=0) >= np.array(goal))))


def _triple(values: Sequence[Sequence[float]]) -> str:
    return " ".join(f"{v:.3f}" for v in np.mean(values, axis=0))
