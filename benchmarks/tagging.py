"""How many keys and seconds a person needs to tag an item with 3 of 400 labels on the labelling page.

    python benchmarks/tagging.py [--quick]

A scripted person presses real keys in Chromium and looks at what is on screen. Seconds are those of the keystroke-level
model (Card, Moran and Newell 1980), without reading the item: 0.28 s for each key (Alt or Shift with a key is two) and
1.35 s for each mental step. There is one step for each item, one for each label that is picked or removed by itself,
and one for accepting all labels above the line, or all up to one. The person takes the way that needs the fewest
seconds: accept some at once and remove what is wrong, or pick one by one. A label whose key is in sight is picked by
it. Any other is found by the beginning of its name or of one of its words, whichever needs the fewest keys, with the
arrow down to it if that is shorter than more letters. What is stored must be what the person meant, or the script
fails.

Three labels that are picked one by one with one key each take 6.52 s. So the figures say how good the suggestions are:
below that is only who accepts several at once. There are three states:

* with suggestions: items drawn at random from those that are open, 2 000 known (15 examples of a label).
* asked: the items that the strategy asks about in the same state. They are those of which it is least sure.
* early: the same with 600 known (4.5 examples of a label, as many as in the trial that the bars come from).

And:

* without: the first items as if they were of the random share, where nothing is suggested.
* chosen_visible: share of the chosen labels that are on screen, uncovered, when the item is saved.
* recall: a person who forgets each label with probability 1/5 when picking, and who says yes to a forgotten label when
  "Also?" asks about it: one who never accepts several labels at once, and (`_seeing`) one who does and then recognises
  forgotten labels among them.
* sweep: one label, 2 pages each of three labels. Looking at a picture takes 0.5 s, reading 0.25 s for each word that is
  shown, as in the price lists of `Costs`; one mental step for each page, and one for each item that is marked, or from
  which the mark is taken where all are marked first. Pictures are the digits of scikit-learn, 200 of 700 known.
* first_question_seconds: a new project of 3 000 items, made by `labelwise new`. The time from the line of
  `labelwise serve` that it is up until its first question is on screen, in an open browser with a new profile; and the
  CPU seconds of server and browser together, which say more on a machine that does other things, too.

Texts and labels are those of eurlex57k, where tagged of its items with exactly 3 of its 400 labels, from
LABELWISE_SHARED_DATA or from ../shared/data beside the repository; where it is absent, made-up texts. The last line
printed is one JSON object. Needs playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import uvicorn
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from sklearn.datasets import load_digits

from labelwise import Label, LabelData
from labelwise.labelling import Project
from labelwise.labelling.store.engine import write_value
from labelwise.labelling.store.schema import questions
from labelwise.labelling.web.reach import Reach
from labelwise.labelling.web.server import create_app, server_config
from labelwise.records.asking import CONTROL

KEY, STEP = 0.28, 1.35  # seconds
LOOK, READ_WORD = 0.5, 0.25  # seconds for a picture in a grid, for a word
SWEEP_KEYS = "123456789abcdefghijklmnopqrstuvwxy"
PICKED = 3  # labels of each item
SIZES = {"quick": (120, 60, 5), "full": (2300, 2000, 30)}  # items, those known before, those tagged
EARLY = {"quick": (120, 40), "full": (700, 600)}  # items, those known before
STARTS = {"quick": (300, 1), "full": (3000, 5)}  # items of a new project, how often it is served
FORGOTTEN = 0.2
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run"]
ARGUMENTS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
VIEWPORT = {"width": 1280, "height": 800}
IN_SIGHT = """() => {
  const bar = document.getElementById("actions").getBoundingClientRect().top;
  const rows = [...document.querySelectorAll(".groups .row")].filter((row) => {
    const { top, bottom, height } = row.getBoundingClientRect();
    return height > 0 && top >= 0 && bottom <= bar;
  });
  const line = document.querySelector(".groups .line");
  const isAbove = (row) => line !== null && (row.compareDocumentPosition(line) & Node.DOCUMENT_POSITION_FOLLOWING) > 0;
  return {
    keys: Object.fromEntries(rows.map((row) => [row.dataset.name, row.querySelector(".key").textContent])),
    above: [...document.querySelectorAll(".groups .row")].filter(isAbove).map((row) => row.dataset.name),
  };
}"""
FOUND = "() => [...document.querySelectorAll('.groups .row')].map((row) => row.dataset.name)"
TYPE = """(text) => {
  const box = document.getElementById("search");
  box.value = text;
  box.dispatchEvent(new Event("input"));
}"""  # to look what would be found; what counts is typed
TILES = """all => all.map((tile) => [
  tile.dataset.item,
  tile.querySelector("img") !== null,
  (tile.querySelector(".snippet")?.textContent.match(/[^\\s]*[\\p{L}\\p{N}][^\\s]*/gu) ?? []).length,
])"""  # item, whether it is a picture, words
MOST_TYPED = 10
VISIBLE = """() => [...document.querySelectorAll("#chosen .chip")].map((chip) => {
  const { left, top, right, bottom } = chip.getBoundingClientRect();
  if (top < 0 || left < 0 || bottom > innerHeight || right > innerWidth) return false;
  return chip.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
})"""


@dataclass
class Tally:
    """What tagging took."""

    keys: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    search_keys: list[int] = field(default_factory=list)  # of each search, without Enter
    visible: list[bool] = field(default_factory=list)  # each chosen label, at saving
    accepted: int = 0  # items whose line was accepted
    found: int = 0  # true labels that were stored
    wanted: int = 0

    @property
    def recall(self) -> float:
        return round(self.found / self.wanted, 3)


class Person:
    """Somebody who knows the labels of every item, and presses the keys that bring them fastest."""

    def __init__(self, page: Page, tally: Tally) -> None:
        self.page = page
        self.tally = tally
        self.keys = self.steps = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.keys += key.count("+") + 1

    def begin(self) -> str:
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)
        self.keys, self.steps = 0, 1
        return str(self.page.inner_text("#item-name"))

    def pick(self, wanted: Sequence[str], true: Sequence[str], *, may_accept: bool = True) -> None:
        """Pick what is wanted; what is accepted at once is looked at, and stays if it is true."""
        sight = self.page.evaluate(IN_SIGHT)
        keys = {name: presses(key) for name, key in sight["keys"].items() if key}
        ways = self.ways_to_accept(sight, keys) if may_accept else []
        best, seconds, left = None, sum(STEP + KEY * len_of(keys.get(name)) for name in wanted), list(wanted)
        for key, names in ways:
            wrong = [name for name in names if name not in true]
            others = [name for name in wanted if name not in names]
            each = sum(STEP + KEY * len_of(keys.get(name)) for name in [*wrong, *others])
            if all(name in keys for name in wrong) and STEP + KEY * len_of(key) + each < seconds:
                best, seconds, left = (key, wrong), STEP + KEY * len_of(key) + each, others
        if best is not None:
            key, wrong = best
            self.steps += 1 + len(wrong)
            self.press(key, *(keys[name] for name in wrong))
            self.tally.accepted += 1
        for name in sorted(left, key=lambda name: name not in keys):
            self.steps += 1
            if name in keys:
                self.press(keys[name])
            else:
                self.search(name)

    def ways_to_accept(self, sight: dict[str, Any], keys: dict[str, str]) -> list[tuple[str, list[str]]]:
        """Keys that accept several labels, and which."""
        ways = [("Space", sight["above"])] if sight["above"] else []
        digits = [name for name, key in keys.items() if key.isdigit()]
        return ways + [(f"Shift+Digit{keys[name]}", digits[: place + 1]) for place, name in enumerate(digits) if place]

    def search(self, name: str) -> None:
        """Type the beginning that needs the fewest keys, and go down to the label if it is not the first."""
        text, place = self.shortest(name)
        self.press(*(["/"] if text[0].isdigit() else []))
        self.press(*("Space" if letter == " " else letter for letter in text))
        assert self.page.evaluate(FOUND)[place] == name
        self.press(*["ArrowDown"] * place)
        self.tally.search_keys.append(len(text) + place)
        self.press("Enter")

    def shortest(self, name: str) -> tuple[str, int]:
        best = (99, name, 0)
        for word in {name, *re.findall(r"[^\W_]+", name)}:
            for end in range(1, min(len(word), MOST_TYPED) + 1):
                self.page.evaluate(TYPE, word[:end].rstrip())
                found = self.page.evaluate(FOUND)
                if name in found:
                    best = min(best, (end + found.index(name), word[:end], found.index(name)))
        self.page.evaluate(TYPE, "")
        return best[1:]

    def save(self, number: int) -> None:
        self.page.wait_for_timeout(300)  # as long as a mental step at least
        self.tally.visible += self.page.evaluate(VISIBLE)
        self.press("Enter" if self.page.locator("#chosen .chip").count() else "Shift+Enter")
        self.tally.keys.append(self.keys)
        self.tally.seconds.append(KEY * self.keys + STEP * self.steps)

    def say_also(self, true: Sequence[str]) -> None:
        """Labels that were forgotten are recognised."""
        self.page.wait_for_timeout(350)
        names = [name.split(" ", 1)[1] for name in self.page.locator("#also-labels button").all_inner_texts()]
        for place, name in enumerate(names):
            if name in true:
                self.press(str(place + 1))
        self.press("Enter")


def presses(key: str) -> str:
    return key if key.isdigit() else f"Alt+{key}"  # as it is in the box


def len_of(key: str | None) -> int:
    return 2 if key is None or "+" in key else 1


def tag(
    browser: Browser,
    project: Project,
    truth: dict[str, list[str]],
    items: int,
    *,
    forget: bool = False,
    may_accept: bool = True,
) -> Tally:
    """Tag so many items; what was stored is compared with what was meant."""
    tally, rng, meant = Tally(), np.random.default_rng(0), {}
    context = browser.new_context(viewport=VIEWPORT)
    page = context.new_page()
    with serving(project) as address:
        page.goto(address)
        page.wait_for_selector("#desk:not([hidden])", timeout=60_000)
        person = Person(page, tally)
        for number in range(1, items + 1):
            item = person.begin()
            true = truth[item]
            picked = [name for name in true if not forget or rng.random() >= FORGOTTEN]
            person.pick(picked, true, may_accept=may_accept)
            person.save(number)
            if forget and page.locator("#also").is_visible():
                person.say_also(true)
            page.wait_for_selector(f'#saved[data-saved="{number}"]', timeout=60_000)
            meant[item] = picked
    context.close()
    stored: dict[str, set[str]] = {}
    for event in project.events():
        if event.reason != "given" and event.kind == "answer":
            stored.setdefault(event.item, set()).update(name for name, value in event.values.items() if value)
    for item, picked in meant.items():
        if not set(picked) <= stored[item] <= set(truth[item]) or (not forget and stored[item] != set(picked)):
            raise SystemExit(f"meant {picked} of {item}, stored {sorted(stored[item])}")
        tally.found += len(stored[item])
        tally.wanted += len(truth[item])
    return tally


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def sweep(
    browser: Browser, project: Project, truth: dict[str, list[str]], labels: Sequence[str], pages: int
) -> list[float]:
    """Seconds for each item of so many pages of a sweep over each label; what was stored is compared, too."""
    context, seconds, meant = browser.new_context(viewport=VIEWPORT), [], {}
    page = context.new_page()
    before = {event.id for event in project.events()}
    with serving(project) as address:
        page.goto(address)
        page.wait_for_url("**/label")
        for label in labels:
            page.goto(f"{address.rpartition('/local/')[0]}/sweep?label={quote(label)}")
            for _ in range(pages):
                page.wait_for_selector("html[data-ready]", timeout=60_000)
                tiles = page.eval_on_selector_all("button.tile", TILES)
                has = {item: label in truth[item] for item, _, _ in tiles}
                for _, is_picture, words in tiles:
                    seconds.append((LOOK if is_picture else 0.0) + READ_WORD * words)
                keys, steps = press_marks(page, list(has.values()))
                seconds[-1] += KEY * keys + STEP * (1 + steps)
                meant |= {(item, label): value for item, value in has.items()}
                saved = sum(1 for item, of in meant if of == label)
                page.wait_for_selector(f'#saved[data-state="saved"][data-saved="{saved}"]', timeout=60_000)
    context.close()
    events = [event for event in project.events() if event.id not in before]
    stored = {(event.item, label): value for event in events for label, value in event.values.items()}
    if stored != meant:
        raise SystemExit(f"a sweep stored {len(stored)} answers that are not the {len(meant)} that were meant")
    return seconds


def press_marks(page: Page, has: Sequence[bool]) -> tuple[int, int]:
    """Mark and save a page by the fewest keys; how many there were, and how many mental steps."""
    if not any(has):
        page.keyboard.press("Shift+Enter")
        return 2, 0
    from_all = sum(has) > len(has) / 2
    marked = [key for key, value in zip(SWEEP_KEYS, has, strict=False) if value != from_all]
    for key in [*["0"] * from_all, *marked, "Enter"]:
        page.keyboard.press(key)
    return from_all + len(marked) + 1, from_all + len(marked)


@contextmanager
def serving(project: Project) -> Iterator[str]:
    port = free_port()
    app = create_app(project, local_user="me")
    server = uvicorn.Server(server_config(app, Reach(), port))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/local/{app.state.site.local_secret}"
    finally:
        server.should_exit = True
        thread.join()


# -- the first question of a new project -------------------------------------------------------------------------------


def time_first_questions(
    browser: Browser, texts: Sequence[str], labels: Sequence[Label], repeats: int
) -> list[tuple[float, float | None]]:
    """Seconds from "up" to the first question on screen, and those of CPU of server and browser."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "new.db"
        items, names = Path(folder) / "items.jsonl", Path(folder) / "labels.txt"
        items.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        names.write_text("\n".join(label.name for label in labels), encoding="utf-8")
        command = [str(Path(sys.executable).with_name("labelwise"))]
        options = ["--items", str(items), "--text", "text", "--labels", str(names)]
        subprocess.run([*command, "new", str(place), *options], check=True, stdout=subprocess.DEVNULL)
        found = []
        for number in range(repeats):
            copied = Path(folder) / f"{number}.db"
            shutil.copy(place, copied)
            found.append(time_first_question(browser, [*command, "serve", str(copied), "--port", str(free_port())]))
    return found


