"""A slow merge of one key after the other, written from a description of Hudi's rules instead of the product's code.

Two phases: `step` adds a log record to the merged log records of its key, and `onto_base` merges the result with the
base row. A state is ``("row", record)`` or ``("del", ordering)``; the ordering of an unconditional delete is None.
"""

from dataclasses import dataclass
from typing import Any, Literal

from support.log_merging.slices import KEY_COLUMN, Delete, Row, Slice

Kind = Literal["v6", "event_time", "commit_time"]
Ordering = tuple[tuple[bool, Any], ...]
State = tuple[Literal["row"], Row] | tuple[Literal["del"], Ordering | None]
COMMIT_COLUMN = "_hoodie_commit_time"
_ORDERING = "ordering of the record"  # not the name of a column
_IS_DELETED = "record is a delete"


@dataclass(frozen=True)
class RowByRow:
    """The rule of one table.

    Attributes:
        kind: version 6, or the merge mode of a later version.
        payload: short name of the payload class, in version 6.
        ignores_defaults: whether the partial update mode is IGNORE_DEFAULTS.
        fields: ordering fields.
        default_is_zero: whether the ordering field is of type int, whose value 0 is Hudi's default.
        marker: value of the column ``op`` that marks deletes; empty if there is none.
    """

    kind: Kind
    payload: str = ""
    ignores_defaults: bool = False
    fields: tuple[str, ...] = ()
    default_is_zero: bool = False
    marker: str = ""

    def merge(self, each: Slice) -> list[Row]:
        """The merged rows: base rows in order, then log rows without base row in the order of the winners."""
        states: dict[str, State] = {}
        for number, block in enumerate(each.blocks):
            for row_number, record in enumerate(block):
                incoming = self.state_of(record)
                if incoming[0] == "row":
                    incoming[1]["position"] = (number, row_number)
                key = record.key if isinstance(record, Delete) else record[KEY_COLUMN]
                states[key] = self.step(states.get(key), incoming, is_record=isinstance(record, Delete))
        base = [self.with_ordering(row) for rows in each.base for row in rows]
        merged = [
            self.onto_base(row, states[row[KEY_COLUMN]]) if row[KEY_COLUMN] in states else row for row in base
        ]
        keys = {row[KEY_COLUMN] for row in base}
        new = [state[1] for key, state in states.items() if key not in keys and state[0] == "row"]
        appended = sorted((row for row in new if not row[_IS_DELETED]), key=lambda row: row["position"])
        names = each.schema.names
        return [{name: row[name] for name in names} for row in (*merged, *appended) if row is not None]

    def with_ordering(self, row: Row) -> Row:
        values = tuple(row[name] for name in self.fields)
        return {**row, _ORDERING: self.ordering(values), _IS_DELETED: False}

    @staticmethod
    def ordering(values: tuple[Any, ...]) -> Ordering:
        """Null is smaller than every value."""
        return tuple((value is not None, value if value is not None else 0) for value in values)

    def state_of(self, record: Row | Delete) -> State:
        if isinstance(record, Delete):
            has_ordering = record.ordering is not None and self.fields
            return "del", self.ordering(record.ordering or ()) if has_ordering else None
        row = self.with_ordering(record)
        is_deleted = bool(record["_hoodie_is_deleted"]) or bool(self.marker and record["op"] == self.marker)
        if not is_deleted:
            return "row", row
        if self.kind == "v6":
            if self.payload == "PartialUpdate":
                return "del", None
            return "row", {**row, _IS_DELETED: True}
        return "del", None if self.is_default(record) else row[_ORDERING]

    def is_default(self, record: Row) -> bool:
        """Whether the ordering value of a deleted row is Hudi's default, which makes the delete unconditional."""
        if len(self.fields) != 1:
            return not self.fields
        value = record[self.fields[0]]
        return value is None or bool(self.default_is_zero and value == 0)

    def step(self, state: State | None, new: State, *, is_record: bool) -> State:
        """Add a log record.

        Args:
            is_record: whether a delete is a record of a delete block instead of a row.
        """
        if state is None:
            return new
        if state[0] == "row" and new[0] == "row":
            return "row", self.rows(state[1], new[1])
        if new[0] == "row":
            wins = self.kind != "event_time" or state[1] is None or new[1][_ORDERING] >= state[1]
            return new if wins else state
        if state[0] == "row":
            wins = self.kind == "commit_time" or new[1] is None or state[1][_ORDERING] <= new[1]
            return new if wins else state
        if self.kind != "event_time" or new[1] is None:
            return new
        if state[1] is None:
            return state if is_record else new
        return new if new[1] >= state[1] else state

    def rows(self, old: Row, new: Row) -> Row:
        if self.kind == "commit_time":
            return self.fill(new, old) if self.ignores_defaults else new
        high, low = (new, old) if new[_ORDERING] >= old[_ORDERING] else (old, new)
        if self.payload == "PartialUpdate":
            return {**self.fill(high, low), COMMIT_COLUMN: new[COMMIT_COLUMN]}
        return self.fill(high, low) if self.ignores_defaults else high

    @staticmethod
    def fill(high: Row, low: Row) -> Row:
        kept = (COMMIT_COLUMN, KEY_COLUMN, _ORDERING, _IS_DELETED, "position")
        return {
            name: value if value is not None or name in kept else low[name] for name, value in high.items()
        }

    def onto_base(self, base: Row, state: State) -> Row | None:
        if state[0] == "del":
            wins = self.kind != "event_time" or state[1] is None or state[1] >= base[_ORDERING]
            return None if wins else base
        new = state[1]
        result = self.row_onto_base(base, new)
        return None if new[_IS_DELETED] and result is not base else result

    def row_onto_base(self, base: Row, new: Row) -> Row:
        if self.kind != "v6":
            return self.rows(base, new)
        if self.payload == "OverwriteWithLatest":
            return new
        if self.payload == "OverwriteNonDefaultsWithLatest":
            return self.fill(new, base)
        if self.payload == "PartialUpdate":
            return self.rows(base, new)
        return new if new[_ORDERING] >= base[_ORDERING] else base
