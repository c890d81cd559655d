"""What progress, browse and labels cost on a large project: every view of 10 000 items, 200 labels, 5 000 answers.

    python benchmarks/page_views.py [--quick]

Six people gave whole answers over forty days, a tenth of them on the random share; a worker trained once, and its
record has 2 000 earlier trainings. Each view is asked for seven times without a browser; told are the medians of the
processor time, which depends little on who else uses the machine, and of the time on the clock, which does.

The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from labelwise import LabelData
from labelwise.labelling import Project
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.events import NewEvent, add_event
from labelwise.labelling.store.trainings import begin_training, end_training
from labelwise.labelling.web.server import create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another HTTP library
    from starlette.testclient import TestClient

SIZES = {"quick": (1_000, 40, 300, 100), "full": (10_000, 200, 5_000, 2_000)}  # items, labels, answers, trainings
REPEATS = 7
WORDS = np.array(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda"])
DAY = 86400.0
VIEWS = {
    "progress": "/progress",
    "browse": "/browse",
    "browse, last page": "/browse?page=500",
    "two words": "/browse?words=alpha+theta",
    "a word that is nowhere": "/browse?words=nowhere",
    "most uncertain": "/browse?show=uncertain",
    "model and people disagree": "/browse?show=disagree",
    "unanswered": "/browse?show=unanswered",
    "by label": "/browse?label=label+7&said=yes",
    "by person": "/browse?who=person+3",
    "one item": "/browse/item?name=12",
    "labels": "/vocabulary",
    "before a merge": "/vocabulary/change?what=merge&label=label+3&to=label+4",
}


def make_large(path: Path, n_items: int, n_labels: int, n_answers: int, n_trainings: int) -> None:
    """A project in the middle of its life."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_items, 30))
    Y = X @ rng.standard_normal((30, n_labels)) + 2 * rng.standard_normal((n_items, n_labels)) > 6
    items = [{"text": " ".join(rng.choice(WORDS, size=60))} for _ in range(n_items)]
    data = LabelData.from_arrays(X, label_names=[f"label {j}" for j in range(n_labels)], items=items)
    with Project.create(path, data, model="online_bayes", strategy="random") as project:
        f1 = {"f1": 0.5, "low": 0.4, "high": 0.6, "items": 50, "entries": 50 * n_labels}
        with project.store.writing() as connection:
            for number in range(n_trainings):
                training = begin_training(connection, 0, 0, 0.0)
                report = {"answers": number, "control_items": 50, "f1": f1}
                end_training(connection, training, "good", 0.0, report=report)
            for number in range(n_answers):
                row = int(rng.integers(n_items // 2))
                said = (Y[row] ^ (rng.random(n_labels) < 0.03)).astype(int).tolist()
                at, who = time.time() + (number / n_answers - 1) * 40 * DAY, f"person {rng.integers(6)}"
                reason = "control" if row % 10 == 0 else "strategy"
                add_event(connection, NewEvent(at, who, row + 1, reason=reason, values=dict(enumerate(said, start=1))))
        project.refresh()


def time_views(path: Path) -> dict[str, dict[str, float]]:
    """Milliseconds of each view, by the processor and by the clock, and how much is sent."""
    found: dict[str, dict[str, float]] = {}
    with ServedProject(path) as project:
        app = create_app(project, local_user="me")
        client = TestClient(app, base_url="http://127.0.0.1:8000")
        client.post("/enter", data={"secret": app.state.site.local_secret})
        for name, address in VIEWS.items():
            figures: dict[str, list[float]] = {"cpu_ms": [], "clock_ms": []}
            for _ in range(REPEATS):
                cpu, clock = time.process_time(), time.perf_counter()
                reply = client.get(address)
                figures["cpu_ms"].append(1000 * (time.process_time() - cpu))
                figures["clock_ms"].append(1000 * (time.perf_counter() - clock))
                assert reply.status_code == 200, f"{address}: {reply.status_code}"
            found[name] = {key: round(statistics.median(values), 1) for key, values in figures.items()}
            found[name]["kib"] = round(len(reply.content) / 1024, 1)
            print(f"{name:28} {found[name]['cpu_ms']:8.1f} ms CPU {found[name]['clock_ms']:8.1f} ms", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small project")
    size = SIZES["quick" if parser.parse_args().quick else "full"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.db"
        began = time.perf_counter()
        make_large(path, *size)
        print(f"made and trained in {time.perf_counter() - began:.0f} s", flush=True)
        views = time_views(path)
    result: dict[str, Any] = dict(zip(("items", "labels", "answers", "trainings"), size, strict=True))
    result |= {"views": views, "slowest_cpu_ms": max(figures["cpu_ms"] for figures in views.values())}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
