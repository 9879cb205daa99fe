"""Print a `Summary` on a terminal, with colours and aligned columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hudi_table_services.command.script_names import with_commands
from hudi_table_services.command.summary import Grid, Summary, Tone
from hudi_table_services.contract.text import counted

_TITLE_STYLES = {
    Tone.GOOD: "bold green",
    Tone.PLAIN: "bold",
    Tone.WARNING: "bold yellow",
    Tone.BAD: "bold red",
}
_SYMBOLS = {Tone.GOOD: "✓ ", Tone.PLAIN: "", Tone.WARNING: "! ", Tone.BAD: "✗ "}

_INDENT = 2
_GAP = 2
"""Blanks between two columns."""

_LEAST_COLUMN = 6
"""Smallest width of a column that wraps, in characters."""


def print_summary(console: Console, summary: Summary) -> None:
    """Print a summary. Texts from the table are printed literally: not as markup, and without control characters.

    In a narrow terminal, tables are printed without their optional columns. If the terminal is too narrow for the cells
    that stay on one line, the lines become wider than the terminal.
    """
    fitting = [_fitting(grid, summary.shown_rows, console.width) for grid in summary.grids]
    least = [_least_width(each.grid, summary.shown_rows) for each in fitting]
    console.width = max(console.width, *least, 0)
    for part in _parts(summary, fitting):
        console.print(part, soft_wrap=False)


@dataclass(frozen=True, slots=True)
class _FittingGrid:
    """A table for a terminal, and the names of the optional columns that were left out."""

    grid: Grid
    left_out: Sequence[str] = ()


def _fitting(grid: Grid, shown_rows: int | None, width: int) -> _FittingGrid:
    """Leave out the optional columns of a table that is wider than the terminal."""
    needed = _INDENT + sum(each + _GAP for each in _cell_widths(grid, shown_rows))
    if needed - _GAP <= width or not grid.optional:
        return _FittingGrid(grid)
    kept = [index for index, name in enumerate(grid.columns) if name not in grid.optional]
    columns = [grid.columns[index] for index in kept]
    rows = [[row[index] for index in kept] for row in grid.rows]
    return _FittingGrid(replace(grid, columns=columns, rows=rows, optional=()), grid.optional)


def _parts(summary: Summary, grids: Sequence[_FittingGrid]) -> Iterator[RenderableType]:
    yield Text(_SYMBOLS[summary.tone] + printable(summary.title), style=_TITLE_STYLES[summary.tone])
    facts = [(name, value) for name, value in summary.facts if value]
    if facts:
        yield _indented(_fact_table(facts))
    for each in grids:
        if each.grid.rows:
            yield from _grid_parts(each.grid, summary.shown_rows)
        if each.grid.rows and each.left_out:
            yield _indented(Text(f"Not shown: {', '.join(each.left_out)}. --wide shows all columns."), "dim")
    for note in summary.notes:
        yield _indented(sentence(note), "yellow")


def _fact_table(facts: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(printable(name), sentence(value))
    return table


def _grid_parts(grid: Grid, shown_rows: int | None) -> Iterator[RenderableType]:
    table = Table(box=None, header_style="bold cyan", pad_edge=False, padding=(0, _GAP, 0, 0))
    if grid.title:
        yield _indented(Text(printable(grid.title)), "bold")
    for name, width in zip(grid.columns, _whole_widths(grid, shown_rows), strict=True):
        table.add_column(
            _heading(name),
            justify="right" if name[0] == ">" else "left",
            overflow="fold",
            no_wrap=width is not None,
            min_width=width,
        )
    for row in grid.rows[:shown_rows]:
        table.add_row(*(sentence(cell) for cell in row))
    yield _indented(table)
    more = len(grid.rows) - len(grid.rows[:shown_rows])
    if more:
        yield _indented(Text(f"… and {counted(more, f'more {grid.noun}', ',')}"), "dim")


def _heading(column: str) -> str:
    return column.removeprefix(">")


def _cell_widths(grid: Grid, shown_rows: int | None) -> list[int]:
    """Return the width of the longest cell of each column."""
    rows = [[_heading(name) for name in grid.columns], *grid.rows[:shown_rows]]
    return [max(sentence(row[index]).cell_len for row in rows) for index in range(len(grid.columns))]


def _whole_widths(grid: Grid, shown_rows: int | None) -> list[int | None]:
    """Return the width of each column whose cells stay on one line; None for the other columns."""
    return [
        width if name.startswith(">") or name in grid.whole else None
        for name, width in zip(grid.columns, _cell_widths(grid, shown_rows), strict=True)
    ]


def _least_width(grid: Grid, shown_rows: int | None) -> int:
    """Return the smallest width that shows each cell: columns that wrap get at least `_LEAST_COLUMN` characters."""
    widths = _whole_widths(grid, shown_rows)
    return _INDENT + sum((_LEAST_COLUMN if width is None else width) + _GAP for width in widths)


def _indented(part: RenderableType, style: str = "none") -> Padding:
    return Padding(part, (0, 0, 0, _INDENT), style=style, expand=False)


def printable(text: str) -> str:
    """Replace control characters. Names on storage can contain characters that change the state of a terminal."""
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def sentence(text: str) -> Text:
    """Replace names of scripts by names of sub-commands, because users of the command run sub-commands."""
    return Text(with_commands(printable(text)))


def _escaped(character: str) -> str:
    return " " if character.isspace() else repr(character)[1:-1]
