"""The picture of docs/study.md, from the saved result of `label_saving.py`.

python benchmarks/_label_saving_figure.py
"""

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "label_saving.json"
PICTURE = ROOT / "docs" / "images" / "label-saving.png"


def draw(figures, path):
    fig, ax = plt.subplots(figsize=(8, 4.5), constrained_layout=True)
    for name, row in figures["arms"]["default"].items():
        first = row["first_seed"]
        shares, precision = zip(*((point[0], point[1] / first["usual"][0]) for point in first["curve"]), strict=True)
        ax.plot(shares, precision, marker="o", markersize=3, label=name)
    ax.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
    ax.set_xlabel("share of the 300 × q answers of the usual way")
    ax.set_ylabel("macro average precision, the usual way = 1")
    ax.set_xlim(0, 1)
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, loc="lower right")
    fig.savefig(path, dpi=120)


if __name__ == "__main__":
    figures = json.loads(RESULT.read_text(encoding="utf-8"))["figures"]
    draw(figures, PICTURE)
