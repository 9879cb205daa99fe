"""Readers of streams: ``spark.readStream.format("hudi_native").load(path)`` (docs/adr/0056).

Spark plans a micro-batch in a Python process that lives as long as the query, and passes offsets as JSON. Spark 4.2 and
newer pass the start of a batch to `latestOffset` if the method has parameters; older releases call the method without
arguments. So there are two classes.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.stream import BatchLimits
from hudi_table_services.model.schema import StructType, with_meta_columns
from hudi_table_services.options.keys.reading import BYTES_PER_BATCH, COMMITS_PER_BATCH
from hudi_table_services.options.reading.stream_options import StreamRequest
from hudi_table_services.reading.scan_partitions import Selection, rows_of_partition, scan_partitions
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.reading.stream_positions import (
    BEFORE_ALL_COMMITS,
    first_position,
    next_position,
)

if TYPE_CHECKING:
    from pyarrow import RecordBatch

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
except ModuleNotFoundError:  # Spark 4.0 and 4.1
    HAS_LIMITS = False
else:
    HAS_LIMITS = True

Offset = Mapping[str, str]
_TIME = "commitTime"
"""Name of the field of an offset, as in the offsets of Hudi."""

_LOG = logging.getLogger(__name__)


class HudiNativeStreamReader(DataSourceStreamReader):
    """Plans the micro-batches of a stream, and reads them. This class is for Spark 4.0 and 4.1.

    Args:
        schema: columns of the table when the stream started.
    """

    def __init__(
        self, storage: Storage, request: StreamRequest, schema: StructType, selection: Selection
    ) -> None:
        self._storage = storage
        self._request = request
        self._schema = schema
        self._selection = selection
        self._holes = request.holes
        self._reached = ""

    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - the name in Spark's API
        """Return where a stream without checkpoint begins."""
        return {_TIME: first_position(self._storage, self._request.start, self._holes)}

    def latestOffset(self) -> dict[str, str]:  # type: ignore[override]  # noqa: N802
        """Return the position after the newest commit."""
        start = self._reached or BEFORE_ALL_COMMITS
        self._reached = self._next({_TIME: start}, BatchLimits())
        return {_TIME: self._reached}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Plan a batch.

        Raises:
            HudiTableServiceError: see `Selection.plan`; or commits were undone, or the type of a column has changed.
        """
        begin, until = start[_TIME], end[_TIME]
        if begin == until:
            return []
        if until < begin:
            raise InvalidRequestError(
                f"The stream has read the commits until {begin}, but the newest commit of the table is now {until}.",
                hint="A restore has undone commits. Start the stream with a new checkpoint, or after a newer commit.",
            )
        scan = self._selection.plan(self._storage, self._request.options_of(begin, until))
        _refuse_other_types(self._schema, scan.schema, self._selection.columns)
        return scan_partitions(self._storage, scan)

    def read(self, partition: InputPartition) -> "Iterator[RecordBatch]":
        """Yield the rows of a partition."""
        yield from rows_of_partition(partition)

    def _next(self, start: Offset, limits: BatchLimits, at_most: str = "") -> str:
        return next_position(self._storage, start[_TIME], limits, self._holes, at_most=at_most)


if HAS_LIMITS:

    class LimitedStreamReader(HudiNativeStreamReader, SupportsTriggerAvailableNow):
        """A reader whose batches have limits, for Spark 4.2 and newer."""

        _target = ""
        """The last position that a query with the trigger ``availableNow`` may reach; empty for other triggers."""

        def latestOffset(self, start: Offset, limit: "ReadLimit") -> dict[str, str]:  # type: ignore[override]  # noqa: N802
            """Return the end of the next batch."""
            limits = BatchLimits() if isinstance(limit, ReadAllAvailable) else self._request.limits
            self._reached = self._next(start, limits, self._target)
            return {_TIME: self._reached}

        def getDefaultReadLimit(self) -> "ReadLimit":  # noqa: N802
            """Return the limit that Spark passes to `latestOffset`.

            Spark has no class for a number of commits, so this method uses the class for a number of files.
            """
            limits = self._request.limits
            if limits.size_bytes is not None:
                return ReadMaxBytes(limits.size_bytes)
            return ReadMaxFiles(limits.commits) if limits.commits is not None else ReadAllAvailable()

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
            """Store the position after the newest commit, because the query does not read later commits."""
            self._target = first_position(self._storage, "latest", self._holes)

        def reportLatestOffset(self) -> dict[str, str]:  # noqa: N802
            """Return the position after the newest commit, for the progress of the query."""
            return {_TIME: first_position(self._storage, "latest", self._holes)}


def stream_reader(
    storage: Storage, request: StreamRequest, schema: StructType, selection: Selection
) -> HudiNativeStreamReader:
    """Return the reader for the installed release of Spark.

    Raises:
        InvalidRequestError: Spark 4.0 or 4.1 cannot limit batches.
    """
    for warning in request.warnings:
        _LOG.warning("%s", warning)
    if HAS_LIMITS:
        return LimitedStreamReader(storage, request, schema, selection)
    if request.limits.are_set:
        raise InvalidRequestError(
            f"{COMMITS_PER_BATCH} and {BYTES_PER_BATCH} need Spark 4.2 or newer.",
            hint="Leave both options out.",
        )
    return HudiNativeStreamReader(storage, request, schema, selection)


def _refuse_other_types(before: StructType, now: StructType, columns: Sequence[str]) -> None:
    then, current = with_meta_columns(before), with_meta_columns(now)
    for name in columns:
        old, new = then.find(name), current.find(name)
        if old is None or new is None or old.type != new.type:
            raise InvalidRequestError(
                f"The column {name!r} had the type {old and old.type} when the stream started, and now has the type "
                f"{new and new.type}.",
                hint="Start the stream again; it continues from its checkpoint.",
            )
