"""Print a `Summary` on a terminal, with colours and aligned columns."""

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hudi_table_services.command.script_names import with_commands
from hudi_table_services.command.summary import Grid, Summary, Tone
from hudi_table_services.command.table_layout import GAP, INDENT, Layout, heading, layout_of, list_lines
from hudi_table_services.contract.text import counted

_TITLE_STYLES = {
    Tone.GOOD: "bold green",
    Tone.PLAIN: "bold",
    Tone.WARNING: "bold yellow",
    Tone.BAD: "bold red",
}
_SYMBOLS = {Tone.GOOD: "✓ ", Tone.PLAIN: "", Tone.WARNING: "! ", Tone.BAD: "✗ "}


def print_summary(console: Console, summary: Summary) -> None:
    """Print a summary. Texts from the table are printed literally: not as markup, and without control characters.

    In a narrow terminal, tables are printed without their optional columns. A table that is still too wide is printed
    as a list, which names the column before each value.
    """
    for part in _parts(summary, console.width):
        console.print(part, soft_wrap=isinstance(part, _Line))


class _Line(Text):
    """A line that is printed as it is. If the line is too long, the terminal wraps it, and users can still copy it."""


def _parts(summary: Summary, width: int) -> Iterator[RenderableType]:
    yield Text(_SYMBOLS[summary.tone] + printable(summary.title), style=_TITLE_STYLES[summary.tone])
    facts = [(name, value) for name, value in summary.facts if value]
    if facts:
        yield _indented(_fact_table(facts))
    for grid in summary.grids:
        if grid.rows:
            yield from _grid_parts(grid, summary.shown_rows, width)
    for note in summary.notes:
        yield _indented(sentence(note), "yellow")


def _fact_table(facts: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(printable(name), sentence(value))
    return table


def _grid_parts(grid: Grid, shown_rows: int | None, width: int) -> Iterator[RenderableType]:
    rows = [[sentence(cell) for cell in row] for row in grid.rows[:shown_rows]]
    layout = layout_of(grid, rows, width)
    if grid.title:
        yield _indented(Text(printable(grid.title)), "bold")
    if layout.is_list:
        yield from (_Line.assemble(line) for row in rows for line in list_lines(grid.columns, row, width))
    else:
        yield _indented(_table(grid, rows, layout))
    more = len(grid.rows) - len(rows)
    if more:
        yield _indented(Text(f"… and {counted(more, f'more {grid.noun}', ',')}"), "dim")
    if left_out := [heading(name) for n, name in enumerate(grid.columns) if n not in layout.columns]:
        yield _indented(Text(f"Not shown: {', '.join(left_out)}. --wide shows all columns."), "dim")


def _table(grid: Grid, rows: Sequence[Sequence[Text]], layout: Layout) -> Table:
    table = Table(box=None, header_style="bold cyan", pad_edge=False, padding=(0, GAP, 0, 0))
    for n, width in zip(layout.columns, layout.widths, strict=True):
        name = grid.columns[n]
        table.add_column(
            heading(name), justify="right" if name[0] == ">" else "left", overflow="fold", width=width
        )
    for row in rows:
        table.add_row(*(row[n] for n in layout.columns))
    return table


def _indented(part: RenderableType, style: str = "none") -> Padding:
    return Padding(part, (0, 0, 0, INDENT), style=style, expand=False)


def printable(text: str) -> str:
    """Replace control characters. Names on storage can contain characters that change the state of a terminal."""
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def sentence(text: str) -> Text:
    """Replace names of scripts by names of sub-commands, because users of the command run sub-commands."""
    return Text(with_commands(printable(text)))


def _escaped(character: str) -> str:
    return " " if character.isspace() else repr(character)[1:-1]
