"""Labelling for real: a project on disk, several people at once, a worker that trains beside them."""

from labelwise.labelling.agreement import krippendorff_alpha
from labelwise.labelling.errors import AnswerRefused, NothingToAsk, ProjectError, StoreError, WorkerBusy
from labelwise.labelling.model_files import TrainedLabeller
from labelwise.labelling.project import Project
from labelwise.labelling.service import Service
from labelwise.labelling.terms import Event, Lease, Receipt, Settings
from labelwise.labelling.worker import Worker

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
