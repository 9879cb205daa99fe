"""Rows of a DataFrame as an Arrow table."""

import pyarrow as pa
from pyspark.sql import DataFrame


def arrow_of(frame: DataFrame) -> pa.Table:
    """The rows of a frame. Spark 3.5 has no public method for this."""
    return frame.toArrow() if hasattr(frame, "toArrow") else pa.Table.from_batches(frame._collect_as_arrow())
