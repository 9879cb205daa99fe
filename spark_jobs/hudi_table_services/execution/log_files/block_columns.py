"""Convert the rows of a data block to the columns of the table."""

import pyarrow as pa

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.arrow_schema import conform


def conform_block(rows: pa.Table, target: pa.Schema, what: str) -> pa.Table:
    """Do the same as `conform`. If a type cannot be converted, name the block in the error.

    A possible reason is that the schema of the block is damaged, and states another type than that of the values.

    Args:
        what: name of the block.

    Raises:
        InvalidDataError, InvalidRequestError: see `conform`.
    """
    try:
        return conform(rows, target)
    except InvalidRequestError as error:
        raise type(error)(
            f"{what}: {error.message}",
            hint="If the file is damaged, restore it from a backup. Otherwise its writer used a type that this release "
            "does not convert: compact the table with Hudi.",
        ) from error
