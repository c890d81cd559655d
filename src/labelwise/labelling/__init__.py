"""Labelling for real: a project on disk, several people at once, a worker that trains beside them."""

from typing import TYPE_CHECKING

from labelwise._lazy import lazily

if TYPE_CHECKING:  # the same names for tools; tests/test_lazy.py holds both lists together
    from labelwise.labelling.agreement import krippendorff_alpha
    from labelwise.labelling.errors import AnswerRefused, NothingToAsk, ProjectError, StoreError, WorkerBusy
    from labelwise.labelling.model_files import TrainedLabeller
    from labelwise.labelling.project import Project
    from labelwise.labelling.service import Service
    from labelwise.labelling.terms import Event, Lease, Receipt, Settings
    from labelwise.labelling.worker import Worker

__getattr__ = lazily(
    "labelwise.labelling",
    {
        "labelwise.labelling.agreement": "krippendorff_alpha",
        "labelwise.labelling.errors": "AnswerRefused NothingToAsk ProjectError StoreError WorkerBusy",
        "labelwise.labelling.model_files": "TrainedLabeller",
        "labelwise.labelling.project": "Project",
        "labelwise.labelling.service": "Service",
        "labelwise.labelling.terms": "Event Lease Receipt Settings",
        "labelwise.labelling.worker": "Worker",
    },
)

__all__ = [
    "AnswerRefused",
    "Event",
    "Lease",
    "NothingToAsk",
    "Project",
    "ProjectError",
    "Receipt",
    "Service",
    "Settings",
    "StoreError",
    "TrainedLabeller",
    "Worker",
    "WorkerBusy",
    "krippendorff_alpha",
]
