"""What can go wrong with a project, each with the exit code that the command ends with."""

from __future__ import annotations


class ProjectError(ValueError):
    """Something that a project cannot do, told in one line with the cure; nothing was changed.

    Examples
    --------
    >>> import labelwise as lw
    >>> try:
    ...     lw.Project("nowhere.db")
    ... except ProjectError as error:
    ...     print("nowhere.db" in str(error))
    True
    """

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
    """The project cannot be opened, read or written.

    Parameters
    ----------
    message : for the log and the terminal; may name the file, the database, its host and its user
    public : what anybody may read who sends requests: names none of these
    """

    exit_code = 6

    def __init__(
        self, message: str, public: str = "the project cannot be read or written now; the log of the server says why"
    ) -> None:
        super().__init__(message)
        self.public = public


class ProjectFileReplaced(StoreError):
    """The project's file was replaced or deleted while it was open: waiting does not help."""
