"""Advise about rows that lack columns of the table: a write replaces whole rows, so their stored values are lost."""

from collections.abc import Mapping, Sequence

from hudi_table_services.contract.text import counted
from hudi_table_services.model.schema import Field
from hudi_table_services.options.keys.writing import NULL_FOR_MISSING_COLUMNS, RECONCILE_SCHEMA
from hudi_table_services.planning.table.added_columns import named_columns


def advice_on_adding(count: int) -> str:
    """Return how to write rows that lack columns, and which values the write would replace by null.

    Args:
        count: number of columns that the rows lack.
    """
    them, these = ("it", "this column") if count == 1 else ("them", "these columns")
    return (
        f"A write replaces whole rows: add {them} to the source or in the source query, with the values to store. With "
        f"--option {NULL_FOR_MISSING_COLUMNS.key}=true, the write replaces the stored values of {these} by null in "
        "each row that it updates."
    )


def filling_option(options: Mapping[str, str]) -> str:
    """Return the first option that allows rows without some columns of the table; empty if none is set."""
    keys = (NULL_FOR_MISSING_COLUMNS.key, RECONCILE_SCHEMA.key)
    return next((key for key in keys if options.get(key, "false").lower() == "true"), "")


def warn_of_replaced_values(
    missing: Sequence[tuple[str, Field]], updated_count: int, option: str, *, dry_run: bool = False
) -> tuple[str, ...]:
    """Return a sentence about the columns of which a write replaces stored values by null; empty if there are none.

    Args:
        missing: columns and members of structs that the table has and the rows lack, with their paths.
        updated_count: number of stored rows that the write updates.
        option: the result of `filling_option`.
    """
    if not missing or not updated_count:
        return ()
    cure = "Add" if dry_run else "To get the values back, roll back this write, and add"
    them, these = ("it", "this column") if len(missing) == 1 else ("them", "these columns")
    return (
        f"The rows lack {counted(len(missing), 'column')} of the table: {named_columns(missing)}. In "
        f"{counted(updated_count, 'updated row')}, the write {'would replace' if dry_run else 'replaced'} the stored "
        f"values of {these} by null ({option}=true). {cure} {them} to the source.",
    )
