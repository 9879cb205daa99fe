"""Draw a flame graph as an SVG without scripts, so that a page can show it as a picture.

The outermost frames are at the bottom of each tower; the width of a frame is its share of the processor time. A frame
has the colour of a step if all its samples belong to this step; otherwise it is grey. Browsers show the full name and
the seconds of a frame as a tooltip if they open the file itself.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape

from bench.profiling.core_seconds import WeightedStack
from bench.profiling.steps import Step

COLOURS = {
    Step.START: "#b39ddb",
    Step.JVM: "#90caf9",
    Step.PLAN: "#80cbc4",
    Step.DECODE: "#a5d6a7",
    Step.TRANSFER: "#ef9a9a",
    Step.KEYS: "#fff59d",
    Step.ROUTE: "#ffcc80",
    Step.MERGE: "#ce93d8",
    Step.ENCODE: "#f48fb1",
    Step.COMPRESS: "#bcaaa4",
    Step.STORAGE: "#80deea",
    Step.OTHER: "#e6ee9c",
}
_MIXED = "#eceff1"
_WIDTH = 1200
_ROW = 17
_MARGIN = 10
_LEAST_WIDTH = 1.5
_CHARACTER = 6.2
_MOST_FRAMES = 70
_HIDDEN = re.compile(r"<frozen importlib|^0x[0-9a-f]+ ")
_SIGNATURE = re.compile(r"(?<=[\w>])\(.*?\)(?= \(|$|::)|<[^<>]*>(?!\.)")


@dataclass(slots=True)
class _Node:
    """One frame with the frames that it calls."""

    seconds: float = 0.0
    by_step: dict[Step, float] = field(default_factory=dict)
    called: dict[str, "_Node"] = field(default_factory=dict)

    def add(self, step: Step, seconds: float) -> None:
        self.seconds += seconds
        self.by_step[step] = self.by_step.get(step, 0.0) + seconds

    @property
    def colour(self) -> str:
        return COLOURS[next(iter(self.by_step))] if len(self.by_step) == 1 else _MIXED


def flame_graph(title: str, stacks: Iterable[WeightedStack]) -> str:
    """Return the SVG.

    The picture leaves out frames narrower than a pixel and a half, frames of Python's import system, and frames that
    are only an address. It shows the outermost seventy frames of a stack.

    Raises:
        ValueError: no stack has processor time.
    """
    root = _tree(stacks)
    if not root.seconds:
        raise ValueError(f"There is no sample of {title}, so there is nothing to draw.")
    scale = (_WIDTH - 2 * _MARGIN) / root.seconds
    depth = _depth(root, scale)
    top = _MARGIN + 3 * _ROW
    height = top + depth * _ROW + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="monospace" font-size="10">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="{_MARGIN + _ROW - 4}" font-size="13">{escape(title)}: '
        f"{root.seconds:.1f} core-seconds</text>",
        *_legend(root),
        *_frames(root, _MARGIN, height - _MARGIN, scale),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def short_name(frame: str) -> str:
    """Return the name of a frame without arguments, template parameters, line number and folders."""
    name, _, place = frame.partition(" (") if frame.endswith(")") else (frame, "", "")
    while (shorter := _SIGNATURE.sub("", name)) != name:
        name = shorter
    place = re.sub(r":\d+$", "", place.removesuffix(")")).rpartition("/")[2]
    name = name.rpartition("/")[2] if "::" not in name else name
    return f"{name} ({place})" if place else name


def _tree(stacks: Iterable[WeightedStack]) -> _Node:
    root = _Node()
    for stack in stacks:
        node = root
        node.add(stack.step, stack.cpu_seconds)
        shown = [short_name(frame) for frame in stack.frames if not _HIDDEN.search(frame)]
        for frame in (stack.role.value, *shown[:_MOST_FRAMES]):
            node = node.called.setdefault(frame, _Node())
            node.add(stack.step, stack.cpu_seconds)
    return root


def _depth(node: _Node, scale: float) -> int:
    visible = [each for each in node.called.values() if each.seconds * scale >= _LEAST_WIDTH]
    return 1 + max((_depth(each, scale) for each in visible), default=-1)


def _frames(node: _Node, left: float, bottom: float, scale: float) -> Iterator[str]:
    for name, called in sorted(node.called.items()):
        width = called.seconds * scale
        if width >= _LEAST_WIDTH:
            yield _rectangle(name, called, left, bottom - _ROW, width)
            yield from _frames(called, left, bottom - _ROW, scale)
        left += width


def _rectangle(name: str, node: _Node, left: float, top: float, width: float) -> str:
    letters = int((width - 4) / _CHARACTER)
    text = name if len(name) <= letters else f"{name[: letters - 1]}…" if letters >= 4 else ""
    label = f'<text x="{left + 2:.1f}" y="{top + 11:.1f}">{escape(text)}</text>' if text else ""
    return (
        f"<g><title>{escape(name)}: {node.seconds:.2f} core-seconds</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(width - 0.5, 0.5):.1f}" height="{_ROW - 1}" '
        f'fill="{node.colour}"/>{label}</g>'
    )


def _legend(root: _Node) -> Iterator[str]:
    left = float(_MARGIN)
    top = _MARGIN + _ROW
    for step in COLOURS:
        text = f"{step.value} {root.by_step.get(step, 0.0) / root.seconds:.0%}"
        yield f'<rect x="{left:.0f}" y="{top}" width="10" height="10" fill="{COLOURS[step]}"/>'
        yield f'<text x="{left + 14:.0f}" y="{top + 9}">{text}</text>'
        left += 26 + _CHARACTER * len(text)
