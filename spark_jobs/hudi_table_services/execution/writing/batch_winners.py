"""Find, for each key of a batch, the row that supersedes the other rows with the same key."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.execution.log_merging.log_entries import ROW, entries_of_rows
from hudi_table_services.execution.log_merging.log_winners import merge_log_entries
from hudi_table_services.execution.numpy_types import Integers
from hudi_table_services.model.merging.merge_rule import MergeRule


def winners(codes: Integers, distinct_count: int, ordering: pa.Table) -> Integers:
    """Return for each distinct key the number of the row with the largest ordering value.

    If several rows have this ordering value, return the number of the last of them.
    """
    if distinct_count == len(codes):
        return np.arange(len(codes))
    repeated = np.bincount(codes, minlength=distinct_count)[codes] > 1
    winner = np.empty(distinct_count, dtype=np.int64)
    single = np.flatnonzero(~repeated)
    winner[codes[single]] = single
    rows = np.flatnonzero(repeated)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {"code": pa.array(codes[rows])}
    for number, values in enumerate(ordering.take(pa.array(rows)).columns):
        # A separate column sorts nulls below all values, because Arrow's option for nulls differs between releases.
        columns[f"valid{number}"] = pc.cast(pc.is_valid(values), pa.int8())
        columns[f"value{number}"] = values
    columns["row"] = pa.array(rows)
    order = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns]).to_numpy()
    # For each key, the last assignment is the row with the largest ordering value.
    winner[codes[rows[order]]] = rows[order]
    return winner


def winners_by_rule(rule: MergeRule, rows: pa.Table, keys: pa.Array) -> Integers:
    """Return for each of these distinct keys the number of the row that wins by the rule of a merge-on-read table."""
    merged = merge_log_entries(rule, entries_of_rows(rule, rows, 0))
    found: Integers = merged.entries[ROW].to_numpy()[pc.index_in(keys, value_set=merged.keys).to_numpy()]
    return found
