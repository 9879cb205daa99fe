"""The columns of a read, as Spark's types."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hudi_table_services.execution.reading.scan_frame import spark_schema
from hudi_table_services.model.reading.query import TableQuery
from hudi_table_services.model.schema import StructType, with_meta_columns
from hudi_table_services.planning.catalog.column_types import nullable_columns
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.reading.table_scan import schema_of_read

if TYPE_CHECKING:
    from pyspark.sql.types import StructType as SparkStructType


def table_schema(storage: Storage, as_of: str) -> StructType:
    """Return the table's columns, without meta columns, as of a point in time; of the latest state if `as_of` is empty.

    Raises:
        HudiTableServiceError: see `schema_of_read`.
    """
    return schema_of_read(storage, TableQuery(as_of=as_of))


def spark_columns(schema: StructType, names: Sequence[str] | None = None) -> "SparkStructType":
    """Return columns of a table as Spark's types: the named columns, or all columns after the meta columns."""
    columns = with_meta_columns(schema)
    return spark_schema(nullable_columns(columns, names if names is not None else columns.names))
