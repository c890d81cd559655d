"""Short histories of a few people on a simulated disk: faults and power losses at any write, see faults.py."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from _simulated_disk import FULL, OK, SYNC_FAILED, WRITE_FAILED, SimulatedDisk
from _store_model import LABELS, Findings, Sent, StoreModel, sent_values
from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.errors import ProjectError, StoreError
from labelwise.labelling.records import Lease
from labelwise.labelling.served import ServedProject
from labelwise.records import Timing

PEOPLE = ("ann", "bob", "eve")
ITEMS, LABELS_AT_START = 6, 4
STEPS = (3, 9)  # what people do in one history
TEMPLATES = [  # settings of the projects that histories begin with
    {"overlap": overlap, "strategy": strategy, "control": 0.2, "lease_seconds": 30.0}
    for overlap in (1, 2, 3)
    for strategy in ("uncertainty", "uncertainty_pairs")
]
FAULTS = ("power", "power", "power and some writes", "full", "full for a while", "write", "sync", "none")


CHECKPOINTS = {"pages": 1000}  # after which the log goes into the file, for connections made from now on


@cache
def opened_before(path: str) -> ServedProject:
    """One for all histories on a path, connected anew for each: compiling statements takes longer than they do."""
    project = ServedProject(path)
    event, said = "connect", "PRAGMA wal_autocheckpoint="
    sa.event.listen(project.store._engine, event, lambda each, _: each.execute(f"{said}{CHECKPOINTS['pages']}"))
    project.close()
    return project


@dataclass
class Clock:
    now: float = 1.7e9

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


@dataclass
class Tally:
    """What many histories came to."""

    histories: int = 0
    faults: int = 0
    acknowledged: int = 0
    findings: Findings = field(default_factory=Findings)


class Histories:
    """Runs histories by number: the same number is the same history."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.folder = tempfile.TemporaryDirectory()
        self.images = [self._made(number, settings) for number, settings in enumerate(TEMPLATES)]
        self.disk = SimulatedDisk(random.Random(0))
        self.disk.install()

    def _made(self, number: int, settings: dict[str, Any]) -> tuple[str, dict[str, bytes]]:
        """A project with questions ready: made on the real disk, then kept in memory."""
        path = Path(self.folder.name) / f"{number}.db"
        X = np.random.default_rng(number).standard_normal((ITEMS, 2))
        names = LABELS[:LABELS_AT_START]
        data = LabelData.from_arrays(X, label_names=names, item_ids=[f"item {i}" for i in range(ITEMS)])
        with Project.create(path, data, model="binary_relevance", ready=ITEMS * LABELS_AT_START, **settings) as project:
            project.refresh()
            with project.store.writing() as connection:
                connection.exec_driver_sql("DELETE FROM trainings WHERE state <> 'good'")
        return str(path), {str(path): path.read_bytes()}  # closed: everything is in one file

    def run(self, number: int, tally: Tally) -> None:
        rng = random.Random(f"{self.seed} {number}")
        path, image = rng.choice(self.images)
        self.disk.rng = rng
        self.disk.load(image)
        story = Story(path, self.disk, rng)
        for part in range(rng.randint(1, 2)):
            story.play(rng.choice(FAULTS), is_last=part == 1)
        found = story.verdict()
        tally.histories += 1
        tally.faults += story.faults
        tally.acknowledged += len(story.model.acknowledged) + len(story.model.undone)
        for name in found.__dataclass_fields__:
            getattr(tally.findings, name).extend(f"history {number}: {each}" for each in getattr(found, name))


