"""Find where a load of changes begins in its source, and whether there is anything to load. Needs no Spark."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from hudi_table_services.contract.completed_request import result_of_completed
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import SourceMode, SourceSpec, UpsertRequest, is_same_location
from hudi_table_services.errors import CommitConflictError, InvalidRequestError, TableNotFoundError
from hudi_table_services.jobs.writing.new_table import refuse_incomplete_request
from hudi_table_services.jobs.writing.table_access import check_table, delete_leftovers
from hudi_table_services.model.reading.query import EARLIEST, HolesPolicy
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.keys.key_generation import PARTITION_PATH, RECORD_KEY
from hudi_table_services.options.keys.reading import HOLES_POLICY
from hudi_table_services.options.option import AnyOption
from hudi_table_services.options.reading.read_options import change_request
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.table.source_columns import refuse_query_without_view
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.nearby_tables import with_nearby_tables
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.table_store import find_table_config, read_table_config
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.reading.change_positions import (
    ChainPosition,
    find_position,
    positions_of_all_chains,
)
from hudi_table_services.tables.reading.change_scan import plan_changes
from hudi_table_services.tables.reading.points_in_time import window_bound
from hudi_table_services.tables.reading.visible_state import IncompleteState
from hudi_table_services.tables.request_lookup import find_completed_anywhere, refuse_running_load
from hudi_table_services.tables.table import TableAccess

_WHOLE_SOURCE = (
    f"To take over the whole source, run the load once with the begin {EARLIEST} (--source-begin {EARLIEST}). With the "
    "operation insert_overwrite_table, this load also removes rows that the source does not have any more."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSource:
    """The table whose changes a load reads.

    Attributes:
        base_path: path or URI of the table.
        chain: name of the chain. Under this name, the target stores the position until which it has read the source.
            Each source of a target needs a chain of its own.
        columns: the columns to read; None for all columns of the user.
        begin: read again from this point in time, exclusive, or from ``earliest``; empty to continue from the position
            that the target stores or, without such a position, to begin at `first_begin`.
        first_begin: point in time, exclusive, from which the first load of the chain reads; empty to begin with the
            whole table.
        options: Hudi's read options.
        storage_options: settings of an object store or of HDFS.
    """

    base_path: str
    chain: str
    columns: Sequence[str] | None = None
    begin: str = ""
    first_begin: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def read_options(self) -> Mapping[str, str]:
        """Return the options of the read.

        By default, the read ends before the first pending write. A later load reads this write.
        """
        return {HOLES_POLICY.key: HolesPolicy.BLOCK.value, **self.options}

    @classmethod
    def of(cls, spec: SourceSpec, storage_options: Mapping[str, str]) -> "ChangeSource":
        """Return the source that a request describes.

        Args:
            storage_options: the settings of the target, which also apply to the source unless it has its own settings.
        """
        return cls(
            base_path=spec.table,
            chain=spec.chain,
            begin=spec.begin,
            first_begin=spec.first_begin,
            options=spec.options,
            storage_options=storage_options if spec.storage_options is None else spec.storage_options,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStart:
    """Where a load begins.

    Attributes:
        position: the position that the target stores; None before the first load of the chain.
        begin: the point in time, exclusive, from which the load reads.
        identity: the request id of all loads that have this position, whatever their begin is. At most one of them
            commits.
    """

    position: ChainPosition | None
    begin: str
    identity: str


def start_of(request: UpsertRequest, source: ChangeSource) -> LoadStart:
    """Read the position of the target, and return where the load begins.

    Raises:
        InvalidRequestError: there is no table at the path of the source; the source is the target; the chain has read
            another source; the begin would skip changes; the load of another chain has replaced the target; or the
            commit at the position of the target was undone in the source, or is unknown there.
    """
    position = _position(request, source)
    begin = source.begin.strip() or (position.time if position is not None else source.first_begin.strip())
    identity = _identity(source.chain, position)
    start = LoadStart(position=position, begin=begin or EARLIEST, identity=identity)
    _check_start(request, source, start)
    return start


def completed_load(request: UpsertRequest) -> JobResult | None:
    """Return the result of the load that completed the request, or None. Delete temporary files of this load."""
    storage = open_storage(request.base_path, request.storage_options)
    config = find_table_config(storage)
    if config is None or not request.can_be_repeated:
        return None
    table = TableAccess(storage=storage, clock=SystemClock(), config=config)
    found = find_completed_anywhere(
        storage, config, table.timeline_store, table.load_timeline(), request.request_id
    )
    if found is None:
        return None
    # The attempt that committed may have died before it deleted its temporary files.
    delete_leftovers(table, request, resolve_options(request))
    return result_of_completed(request, *found)


def check_load(request: UpsertRequest, spec: SourceSpec) -> JobResult | None:
    """Check a load before Spark starts; return its result if it has nothing to load or is completed.

    Raises:
        HudiTableServiceError: the load would fail with the same error.
    """
    if (completed := completed_load(request)) is not None:
        return completed
    refuse_query_without_view(spec)
    groups = spec.mode == SourceMode.CHANGED_GROUPS.value
    target = open_storage(request.base_path, request.storage_options)
    config, options = find_table_config(target), resolve_options(request)
    if config is None:
        refuse_incomplete_request(target, request, options)
    else:
        check_table(request, options, config)
    if groups:
        group_columns(request, config)
    source = ChangeSource.of(spec, request.storage_options)
    start = start_of(request, source)
    if config is not None:
        table = TableAccess(storage=target, clock=SystemClock(), config=config)
        refuse_running_load(
            table,
            table.load_timeline(),
            start.identity,
            request.request_id if request.can_be_repeated else "",
        )
    with explained(request, source, start):
        storage = open_storage(source.base_path, source.storage_options)
        scan = plan_changes(
            storage,
            change_request(source.read_options, start.begin, source.columns),
            with_replaced=groups or spec.sql is not None,
            with_whole=groups,
        )
    return nothing_new(request, source, start, scan.waits_for) if not scan.commit_count else None


def nothing_new(
    request: UpsertRequest, source: ChangeSource, start: LoadStart, waits_for: str = ""
) -> JobResult:
    """Return the result of a load that can read no commit of the source after its begin.

    Args:
        waits_for: see `ChangeScan.waits_for`.
    """
    after = start.begin
    if start.position is not None:
        after += f", the position of the chain {source.chain!r}"
    reason = f"{source.base_path} has no commit after {after}"
    if waits_for:
        reason = (
            f"the write {waits_for} is pending, so the load cannot yet read commits of {source.base_path} after "
            f"{after}. A load reads them when the pending write is completed or rolled back. If the writer of "
            f"{waits_for} died, roll {waits_for} back"
        )
    return JobResult(
        request_id=request.request_id if request.can_be_repeated else start.identity,
        base_path=request.base_path,
        table_name=request.table_name,
        service=request.service,
        operation=request.operation,
        outcome=Outcome.NOTHING_TO_DO,
        reason=reason,
    )


def group_columns(request: UpsertRequest, config: TableConfig | None) -> tuple[str, ...]:
    """Return the columns that identify a group: the record key of the target.

    Args:
        config: properties of the target; None if the load creates it.

    Raises:
        InvalidRequestError: a partition column or an ordering field of the target is not part of the record key.
    """
    names, partitions = _keys_and_partitions(request, config)
    ordering = config.ordering_fields if config is not None else resolve_options(request).ordering_fields
    for name in partitions:
        if name not in names:
            raise InvalidRequestError(
                f"The target is partitioned by {name!r}, which is not part of its record key {', '.join(names)}. A "
                "load of changed groups can then not delete groups that lost all their rows.",
                hint="Partition the target by columns of its record key, or do not partition it.",
            )
    if ordering:
        raise InvalidRequestError(
            f"The target has the ordering field {ordering[0]!r}. A load of changed groups computes each group again "
            "from the whole source, so the newer load must win.",
            hint="Write changed groups into a table without an ordering field.",
        )
    return names


@contextmanager
def explained(request: UpsertRequest, source: ChangeSource, start: LoadStart) -> Iterator[None]:
    """Convert an error about deleted files of the source into an error that names source, target and position."""
    try:
        yield
    except InvalidRequestError as error:
        if not isinstance(error.evidence, IncompleteState):
            raise
        read = "has read" if start.position is not None else "is to read"
        bound = "until" if start.position is not None else "after"
        raise InvalidRequestError(
            f"The target {request.base_path} {read} the source {source.base_path} {bound} {start.begin} (chain "
            f"{source.chain!r}), and a clean of the source has deleted files that later changes need. "
            f"{error.message}",
            hint=f"{_WHOLE_SOURCE} {error.hint.partition('. ')[2]}".strip(),
        ) from error


def refuse_other_chains(request: UpsertRequest, chain: str) -> None:
    """Refuse to replace a target that has other sources.

    Raises:
        InvalidRequestError: the target stores a position of another chain, and no later commit has replaced all rows.
    """
    table = _target(request)
    others = [each.chain for each in positions_of_all_chains(table) if each.chain != chain] if table else []
    if others:
        raise InvalidRequestError(
            f"The load would replace the whole target {request.base_path}, which also contains the rows of the chain "
            f"{others[0]!r}.",
            hint=f"Use the operation upsert with the begin {EARLIEST}. If no load has the chain {others[0]!r} any "
            "more, for example because it was renamed, first write the target once with the operation "
            "insert_overwrite_table and without a source table: earlier positions then no longer count.",
        )


def too_many_parallel_loads(source: ChangeSource) -> CommitConflictError:
    """Return the error of a load that read several windows of changes, each of which another load committed first."""
    return CommitConflictError(
        f"Other loads of the chain {source.chain!r} have committed each window that this load read.",
        hint="Nothing was lost. Run the load again, or let the loads take turns.",
    )


def key_columns(request: UpsertRequest) -> tuple[str, ...]:
    """Return the columns that identify a row of the target in its partition: record key and partition columns."""
    table = _target(request)
    names, partitions = _keys_and_partitions(request, table.config if table is not None else None)
    return (*names, *(name for name in partitions if name not in names))


def _keys_and_partitions(
    request: UpsertRequest, config: TableConfig | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if config is not None:
        return config.record_key_fields, config.partition_fields
    options = resolve_options(request)
    partitions = (name.partition(":")[0] for name in _names_in(options, PARTITION_PATH))
    return _names_in(options, RECORD_KEY), tuple(partitions)


def _names_in(options: WriteOptions, key: AnyOption) -> tuple[str, ...]:
    given = options.hoodie_options.get(key.key, "")
    return tuple(each.strip() for each in given.split(",") if each.strip())


def _target(request: UpsertRequest) -> TableAccess | None:
    storage = open_storage(request.base_path, request.storage_options)
    config = find_table_config(storage)
    return TableAccess(storage=storage, clock=SystemClock(), config=config) if config is not None else None


def _position(request: UpsertRequest, source: ChangeSource) -> ChainPosition | None:
    table = _target(request)
    return find_position(table, source.chain) if table is not None else None


def _identity(chain: str, position: ChainPosition | None) -> str:
    """Return the request id of all loads that found this position in the same commit of the target.

    The begin of a load is not part of the id. So if a load reads an earlier window again while another load continues
    from the position, only one of them commits. The other load would store an older state of rows.
    """
    known = (position.time, position.instant.requested_time) if position is not None else ("", "")
    place = known[0] or EARLIEST
    digest = hashlib.sha256("\n".join((chain, *known, place)).encode()).hexdigest()[:16]
    return f"changes/{chain}/{place}/{digest}"


def _check_start(request: UpsertRequest, source: ChangeSource, start: LoadStart) -> None:
    if is_same_location(request.base_path, source.base_path):
        raise InvalidRequestError(
            f"The table {source.base_path} cannot be the source of its own load.",
            hint="Give another table as the source.",
        )
    storage = open_storage(source.base_path, source.storage_options)
    try:
        config = read_table_config(storage)
    except TableNotFoundError as error:
        near = with_nearby_tables(error, source.base_path, source.storage_options)
        raise InvalidRequestError(
            f"The source {source.base_path} is not a Hudi table.",
            hint="Correct the path of the source table, or write the table first."
            if near is error
            else near.hint,
        ) from error
    position = start.position
    if resolve_options(request).operation is not WriteOperation.UPSERT:
        refuse_other_chains(request, source.chain)
    elif position is not None:
        _refuse_other_source(request, source, position)
    if position is None:
        return
    if position.replaced_by and window_bound(start.begin, config):
        raise InvalidRequestError(
            f"In the commit {position.replaced_by}, the load of another chain has replaced all rows of the target "
            f"{request.base_path}, including those of the chain {source.chain!r}.",
            hint=f"To load this source again, run the load once with the begin {EARLIEST} (--source-begin {EARLIEST}).",
        )
    if not source.begin.strip():
        table = TableAccess(storage=storage, clock=SystemClock(), config=config)
        _refuse_undone(request, source, position, table)
    elif window_bound(start.begin, config) > position.time:
        raise InvalidRequestError(
            f"The target {request.base_path} has read the source {source.base_path} until {position.time} (chain "
            f"{source.chain!r}). A load from {source.begin} would skip the changes between these times.",
            hint="Leave the begin out, or give an earlier time.",
        )


def _refuse_other_source(request: UpsertRequest, source: ChangeSource, position: ChainPosition) -> None:
    if not position.source or is_same_location(position.source, source.base_path):
        return
    raise InvalidRequestError(
        f"The chain {source.chain!r} of the target {request.base_path} has read the source {position.source}, but this "
        f"load reads the source {source.base_path}.",
        hint="Give this source a chain of its own (--source-chain). To replace all rows of the target by this source, "
        f"run the load once with the operation insert_overwrite_table and the begin {EARLIEST} "
        f"(--source-begin {EARLIEST}). If both paths name the same table, give the first path.",
    )


def _refuse_undone(
    request: UpsertRequest, source: ChangeSource, position: ChainPosition, table: TableAccess
) -> None:
    """Refuse a position at which neither the timeline nor the archive of the source contains a commit."""
    if position.time in {each.visible_from for each in table.load_timeline().completed_writes}:
        return
    if ArchivedTimeline(table.storage, table.config).has_write(position.time):
        return
    raise InvalidRequestError(
        f"The target {request.base_path} has read the source {source.base_path} until the commit of {position.time} "
        f"(chain {source.chain!r}), but the source contains no such commit. A rollback or a restore has undone the "
        "commit, or the source was created again. The target may contain rows that the source does not have.",
        hint=_WHOLE_SOURCE,
    )
