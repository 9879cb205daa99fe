"""Combine the rows of a batch that have the same key, before a task writes them into a log file."""

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.log_merging.log_entries import KIND, ROW, EntryKind, entries_of_rows
from hudi_table_services.execution.log_merging.log_winners import merge_log_entries
from hudi_table_services.execution.log_merging.merged_rows import ColumnFill, fill_rows
from hudi_table_services.model.merging.merge_rule import MergeRule


def combine_duplicates(rule: MergeRule, rows: pa.Table, fill: ColumnFill) -> pa.Table:
    """Combine the rows of each key into one row. Use the rule by which the table merges log rows with each other.

    The function treats a row that is marked as a delete like a marked row in a data block. If a marked row wins, the
    function returns the row unchanged.

    Args:
        rows: rows in order of arrival; see `entries_of_rows` for the columns that decide which row wins.

    Returns:
        One row for each key, in the order in which the winning rows occur in `rows`; `rows` itself if no key occurs
        twice.
    """
    winners = merge_log_entries(rule, entries_of_rows(rule, rows, 0))
    if len(winners.keys) == rows.num_rows:
        return rows
    numbers = winners.entries[ROW].to_numpy()
    order = np.argsort(numbers)
    if winners.filled is None:
        return rows.take(pa.array(numbers[order]))
    is_row = winners.entries[KIND].to_numpy() == EntryKind.ROW
    sources = winners.filled.sources.filter(pa.array(is_row))
    offsets = np.append(0, np.cumsum(sources.value_lengths().to_numpy()))
    used = rows.take(sources.flatten().field(ROW)).combine_chunks()
    merged = fill_rows(used, offsets, offsets[:-1] + winners.filled.latest[is_row], fill)
    both = pa.concat_tables([merged, rows.take(pa.array(numbers[~is_row]))])
    place = np.append(np.flatnonzero(is_row), np.flatnonzero(~is_row))
    return both.take(pa.array(np.argsort(numbers[place])))
