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
    """Another worker is training for this project.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> data = lw.LabelData.from_arrays([[0.0]], label_names=["cat"])
    >>> with tempfile.TemporaryDirectory() as folder, lw.Project.create(f"{folder}/cats.db", data) as project:
    ...     try:
    ...         project.worker().run(until=lambda: project.worker().run())
    ...     except WorkerBusy as error:
    ...         print(str(error).partition(";")[2])
     one is enough, so this one stops
    """

    exit_code = 3


class NothingToAsk(ProjectError):
    """No question is left, or none is ready; or nothing was answered that a model could learn.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> data = lw.LabelData.from_arrays([[0.0]], label_names=["cat"])
    >>> with tempfile.TemporaryDirectory() as folder, lw.Project.create(f"{folder}/cats.db", data) as project:
    ...     try:
    ...         project.model()
    ...     except NothingToAsk as error:
    ...         print(error)
    there is no model yet: nothing was answered
    """

    exit_code = 4


class AnswerRefused(ProjectError):
    """An answer that cannot be counted: to a lease that is gone, or to a label that is retired.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> data = lw.LabelData.from_arrays([[0.0]], label_names=["cat"])
    >>> with tempfile.TemporaryDirectory() as folder, lw.Project.create(f"{folder}/cats.db", data) as project:
    ...     try:
    ...         project.service.answer("no lease", {"cat": True})
    ...     except AnswerRefused as error:
    ...         print(error)
    there is no question with the lease 'no lease' for you; ask for one
    """

    exit_code = 5


class StoreError(ProjectError):
    """The project cannot be opened, read or written.

    Parameters
    ----------
    message : for the log and the terminal; may name the file, the database, its host and its user
    public : what anybody may read who sends requests: names none of these

    Examples
    --------
    >>> import labelwise as lw
    >>> try:
    ...     lw.Project("nowhere.db")
    ... except StoreError as error:
    ...     print(error.exit_code, "nowhere.db" in str(error), "nowhere.db" in error.public)
    6 True False
    """

    exit_code = 6

    def __init__(
        self, message: str, public: str = "the project cannot be read or written now; the log of the server says why"
    ) -> None:
        super().__init__(message)
        self.public = public


class NoProject(StoreError):
    """There is no project at the place."""


class ProjectFileReplaced(StoreError):
    """The project's file was replaced or deleted while it was open: waiting does not help."""
