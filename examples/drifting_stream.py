"""Follow a stream that changes: labels that drift, with and without forgetting, and a label that begins half-way."""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import labelwise as lw
from labelwise.streams import StreamPlan, train_stream
from labelwise.studies.figures import StreamPanel, draw_panels
from labelwise.views.plots import as_png

HALF_LIFE = 500  # rows


def follow(data: lw.LabelData, folder: Path, half_life: float | None) -> list:
    """Train on the data as a file; the windows in order, each predicted before it was learnt."""
    lw.write(data, folder / "stream.libsvm", header=False)  # nothing says beforehand which labels there are
    windows = {}

    def keep(progress) -> None:
        if progress.window is not None:
            windows[progress.window.rows] = progress.window

    plan = StreamPlan(batch=100, window=250)
    settings = {"half_life": half_life}
    train_stream(folder / "stream.libsvm", folder / "m.npz", settings=settings, plan=plan, fresh=True, on_batch=keep)
    return list(windows.values())


def line(windows: list, value) -> tuple[list[int], list[float]]:
    return [window.rows for window in windows], [value(window.score) for window in windows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a shorter stream")
    parser.add_argument("--out", type=Path, default=Path("stream-drift.png"), help="picture to write")
    args = parser.parse_args()
    rows = 3000 if args.quick else 12_000
    drifts = [rows // 4, rows // 2, 3 * rows // 4]
    drifting = lw.data.make_drifting_stream(rows, drift_at=drifts, random_state=0)
    growing = lw.data.make_drifting_stream(rows, new_label_at=rows // 2, random_state=0)
    with TemporaryDirectory() as folder:
        names = {None: "never forgets", HALF_LIFE: f"half-life of {HALF_LIFE} rows"}
        by_name = {name: follow(drifting, Path(folder), half_life) for half_life, name in names.items()}
        windows = follow(growing, Path(folder), None)
    for name, found in by_name.items():
        print(f"{name:24} micro-F1 over the last {rows // 4} rows", _recent(found, rows).round(3))
    others = growing.n_labels - 1  # columns are in order of appearance
    late = {
        "the other labels, mean": line(windows, lambda score: float(np.nanmean(score.label_f1()[:others]))),
        "the new label": line(
            [window for window in windows if window.score.present.size > others],
            lambda score: float(score.label_f1()[others]),
        ),
    }
    drift = {name: line(found, lambda score: score.measures()["micro_f1"]) for name, found in by_name.items()}
    panels = [
        StreamPanel("Labels that drift: micro F1", drift, dict.fromkeys(drifts, "drift")),
        StreamPanel("A new label: F1", late, {rows // 2: "first appears"}),
    ]
    args.out.write_bytes(as_png(draw_panels(panels)))
    print(f"picture: {args.out}")


def _recent(windows: list, rows: int) -> np.float64:
    recent = [window.score for window in windows if window.rows > 3 * rows // 4]
    return np.float64(sum(recent[1:], recent[0]).measures()["micro_f1"])


if __name__ == "__main__":
    main()