class Story:
    """A few people, one project, one disk."""

    def __init__(self, path: str, disk: SimulatedDisk, rng: random.Random) -> None:
        self.path, self.disk, self.rng = path, disk, rng
        self.model, self.clock, self.faults = StoreModel(), Clock(), 0
        self.leases: dict[str, list[Lease]] = {who: [] for who in PEOPLE}
        self.answered: dict[str, list[tuple[int, Lease]]] = {who: [] for who in PEOPLE}
        self.renamed = 0
        self.trouble: list[str] = []

    def play(self, fault: str, is_last: bool) -> None:
        """People do things until they are done or the power fails."""
        with self._opened() as project:
            steps = self.rng.randint(*STEPS)
            self._prepare(fault, self.disk.calls + self.rng.randint(1, 12 * steps))
            for _ in range(steps):
                if self.disk.is_off:
                    break
                self._step(project)
        if fault.startswith("power"):
            self.faults += 1
            self.disk.power_loss(keep_some=fault != "power")
        self.disk.fault = lambda what, call: OK

    def verdict(self) -> Findings:
        """What is in the store at the end; a store that cannot be opened has lost everything."""
        try:
            with self._opened() as project, project.store.reading() as connection:
                sound = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
                found = self.model.check(connection)
                found.lost += [] if sound == "ok" else [f"the file is damaged: {sound}"]
        except ProjectError as error:
            found = Findings(lost=[f"the project cannot be opened: {error}"])
        found.falsified += self.trouble
        return found

    @contextmanager
    def _opened(self) -> Iterator[ServedProject]:
        """The project on the disk as it is now, sometimes with checkpoints that even a short history comes to."""
        project = opened_before(self.path)
        project.service = type(project.service)(project.store, project.settings, self.clock)
        CHECKPOINTS["pages"] = self.rng.choice((3, 1000))
        try:
            yield project
        finally:
            project.close()

    def _prepare(self, fault: str, at: int) -> None:
        """Arrange for the fault when the disk is asked to write for the so-manieth time."""
        code = {"full": FULL, "full for a while": FULL, "write": WRITE_FAILED, "sync": SYNC_FAILED}.get(fault)
        until = {"full": 10**9, "full for a while": at + self.rng.randint(1, 20)}.get(fault, at + 1)

        def happen(what: str, call: int) -> int:
            if call < at or fault == "none":
                return OK
            if fault.startswith("power"):
                self.disk.is_off = True
                return WRITE_FAILED
            wanted = {"sync": "sync"}.get(fault, "write")
            if call >= until and not (fault == "sync" and call == until):
                return OK
            self.faults += call == at
            return code if code is not None and (what == wanted or fault == "sync") else OK

        self.disk.fault = happen

    # -- what people do -----------------------------------------------------------------------------------------------

    def _step(self, project: ServedProject) -> None:
        who = self.rng.choice(PEOPLE)
        deeds: list[Callable[[ServedProject, str], None]] = [self._answer] * 6
        deeds += [self._ask, self._skip, self._undo, self._undo, self._tell, self._settle, self._relabel, self._wait]
        try:
            self.rng.choice(deeds)(project, who)
        except StoreError:
            pass  # not acknowledged: it may have been kept or not
        except ProjectError:
            pass  # refused: the model says whether anything was kept all the same

    def _ask(self, project: ServedProject, who: str) -> None:
        asked = project.service.ask if self.rng.random() < 0.3 else project.service.ask_about_items
        self.leases[who] = asked(who, self.rng.randint(1, 3))
        held = [(lease.question.item, label) for lease in self.leases[who] for label in lease.question.labels]
        if len(held) != len(set(held)):
            self.trouble.append(f"{who} was asked the same twice: {held}")

    def _answer(self, project: ServedProject, who: str) -> None:
        if not self.leases[who]:
            self._ask(project, who)
        if not self.leases[who]:
            return
        lease = self.leases[who].pop(self.rng.randrange(len(self.leases[who])))
        values = self._values(lease.question.labels)
        sent = Sent(who, lease.question.item, "answer", sent_values(values), lease.token, seconds=1.5)
        for timing in (Timing(1.5), Timing(9e9))[: self.rng.choice((1, 1, 1, 2))]:  # some send twice
            receipt = self._sending(sent, partial(project.service.answer, lease.token, values, who, timing=timing))
            self.model.acknowledge(receipt.event, sent)
        self.answered[who].append((receipt.event, lease))

    def _skip(self, project: ServedProject, who: str) -> None:
        if self.leases[who]:
            lease = self.leases[who].pop()
            sent = Sent(who, lease.question.item, "skip", lease=lease.token)
            receipt = self._sending(sent, lambda: project.service.skip(lease.token, who))
            self.model.acknowledge(receipt.event, sent)

    def _undo(self, project: ServedProject, who: str) -> None:
        if self.answered[who]:
            event, lease = self.answered[who].pop()
            sent = Sent(who, lease.question.item, "undo", undoes=event)
            again = self._sending(sent, lambda: project.service.undo(who, event))
            self.model.undone.append(sent)
            self.leases[who] = [again]

    def _tell(self, project: ServedProject, who: str) -> None:
        item = f"item {self.rng.randrange(ITEMS)}"
        names = project.label_names()
        values = self._values(self.rng.sample(names, self.rng.randint(1, len(names))))
        answer = Answer(item, values, correction=True)  # None is unsure
        sent = Sent(who, item, "answer", sent_values(values))
        receipt = self._sending(sent, lambda: project.service.tell([answer], who)[0])
        if not receipt.repeated:  # else it stood already
            self.model.acknowledge(receipt.event, sent)

    def _settle(self, project: ServedProject, who: str) -> None:
        item = f"item {self.rng.randrange(ITEMS)}"
        values = {self.rng.choice(project.label_names()): self.rng.random() < 0.5}
        sent = Sent(who, item, "answer", sent_values(values), is_settled=True)
        receipt = self._sending(sent, lambda: project.service.settle(Answer(item, values), who))
        self.model.acknowledge(receipt.event, sent)

    def _relabel(self, project: ServedProject, _: str) -> None:
        names = project.label_names()
        what = self.rng.choice(("rename", "rename", "merge", "retire", "add"))
        if what == "rename":
            self.renamed += 1
            project.rename_label(names[-1], f"{names[-1].split('.')[0]}.{self.renamed}")
        elif what == "merge" and len(names) > 2:
            project.merge_labels(*self.rng.sample(names, 2))
        elif what == "retire" and len(names) > 2:
            project.retire_label(self.rng.choice(names))
        elif what == "add":
            with project.store.reading() as connection:
                number = connection.exec_driver_sql("SELECT max(id) FROM labels").scalar()
            project.add_label(LABELS[number])

    def _wait(self, *_: Any) -> None:
        """Time passes, or the clock is set back."""
        self.clock.now += self.rng.choice((10.0, 60.0, -100.0, 1e6))

    def _sending(self, sent: Sent, call: Callable[[], Any]) -> Any:
        """Call; what is not acknowledged, for want of a disk, may have been kept."""
        try:
            return call()
        except StoreError:
            self.model.perhaps.append(sent)
            raise

    def _values(self, names: Any) -> dict[str, bool | None]:
        return {name: self.rng.choice((True, False, False, None)) for name in names}
