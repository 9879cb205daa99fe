"""The Python data source ``hudi_native`` for Spark 4: ``spark.read.format("hudi_native").load(path)``.

Spark calls this module in Python processes of its own, so these processes need the engine. Unlike `read_table`, the
data source plans every query anew: a view on it always shows the latest state of the table.

Spark 4.1 and newer push simple filters down if ``spark.sql.python.filterPushdown.enabled`` is true, and refuse a reader
that takes filters if this property is false. So only the option `PUSH_FILTERS` selects such a reader. No release of
Spark pushes columns down to Python data sources; a schema passed to ``spark.read.schema(…)`` has this effect.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.reading.scan_frame import read_slices, slice_groups
from hudi_table_services.execution.reading.slice_rows import SliceReader
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.reading.predicate import Comparison, Predicate
from hudi_table_services.model.schema import StructType
from hudi_table_services.planning.reading.column_predicates import column_predicates
from hudi_table_services.reading.scan_reader import plan_read, slice_reader, spark_columns, table_schema
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType as SparkStructType

NAME = "hudi_native"
PUSH_FILTERS = "push.filters"
"""Option of the data source: ``true`` if Spark's property for pushing filters down is on."""

_STORAGE_PREFIX = "storage."
_PARALLELISM = 16
"""Number of tasks of a small read. The process in which Spark plans a read does not know the size of the cluster."""

_COMPARISONS: Mapping[str, Comparison] = {
    "EqualTo": Comparison.EQUAL,
    "LessThan": Comparison.LESS,
    "LessThanOrEqual": Comparison.LESS_OR_EQUAL,
    "GreaterThan": Comparison.GREATER,
    "GreaterThanOrEqual": Comparison.GREATER_OR_EQUAL,
    "In": Comparison.IN,
    "IsNull": Comparison.IS_NULL,
    "IsNotNull": Comparison.IS_NOT_NULL,
}
_NEGATED = {Comparison.EQUAL: Comparison.NOT_EQUAL, Comparison.IN: Comparison.NOT_IN}


class HudiNativeDataSource(DataSource):
    """Reads a table at a path.

    Options: Hudi's read options (docs/reading.md), ``storage.<name>`` for settings of an object store, and
    `PUSH_FILTERS`.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> "SparkStructType":
        """Return the meta columns and the columns of the table."""
        return spark_columns(table_schema(self._storage, self._options))

    def reader(self, schema: "SparkStructType") -> "HudiNativeReader":
        """Return the reader of some or all columns.

        Raises:
            InvalidRequestError: the table lacks a column, or has it in another type.
        """
        found = table_schema(self._storage, self._options)
        _check_types(schema, found)
        takes_filters = self.options.get(PUSH_FILTERS, "false").strip().lower() == "true"
        kind = FilteringReader if takes_filters else HudiNativeReader
        return kind(self._storage, self._options, found, tuple(schema.fieldNames()))

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
        return {
            key: value
            for key, value in self.options.items()
            if key not in ("path", PUSH_FILTERS) and not key.startswith(_STORAGE_PREFIX)
        }


class ScanPartition(InputPartition):
    """The slices that one Spark task reads."""

    def __init__(self, reader: SliceReader, slices: Sequence[FileSlice]) -> None:
        super().__init__(None)
        self.reader = reader
        self.slices = tuple(slices)


class HudiNativeReader(DataSourceReader):
    """Plans a read, and reads the slices of each Spark task.

    Args:
        schema: columns of the table.
        columns: names of the columns of the result.
    """

    def __init__(
        self, storage: Storage, options: Mapping[str, str], schema: StructType, columns: tuple[str, ...]
    ) -> None:
        self._storage = storage
        self._given = dict(options)
        self._schema = schema
        self._columns = columns
        self._predicates: list[Predicate] = []

    def partitions(self) -> Sequence[InputPartition]:
        """Plan the read: one partition for each Spark task."""
        scan = plan_read(self._storage, self._given, columns=self._columns, filters=self._predicates)
        reader = slice_reader(self._storage, scan)
        groups = slice_groups(scan.plan.slices, _PARALLELISM) if scan.plan.slices else [()]
        return [ScanPartition(reader, group) for group in groups]

    def read(self, partition: InputPartition) -> "Iterator[RecordBatch]":
        """Yield the rows of a partition."""
        assert isinstance(partition, ScanPartition)  # noqa: S101 - `partitions` returns nothing else
        yield from read_slices(partition.reader, partition.slices)


class FilteringReader(HudiNativeReader):
    """A reader that also uses the filters of a query, for Spark 4.1 and newer."""

    def pushFilters(self, filters: "list[Filter]") -> "Iterable[Filter]":  # noqa: N802 - the name in Spark's API
        """Use the filters to skip files and rows. Spark evaluates all of them again."""
        found = (predicate_of(each) for each in filters)
        self._predicates = [each for each in found if each is not None and self._fits(each)]
        return filters

    def _fits(self, predicate: Predicate) -> bool:
        """Whether the value has the type of its column. Spark evaluates other filters."""
        try:
            column_predicates((predicate,), self._schema)
        except InvalidRequestError:
            return False
        return True


def predicate_of(pushed: Any) -> Predicate | None:
    """Return a filter of Spark as a condition on a top-level column; None if it is of another kind."""
    kind = type(pushed).__name__
    if kind == "Not":
        inner = predicate_of(pushed.child)
        negated = None if inner is None else _NEGATED.get(inner.comparison)
        return None if inner is None or negated is None else Predicate(inner.column, negated, inner.values)
    comparison = _COMPARISONS.get(kind)
    if comparison is None or len(pushed.attribute) != 1:
        return None
    values: tuple[Any, ...] = ()
    if comparison is Comparison.IN:
        values = tuple(pushed.value)
    elif comparison.value_count:
        values = (pushed.value,)
    return None if None in values else Predicate(pushed.attribute[0], comparison, values)


def _check_types(wanted: "SparkStructType", schema: StructType) -> None:
    stored = spark_columns(schema)
    types = {field.name: field.dataType for field in stored.fields}
    for field in wanted.fields:
        if field.name not in types:
            raise InvalidRequestError(
                f"The table has no column {field.name!r}.", hint=f"Its columns are: {', '.join(types)}."
            )
        if field.dataType != types[field.name]:
            raise InvalidRequestError(
                f"The column {field.name!r} has the type {types[field.name].simpleString()} in the table, but the "
                f"schema of the read says {field.dataType.simpleString()}.",
                hint="Leave the schema out, and cast the column after the read. If the column was widened since the "
                "table was loaded, load the table again.",
            )
