"""Load the changes of a table into another table, each change exactly once (docs/incremental-chains.md)."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import SourceMode, SourceSpec, UpsertRequest, refuse_as_load
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.execution.reading.frame_joins import without_keys
from hudi_table_services.execution.reading.source_query import query_rows
from hudi_table_services.jobs.change_source import (
    ChangeSource,
    LoadStart,
    completed_load,
    explained,
    group_columns,
    key_columns,
    nothing_new,
    start_of,
    too_many_parallel_loads,
)
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.model.schema import DELETED_FLAG, META_COLUMNS
from hudi_table_services.model.write_stat import LOAD_REQUEST_KEY
from hudi_table_services.options.keys.empty_commits import ALLOW_EMPTY_COMMIT
from hudi_table_services.options.keys.writing import METADATA_KEY_PREFIX
from hudi_table_services.options.reading.read_options import change_request
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.reading.changed_groups import read_changed_groups
from hudi_table_services.reading.read_changes import TableChanges, changes_of
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.table_store import find_table_config
from hudi_table_services.tables.reading.change_positions import POSITION_KEY, SOURCE_KEY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ChangeSource", "load_changed_groups", "load_changes", "load_source"]

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """What a load writes.

    Attributes:
        rows: the rows to write into the target, with the column `DELETED_FLAG`; None if the source has no new commit.
        until: the position after the load.
        plan: a description of what the load reads.
        waits_for: see `ChangeScan.waits_for`.
    """

    rows: "DataFrame | None"
    until: str
    plan: str
    waits_for: str


def load_changes(
    spark: "SparkSession",
    request: UpsertRequest,
    source: ChangeSource,
    transform: "Callable[[DataFrame], DataFrame] | None" = None,
) -> JobResult:
    """Write the changes of the source since the last load into the target, with deletes, in one commit.

    A retry, a second run at the same time or a run after a crash neither loses a change nor writes it twice. Without
    new commits of the source, nothing is written. The target gets the column `DELETED_FLAG`, by which Hudi recognizes
    deletes. The column is false in all rows that the target keeps.

    Args:
        request: the upsert of the target, without a source. The load derives the request id of its commit from the
            position of the chain. If a commit of the target already contains the id of this request, the load returns
            the result of that commit and writes nothing.
        transform: converts rows of the source to rows of the target. The load applies it to the old and the new version
            of each changed row, and to deleted rows. So `transform` must convert each row on its own, and its result
            must have the record key and the partition columns. If `transform` leaves a row out or gives it another key,
            the load deletes the row from the target under its former key.

    Raises:
        InvalidRequestError: the request has a source, or an operation that loads do not support; the chain has no name;
            or the source cannot be read from the position of the target, because files were deleted or the commit at
            the position was undone. The message names source, target and position.
        HudiTableServiceError: see `read_changes` and `upsert`.
    """

    def changes_from(start: LoadStart) -> _Changes:
        wanted = change_request(source.read_options, start.begin, source.columns)
        storage = open_storage(source.base_path, source.storage_options)
        found = changes_of(spark, storage, wanted, with_replaced=transform is not None)
        rows = _changed_rows(request, found, transform) if found.commit_count else None
        return _Changes(rows=rows, until=found.until, plan=found.plan, waits_for=found.waits_for)

    return _load(spark, request, source, changes_from)


def _changed_rows(
    request: UpsertRequest, found: TableChanges, transform: "Callable[[DataFrame], DataFrame] | None"
) -> "DataFrame":
    """Return the changed rows and the rows to delete. An earlier row is deleted if no changed row has its key."""
    if transform is None:
        changed, deleted = _without_meta(found.changed), _without_meta(found.deleted)
    else:
        changed = transform(_without_meta(found.changed))
        names = key_columns(request)
        if nested := [name for name in names if "." in name]:
            raise UnsupportedTableError(
                f"A load with a query cannot compare the nested key column {nested[0]}.",
                hint="Select the value into a column of its own, and use this column as the record key of the target.",
            )
        deleted = transform(_without_meta(found.replaced))
        # If a key column is missing, do not compare: a comparison by the other columns would lose deletes. The write
        # then fails, and its error names the column.
        has_keys = set(names) <= set(changed.columns)
        deleted = without_keys(deleted, changed, names) if has_keys else deleted
    # The changed rows come last: of two rows with the same key and ordering value, the write keeps the later one.
    return _flagged(deleted, "true").unionByName(_flagged(changed, "false"))


def load_changed_groups(
    spark: "SparkSession",
    request: UpsertRequest,
    source: ChangeSource,
    aggregate: "Callable[[DataFrame], DataFrame]",
) -> JobResult:
    """Compute again each group in which the source has changed since the last load, and write it into the target.

    The record key of the target identifies a group; its columns must be columns of the source, and their values must
    be the same in both tables. Groups that `aggregate` does not return any more are deleted from the target. Apart
    from that, this function works like `load_changes`.

    Args:
        aggregate: computes the rows of the target from all rows of the changed groups, one row for each group.

    Raises:
        InvalidRequestError: see `load_changes`; or a partition column or an ordering field of the target is not
            suitable (see `group_columns`).
        HudiTableServiceError: see `read_changed_groups` and `upsert`.
    """
    config = find_table_config(open_storage(request.base_path, request.storage_options))
    names = group_columns(request, config)

    def changes_from(start: LoadStart) -> _Changes:
        found = read_changed_groups(
            spark,
            source.base_path,
            start.begin,
            names,
            options=source.read_options,
            storage_options=source.storage_options,
        )
        if not found.commit_count:
            return _Changes(rows=None, until=found.until, plan=found.plan, waits_for=found.waits_for)
        computed = aggregate(_without_meta(found.rows))
        _require_groups(computed, names)
        gone = without_keys(found.keys, computed, names)
        rows = _flagged(computed, "false").unionByName(_flagged(gone, "true"), allowMissingColumns=True)
        return _Changes(rows=rows, until=found.until, plan=found.plan, waits_for=found.waits_for)

    return _load(spark, request, source, changes_from)


def load_source(spark: "SparkSession", request: UpsertRequest, spec: SourceSpec) -> JobResult:
    """Load the changes of the table that the source of a request names, in the mode that this source has.

    Raises:
        HudiTableServiceError: see `load_changes` and `load_changed_groups`.
    """
    source = ChangeSource.of(spec, request.storage_options)
    sql, own = spec.sql, replace(request, source=None)

    by_groups = spec.mode == SourceMode.CHANGED_GROUPS.value

    def convert(rows: "DataFrame") -> "DataFrame":
        return rows if sql is None else query_rows(spark, rows, sql, row_by_row=not by_groups)

    if by_groups:
        return load_changed_groups(spark, own, source, convert)
    return load_changes(spark, own, source, None if sql is None else convert)


def _load(
    spark: "SparkSession",
    request: UpsertRequest,
    source: ChangeSource,
    changes_from: Callable[[LoadStart], _Changes],
) -> JobResult:
    _check(request, source)
    if (completed := completed_load(request)) is not None:
        return completed
    for _ in range(_ATTEMPTS):
        start = start_of(request, source)
        with explained(request, source, start):
            changes = changes_from(start)
        _LOG.info("Chain %s, from %s until %s: %s", source.chain, start.begin, changes.until, changes.plan)
        if changes.waits_for:
            _LOG.warning(
                "The load reads only commits before the pending write %s of %s.",
                changes.waits_for,
                source.base_path,
            )
        if changes.rows is None:
            return nothing_new(request, source, start, changes.waits_for)
        result = _write(spark, request, source, start, changes)
        if request.can_be_repeated and not result.reused:
            return replace(result, request_id=request.request_id)
        # Return the result of another load only if the request has no request id and the source has no begin.
        if not result.reused or not (request.can_be_repeated or source.begin.strip()):
            return result
        _LOG.info("Another load has committed this window; continuing from its position.")
    raise too_many_parallel_loads(source)


def _write(
    spark: "SparkSession", request: UpsertRequest, source: ChangeSource, start: LoadStart, changes: _Changes
) -> JobResult:
    prefix = request.options.get(METADATA_KEY_PREFIX.key, METADATA_KEY_PREFIX.default)
    stored = {
        f"{prefix}{POSITION_KEY}{source.chain}": changes.until,
        f"{prefix}{SOURCE_KEY}{source.chain}": source.base_path,
        **({f"{prefix}{LOAD_REQUEST_KEY}": request.request_id} if request.can_be_repeated else {}),
        ALLOW_EMPTY_COMMIT.key: "true",
    }
    own = replace(request, request_id=start.identity, options={**request.options, **stored})
    return upsert(spark, own, changes.rows)


def _flagged(rows: "DataFrame", is_deleted: str) -> "DataFrame":
    return rows.selectExpr("*", f"{is_deleted} AS {DELETED_FLAG}")


def _check(request: UpsertRequest, source: ChangeSource) -> None:
    if request.source is not None:
        raise InvalidRequestError(
            "The request of the load has a source, but its rows are the changes of a table.",
            hint="Leave the field out.",
        )
    refuse_as_load(request, source.begin, resolve_options(request).operation.value.lower())
    if not source.chain.strip():
        raise InvalidRequestError(
            "The chain has no name.", hint="Give a name that no other source of the target has."
        )


def _require_groups(computed: "DataFrame", names: Sequence[str]) -> None:
    if missing := [name for name in names if name not in computed.columns]:
        raise InvalidRequestError(
            f"The computed groups have no column {missing[0]!r}, which is part of the record key of the target.",
            hint="Return the columns of the record key of the target under the names that they have in the source.",
        )


def _without_meta(rows: "DataFrame") -> "DataFrame":
    """Leave out Hudi's meta columns, and the `DELETED_FLAG` of a source that is itself the target of another load."""
    return rows.drop(*META_COLUMNS, DELETED_FLAG)
