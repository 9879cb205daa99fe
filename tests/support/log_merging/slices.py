"""Small file slices as Arrow tables, and their merge by the product's code."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.log_merging.log_entries import (
    KEY,
    entries_of_deletes,
    entries_of_rows,
    ordering_names,
)
from hudi_table_services.execution.log_merging.merged_rows import ColumnFill, merged_rows
from hudi_table_services.execution.log_merging.slice_changes import (
    ChangeCounts,
    MergeMemory,
    find_changes,
)
from hudi_table_services.execution.numpy_types import Integers
from hudi_table_services.model.merging.merge_rule import MergeRule

Row = dict[str, Any]
NO_LIMIT = 1 << 40
KEY_COLUMN = "_hoodie_record_key"


@dataclass(frozen=True)
class Delete:
    """A record of a delete block.

    Attributes:
        ordering: ordering values; None for an unconditional delete.
    """

    key: str
    ordering: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Slice:
    """A file slice.

    Attributes:
        schema: columns of all rows.
        base: batches of base rows.
        blocks: blocks in merge order: rows of a data block, or deletes of a delete block.
    """

    schema: pa.Schema
    base: Sequence[Sequence[Row]]
    blocks: Sequence[Sequence[Row] | Sequence[Delete]]


class BlockRows:
    """Rows of data blocks in memory."""

    def __init__(self, blocks: Sequence[pa.Table]) -> None:
        self.taken = 0
        self.most_at_once = 0
        self._rows = pa.concat_tables(blocks).combine_chunks()
        self._starts = np.cumsum([0, *(block.num_rows for block in blocks)])

    def take(self, blocks: Integers, rows: Integers) -> pa.Table:
        self.taken += len(rows)
        self.most_at_once = max(self.most_at_once, len(rows))
        return self._rows.take(pa.array(self._starts[blocks] + rows))


def table(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)


def is_delete_block(block: Sequence[Row] | Sequence[Delete]) -> bool:
    return bool(block) and isinstance(block[0], Delete)


def entries_of(rule: MergeRule, each: Slice) -> list[pa.Table]:
    found = []
    for number, block in enumerate(each.blocks):
        if not is_delete_block(block):
            found.append(entries_of_rows(rule, table(each.schema, block), number))
            continue
        types = [each.schema.field(name).type for name in rule.ordering_fields]
        columns = [
            pa.chunked_array([pa.array([d.ordering and d.ordering[n] for d in block], kind)])
            for n, kind in enumerate(types)
        ]
        ordering = pa.Table.from_arrays(columns, names=list(rule.ordering_fields))
        keys = pa.chunked_array([pa.array([d.key for d in block], pa.string())])
        unconditional = np.array([d.ordering is None for d in block])
        found.append(entries_of_deletes(rule, keys, number, ordering, unconditional))
    return found


def base_keys(rule: MergeRule, rows: pa.Table) -> pa.Table:
    columns = rows.select([KEY_COLUMN, *rule.ordering_fields])
    return columns.rename_columns([KEY, *ordering_names(rule)])


@dataclass
class Merged:
    """Outcome of a merge.

    Attributes:
        batches: the merged rows.
        base: the batches of base rows.
        spills: whether the merge used spill files.
        taken: number of log rows that were read.
        most_at_once: largest number of log rows that were read at once.
    """

    batches: list[pa.Table]
    base: list[pa.Table]
    counts: ChangeCounts
    spills: bool
    taken: int
    most_at_once: int

    @property
    def rows(self) -> list[Row]:
        return [row for batch in self.batches for row in batch.to_pylist()]


def merge(
    rule: MergeRule,
    each: Slice,
    budget: int = NO_LIMIT,
    folder: Path | None = None,
    defaults: dict[str, pa.Scalar] | None = None,
) -> Merged:
    """Merge a slice by the product's code."""
    base = [table(each.schema, rows) for rows in each.base]
    blocks = [table(each.schema, () if is_delete_block(block) else block) for block in each.blocks]
    log_rows = BlockRows(blocks) if blocks else BlockRows([table(each.schema, ())])
    memory = MergeMemory(budget_bytes=budget, folder=folder)
    with find_changes(rule, entries_of(rule, each), (base_keys(rule, b) for b in base), memory) as changes:
        batches = list(merged_rows(base, changes, log_rows, ColumnFill.of(rule, defaults)))
        return Merged(batches, base, changes.counts, changes.spills, log_rows.taken, log_rows.most_at_once)
