"""Plan reads from the arguments of users, and read the rows. This module needs pyarrow, but not Spark."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.log_merging.column_defaults import column_defaults
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.reading.slice_parts import SlicePart
from hudi_table_services.execution.reading.slice_rows import SliceReader, result_schema
from hudi_table_services.options.reading.read_options import read_request
from hudi_table_services.planning.reading.column_predicates import parse_predicates
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.reading.table_scan import TableScan, plan_table_scan
from hudi_table_services.tables.reading.unseen_logs import UnseenLogs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyarrow import Table

_LOG = logging.getLogger(__name__)


def plan_read(
    storage: Storage,
    options: Mapping[str, str],
    *,
    columns: Sequence[str] | None = None,
    filters: Sequence[object] = (),
) -> TableScan:
    """Plan a read and log the plan.

    Raises:
        HudiTableServiceError: see `read_request` and `plan_table_scan`.
    """
    request = read_request(options, columns=columns, predicates=parse_predicates(filters))
    for warning in request.warnings:
        _LOG.warning("%s", warning)
    scan = plan_table_scan(storage, request, SystemClock())
    _LOG.info("%s", scan.explain())
    return scan


def slice_reader(storage: Storage, scan: TableScan) -> SliceReader:
    """Return the reader of the slices of a scan. It can be pickled."""
    merging = None
    if scan.rule is not None:
        merging = LogMerging(
            rule=scan.rule,
            visibility=scan.visibility,
            defaults=column_defaults(scan.rule, scan.schema_json, scan.schema),
            base_commits=scan.base_commits,
        )
    data_schema = arrow_schema(scan.schema, with_meta_fields=False)
    return SliceReader(
        storage=storage,
        data_schema=data_schema,
        columns=result_schema(data_schema, scan.columns),
        predicates=scan.predicates,
        merging=merging,
        keys=scan.keys,
        gone=scan.gone,
        had_no_rows=UnseenLogs(storage, scan.visibility),
    )


def rows_of_scan(storage: Storage, scan: TableScan) -> "Iterator[Table]":
    """Yield the rows of a scan as Arrow tables in this process, without Spark.

    Raises:
        HudiTableServiceError: see `SliceReader.rows`.
    """
    reader = slice_reader(storage, scan)
    for each in scan.plan.slices:
        yield from reader.rows(SlicePart(each))
