"""How long a newcomer needs from nothing to the first saved answer and to a tagged file, and where they wait.

    python benchmarks/newcomer.py [--quick]

The path of docs/tag-my-documents.md on a machine that has Python and a browser: a wheel of this repository, a new
environment, `pip install`, the demo, a project from a csv file of made-up tickets, 30 answers on the real page in
Chromium, predictions for other tickets, and the export. Every command runs in a terminal of its own, so it shows what a
person would see. A wait is silent where nothing new appears on screen for more than two seconds: of commands any output
counts, on the page a line that says what it waits for, and the next item. Waits of `pip` are not ours: they are told,
but not counted.

The last line printed is one JSON object: `minutes_to_first_answer`, `minutes` in all, `silent_waits` (what, seconds),
`wrong_answers` (stored otherwise than pressed), and the seconds of each step. `--quick` answers five and leaves out the
demo. Needs playwright and a Chromium, and packages from an index.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from labelwise.data import make_tickets

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SILENT = 2.0  # seconds
N_TICKETS, N_NEW = 600, 100


class Terminal:
    """Runs commands as in a terminal and notes how long each took and when nothing was shown."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.began = folder, time.perf_counter()
        self.steps: dict[str, float] = {}
        self.waits: list[tuple[str, float]] = []

    def minutes(self) -> float:
        return round((time.perf_counter() - self.began) / 60, 2)

    def run(self, name: str, words: Sequence[str | Path], *, until: str | None = None) -> tuple[str, subprocess.Popen]:
        """What the command printed, to its end or to a line that matches `until`; RuntimeError where it failed."""
        master, slave = pty.openpty()
        start = last = time.perf_counter()
        process = subprocess.Popen(list(map(str, words)), stdin=slave, stdout=slave, stderr=slave, cwd=self.folder)
        os.close(slave)
        shown = ""
        while True:
            ready = select.select([master], [], [], 0.05)[0]
            try:
                new = os.read(master, 65536).decode(errors="replace") if ready else ""
            except OSError:  # the terminal is closed: the command has ended
                break
            now = time.perf_counter()
            if new or process.poll() is not None:
                self.note(name, now - last)
                last, shown = now, shown + new
            if process.poll() is not None and not ready:
                break
            if until is not None and re.search(until, shown):
                break
        self.steps[name] = round(time.perf_counter() - start, 1)
        print(f"{name}: {self.steps[name]} s", flush=True)
        if (until is None or process.poll() is not None) and process.wait() != 0:
            raise RuntimeError(f"{name} ended with code {process.returncode}:\n{shown}")
        return shown, process

    def note(self, name: str, seconds: float) -> None:
        if seconds > SILENT:
            self.waits.append((name, round(seconds, 1)))


def write_tickets(path: Path, rows: range, *, tagged: bool = False) -> dict[str, list[str]]:
    """Some made-up tickets as a csv file; the labels of each."""
    data = make_tickets(N_TICKETS + N_NEW, random_state=0)
    Y = data.Y.toarray()
    labels = {
        data.item_ids[row]: [name for name, there in zip(data.label_names, Y[row], strict=True) if there]
        for row in rows
    }
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "text"])
        table.writerows([data.item_ids[row], data.items[row]["text"]] for row in rows)
    if not tagged:
        path.with_name("labels.txt").write_text("\n".join(data.label_names) + "\n", encoding="utf-8")
    return labels


def label(
    page: Page, truth: dict[str, list[str]], n_answers: int, terminal: Terminal
) -> tuple[dict[str, list[str]], float]:
    """Answer on the page, by typing names; what was pressed for each item, and the minutes to the first saved one."""
    pressed: dict[str, list[str]] = {}
    first = 0.0
    while len(pressed) < n_answers:
        start = time.perf_counter()
        page.wait_for_selector("html[data-ready]", timeout=120_000)
        terminal.note("the next item", time.perf_counter() - start)
        item = str(page.inner_text("#item-name"))
        for name in truth[item]:
            page.keyboard.type(name, delay=20)
            page.keyboard.press("Enter")
        page.wait_for_timeout(300)
        pressed[item] = truth[item]
        page.keyboard.press("Enter" if truth[item] else "Shift+Enter")
        page.wait_for_function("name => document.getElementById('item-name')?.textContent !== name", arg=item)
        first = first or terminal.minutes()
    page.wait_for_timeout(1000)
    return pressed, first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="five answers, without the demo")
    options = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("there is no Chromium on this machine to label with")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        wheel_maker = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        subprocess.run([*wheel_maker, "-w", folder, str(ROOT)], check=True)
        wheel = next(here.glob("labelwise-*.whl"))
        terminal = Terminal(here)
        terminal.run("python -m venv", [sys.executable, "-m", "venv", "env"])
        labelwise = here / "env" / "bin" / "labelwise"
        terminal.run("pip install", [here / "env" / "bin" / "python", "-m", "pip", "install", wheel])
        terminal.waits.clear()  # those of pip
        if not options.quick:
            terminal.run("labelwise demo", [labelwise, "demo", "--out", "demo-report"])
        truth = write_tickets(here / "tickets.csv", range(N_TICKETS))
        write_tickets(here / "new.csv", range(N_TICKETS, N_TICKETS + N_NEW), tagged=True)
        new = ["new", "tickets.db", "--items", "tickets.csv", "--id", "id", "--text", "text", "--labels", "labels.txt"]
        terminal.run("labelwise new", [labelwise, *new])
        shown, server = terminal.run(
            "labelwise serve", [labelwise, "serve", "tickets.db", "--port", str(free_port())], until=r"http://\S+\s"
        )
        address = re.search(r"http://\S+", shown)
        assert address is not None
        try:
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                start = time.perf_counter()
                page.goto(address[0], wait_until="commit")
                page.wait_for_selector("#waiting:not([hidden]):not(:empty), html[data-ready]", timeout=120_000)
                seen = time.perf_counter()
                terminal.note("the page", seen - start)
                page.wait_for_selector("html[data-ready]", timeout=120_000)
                terminal.note("the first item", time.perf_counter() - seen)
                terminal.steps["the first item"] = round(time.perf_counter() - start, 1)
                pressed, first = label(page, truth, 5 if options.quick else 30, terminal)
                browser.close()
        finally:
            server.terminate()
            server.wait()
        terminal.run("labelwise status", [labelwise, "status", "tickets.db"])
        terminal.run("labelwise predict", [labelwise, "predict", "tickets.db", "new.csv", "--out", "tagged.csv"])
        terminal.run("labelwise export", [labelwise, "export", "tickets.db", "labelled.jsonl"])
        stored = stored_labels(here / "labelled.jsonl")
        wrong = sum(sorted(stored.get(item, ())) != sorted(names) for item, names in pressed.items())
        with (here / "tagged.csv").open(encoding="utf-8", newline="") as file:
            n_tagged = sum(1 for _ in csv.reader(file)) - 1
    figures = {"minutes_to_first_answer": first, "minutes": terminal.minutes(), "silent_waits": terminal.waits}
    print(
        json.dumps(
            figures | {"wrong_answers": wrong, "answers": len(pressed), "tagged": n_tagged, "seconds": terminal.steps}
        )
    )


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def stored_labels(path: Path) -> dict[str, list[str]]:
    """Item to its labels, of an export."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {
        row["id"]: [name for name, there in row.items() if there == 1 and name not in ("id", "text")] for row in rows
    }


if __name__ == "__main__":
    main()
