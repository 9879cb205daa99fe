"""Draw figures as SVG pictures: bars of seconds, and lines with logarithmic axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from xml.sax.saxutils import escape

_STYLE = "<style>text { font: 13px sans-serif; fill: #57606a } .s { font-size: 11px }</style>"
_LABEL_WIDTH, _BAR_WIDTH, _BAR_HEIGHT, _GAP = 300, 520, 14, 12
_PLOT_LEFT, _PLOT_TOP, _PLOT_WIDTH, _PLOT_HEIGHT, _NAMES_WIDTH = 60, 20, 560, 400, 210
_LINE_COLOURS = ("#1f6feb", "#2da44e", "#bf8700", "#8250df", "#cf222e", "#57606a")
_DASHES = ("none", "6 3", "2 3")
_LINE_HEIGHT = 14


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a picture."""

    label: str
    length: float
    colour: str


def bars_picture(title: str, groups: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """Return a picture with a group of bars for each name. Each group has a scale of its own."""
    lines: list[str] = []
    top = _GAP
    for name, bars in groups:
        longest = max(each.length for each in bars)
        middle = top + len(bars) * _BAR_HEIGHT / 2 + 4
        lines.append(
            f'<text x="{_LABEL_WIDTH - 10}" y="{middle:.0f}" text-anchor="end">{escape(name)}</text>'
        )
        for each in bars:
            width = max(2.0, _BAR_WIDTH * each.length / longest)
            lines.append(
                f'<rect x="{_LABEL_WIDTH}" y="{top}" width="{width:.0f}" height="{_BAR_HEIGHT - 2}" '
                f'fill="{each.colour}"/>'
                f'<text x="{_LABEL_WIDTH + width + 5:.0f}" y="{top + _BAR_HEIGHT - 4}" class="s">'
                f"{escape(each.label)}</text>"
            )
            top += _BAR_HEIGHT
        top += _GAP
    return _svg(title, _LABEL_WIDTH + _BAR_WIDTH + 180, top, lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePlot:
    """A picture of lines with two logarithmic axes.

    Attributes:
        lines: points of each line, from left to right; all values are positive.
        limit, limit_name: height and text of a horizontal line that marks a target.
        x_name, y_name: meaning and unit of the axes.
    """

    title: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    x_name: str
    y_name: str
    limit: float
    limit_name: str

    def svg(self) -> str:
        """Return the picture. The names of the lines are at their right ends, moved apart if they would overlap."""
        points = [point for line in self.lines.values() for point in line]
        xs, ys = [x for x, _ in points], [*(y for _, y in points), self.limit]
        across = _Axis(min(xs), max(xs), _PLOT_LEFT, _PLOT_LEFT + _PLOT_WIDTH)
        up = _Axis(min(ys), max(ys), _PLOT_TOP + _PLOT_HEIGHT, _PLOT_TOP)
        drawn = [*_axes(across, up), *self._names_of_axes(), *_limit(up.place(self.limit), self.limit_name)]
        right = sorted(self.lines, key=lambda name: up.place(self.lines[name][-1][1]))
        heights = _apart([up.place(self.lines[name][-1][1]) for name in right])
        for number, (name, height) in enumerate(zip(right, heights, strict=True)):
            colour = _LINE_COLOURS[number % len(_LINE_COLOURS)]
            dashes = _DASHES[number // len(_LINE_COLOURS) % len(_DASHES)]
            path = " ".join(f"{across.place(x):.1f},{up.place(y):.1f}" for x, y in self.lines[name])
            drawn.append(
                f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
                f'stroke-dasharray="{dashes}"/>'
            )
            label = f"{name}, {self.lines[name][-1][1]:.2g}"
            drawn.append(
                f'<text x="{_PLOT_LEFT + _PLOT_WIDTH + 8}" y="{height + 4:.1f}" class="s" style="fill: {colour}">'
                f"{escape(label)}</text>"
            )
        return _svg(self.title, _PLOT_LEFT + _PLOT_WIDTH + _NAMES_WIDTH, _PLOT_TOP + _PLOT_HEIGHT + 50, drawn)

    def _names_of_axes(self) -> list[str]:
        middle = _PLOT_LEFT + _PLOT_WIDTH / 2
        return [
            f'<text x="{middle}" y="{_PLOT_TOP + _PLOT_HEIGHT + 40}" text-anchor="middle">{escape(self.x_name)}</text>',
            f'<text x="{_PLOT_LEFT}" y="{_PLOT_TOP - 7}">{escape(self.y_name)}</text>',
        ]


@dataclass(frozen=True, slots=True)
class _Axis:
    """A logarithmic axis from `least` to `most`, drawn between two positions."""

    least: float
    most: float
    begin: float
    end: float

    def place(self, value: float) -> float:
        share = log10(value / self.least) / (log10(self.most / self.least) or 1.0)
        return self.begin + share * (self.end - self.begin)

    def powers(self) -> list[float]:
        """Return the powers of ten on the axis."""
        exponents = range(-6, 13)
        return [
            10.0**each
            for each in exponents
            if self.least <= 10.0**each * 1.001 and 10.0**each <= self.most * 1.001
        ]


def _axes(across: _Axis, up: _Axis) -> list[str]:
    right, bottom = _PLOT_LEFT + _PLOT_WIDTH, _PLOT_TOP + _PLOT_HEIGHT
    drawn = [
        f'<rect x="{_PLOT_LEFT}" y="{_PLOT_TOP}" width="{_PLOT_WIDTH}" height="{_PLOT_HEIGHT}" fill="none" '
        'stroke="#d0d7de"/>'
    ]
    for each in across.powers():
        place = across.place(each)
        drawn.append(f'<path d="M{place:.1f},{_PLOT_TOP}V{bottom}" stroke="#d0d7de" stroke-width="0.5"/>')
        drawn.append(
            f'<text x="{place:.1f}" y="{bottom + 18}" text-anchor="middle" class="s">{each:,.10g}</text>'
        )
    for each in up.powers():
        place = up.place(each)
        drawn.append(f'<path d="M{_PLOT_LEFT},{place:.1f}H{right}" stroke="#d0d7de" stroke-width="0.5"/>')
        drawn.append(
            f'<text x="{_PLOT_LEFT - 6}" y="{place + 4:.1f}" text-anchor="end" class="s">{each:,.10g}</text>'
        )
    return drawn


def _limit(height: float, name: str) -> list[str]:
    right = _PLOT_LEFT + _PLOT_WIDTH
    return [
        f'<path d="M{_PLOT_LEFT},{height:.1f}H{right}" stroke="#cf222e" stroke-dasharray="8 4"/>',
        f'<text x="{_PLOT_LEFT + 6}" y="{height - 5:.1f}" class="s" style="fill: #cf222e">{escape(name)}</text>',
    ]


def _apart(heights: Sequence[float]) -> list[float]:
    """Return ascending heights, moved down so that neighbours are at least the height of a text line apart.

    If the last height would be below the plot, all heights move up.
    """
    moved: list[float] = []
    for each in heights:
        moved.append(max(each, moved[-1] + _LINE_HEIGHT) if moved else each)
    lowest = _PLOT_TOP + _PLOT_HEIGHT
    for place in reversed(range(len(moved))):
        moved[place] = min(moved[place], lowest)
        lowest = moved[place] - _LINE_HEIGHT
    return moved


def _svg(title: str, width: float, height: float, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f"<title>{escape(title)}</title>\n{_STYLE}\n{body}\n</svg>\n"
    )