def time_first_question(browser: Browser, command: list[str]) -> tuple[float, float | None]:
    context = browser.new_context(viewport=VIEWPORT)
    page = context.new_page()
    page.goto("about:blank")
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        link = next(word for line in server.stderr for word in line.split() if word.startswith("http"))
        began, spent = time.perf_counter(), cpu_seconds()
        page.goto(link, wait_until="commit")
        page.wait_for_selector("html[data-question]", timeout=60_000)
        seconds, after = time.perf_counter() - began, cpu_seconds()
    finally:
        server.terminate()
        server.communicate()
        context.close()
    return seconds, None if spent is None or after is None else after - spent


def cpu_seconds() -> float | None:
    """CPU seconds of all processes that this one started and that run now; None where the system does not say."""
    if not Path("/proc/self/stat").exists():
        return None
    parents, spent = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
            spent[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    family = [os.getpid()]
    for process in family:
        family += [child for child, parent in parents.items() if parent == process]
    return sum(spent[process] for process in family[1:])


# -- what is tagged ----------------------------------------------------------------------------------------------------


def data_folder() -> Path:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("LABELWISE_SHARED_DATA", beside))


def texts_and_labels() -> tuple[str, list[tuple[str, list[str]]], list[Label]]:
    """The name of the set, its items and all its labels."""
    folder = data_folder() / "eurlex57k"
    if not folder.is_dir():
        return made_up()
    with gzip.open(folder / "items.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    described = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    labels = [Label(name, description=text) for name, text in described.items()]
    return "eurlex57k", [(row["text"], row["labels"]) for row in rows], labels


def made_up(n_items: int = 3000, n_labels: int = 400) -> tuple[str, list[tuple[str, list[str]]], list[Label]]:
    """Texts of which two words in three are of their labels; names are two syllables each and say nothing."""
    rng = np.random.default_rng(0)
    parts = ["ba", "co", "di", "fu", "ga", "he", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we", "xi", "zo"]
    words = [f"{a}{b}{c}" for a in parts for b in parts for c in parts]
    rng.shuffle(words)
    names = [f"{a} {b}" for a, b in zip(words[:n_labels], words[n_labels : 2 * n_labels], strict=True)]
    own = np.reshape(words[2 * n_labels : 8 * n_labels], (n_labels, 6))
    shares = 1 / (10 + np.arange(n_labels))
    items = []
    for _ in range(n_items):
        labels = rng.choice(n_labels, PICKED, replace=False, p=shares / shares.sum())
        text = [*rng.choice(own[labels].ravel(), 20), *rng.choice(words, 10)]
        items.append((" ".join(text), [names[label] for label in labels]))
    return "made up", items, [Label(name) for name in names]


def make_project(
    place: Path, items: list[tuple[str, list[str]]], labels: list[Label], known: int, **settings: Any
) -> None:
    names = [label.name for label in labels]
    column = {name: place for place, name in enumerate(names)}
    Y = np.zeros((len(items), len(names)), dtype=bool)
    for row, (_, tags) in enumerate(items):
        Y[row, [column[name] for name in tags]] = True
    observed = np.repeat(np.arange(len(items)) < known, len(names)).reshape(Y.shape)
    data = LabelData.from_arrays(
        np.zeros((len(items), 1)),
        Y & observed,
        observed=observed,
        labels=labels,
        items=[{"text": text} for text, _ in items],
        item_ids=[f"T{row:04d}" for row in range(len(items))],
    )
    with Project.create(place, data, text="text", ready=60, **settings) as project:
        project.refresh(encode=False)


def digits(place: Path, n_items: int = 700, known: int = 200) -> tuple[Project, dict[str, list[str]]]:
    """A project of pictures: handwritten digits, with a label for each figure."""
    pictures = load_digits()
    names, rows = [f"a {number}" for number in range(10)], np.random.default_rng(0).permutation(1797)[:n_items]
    Y = pictures.target[rows, None] == np.arange(10)
    observed = np.repeat(np.arange(n_items) < known, 10).reshape(Y.shape)
    ids = [f"D{row:04d}" for row in range(n_items)]
    data = LabelData.from_arrays(
        np.zeros((n_items, 1)),
        Y & observed,
        observed=observed,
        label_names=names,
        items=[{"picture": as_png(pictures.images[row])} for row in rows],
        item_ids=ids,
    )
    with Project.create(place, data, images="picture", ready=20) as project:
        project.refresh(encode=False)
    return Project(place), {name: [names[figure]] for name, figure in zip(ids, pictures.target[rows], strict=True)}


def as_png(shades: Any) -> str:
    out = io.BytesIO()
    Image.fromarray((255 - 255 / 16 * shades).astype(np.uint8)).resize((96, 96)).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def commonest(truth: dict[str, list[str]], number: int = 3) -> list[str]:
    return [name for name, _ in Counter(name for names in truth.values() for name in names).most_common(number)]


def with_also(place: Path) -> Project:
    """The same project with "Also?"; nothing is learnt anew."""
    with Project(place) as project, project.store.writing() as connection:
        write_value(connection, "settings", asdict(replace(project.settings, verify=True)))
    return Project(place)


def as_drawn(place: Path) -> Project:
    """The same project with the same questions, as if they were of the random share."""
    with Project(place) as project, project.store.writing() as connection:
        connection.execute(questions.update().values(reason=CONTROL))
    return Project(place)


def mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 2) if len(values) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few items, for a look whether it works")
    size = "quick" if parser.parse_args().quick else "full"
    (n_items, known, tagged), (n_new, repeats) = SIZES[size], STARTS[size]
    if CHROMIUM is None:
        raise SystemExit("there is no Chromium on this machine to measure with")
    name, all_items, labels = texts_and_labels()
    items = [(text, tags) for text, tags in all_items if len(set(tags)) == PICKED]
    order = np.random.default_rng(0).permutation(len(items))
    chosen = [items[row] for row in order[:n_items]]
    truth = {f"T{row:04d}": sorted(set(tags)) for row, (_, tags) in enumerate(chosen)}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        place = {name: Path(folder) / f"{name}.db" for name in ("drawn", "asked", "early", "pictures")}
        make_project(place["drawn"], chosen, labels, known, strategy="random", control=0.0, start=0)
        make_project(place["asked"], chosen, labels, known, control=0.0, start=0)
        make_project(place["early"], chosen[: EARLY[size][0]], labels, EARLY[size][1], control=0.0, start=0)

        def run(name: str, change: Callable[[Path], Project] = Project, **options: Any) -> Tally:
            copied = Path(shutil.copy(place[name], Path(folder) / "copied.db"))
            with change(copied) as project:
                done = tag(browser, project, truth, tagged, **options)
            for made in Path(folder).glob("copied.db*"):
                shutil.rmtree(made) if made.is_dir() else made.unlink()
            print(f"{name} {change.__name__} {options}: {mean(done.seconds)} s, {mean(done.keys)} keys", flush=True)
            return done

        alone = run("drawn", as_drawn)
        helped, asked, early = (run(name) for name in ("drawn", "asked", "early"))
        forgetful = run("drawn", with_also, forget=True, may_accept=False)
        seeing = run("drawn", with_also, forget=True)
        forgetful_asked = run("asked", with_also, forget=True, may_accept=False)
        with Project(place["asked"]) as project:
            snippets = sweep(browser, project, truth, commonest(truth), 2)
        project, figures_of = digits(place["pictures"])
        with project:
            pictures = sweep(browser, project, figures_of, commonest(figures_of), 2)
        starts = time_first_questions(browser, [text for text, _ in all_items[:n_new]], labels, repeats)
        browser.close()
    figures = {
        "set": name,
        "labels": len(labels),
        "known_items": known,
        "tagged_items": tagged,
        "seconds_with_suggestions": mean(helped.seconds),
        "keys_with_suggestions": mean(helped.keys),
        "accepted_at_once": helped.accepted,
        "searches_with_suggestions": len(helped.search_keys),
        "seconds_asked": mean(asked.seconds),
        "keys_asked": mean(asked.keys),
        "seconds_early": mean(early.seconds),
        "keys_early": mean(early.keys),
        "seconds_without": mean(alone.seconds),
        "keys_without": mean(alone.keys),
        "keys_per_search_without": mean(alone.search_keys),
        "chosen_visible": mean([*helped.visible, *asked.visible, *early.visible, *alone.visible, *forgetful.visible]),
        "recall_forgetting_a_fifth": round(1 - FORGOTTEN, 2),
        "recall_with_also": forgetful.recall,
        "recall_with_also_seeing": seeing.recall,
        "recall_with_also_asked": forgetful_asked.recall,
        "sweep_seconds_per_picture": mean(pictures),
        "sweep_seconds_per_snippet": mean(snippets),
        "first_question_seconds": round(float(np.median([seconds for seconds, _ in starts])), 2),
        "first_question_cpu_seconds": mean([cpu for _, cpu in starts if cpu is not None]),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
