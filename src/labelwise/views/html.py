"""Short HTML of records for notebooks: a heading and a few rows, everything escaped; and methods that show more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from labelwise.views.wording import counted, cut, duration, first_few

if TYPE_CHECKING:
    import pandas as pd

    from labelwise.views.plots import Drawing

MOST_LABELS = 8  # by name
MOST_ITEMS = 3
TEXT = 90  # letters of an item


def card(title: str, rows: Iterable[tuple[str, object]], below: str = "") -> str:
    """A heading, rows of a name and a text, and a drawing below, on one line each; texts are escaped.

    >>> print(card("Two & two", [("sum", "<4>")]))
    <div><b>Two &amp; two</b><table>
    <tr><th style="text-align:left">sum</th><td style="text-align:left">&lt;4&gt;</td></tr>
    </table></div>
    """
    left = 'style="text-align:left"'
    lines = [f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(str(text))}</td></tr>" for name, text in rows]
    return "\n".join([f"<div><b>{escape(title)}</b><table>", *lines, f"</table>{below}</div>"])


def steps(points: Sequence[tuple[float, float]], said: str, band: Sequence[tuple[float, float, float]] = ()) -> str:
    """A small line through points, with a band (x, low, high) behind it, as one line of SVG; "" without two points.

    The picture starts at 0 on both axes. What it shows is said beside it, for those who do not see it.
    """
    if len(points) < 2:
        return ""
    right = max(x for x, _ in points) or 1.0
    top = max([y for _, y in points] + [high for _, _, high in band]) or 1.0

    def place(x: float, y: float) -> str:
        return f"{2 + 196 * x / right:.1f},{46 - 44 * y / top:.1f}"

    line = " ".join(place(x, y) for x, y in points)
    edge = [place(x, high) for x, _, high in band] + [place(x, low) for x, low, _ in reversed(band)]
    behind = f'<polygon points="{" ".join(edge)}" fill="#0072b2" fill-opacity=".18"/>' if band else ""
    drawn = f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="2"/>'
    title = f"<title>{escape(said)}</title>"
    size = 'viewBox="0 0 200 48" width="200" height="48"'
    return f'<svg role="img" {size}>{title}{behind}{drawn}</svg> <small>{escape(said)}</small>'


def of_question(question: Any) -> str:
    """A question: its item, how many labels, and why it is asked."""
    asked = first_few(question.labels, MOST_LABELS)
    rows = [("labels", f"{asked} ({len(question.labels):,})" if len(question.labels) > 1 else asked)]
    return card(f"Question about {question.item}", [*rows, ("reason", question.reason)])


def of_answer(answer: Any) -> str:
    """An answer: the labels that are there, and how many are not."""
    yes = [name for name, there in answer.values.items() if there]
    no = [name for name, there in answer.values.items() if not there]
    rows = [("yes", first_few(yes, MOST_LABELS)), ("no", first_few(no, MOST_LABELS))]
    kind = "Correction of" if answer.correction else "Answer about"
    return card(f"{kind} {answer.item}", [*rows, ("reason", answer.reason)])


def of_data(data: Any) -> str:
    """Items, labels by how often they are there, what is known, and the first items."""
    entries = data.n_items * data.n_labels
    known = f"{data.n_observed:,} of {entries:,} ({data.n_observed / entries:.1%})" if entries else "nothing"
    times = data.Y.sum(axis=0)
    order = sorted(range(data.n_labels), key=lambda label: -int(times[label]))
    names = [f"{data.label_names[label]} {int(times[label]):,}" for label in order]
    blocks = [f"{block.name} ({block.kind}, {block.stop - block.start:,})" for block in data.blocks]
    rows: list[tuple[str, object]] = [("known labels", known), ("yes, by label", first_few(names, MOST_LABELS))]
    if blocks:
        rows.append(("features", first_few(blocks, MOST_LABELS)))
    contents = () if data.items is None else data.items[:MOST_ITEMS]
    rows += [(f"item {name}", cut(as_text(item), TEXT)) for name, item in zip(data.item_ids, contents, strict=False)]
    sizes = f"{counted(data.n_items, 'item')}, {counted(data.n_labels, 'label')}, {counted(data.n_features, 'feature')}"
    return card(f"LabelData: {sizes}", rows)


def of_standing(standing: Any) -> str:
    """F1 with its interval, what the strategy saves, what the next hour brings, advice, and the learning curve."""
    rows: list[tuple[str, object]] = [("time spent", _spent(standing.spent))]
    rows.append(("random items", f"{standing.random_items:,}, with {counted(standing.random_labels, 'label')} found"))
    rows += [("F1", standing.f1)] if standing.f1 is not None else []
    if standing.saved is not None:
        saved = (f"{100 * value:.0f}" for value in (standing.saved.value, standing.saved.low, standing.saved.high))
        rows.append(("time saved", "{} % ({} to {} %) against random questions".format(*saved)))
    ahead = None if standing.outlook is None else standing.outlook.next_hour
    rows += [("F1, next hour", f"{100 * ahead.value:+.1f} points")] if ahead is not None else []
    pays = None if standing.outlook is None else standing.outlook.pays
    rows += [("more time is worth it", f"with a probability of {100 * pays:.0f} %")] if pays is not None else []
    rows.append(("advice", standing.advice))
    points = () if standing.curve is None else standing.curve.points
    band = [(point.seconds, point.low, point.high) for point in points]
    said = f"F1 over {duration(points[-1].seconds)} of people's time, with its interval" if points else ""
    return card("Standing", rows, steps([(point.seconds, point.f1) for point in points], said, band))


def of_campaign(campaign: Any) -> str:
    """Progress, time spent, model and strategy, and the labels found over the answers."""
    data, answers, spent = campaign.data, campaign.answers, campaign.spent()
    found, course = 0, [(0.0, 0.0)]
    for number, answer in enumerate(answers, start=1):
        found += sum(answer.values.values())
        course.append((float(number), float(found)))
    rows = [
        ("answered", f"{spent.items:,} of {counted(data.n_items, 'item')}, {counted(spent.answers, 'label')}"),
        ("labels found", f"{found:,}, of {counted(data.n_labels, 'label')} in all"),
        ("time spent", _spent(spent)),
        ("model, strategy", f"{type(campaign.model).__name__}, {type(campaign.strategy).__name__}"),
    ]
    said = f"labels found over {counted(len(answers), 'answer')}"
    return card("Campaign", rows, steps(course, said))


def as_text(item: Any) -> str:
    """What is shown of an item, on one line.

    >>> as_text({"subject": "Refund", "stars": 1}), as_text("Charged twice")
    ('subject: Refund; stars: 1', 'Charged twice')
    """
    if isinstance(item, Mapping):
        return "; ".join(f"{name}: {value}" for name, value in item.items())
    return str(item)


def _spent(spent: Any) -> str:
    cost = duration(spent.cost) if spent.unit == "s" else f"{spent.cost:,.2f} {spent.unit}"
    return f"{cost}, {counted(spent.readings, 'reading')}"


# -- methods of `LabelData` and `Campaign` -----------------------------------------------------------------------------


def data_frame(self: Any, *, items: bool = True) -> pd.DataFrame:
    """A row for each item: what is shown of it (unless `items` is False), then True, False or <NA> by label.

    >>> import labelwise as lw
    >>> lw.LabelData.from_arrays([[0.0]], [[1, float("nan")]], label_names=["cat", "dog"]).to_frame()
          cat   dog
    item
    0    True  <NA>
    """
    from labelwise.views import frames  # loads pandas, which most users of records do without

    return frames.of_data(self, items=items)


def campaign_frame(self: Any, what: str = "predictions") -> pd.DataFrame:
    """The "predictions", "beliefs", known "labels" or "answers" of a campaign as a data frame.

    Predictions have a row for each item: its labels, the most likely first, and whether all of them were answered.
    Beliefs are probabilities, a column for each label. Labels are True, False or <NA>. Answers have a row for each
    label that was answered. For questions: `lw.to_frame(campaign.ask(10))`.
    """
    from labelwise.views import frames  # loads pandas, which most users of campaigns do without

    return frames.of_campaign(self, what)


def campaign_plot(self: Any, standing: Any = None) -> Drawing:
    """The learning curve, the share of items with each label, and calibration, in one figure.

    `standing` is what `status()` gave. Without, it is asked for, which fits the model about forty times. For single
    figures see `lw.plots`.
    """
    from labelwise.views.plots import draw_campaign  # loads matplotlib

    return draw_campaign(self, standing)
