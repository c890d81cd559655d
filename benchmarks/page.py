"""What people wait for on the labelling page, in a real browser.

    python benchmarks/page.py [--quick]

Start: from `labelwise serve` on the demo project, worker and all, until its first question is on screen, in a browser
that is open already and goes there as soon as the port is listened on, as --open does.

Flow: a project of 10 000 items and 200 labels whose worker trains all the while. Keys are pressed by the browser's own
driver. Timed inside the page: from the key to the next question painted, which is what a person waits for (it was
fetched ahead), and to "saved" painted (the answer is on the server's disk and the page has heard of it).

The last line printed is one JSON object. Needs playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from labelwise import Answer, LabelData
from labelwise.cli.demo import make_demo_projects
from labelwise.labelling import Project
from labelwise.labelling.store.trainings import read_trainings
from labelwise.labelling.web.reach import local_secret

SIZES = {"quick": (1_000, 50, 2, 20), "full": (10_000, 200, 7, 150)}  # items, labels, starts, answers
KNOWN = 300  # items answered before
THINKING = 0.25  # seconds between two answers: faster than anybody reads
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run"]
ARGUMENTS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]

WATCH = """() => {
  const times = (window.times = { next: [], saved: [] });
  let pressed = null;
  const painted = (kind) => {
    const since = pressed;
    requestAnimationFrame(() => setTimeout(() => times[kind].push(performance.now() - since)));
  };
  addEventListener("keydown", (event) => { if (event.key === "Enter") pressed = performance.now(); }, true);
  const watch = (node, name, kind) =>
    new MutationObserver(() => painted(kind)).observe(node, { attributeFilter: [name] });
  watch(document.documentElement, "data-question", "next");
  watch(document.getElementById("saved"), "data-saved", "saved");
}"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serve(location: str, port: int) -> Iterator[None]:
    """`labelwise serve`, as a user starts it."""
    command = [str(Path(sys.executable).with_name("labelwise")), "serve", location, "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def open_page(page: Page, location: str, port: int) -> None:
    """Until the first question is on screen."""
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.02)
    secret = local_secret(Path(f"{location}.derived"))
    page.goto(f"http://127.0.0.1:{port}/local/{secret}", wait_until="commit")
    page.wait_for_selector("#desk:not([hidden])", timeout=60_000)


def time_starts(browser: Browser, location: str, repeats: int) -> list[float]:
    """Seconds from the command to its first question; a new browser profile each time."""
    seconds = []
    for _ in range(repeats):
        context = browser.new_context()
        page, port = context.new_page(), free_port()
        began = time.perf_counter()
        with serve(location, port):
            open_page(page, location, port)
            seconds.append(time.perf_counter() - began)
            context.close()
    return seconds


def make_large(path: Path, n_items: int, n_labels: int) -> None:
    """Items of random features; labels that follow from them, some of them known."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_items, 32))
    Y = X @ rng.standard_normal((32, n_labels)) > 6.0
    names = [f"label {j}" for j in range(n_labels)]
    texts = [f"item {i}: " + " ".join(f"{x:.2f}" for x in row) for i, row in enumerate(X)]
    data = LabelData.from_arrays(X, label_names=names, items=texts)
    with Project.create(path, data) as project:
        rows = rng.choice(n_items, KNOWN, replace=False).tolist()
        answers = [Answer(data.item_ids[i], dict(zip(names, Y[i].tolist(), strict=True))) for i in rows]
        project.tell(answers, who="before")
        project.refresh()


def time_answers(browser: Browser, location: str, answers: int) -> tuple[dict[str, list[float]], int]:
    """Milliseconds of each wait, and how many trainings there were meanwhile."""
    port, context = free_port(), browser.new_context(viewport={"width": 1180, "height": 760})
    page = context.new_page()
    with serve(location, port), Project(location) as project:
        open_page(page, location, port)
        before = wait_for_training(project)
        page.evaluate(WATCH)
        for number in range(1, answers + 1):
            page.wait_for_selector("html[data-ready]", timeout=60_000)  # keys that come earlier do not count
            page.keyboard.press("1")
            page.keyboard.press("Enter")
            page.wait_for_selector(f'#saved[data-saved="{number}"]', timeout=60_000)
            time.sleep(THINKING)
        times = page.evaluate("() => window.times")
        with project.store.reading() as connection:
            trainings = sum(row.state == "good" for row in read_trainings(connection)) - before
    context.close()
    return times, trainings


def wait_for_training(project: Project) -> int:
    """Until the worker that was started beside has begun to train; the number of good trainings so far."""
    project.tell(Answer(sorted(project.item_names())[0], {"label 0": True}), who="before")
    until = time.monotonic() + 120
    while not project.is_settled and time.monotonic() < until:
        time.sleep(0.2)
    with project.store.reading() as connection:
        return sum(row.state == "good" for row in read_trainings(connection))


def summary(times: list[float], digits: int) -> dict[str, float]:
    shares = {"median": 0.5, "p95": 0.95, "worst": 1.0}
    return {name: round(float(np.quantile(times, share)), digits) for name, share in shares.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small project, for a look whether it works")
    n_items, n_labels, starts, answers = SIZES["quick" if parser.parse_args().quick else "full"]
    if CHROMIUM is None:
        raise SystemExit("there is no Chromium on this machine to measure with")
    figures: dict[str, Any] = {"items": n_items, "labels": n_labels, "answers": answers}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        demo, large = Path(folder) / "demo.db", Path(folder) / "large.db"
        make_demo_projects(demo)
        time_starts(browser, str(demo), 1)  # bytecode and the browser's caches are warm after this one
        figures["first_question_s"] = summary(time_starts(browser, str(demo), starts), 2)
        print("first question on screen:", figures["first_question_s"], flush=True)
        make_large(large, n_items, n_labels)
        times, figures["trainings_meanwhile"] = time_answers(browser, str(large), answers)
        figures["answer_to_next_question_ms"] = summary(times["next"], 1)
        figures["answer_to_saved_ms"] = summary(times["saved"], 1)
        browser.close()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
