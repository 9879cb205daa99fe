"""A short summary for a terminal, as plain values: a title, facts and tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum


class Tone(Enum):
    """How the terminal shows the title."""

    GOOD = "good"
    PLAIN = "plain"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table of strings.

    Attributes:
        columns: names of the columns. A name that starts with ``>`` belongs to a column of numbers, which is aligned
            to the right; the terminal does not show this character.
        rows: all rows, in the order in which they are shown.
        noun: noun for one row, such as ``group``.
        title: heading of the table; empty means no heading.
        optional: columns that a narrow terminal leaves out, in this order, until the other columns fit on one line.
        whole: columns whose cells stay on one line, such as instants, which users copy. Numbers also stay on one line.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    noun: str
    title: str = ""
    optional: Sequence[str] = ()
    whole: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary of a job's result or of a view.

    Attributes:
        title: first line.
        facts: pairs of a name and a value. Facts with an empty value are not shown.
        grids: tables below the facts. Tables without rows are not shown.
        notes: sentences below the tables.
        shown_rows: largest number of shown rows of each table; None shows all rows.
    """

    title: str
    tone: Tone = Tone.PLAIN
    facts: Sequence[tuple[str, str]] = ()
    grids: Sequence[Grid] = ()
    notes: Sequence[str] = field(default_factory=tuple)
    shown_rows: int | None = 8
