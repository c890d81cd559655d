"""Paper 5, BOMC (AISTATS 2010), figure 4: is the F1 that a model believes in the one it gets?"""

from __future__ import annotations

import numpy as np

from labelwise.experiments.figures import as_png
from labelwise.experiments.jobs import Outcome
from labelwise.experiments.report import Cell, Picture
from labelwise.experiments.reproduce.bomc_figures import Line, Panel, draw_panels
from labelwise.experiments.reproduce.bomc_runs import (
    EXPECTED,
    PUBLISHED,
    distinct,
    mean_of,
    rows_of,
    select,
    stage_names,
    stages,
)
from labelwise.experiments.reproduce.claims import Claim, Exhibit, Verdict
from labelwise.experiments.reproduce.verdicts import points
from labelwise.experiments.statistics import paired_difference


def beliefs(runs: list[Outcome]) -> Exhibit:
    sets = distinct(runs, "set")
    panels, rows = [], []
    for name in sets:
        lines = []
        for kind in ("", PUBLISHED):
            of = select(runs, name, "coupled" + kind)
            believed, real = (np.array([[part[EXPECTED] for part in r[key]] for r in of]) for key in ("believed", "f1"))
            lines += [
                Line(f"{what}{kind}", rows_of(runs, name), v) for what, v in (("believed", believed), ("real", real))
            ]
            cells = [Cell(f"{believed[:, i].mean():.3f} / {real[:, i].mean():.3f}") for i in stages(real.shape[1])]
            rows.append((f"{name} · coupled{kind}", cells))
        panels.append(Panel(name, lines, y_label="macro-F1"))
    caption = "Macro-F1 that the sets of expected F1 are believed to have, and have, against training rows."
    drawn = as_png(draw_panels(panels, columns=3))
    return Exhibit(
        title="How far the believed F1 is to be trusted",
        paragraphs=[
            "Beliefs begin too timid and, as rows add up, become too sure: variances of correlated features shrink as "
            "if each had been seen alone. A believed F1 ranks rules and labels; it is no estimate to quote."
        ],
        pictures=[Picture("bomc-believed", drawn, caption, "Believed and real macro-F1 against training rows")],
        header=["believed / real", *stage_names(runs)],
        rows=rows,
        note="Mean over splits, labels of the test rows.",
    )


def thresholds(runs: list[Outcome]) -> Exhibit:
    rows, pictures, claims = [], [], []
    for name in distinct(runs, "set"):
        for learner in distinct(runs, "learner"):
            of = select(runs, name, learner)
            cells = [
                Cell(f"{mean_of(of, 'f1', rule):.3f}", f"believed {mean_of(of, 'believed', rule):.3f}")
                for rule in of[0]["f1"]
            ]
            rows.append((f"{name} · {learner}", [*cells, Cell(f"{np.mean([r['best'] for r in of]):.3f}")]))
        pictures.append(_threshold_picture(runs, name))
        claims += _threshold_claims(select(runs, name, "coupled" + PUBLISHED), name)
    return Exhibit(
        title="Figure 4: believed and real F1 against the threshold",
        paragraphs=[
            "All training rows. The best threshold of each label is found on the test labels: nobody can reach it."
        ],
        pictures=pictures,
        header=["", *runs[0]["f1"], "best thresholds"],
        rows=rows,
        note="Real macro-F1 under thresholds by expected F1, exactly and by posterior samples; mean over splits.",
        claims=claims,
    )


def _threshold_claims(of: list[Outcome], name: str) -> list[Claim]:
    judged = np.mean([r["judged"] for r in of])
    chosen, best = judged * mean_of(of, "f1", "5 samples"), judged * np.mean([r["best"] for r in of])
    near: Verdict = "holds" if chosen > 0.95 * best else "holds in part" if chosen > 0.85 * best else "does not hold"
    more = paired_difference(
        {r["seed"]: r["f1"]["20 samples"] for r in of}, {r["seed"]: r["f1"]["5 samples"] for r in of}
    )
    shape = np.mean(
        [np.corrcoef(b, t)[0, 1] for r in of for b, t in zip(r["believed_curves"], r["real_curves"], strict=True)]
    )
    believed, real = mean_of(of, "believed", "independent"), mean_of(of, "f1", "independent")
    alike: Verdict = "does not hold" if shape < 0.7 else "holds" if abs(believed - real) < 0.1 else "holds in part"
    return [
        Claim(
            "Figure 4",
            f"5 samples find nearly the best thresholds ({name})",
            "F1 summed over labels 60.97 of 63.26",
            f"{chosen:.1f} of {best:.1f}",
            near,
        ),
        Claim(
            "Figure 4",
            f"believed and real F1 follow a similar trend ({name})",
            "roughly similar",
            f"correlation {shape:.2f} over thresholds, but believed {believed:.2f} and real {real:.2f}",
            alike,
        ),
        Claim(
            "Section 5.2",
            f"20 samples do no better than 5 ({name})",
            "no improvement",
            points(more),
            "does not hold" if more.sign > 0 else "holds",
        ),
    ]


def _threshold_picture(runs: list[Outcome], name: str) -> Picture:
    panels = []
    for learner, title in (("coupled" + PUBLISHED, "as published"), ("coupled", "score noise 1")):
        run = select(runs, name, learner)[0]
        x = np.array(run["thresholds"])
        for number, positives in enumerate(run["positives"]):
            curves = (np.array([run[key][number]]) for key in ("believed_curves", "real_curves"))
            lines = [Line(what, x, values) for what, values in zip(("believed", "real"), curves, strict=True)]
            panels.append(
                Panel(f"{title}, {positives} positives", lines, x_label="threshold", y_label="F1", x_scale="logit")
            )
    caption = (
        f"Four labels of {name}, from frequent to rare, one split: F1 when all items above the threshold get the label."
    )
    drawn = as_png(draw_panels(panels, columns=4, share_y=True))
    return Picture(f"bomc-thresholds-{name}", drawn, caption, f"Believed and real F1 against the threshold on {name}")
