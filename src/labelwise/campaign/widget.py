"""Label in a notebook: a widget that shows the questions of a campaign one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from labelwise.records.asking import Answer
from labelwise.views.html import as_text

SUGGESTED = 8  # labels that are shown first, the likeliest
SCRIPT = Path(__file__).with_name("widget.js")


class Labeller:
    """The questions of a campaign, one at a time, and the answers; what the widget shows, without a browser.

    Parameters
    ----------
    campaign : Campaign
        Answers are told to it as soon as they are saved.
    batch : int
        Questions that are asked for at once: the campaign learns anew when they are answered.

    Examples
    --------
    >>> import labelwise as lw
    >>> data = lw.LabelData.from_arrays([[0.0], [1.0]], label_names=["cat", "dog"], items=["purrs", "barks"])
    >>> labeller = Labeller(lw.Campaign(data, model=lw.BinaryRelevance(), strategy=lw.Random()))
    >>> shown = labeller.state()
    >>> labeller.save(shown["number"], ["cat"])
    >>> len(labeller.campaign.answers), labeller.state()["answered"]
    (1, 1)
    """

    def __init__(self, campaign: Any, batch: int = 5) -> None:
        if batch < 1:
            raise ValueError(f"batch must be at least 1, got {batch!r}")
        self.campaign, self.batch = campaign, batch
        self._content = dict(zip(campaign.data.item_ids, campaign.data.items or (), strict=False))
        self._asked: list[Any] = []  # every question so far
        self._said: dict[int, frozenset[str]] = {}  # by the number of the question, the labels that were saved
        self._skipped: set[str] = set()
        self._at = 0
        self._fill()

    def state(self) -> dict[str, Any]:
        """What is to be shown: plain values, that JSON can hold."""
        shown: dict[str, Any] = {"number": self._at, "answered": len(self._said), "done": self._at >= len(self._asked)}
        if shown["done"]:
            return shown
        question = self._asked[self._at]
        likely = {each.label: each.probability for each in self.campaign.suggest([question.item], most=SUGGESTED)[0]}
        first = [name for name in likely if name in set(question.labels)]
        rest = [name for name in question.labels if name not in likely]
        return shown | {
            "item": question.item,
            "text": as_text(self._content.get(question.item, question.item)),
            "labels": [*first, *rest],
            "likely": {name: round(float(likely[name]), 3) for name in first},
            "chosen": sorted(self._said.get(self._at, frozenset())),
            "reason": question.reason,
        }

    def save(self, number: int, present: Iterable[str]) -> None:
        """Answer the question of this number: `present` are there, its other labels are not.

        The question shown last is meant; one that was passed by meanwhile, by a second press of the key, changes
        nothing. To answer an earlier one again is a correction.
        """
        if number != self._at or number >= len(self._asked):
            return
        question, labels = self._asked[number], frozenset(present)
        strange = sorted(labels - set(question.labels))
        if strange:
            raise ValueError(f"labels {strange} were not asked about for item {question.item!r}")
        values = {name: name in labels for name in question.labels}
        if self._said.get(number) != labels:
            answer = Answer(question.item, values, question.reason, correction=number in self._said)
            self.campaign.tell(answer)
        self._said[number] = labels
        self._forward()

    def skip(self, number: int) -> None:
        """Leave the question for later."""
        if number == self._at and number < len(self._asked):
            self._skipped.add(self._asked[number].item)
            self._forward()

    def back(self) -> None:
        """Show the question before, with what was said."""
        self._at = max(self._at - 1, 0)

    def do(self, message: Mapping[str, Any]) -> None:
        """What the page sends: {"do": "save", "number": 3, "present": [...]}, "skip" or "back"."""
        what, number = message.get("do"), int(message.get("number", -1))
        if what == "save":
            self.save(number, [str(name) for name in message.get("present", ())])
        elif what == "skip":
            self.skip(number)
        elif what == "back":
            self.back()

    def _forward(self) -> None:
        self._at += 1
        self._fill()

    def _fill(self) -> None:
        if self._at >= len(self._asked):
            self._asked += self.campaign.ask(self.batch, exclude=self._skipped)


def campaign_widget(self: Any, batch: int = 5) -> Any:
    """A widget to label the items of the campaign in a notebook; needs `pip install 'labelwise[notebook]'`.

    Click labels or type to find them; `Enter` in the empty box saves and shows the next item. Answers are in the
    campaign at once.
    """
    try:
        import anywidget  # an extra
        import traitlets
    except ImportError:
        raise ImportError("the widget needs anywidget: pip install 'labelwise[notebook]'") from None

    class LabelWidget(anywidget.AnyWidget):
        _esm = SCRIPT
        state = traitlets.Dict().tag(sync=True)

        def __init__(self, labeller: Labeller) -> None:
            super().__init__(state=labeller.state())
            self.labeller = labeller
            self.on_msg(self._on_message)

        def _on_message(self, _: Any, message: Mapping[str, Any], __: Any) -> None:
            self.labeller.do(message)
            self.state = self.labeller.state()

    return LabelWidget(Labeller(self, batch))
