"""Numbers in sentences, the same on the command line, on the page and in the report."""

from __future__ import annotations


def counted(number: float, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "item"), counted(2000, "item"), counted(0, "person", "people")
    ('1 item', '2000 items', '0 people')
    """
    return f"{number:.0f} {one if number == 1 else many or one + 's'}"


def unlearnt(answers: int) -> str:
    """How far behind the answers a model is.

    >>> unlearnt(1)
    'the model has not learnt the last answer'
    """
    return f"the model has not learnt the last {'answer' if answers == 1 else counted(answers, 'answer')}"
