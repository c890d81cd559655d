"""A project's labels, answers and tasks to files, and from files into a project."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from labelwise.data import write
from labelwise.labelling.exchange import read_events_file, write_events
from labelwise.labelling.label_studio import from_label_studio, labels_in, read_tasks, to_label_studio
from labelwise.labelling.project import Project
from labelwise.labelling.sources import read_new, read_pool
from labelwise.records import LabelData


def export_labels(project: Project, out: str) -> int:
    """Items with one column per label: 1, 0, blank for unknown; features only where they are the source."""
    data = project.labelled()
    features = project.settings.features
    if features["kind"] == "numbers":
        names = features.get("names")
        write(replace(data, feature_names=None if names is None else tuple(names)), out, labels=None)
    else:
        write(data, out, labels=None, text=features.get("field") or "text")
    return data.n_items


def export_answers(project: Project, out: str) -> int:
    """Everything that people did."""
    events = project.events()
    write_events(events, out)
    return len(events)


def export_tasks(project: Project, out: str, *, predictions: bool = False) -> int:
    """Label Studio tasks, with annotations and, if wanted, the model's predictions."""
    learner = project.learner()
    contents = dict(zip(learner.items.names, learner.items.contents, strict=True))
    believed = None
    if predictions and not learner.knows_nothing:
        p = learner.campaign.believe().probabilities()
        names = learner.labels.names
        believed = {
            item: dict(zip(names, row.tolist(), strict=True)) for item, row in zip(learner.items.names, p, strict=True)
        }
    tasks = to_label_studio(contents, project.events(), learner.labels.names, believed)
    Path(out).write_text(json.dumps(tasks, ensure_ascii=False, indent=1), encoding="utf-8")
    return len(tasks)


def import_answers(project: Project, path: str) -> int:
    """Events that `export_answers` wrote; how many were new."""
    return project.record(read_events_file(path))


def import_tasks(project: Project, path: str) -> tuple[int, int]:
    """Label Studio tasks: items that are new, labels that are new, annotations; how many items and events."""
    found = read_tasks(path)
    here, names = project.item_names(), project.label_names()
    fresh = [name for name in labels_in(found) if name not in names]
    tasks = from_label_studio(found, [*names, *fresh])
    new = [task for task in tasks if task.item not in here]
    if new:
        width = project.settings.features.get("width", 1)
        data = LabelData.from_arrays(
            np.zeros((len(new), width)),
            label_names=[*names, *fresh],
            item_ids=[task.item for task in new],
            items=[task.content for task in new],
        )
        project.add_items(data)
    else:
        for name in fresh:
            project.add_label(name)
    events = sorted((event for task in tasks for event in task.events), key=lambda event: (event.at, event.id))
    return len(new), project.record(events)


def import_items(
    project: Project, path: str, *, known: str | None = None, id: str | None = None, **options: Any
) -> int:
    """More items, with what is known of them; how many. Options are those of csv files: encoding, delimiter."""
    if known is None:
        return project.add_items(read_new(path, project.settings, project.label_names(), id, **options))
    columns = [name.strip() for name in known.split(",")]
    text = project.settings.features.get("field")
    names = project.label_names() if len(columns) == 1 else None
    data = read_pool(path, text=text, known=columns[0] if names else columns, labels=names, id=id, **options)
    return project.add_items(data)
