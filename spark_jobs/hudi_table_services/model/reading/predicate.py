"""Conditions on columns by which a read leaves out rows and files."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import TypeAlias

from hudi_table_services.model.metadata_table import RangeValue

Literal: TypeAlias = bool | int | float | str | bytes | Decimal | date | datetime
"""A value to which a column is compared."""


class Comparison(str, Enum):
    """How a column is compared. The values are the names that users write."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    IN = "in"
    NOT_IN = "not in"
    IS_NULL = "is null"
    IS_NOT_NULL = "is not null"

    @property
    def value_count(self) -> int | None:
        """Return the number of values that the comparison needs; None if any number from one on is allowed."""
        if self in (Comparison.IN, Comparison.NOT_IN):
            return None
        return 0 if self in (Comparison.IS_NULL, Comparison.IS_NOT_NULL) else 1


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition on a column. As in SQL, a comparison with null is never true.

    Attributes:
        column: name of a top-level column, or of a meta column.
        values: the value, or the values of ``in`` and ``not in``; empty for ``is null`` and ``is not null``.
    """

    column: str
    comparison: Comparison
    values: tuple[Literal, ...] = ()

    def __str__(self) -> str:
        """Return the condition for messages. Long lists of values are cut."""
        shown = [repr(value) for value in self.values[:3]]
        more = [f"{len(self.values) - 3} more"] if len(self.values) > 3 else []
        if self.comparison.value_count == 0:
            return f"{self.column} {self.comparison.value}"
        if self.comparison.value_count == 1:
            return f"{self.column} {self.comparison.value} {shown[0]}"
        return f"{self.column} {self.comparison.value} ({', '.join([*shown, *more])})"


@dataclass(frozen=True, slots=True)
class ColumnPredicate:
    """A condition whose values were checked against the type of the column.

    Attributes:
        predicate: the condition as the user wrote it.
        type_name: name of the column's type, without precision and scale: a primitive type, ``decimal``, or ``nested``.
        values: the values in the form of `FileColumnRange`: dates as days, timestamps as microseconds.
    """

    predicate: Predicate
    type_name: str
    values: tuple[RangeValue, ...] = ()

    @property
    def column(self) -> str:
        return self.predicate.column

    @property
    def comparison(self) -> Comparison:
        return self.predicate.comparison

    @property
    def is_floating(self) -> bool:
        return self.type_name in ("float", "double")
