"""What can go wrong with a project, each with the exit code that the command ends with."""

from __future__ import annotations


class ProjectError(ValueError):
    """Something that a project cannot do, told in one line with the cure; nothing was changed."""

    exit_code = 2


class WorkerBusy(ProjectError):
    """Another worker is training for this project."""

    exit_code = 3


class NothingToAsk(ProjectError):
    """No question is left, or none is ready."""

    exit_code = 4


class AnswerRefused(ProjectError):
    """An answer that cannot be counted: to a lease that is gone, or to a label that is retired."""

    exit_code = 5


class StoreError(ProjectError):
    """The project cannot be opened, read or written."""

    exit_code = 6
