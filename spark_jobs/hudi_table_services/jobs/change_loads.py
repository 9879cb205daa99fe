"""Load the changes of a table into another table, each change exactly once (docs/incremental-chains.md)."""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.model.reading.query import EARLIEST
from hudi_table_services.model.schema import DELETED_FLAG, META_COLUMNS
from hudi_table_services.options.keys.empty_commits import ALLOW_EMPTY_COMMIT
from hudi_table_services.options.keys.writing import METADATA_KEY_PREFIX
from hudi_table_services.reading.read_changes import TableChanges, read_changes
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.table_store import find_table_config
from hudi_table_services.tables.reading.change_positions import POSITION_KEY, change_position
from hudi_table_services.tables.table import TableAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSource:
    """The table whose changes a load reads.

    Attributes:
        base_path: path or URI of the table.
        chain: name of the chain, under which the target stores its position. Each source of a target needs its own.
        columns: the columns to read; None for all columns of the user.
        begin: read again from this point in time, exclusive, or from ``earliest``; empty to continue from the position
            of the target, or to begin with the whole table.
        options: Hudi's read options.
        storage_options: settings of an object store or of HDFS.
    """

    base_path: str
    chain: str
    columns: Sequence[str] | None = None
    begin: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


def load_changes(
    spark: "SparkSession",
    request: UpsertRequest,
    source: ChangeSource,
    transform: "Callable[[DataFrame], DataFrame] | None" = None,
) -> JobResult:
    """Write the changes of the source since the last load into the target, with deletes, in one commit.

    A retry, a second run at the same time or a run after a crash neither loses a change nor writes it twice. Without
    new commits of the source, nothing is written. The target gets the column `DELETED_FLAG`, by which Hudi recognizes
    deletes; it is false in all rows.

    Args:
        request: the upsert of the target, without a source and without a request id: the id follows from the position.
        transform: converts the changed rows of the source to rows of the target. It is applied to deleted rows, too, so
            it must convert each row on its own, and its result must have the record key and the partition columns.

    Raises:
        InvalidRequestError: the request has a source, a request id or another operation; the chain has no name; or
            files of the source that the window needs were deleted. The message names the setting that keeps them.
        HudiTableServiceError: see `read_changes` and `upsert`.
    """
    _check(request, source)
    position = _position(request, source.chain)
    begin = source.begin or position or EARLIEST
    changes = read_changes(
        spark,
        source.base_path,
        begin,
        columns=source.columns,
        options=source.options,
        storage_options=source.storage_options,
    )
    identity = _identity(source.chain, position, begin)
    _LOG.info("Chain %s, from %s until %s: %s", source.chain, begin, changes.until, changes.plan)
    if changes.until == begin:
        return JobResult(
            request_id=identity,
            base_path=request.base_path,
            operation=request.operation,
            outcome=Outcome.NOTHING_TO_DO,
            reason=f"{source.base_path} has no commit after {begin}",
        )
    return _write(spark, request, changes, identity, source, transform or _unchanged)


def _write(
    spark: "SparkSession",
    request: UpsertRequest,
    changes: TableChanges,
    identity: str,
    source: ChangeSource,
    transform: "Callable[[DataFrame], DataFrame]",
) -> JobResult:
    prefix = request.options.get(METADATA_KEY_PREFIX.key, METADATA_KEY_PREFIX.default)
    stored = {f"{prefix}{POSITION_KEY}{source.chain}": changes.until, ALLOW_EMPTY_COMMIT.key: "true"}
    deleted = _flagged(transform(_without_meta(changes.deleted)), "true")
    changed = _flagged(transform(_without_meta(changes.changed)), "false")
    # The changed rows come last: of two rows with the same key and ordering value, the write keeps the later one.
    rows = deleted.unionByName(changed)
    return upsert(spark, replace(request, request_id=identity, options={**request.options, **stored}), rows)


def _flagged(rows: "DataFrame", is_deleted: str) -> "DataFrame":
    return rows.selectExpr("*", f"{is_deleted} AS {DELETED_FLAG}")


def _check(request: UpsertRequest, source: ChangeSource) -> None:
    problem = ""
    if request.source is not None:
        problem = "has a source, but its rows are the changes of a table"
    elif request.can_be_repeated:
        problem = "has a request id, but the id of a load follows from the position of the target"
    elif request.operation != "upsert":
        problem = f"has the operation {request.operation}, but loads only upsert and delete rows"
    elif request.dry_run:
        problem = "is a dry run, which loads of changes do not support"
    if problem:
        raise InvalidRequestError(f"The request of the load {problem}.", hint="Leave the field out.")
    if not source.chain.strip():
        raise InvalidRequestError(
            "The chain has no name.", hint="Give a name that no other source of the target has."
        )


def _position(request: UpsertRequest, chain: str) -> str:
    storage = open_storage(request.base_path, request.storage_options)
    config = find_table_config(storage)
    if config is None:
        return ""
    return change_position(TableAccess(storage=storage, clock=SystemClock(), config=config), chain)


def _identity(chain: str, position: str, begin: str) -> str:
    """Return the request id: the same for all loads that start from the same position."""
    digest = hashlib.sha256("\n".join((chain, position, begin)).encode()).hexdigest()[:16]
    return f"changes/{chain}/{begin}/{digest}"


def _unchanged(rows: "DataFrame") -> "DataFrame":
    return rows


def _without_meta(rows: "DataFrame") -> "DataFrame":
    """Leave out Hudi's meta columns: the target has its own."""
    return rows.drop(*META_COLUMNS)
