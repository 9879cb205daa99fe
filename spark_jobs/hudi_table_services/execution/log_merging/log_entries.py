"""Build log entries: key, kind, ordering values and position of each record in the log files of a file slice.

From these columns alone, a merge decides which rows win. So a merge reads the other columns for the winning rows only.
"""

from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.numpy_types import Flags, Integers
from hudi_table_services.model.merging.merge_rule import Fill, MergeOrder, MergeRule
from hudi_table_services.model.schema import DELETED_FLAG

KEY = "key"
KIND = "kind"
BLOCK = "block"
ROW = "row"


class EntryKind(IntEnum):
    """The kind of a log entry."""

    ROW = 0
    DELETED_ROW = 1
    """A row of a data block that is marked as a delete (``_hoodie_is_deleted``, or the table's delete marker)."""
    DELETE = 2
    """A record of a delete block that has an ordering value."""
    DELETE_ALWAYS = 3
    """A delete without ordering value. The delete wins against all earlier entries of the key, and all later rows win
    against the delete."""


def ordering_names(rule: MergeRule) -> list[str]:
    """Return the names of the ordering columns in the tables of log entries and of keys of a base file."""
    return [f"ordering{number}" for number in range(len(rule.ordering_fields))]


def row_columns(rule: MergeRule) -> tuple[str, ...]:
    """Return the columns that `entries_of_rows` uses if the data block has them. The first column is the key."""
    marker = () if rule.delete_marker is None else (rule.delete_marker.field,)
    return tuple(dict.fromkeys((RECORD_KEY, *rule.ordering_fields, DELETED_FLAG, *marker)))


def entries_of_rows(rule: MergeRule, rows: pa.Table, block: int) -> pa.Table:
    """Return the log entries of the rows of one data block.

    Args:
        rows: columns `row_columns` in the types of the table. `DELETED_FLAG` and the column of the delete marker may
            be missing.
        block: number of the block among the blocks of the slice, in merge order.
    """
    deleted = _deleted_rows(rule, rows)
    kinds = np.full(rows.num_rows, EntryKind.ROW, dtype=np.int8)
    kinds[deleted] = EntryKind.DELETED_ROW
    if deleted.any():
        kinds[deleted & _always_deletes(rule, rows)] = EntryKind.DELETE_ALWAYS
    ordering = [rows[name] for name in rule.ordering_fields]
    return _entries(rule, rows[RECORD_KEY], kinds, block, ordering)


def entries_of_deletes(
    rule: MergeRule, keys: pa.ChunkedArray, block: int, ordering: pa.Table, is_unconditional: Flags
) -> pa.Table:
    """Return the log entries of the records of one delete block.

    Args:
        block: number of the block among the blocks of the slice, in merge order.
        ordering: ordering values, one column for each ordering field, in the types of the table. Values of
            unconditional deletes are ignored.
        is_unconditional: mask of the records that delete a row whatever ordering value the row has. These are the
            records whose ordering value is null or ``IntWrapper(0)``. In tables of version 6, these are also the
            records whose wrapper does not have the type of the ordering field.
    """
    kinds = np.full(len(keys), EntryKind.DELETE, dtype=np.int8)
    kinds[is_unconditional] = EntryKind.DELETE_ALWAYS
    if not rule.ordering_fields:
        kinds[:] = EntryKind.DELETE_ALWAYS
    return _entries(rule, keys, kinds, block, ordering.columns)


def _entries(
    rule: MergeRule, keys: pa.ChunkedArray, kinds: Integers, block: int, ordering: list[pa.ChunkedArray]
) -> pa.Table:
    count = len(keys)
    columns = {
        KEY: keys,
        KIND: pa.array(kinds, pa.int8()),
        BLOCK: pa.array(np.full(count, block, dtype=np.int32)),
        ROW: pa.array(np.arange(count, dtype=np.int64)),
    }
    columns |= dict(zip(ordering_names(rule), ordering, strict=True))
    return pa.table(columns)


def _deleted_rows(rule: MergeRule, rows: pa.Table) -> Flags:
    """Return the mask of the rows that are marked as deletes."""
    deleted = np.zeros(rows.num_rows, dtype=bool)
    if DELETED_FLAG in rows.schema.names and pa.types.is_boolean(rows.schema.field(DELETED_FLAG).type):
        deleted |= pc.fill_null(rows[DELETED_FLAG], False).to_numpy()
    marker = rule.delete_marker
    if marker is not None and marker.field in rows.schema.names:
        is_marked = pc.equal(pc.cast(rows[marker.field], pa.string()), marker.value)
        deleted |= pc.fill_null(is_marked, False).to_numpy()
    return deleted


def _always_deletes(rule: MergeRule, rows: pa.Table) -> Flags:
    """Return the mask of the rows that, if marked as deletes, delete a stored row whatever its ordering value is.

    From version 8 on, these are the rows whose ordering value is null or equals Hudi's default, an integer 0
    (BufferedRecord.isCommitTimeOrderingDelete). In version 6, these are all rows if the payload fills columns
    (PartialUpdateAvroPayload.preCombine), and otherwise no rows.
    """
    count = rows.num_rows
    if rule.order is MergeOrder.VERSION_6:
        return np.full(count, rule.fill is not Fill.NOTHING and rule.fills_between_log_rows)
    if len(rule.ordering_fields) != 1:
        return np.full(count, not rule.ordering_fields)
    values = rows[rule.ordering_fields[0]]
    always: Flags = pc.is_null(values).to_numpy()
    if pa.types.is_int32(values.type):
        always = always | pc.fill_null(pc.equal(values, 0), False).to_numpy()
    return always
