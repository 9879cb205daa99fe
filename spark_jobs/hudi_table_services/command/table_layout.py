"""Choose how a terminal shows a table: with all columns, without optional columns, with wrapped cells, or as a list."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from hudi_table_services.command.summary import Grid

INDENT = 2
GAP = 2
"""Blanks between two columns, and between two values of a list."""

_LEAST_SENTENCE = 20
"""Smallest width of a column whose cells are longer sentences, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The shown columns of a table, by their positions.

    Attributes:
        columns: positions of the shown columns.
        widths: width of each shown column, in characters. No word is longer than its column. Empty if the terminal is
            too narrow for these columns, so that the table becomes a list.
    """

    columns: Sequence[int]
    widths: Sequence[int] = ()

    @property
    def is_list(self) -> bool:
        """Whether the table becomes a list."""
        return not self.widths


def heading(column: str) -> str:
    """Return the shown name of a column of a `Grid`."""
    return column.removeprefix(">")


def layout_of(grid: Grid, rows: Sequence[Sequence[Text]], width: int) -> Layout:
    """Choose the layout of a table.

    Args:
        rows: the shown rows of the table.
        width: width of the terminal, in characters.
    """
    every = range(len(grid.columns))
    natural = [_longest(grid.columns[n], [row[n].cell_len for row in rows]) for n in every]
    shown = list(every)
    for name in ("", *grid.optional):
        shown = [n for n in shown if grid.columns[n] != name]
        if _total([natural[n] for n in shown]) <= width:
            return Layout(columns=shown, widths=[natural[n] for n in shown])
    least = [_least(grid, n, [row[n] for row in rows], natural[n]) for n in every]
    spare = width - _total([least[n] for n in shown])
    if spare < 0:
        return Layout(columns=list(every))
    return Layout(
        columns=shown, widths=_widened([least[n] for n in shown], [natural[n] for n in shown], spare)
    )


def _longest(column: str, lengths: Sequence[int]) -> int:
    return max((cell_len(heading(column)), *lengths))


def _total(widths: Sequence[int]) -> int:
    """Return the width of a table, with its indent and the gaps between its columns."""
    return INDENT + sum(widths) + GAP * (len(widths) - 1)


def _least(grid: Grid, position: int, cells: Sequence[Text], natural: int) -> int:
    """Return the smallest width at which a column breaks no word and its sentences stay readable."""
    name = grid.columns[position]
    if name.startswith(">") or name in grid.whole:
        return natural
    words = [word for text in (heading(name), *(cell.plain for cell in cells)) for word in text.split()]
    return max(min(natural, _LEAST_SENTENCE), *map(cell_len, words))


def _widened(least: Sequence[int], natural: Sequence[int], spare: int) -> list[int]:
    """Widen the narrowest columns that need more width, so that short cells stay on one line."""
    widths = list(least)
    for _ in range(spare):
        lacking = [n for n, width in enumerate(widths) if width < natural[n]]
        if lacking:
            widths[min(lacking, key=lambda n: widths[n])] += 1
    return widths


def list_lines(names: Sequence[str], cells: Sequence[Text], width: int) -> list[Text]:
    """Return a row as lines of ``name: value``, without empty values. Further lines have a larger indent.

    No word is broken: a word that is longer than the terminal becomes a longer line.
    """
    lines = [Text(" " * INDENT)]
    gap = 0
    for name, cell in zip(names, cells, strict=True):
        if not cell.plain:
            continue
        pair = Text.assemble((f"{heading(name)}:", "cyan"), " ", cell)
        further = Text(" " * (INDENT + GAP))
        if lines[-1].cell_len + gap + pair.cell_len <= width:
            lines[-1].append(" " * gap).append_text(pair)
        elif further.cell_len + pair.cell_len <= width:
            lines.append(further.append_text(pair))
        else:
            _append_words(lines, pair, width, gap)
        gap = GAP
    return [line for line in lines if line.plain.strip()]


def _append_words(lines: list[Text], pair: Text, width: int, gap: int) -> None:
    for word in pair.split(" "):
        if lines[-1].cell_len + gap + word.cell_len <= width:
            lines[-1].append(" " * gap).append_text(word)
        else:
            lines.append(Text(" " * (INDENT + GAP)).append_text(word))
        gap = 1
