"""The Python data source ``hudi_native`` for Spark 4: ``spark.read`` and ``spark.readStream``.

Spark runs this module in separate Python processes, so these processes need the engine. The columns of a result are
those of the schema that Spark passes; no release of Spark pushes the columns of a query down to Python data sources.

Filters come from the option `FILTERS` alone. The reader must not have the method ``pushFilters``: Spark 4.2.0 keeps the
filters of the first query of a relation, and applies them to all later queries of the same DataFrame or view.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from hudi_table_services.contract.text import similar_column
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import StructType
from hudi_table_services.options.keys.reading import AS_OF, STREAM_OPTIONS
from hudi_table_services.options.reading.stream_options import stream_request
from hudi_table_services.planning.reading.json_filters import parse_filters
from hudi_table_services.reading.scan_columns import spark_columns, table_schema
from hudi_table_services.reading.scan_partitions import (
    ScanPartition,
    Selection,
    rows_of_partition,
    scan_partitions,
)
from hudi_table_services.reading.stream_source import HudiNativeStreamReader, stream_reader
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.reading.planned_reads import slice_reader

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType as SparkStructType

NAME = "hudi_native"
FILTERS = "filters"
"""Option of the data source: conditions that are joined by AND, as a JSON list of triples (`parse_filters`)."""
_STORAGE_PREFIX = "storage."
_NAMES = {option.key.lower(): option.key for option in STREAM_OPTIONS}


class HudiNativeDataSource(DataSource):
    """Reads a table at a path.

    Options: Hudi's read options (docs/reading.md), ``storage.<name>`` for settings of an object store, and `FILTERS`.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path of the engine with the options, so that a process without the engine can import it.

        On Spark Connect, Spark 4.2 plans a stream in a process that does not find the files that the session uploaded
        (PythonStreamingSourceRunner.scala). That process and the process that pickles run on the same host.
        """
        return _with_engine, (str(Path(__file__).parents[2]), self.options)

    def schema(self) -> "SparkStructType":
        """Return the meta columns and the columns of the table."""
        return spark_columns(self._stored_columns())

    def reader(self, schema: "SparkStructType") -> "HudiNativeReader":
        """Return the reader of some or all columns.

        Raises:
            InvalidRequestError: the table lacks a column, or has it in another type.
        """
        return HudiNativeReader(self._storage, self._options, self._selection(schema, self._stored_columns()))

    def streamReader(self, schema: "SparkStructType") -> HudiNativeStreamReader:  # noqa: N802 - the name in Spark's API
        """Return the reader of a stream of some or all columns.

        Raises:
            InvalidRequestError: see `reader` and `stream_request`.
        """
        request = stream_request(self._options)
        found = self._stored_columns()
        return stream_reader(self._storage, request, found, self._selection(schema, found))

    def _stored_columns(self) -> StructType:
        """Return the columns of the state that is read.

        Batch reads and streams get the same columns, because `schema` does not know which of the two Spark starts.
        """
        return table_schema(self._storage, self._options.get(AS_OF.key, ""))

    def _selection(self, schema: "SparkStructType", stored: StructType) -> Selection:
        _check_types(schema, stored)
        filters = parse_filters(self.options.get(FILTERS, ""), stored)
        return Selection(columns=tuple(schema.fieldNames()), filters=filters)

    @property
    def _storage(self) -> Storage:
        path = self.options.get("path", "")
        settings = {
            key[len(_STORAGE_PREFIX) :]: value
            for key, value in self.options.items()
            if key.startswith(_STORAGE_PREFIX)
        }
        return open_storage(path, settings)

    @property
    def _options(self) -> dict[str, str]:
        """Hudi's options. Spark passes all names in lower case."""
        return {
            _NAMES.get(key, key): value
            for key, value in self.options.items()
            if key not in ("path", FILTERS) and not key.startswith(_STORAGE_PREFIX)
        }


def _with_engine(engine_path: str, options: dict[str, str]) -> DataSource:
    """Return the data source in a process that may lack the engine.

    Args:
        engine_path: folder or archive that contains the engine. As with uploaded files in Spark, it takes precedence
            over an engine that is installed in the process.
    """
    import sys

    if engine_path not in sys.path:
        sys.path.insert(1, engine_path)
    from hudi_table_services.reading.data_source import HudiNativeDataSource

    return HudiNativeDataSource(options)


# By this name, cloudpickle pickles the function with its code, because the process cannot import this module yet.
_with_engine.__module__ = "__main__"


class HudiNativeReader(DataSourceReader):
    """Plans a read, and reads the slices of each Spark task."""

    def __init__(self, storage: Storage, options: Mapping[str, str], selection: Selection) -> None:
        self._storage = storage
        self._given = dict(options)
        self._selection = selection

    def partitions(self) -> Sequence[InputPartition]:
        """Plan the read: one partition for each Spark task."""
        scan = self._selection.plan(self._storage, self._given)
        # Without any partition, Spark 4.0 would call `read` with None.
        return scan_partitions(self._storage, scan) or [ScanPartition(slice_reader(self._storage, scan), ())]

    def read(self, partition: InputPartition) -> "Iterator[RecordBatch]":
        """Yield the rows of a partition."""
        yield from rows_of_partition(partition)


def _check_types(wanted: "SparkStructType", schema: StructType) -> None:
    stored = spark_columns(schema)
    types = {field.name: field.dataType for field in stored.fields}
    for field in wanted.fields:
        if field.name not in types:
            raise InvalidRequestError(
                f"The table has no column {field.name!r}.", hint=similar_column(field.name, types)
            )
        if field.dataType != types[field.name]:
            raise InvalidRequestError(
                f"The column {field.name!r} has the type {types[field.name].simpleString()} in the table, but the "
                f"schema of the read says {field.dataType.simpleString()}.",
                hint="Leave the schema out, and cast the column after the read. If the column was widened since the "
                "table was loaded, load the table again.",
            )
