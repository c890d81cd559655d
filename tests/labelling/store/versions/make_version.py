"""Make the files of one version of the tables, with the labelwise of that version: version_N.sql and version_N.jsonl.

    PYTHONPATH=src python tests/labelling/store/versions/make_version.py

The .sql is a dump of a small project in which everything happened that can happen to one, the .jsonl its answers as
that labelwise exported them. Run it once when the version is raised, before anybody changes the tables again; files
that are there are not written again.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def live(project: Any) -> None:
    """Answers asked for and not, by three people; an undo, a skip, a correction; labels changed in between."""
    from labelwise import Answer, LabelData, records

    for number in range(6):
        for who in ("ann", "bob"):
            lease = project.ask(who=who)[0]
            values = {name: (number + place) % 3 == 0 for place, name in enumerate(lease.question.labels)}
            project.service.answer(lease.token, values | {lease.question.labels[0]: None if number == 2 else True})
    project.service.undo("ann")
    project.service.skip(project.ask(who="bob")[0].token)
    project.ask(2, who="cid")
    project.tell(Answer("p1", {"left": True, 'lów; "2"': False}), who="cid")
    project.tell(Answer("p1", {"left": False}, correction=True), who="cid")
    project.add_label("new")
    project.rename_label("far", "far away")
    project.tell([Answer(f"p{n}", {"near": n % 2 == 0, "new": n == 5}) for n in range(3, 8)], who="dan")
    project.merge_labels("near", "far away")
    project.retire_label("old")
    project.add_items(LabelData.from_arrays([[9.0, 9.0]], [[1]], label_names=["left"], item_ids=["given"], items=["x"]))
    project.refresh()
    if hasattr(project, "people"):  # from version 2 on
        project.people.add("ann")
        project.people.add("eve", "admin")
        project.people.add_token("label-studio")
        project.service.settle(Answer("p1", {"left": True}), "eve")
        project.add_label("hinted", like={"left": 0.5}, examples=["p2"])
    if hasattr(records, "Timing"):  # from version 5 on
        lease = project.ask(who="ann")[0]
        said = dict.fromkeys(lease.question.labels, True)
        project.service.answer(lease.token, said, timing=records.Timing(0.001, "item", 1, 2, 3))
    if hasattr(records, "Opinions"):  # from version 6 on
        said = {"p1": {"left": 0.75, "far away": 0.25}, "p2": ["left"]}
        project.add_opinions(records.Opinions("rules", said))
    if hasattr(project, "notes"):  # from version 7 on
        project.notes.add("p1", "ann", "two of them, I think", "label missing")
        project.notes.answer(project.notes.add("p2", "bob", kind="unreadable").id, "eve", "looked at")
        items = [number for number in range(1, 21) if number % 2]
        page = project.many.give_page("bob", "hinted", items, 4)
        names = {number: name for name, number in _numbers(project).items()}
        project.many.save_page("bob", page.token, {names[number]: number == 5 for number in page.items})
    if hasattr(project, "people") and hasattr(project.people, "assign_share"):  # from version 8 on
        project.people.assign_share("ann", 0.25)


def _numbers(project: Any) -> dict[str, int]:
    from labelwise.labelling.store.items import item_ids

    with project.store.reading() as connection:
        return dict(item_ids(connection, project.item_names()))


def set_clock_back() -> None:
    """To the past of everybody who runs the tests; before labelwise is imported, which keeps the clock it finds."""
    real, began = time.time, time.time()
    time.time = lambda: 1_700_000_000.0 + real() - began


def main() -> None:
    from labelwise import LabelData, Project
    from labelwise.labelling.exchange.transfer import write_events
    from labelwise.labelling.store.schema import VERSION

    dump, answers = FOLDER / f"version_{VERSION}.sql", FOLDER / f"version_{VERSION}.jsonl"
    if dump.exists():
        raise SystemExit(f"{dump} is there already")
    points = [[float(n % 5), float(n // 5)] for n in range(20)]
    data = LabelData.from_arrays(
        points,
        label_names=["left", 'lów; "2"', "far", "near", "old"],
        item_ids=[f"p{n}" for n in range(20)],
        items=[{"text": f"point {n}", "größe": n / 2} for n in range(20)],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/project.db"
        project = Project.create(path, data, model="binary_relevance", control=0.2, ready=12, overlap=2)
        live(project)
        write_events(project.events(), str(answers))
        project.close()
        with closing(sqlite3.connect(path)) as connection:
            dump.write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    set_clock_back()
    main()
