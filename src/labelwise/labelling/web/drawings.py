"""Drawings as SVG: plain marks, axes and a frame with a title for those who cannot see it. Colours are in views.css.

Everything is a tag with attributes: no style and no script, so that the strictest policy shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH = 640.0  # of every drawing, in its own units; the page scales it


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """An element; text is escaped, attributes are named with _ for -.

    >>> str(tag("text", "a < b", x=1.25, text_anchor="end", class_="tick"))
    '<text x="1.2" text-anchor="end" class="tick">a &lt; b</text>'
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{said}>{''.join(map(escape, content))}</{name}>")  # all that comes from outside is escaped


def picture(height: float, title: str, description: str, marks: Iterable[Markup]) -> Markup:
    """The whole drawing, with what it says in words."""
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        Markup("").join(marks),
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_label=f"{title}. {description}",
        class_="drawing",
    )


@dataclass(frozen=True)
class Frame:
    """Where data lie in a drawing: from (x0, y0) at the lower left to (x1, y1) of the data, inside margins.

    >>> frame = Frame((0, 10), (0, 1), height=200, left=40, right=10, top=10, bottom=30)
    >>> frame.x(10), frame.y(0)
    (630.0, 170.0)
    """

    across: tuple[float, float]
    up: tuple[float, float]
    height: float
    left: float = 48
    right: float = 16
    top: float = 28
    bottom: float = 40

    def x(self, value: float) -> float:
        low, high = self.across
        return self.left + (WIDTH - self.left - self.right) * (value - low) / ((high - low) or 1)

    def y(self, value: float) -> float:
        low, high = self.up
        return self.height - self.bottom - (self.height - self.top - self.bottom) * (value - low) / ((high - low) or 1)

    def line(self, points: Iterable[tuple[float, float]], class_: str) -> Markup:
        return tag("polyline", points=self._points(points), class_=class_)

    def band(self, lower: Sequence[tuple[float, float]], upper: Sequence[tuple[float, float]], class_: str) -> Markup:
        return tag("polygon", points=self._points([*upper, *reversed(lower)]), class_=class_)

    def whisker(self, at: float, low: float, high: float, class_: str = "whisker") -> Markup:
        return tag("line", x1=self.x(at), x2=self.x(at), y1=self.y(low), y2=self.y(high), class_=class_)

    def dot(self, at: float, value: float, radius: float, said: str, class_: str = "dot") -> Markup:
        """A point that says what it is when pointed at."""
        return tag("circle", tag("title", said), cx=self.x(at), cy=self.y(value), r=radius, class_=class_)

    def axes(
        self, across: Sequence[tuple[float, str]], up: Sequence[tuple[float, str]], names: tuple[str, str]
    ) -> Markup:
        """Ticks with their texts, lines for those of the upright axis, and what the axes are."""
        ground, right = self.height - self.bottom, WIDTH - self.right
        marks = [
            tag("line", x1=self.left, x2=right, y1=self.y(value), y2=self.y(value), class_="grid") for value, _ in up
        ]
        marks += [
            tag("text", text, x=self.left - 6, y=self.y(value) + 4, text_anchor="end", class_="tick")
            for value, text in up
        ]
        marks.append(tag("line", x1=self.left, x2=right, y1=ground, y2=ground, class_="axis"))
        marks += [
            tag("text", text, x=self.x(value), y=ground + 16, text_anchor="middle", class_="tick")
            for value, text in across
        ]
        middle = (self.left + right) / 2
        marks.append(tag("text", names[0], x=middle, y=self.height - 6, text_anchor="middle", class_="name"))
        marks.append(tag("text", names[1], x=8, y=12, class_="name"))
        return Markup("").join(marks)

    def _points(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between low and high, about so many.

    >>> ticks(0, 37)
    [0.0, 10.0, 20.0, 30.0]
    >>> ticks(0.42, 0.58)
    [0.45, 0.5, 0.55]
    """
    span = high - low
    if span <= 0:
        return [low]
    rough = span / about
    size = 10.0 ** _floor_log10(rough)
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough * (1 - 1e-9))
    first = -(-low // step)
    return [round(number * step, 10) for number in range(int(first), int(high / step + 1e-9) + 1)]


def _floor_log10(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


def _short(value: object) -> object:
    """Coordinates need one digit after the point."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
