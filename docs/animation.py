"""Record docs/images/page.gif: some twenty seconds on the labelling page, by real keys in Chromium.

python docs/animation.py
"""

from __future__ import annotations

import io
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from labelwise.data import make_tickets
from labelwise.labelling import Project
from tagging import ARGUMENTS, CHROMIUM, IN_SIGHT, presses, serving

OUT = Path(__file__).parent / "images" / "page.gif"
SIZE = {"width": 960, "height": 560}
N_TICKETS, N_KNOWN, N_TAGGED = 400, 80, 7
COLOURS = 32
LOOKING, KEY, SAVED = 1400, 380, 700  # milliseconds that a frame is shown: a new ticket, after a key, after saving


def record(page: Page, truth: dict[str, list[str]]) -> list[tuple[Image.Image, int]]:
    """Tag some tickets; what the page shows after every key, and for how long."""
    frames: list[tuple[Image.Image, int]] = []

    def show(milliseconds: int, *keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_timeout(150)
        frames.append((Image.open(io.BytesIO(page.screenshot())).convert("RGB"), milliseconds))

    for _ in range(N_TAGGED):
        page.wait_for_selector("html[data-ready]")
        show(LOOKING)
        wanted = truth[str(page.inner_text("#item-name"))]
        keys = page.evaluate(IN_SIGHT)["keys"]
        for name in sorted(wanted, key=lambda name: not keys.get(name)):
            if keys.get(name):
                show(KEY, presses(keys[name]))
                continue
            for letter in name[:3]:
                show(KEY // 2, letter)
            show(KEY, "Enter")
        show(SAVED)
        page.keyboard.press("Enter" if wanted else "Shift+Enter")
        page.wait_for_timeout(1200)
    show(LOOKING)
    return frames


def main() -> None:
    tickets = make_tickets(N_TICKETS, random_state=0)
    Y = tickets.Y.toarray()
    named = {
        item: [tickets.label_names[label] for label in row.nonzero()[0]]
        for item, row in zip(tickets.item_ids, Y, strict=True)
    }
    observed = tickets.observed_mask().toarray()
    observed[N_KNOWN:] = False
    Y[N_KNOWN:] = 0
    started = replace(tickets, Y=type(tickets.Y)(Y), observed=type(tickets.Y)(observed))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        place = Path(folder) / "tickets.db"
        with Project.create(place, started, text="text") as project:
            project.refresh()
        with Project(place) as project, serving(project) as address:
            page = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS).new_page(viewport=SIZE)
            page.goto(address)
            frames = record(page, named)
    palette = frames[-2][0].quantize(COLOURS, dither=Image.Dither.NONE)
    pictures = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame, _ in frames]
    durations = [milliseconds for _, milliseconds in frames]
    pictures[0].save(OUT, save_all=True, append_images=pictures[1:], duration=durations, loop=0, optimize=True)
    print(f"{OUT}: {len(frames)} pictures, {sum(durations) / 1000:.0f} s, {OUT.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
