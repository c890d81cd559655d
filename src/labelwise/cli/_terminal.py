"""Labelling in the terminal with single keys: whole items, or one yes/no at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from labelwise.labelling import Lease, NothingToAsk, Project, ProjectError
from labelwise.labelling.leases import MAKING, NOTHING, WITH_OTHERS
from labelwise.labelling.records import Verified
from labelwise.records import Timing
from labelwise.records.missed import MOST_VERIFIED

LABEL_KEYS = "1234567890acdefghijklmnoprtuvwxyz"  # but for b, q and s, which do something else
ENTER = ("\r", "\n")
MARKS = {True: "[x]", False: "[ ]", None: "[?]"}
FOLLOWING: dict[bool | None, bool | None] = {False: True, True: None, None: False}
PAIR_ANSWERS: dict[str, bool | None] = {"y": True, "n": False, "u": None}
WAIT = 0.1  # seconds between looks for a question
LONGEST_PAUSE = 60.0  # seconds without a key that count
NONE_LEFT = {  # why there is no question
    NOTHING: "there is nothing left to ask",
    WITH_OTHERS: "others have the questions that are left; what they give back is asked again",
    MAKING: "no question is ready yet; the worker makes more",
}


class Stop(Exception):
    """The person has had enough."""


@dataclass
class TerminalLabeller:
    """A person at a terminal.

    Parameters
    ----------
    project : Project
    who : name that answers are saved under
    read_key : waits for a key and returns it
    console : where to print
    worker_lives : whether somebody makes questions ready, so that waiting for one makes sense
    """

    project: Project
    who: str
    read_key: Callable[[], str]
    console: Console
    worker_lives: Callable[[], bool]
    saved: int = field(default=0, init=False)
    _typed: str = field(default="", init=False)
    _active: float = field(default=0.0, init=False)  # seconds on the question shown

    def work(self, most: int | None = None) -> int:
        """Ask until the person stops, `most` answers are saved, or nothing is left; how many were saved."""
        lease = self._wait()
        try:
            while lease is not None and (most is None or self.saved < most):
                lease = self._ask(lease)
        except (Stop, KeyboardInterrupt, EOFError):
            self.console.print("stopped; everything answered is saved")
            return self.saved
        left = self.project.service.left_for(self.who) if lease is None else MAKING
        self.console.print({NOTHING: "nothing is left to ask"}.get(left, "that is all for now"))
        return self.saved

    def _next_key(self) -> str:
        """Wait for a key, and count the time: of a pause no more than a minute."""
        began = time.monotonic()
        key = self.read_key()
        self._active += min(time.monotonic() - began, LONGEST_PAUSE)
        return key

    def _ask(self, lease: Lease) -> Lease | None:
        """One question; the next one."""
        self._active = 0.0
        self.console.print()
        self.console.print(Panel(Text(as_text(lease.content)), title=Text(lease.question.item), title_align="left"))
        whole = self.project.settings.target == "items"
        values = self._whole_item(lease) if whole else self._one_label(lease)
        if values == "skip":
            self.project.service.skip(lease.token, timing=Timing(self._active, "item" if whole else "pair"))
            return self._wait()
        if values == "back":
            return self._back(lease)
        picked = sum(value is True for value in values.values()) if whole else 0
        timing = Timing(self._active, "item" if whole else "pair", by_key=picked)
        self._active = 0.0
        verified = self._verify(lease, values) if whole else None
        if verified == "back":
            return lease
        try:
            receipt, following = self.project.service.answer_and_ask(
                lease.token, values, timing=timing, verified=verified
            )
        except ProjectError as error:  # the time was over, the label is gone, ...
            self.console.print(f"not saved: {error}", style="red", markup=False)
            return self._wait()
        self.saved += 1
        for notice in receipt.notices:
            self.console.print(notice, style="yellow", markup=False)
        self.console.print(f"saved ({self.saved})", style="green")
        return following or self._wait()

    def _back(self, lease: Lease) -> Lease:
        try:
            again = self.project.service.undo(self.who)
        except ProjectError as error:
            self.console.print(str(error), style="yellow", markup=False)
            return lease
        self.saved = max(0, self.saved - 1)
        self.console.print("taken back", style="yellow")
        return again

    def _wait(self) -> Lease | None:
        """The next question, once the worker has one; None where there is none left."""
        told = False
        while True:
            lease = next(iter(self.project.service.ask(self.who)), None)
            left = MAKING if lease is not None else self.project.service.left_for(self.who)
            if left == WITH_OTHERS:
                self.console.print(NONE_LEFT[left], style="yellow")
            if lease is not None or left != MAKING:
                return lease
            if not self.worker_lives():
                self.console.print("no worker is running to make questions ready: labelwise serve-worker", style="red")
                return None
            if not told:
                self.console.print("making questions ready ...", style="dim")
                told = True
            time.sleep(WAIT)

    # -- the two kinds of questions -----------------------------------------------------------------------------------

    def _one_label(self, lease: Lease) -> Any:
        label = lease.question.labels[0]
        why = f", {lease.reasons[label].why}" if label in lease.reasons else ""
        believed = f"  ({lease.beliefs[label]:.0%}{why})" if label in lease.beliefs else ""
        self.console.print(f"{label}?{believed}", style="bold", markup=False)
        self.console.print("y yes  n no  u unsure  s skip  b back  q quit", style="dim")
        while True:
            key = self._key()
            if key in PAIR_ANSWERS:
                return {label: PAIR_ANSWERS[key]}
            if key in ("s", "b"):
                return {"s": "skip", "b": "back"}[key]

    def _whole_item(self, lease: Lease) -> Any:
        order = sorted(lease.question.labels, key=lambda name: -lease.beliefs.get(name, 0.0))
        values: dict[str, bool | None] = dict.fromkeys(order, False)
        keys = dict(zip(LABEL_KEYS, order, strict=False))
        self._show_labels(lease, keys, values)
        while True:
            key = self._key()
            if key in ENTER:
                return values
            if key in ("s", "b"):
                return {"s": "skip", "b": "back"}[key]
            name = keys.get(key) if key != "/" else self._find(order)
            if name is not None:
                values[name] = FOLLOWING[values[name]]
                self.console.print(f"{MARKS[values[name]]} {name}", markup=False)

    def _verify(self, lease: Lease, values: Mapping[str, bool | None]) -> Any:
        """What is said of likely labels that were not picked; None where there are none."""
        names = [name for name in lease.verify if values[name] is False][:MOST_VERIFIED]
        if not names:
            return None
        there = dict.fromkeys(names, False)
        keys = dict(zip(LABEL_KEYS, names, strict=False))
        self.console.print("also?", style="bold")
        for key, name in keys.items():
            self.console.print(f" {key} {MARKS[False]} {name}", markup=False)
        self.console.print("key: there, again: not  Enter save  b back  q quit", style="dim")
        while (key := self._key()) not in ENTER:
            if key == "b":
                return "back"
            if key in keys:
                there[keys[key]] = not there[keys[key]]
                self.console.print(f"{MARKS[there[keys[key]]]} {keys[key]}", markup=False)
        timing = Timing(self._active, "further", by_suggestion=sum(there.values()))
        return Verified(there, timing)

    def _find(self, names: list[str]) -> str | None:
        """A label by the beginning of its name, or a part of it, typed and ended with Enter."""
        typed = ""
        self.console.print("/", end="")
        while (key := self._key(quits=False)) not in ENTER:
            typed = typed[:-1] if key in ("\x7f", "\b") else typed + key
            self.console.print(key, end="", markup=False)
        self.console.print()
        starts = [name for name in names if name.lower().startswith(typed.lower())]
        found = starts or [name for name in names if typed.lower() in name.lower()]
        if not typed or not found:
            self.console.print(f"no label has {typed!r} in it", style="yellow", markup=False)
            return None
        return found[0]

    # -- showing ------------------------------------------------------------------------------------------------------

    def _show_labels(self, lease: Lease, keys: Mapping[str, str], values: Mapping[str, bool | None]) -> None:
        for key, name in keys.items():
            believed = f"{lease.beliefs[name]:>5.0%} " if name in lease.beliefs else "      " if lease.beliefs else ""
            line = Text(f" {key} {MARKS[values[name]]} {believed}{name}")
            if name in lease.reasons:
                line.append(f"  {lease.reasons[name].why}", style="dim")
            self.console.print(line)
        more = len(values) - len(keys)
        hidden = f"  / find one of {more} more" if more > 0 else "  / find"
        self.console.print(f"key: there, again: unsure  Enter save{hidden}  s skip  b back  q quit", style="dim")

    def _key(self, *, quits: bool = True) -> str:
        typed = self._typed or self._next_key()  # a terminal hands over all that was typed meanwhile at once
        key, self._typed = ("", "") if typed.startswith("\x1b") else (typed[:1], typed[1:])
        if (quits and key == "q") or key in ("\x03", "\x04"):
            raise Stop
        return key


def as_text(content: Any) -> str:
    """An item for the eye: a text as it is, fields one per line, a picture by its name."""
    if isinstance(content, Mapping):
        return "\n".join(f"{name}: {_short(value)}" for name, value in content.items())
    return "" if content is None else _short(content)


def _short(value: Any) -> str:
    text = str(value)
    return f"{text[:30]}... (a picture; the page shows it)" if text.startswith("data:image") else text


def next_lease(project: Project, who: str, n: int) -> list[Lease]:
    """Questions for a person, made ready first where need be."""
    leases = project.ask(n, who=who)
    if not leases:
        raise NothingToAsk(NONE_LEFT[project.service.left_for(who)])
    return leases
