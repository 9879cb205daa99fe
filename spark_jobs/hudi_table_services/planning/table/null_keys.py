"""Refuse a source file if the statistics in its footer show that some rows have no record key."""

from collections.abc import Mapping

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidDataError


def refuse_null_keys(
    key_fields: tuple[str, ...], null_counts: Mapping[str, int], row_count: int, file: str
) -> None:
    """Refuse a file if it certainly has a row in which all key columns are null. A write would refuse such a row.

    Args:
        key_fields: columns of the record key.
        null_counts: maps a key column to its number of nulls; lacks columns whose number is not known.
        row_count: number of rows of the file.
        file: address of the file.

    Raises:
        InvalidDataError: the message names the file, the columns and the number of rows.
    """
    rows_with_value = sum(row_count - null_counts.get(name, 0) for name in key_fields)
    without_key = row_count - rows_with_value  # a lower bound; exact for one column
    if without_key <= 0:
        return
    number = (
        f"{'at least ' if len(key_fields) > 1 else ''}{without_key:,} of {counted(row_count, 'row', ',')}"
    )
    condition = " OR ".join(f"{name} IS NOT NULL" for name in key_fields)
    query = f"SELECT * FROM source WHERE {condition}"  # noqa: S608 - an example, not a query of this program
    raise InvalidDataError(
        f"The record key ({', '.join(key_fields)}) is null in {number} of the source file {file}.",
        hint=f"Fill or remove these rows in the source query (--source-sql), as in {query}. Or choose another key.",
    )
