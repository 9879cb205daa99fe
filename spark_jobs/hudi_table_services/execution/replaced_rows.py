"""Replace and delete rows of a table."""

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.numpy_types import Integers


def replace_rows(
    rows: pa.Table, new_rows: pa.Table | None, replaced: Integers, deleted: Integers
) -> pa.Table:
    """Return the rows in the same order, but replace some rows and leave some rows out.

    Args:
        new_rows: rows with the same columns; None if no row is replaced.
        replaced: for each new row, the number of the row that it replaces. If several new rows replace a row, the last
            of them is used.
        deleted: numbers of the rows to leave out.
    """
    if new_rows is None and len(deleted) == 0:
        return rows
    picked = np.arange(rows.num_rows)
    picked[replaced] = rows.num_rows + np.arange(len(replaced))
    if len(deleted):
        keep = np.ones(rows.num_rows, dtype=bool)
        keep[deleted] = False
        picked = picked[keep]
    both = rows if new_rows is None else pa.concat_tables([rows, new_rows])
    return both.combine_chunks().take(pa.array(picked))
