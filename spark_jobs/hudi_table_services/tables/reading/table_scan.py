"""Plan a read of a table: load the state that the query names, and choose the file slices to open."""

from dataclasses import dataclass, replace

from hudi_table_services.contract.text import counted, similar_column
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Predicate
from hudi_table_services.model.reading.query import EARLIEST, QueryType, TableQuery
from hudi_table_services.model.reading.scan import ScanPlan, SkippingFacts
from hudi_table_services.model.schema import META_COLUMNS, StructType, without_meta_columns
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType
from hudi_table_services.options.keys.cleaning import COMMITS_RETAINED, FLOOR_HOURS
from hudi_table_services.options.reading.read_options import ReadRequest
from hudi_table_services.planning.reading.column_predicates import column_predicates
from hudi_table_services.planning.reading.explanation import explain_scan
from hudi_table_services.planning.reading.partition_pruning import PartitionLayout
from hudi_table_services.planning.reading.scan_planner import ScanConditions, plan_scan
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.planning.table.refused_features import refused_features
from hudi_table_services.storage.archive.repeated_reads import repeat_if_deleted
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.file_slices import Visibility, visibility_of
from hudi_table_services.storage.metadata_table.unusable import some
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.reading.changed_slices import (
    changed_slices,
    refuse_incomplete,
    window_commits,
)
from hudi_table_services.tables.reading.earlier_state import load_earlier_state, refuse_before_active_timeline
from hudi_table_services.tables.reading.file_statistics import FactsReader
from hudi_table_services.tables.reading.points_in_time import instant_of, window_bound
from hudi_table_services.tables.snapshots.log_sizes import refuse_short_logs
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

_COMMIT_TIME = META_COLUMNS[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScan:
    """A planned read. Later writes do not change which files the read opens.

    Attributes:
        schema: all columns of the user in the state that is read.
        columns: names of the columns of the result; None for the meta columns, followed by all other columns.
        predicates: conditions that all rows of the result fulfil.
        keys: the record keys that rows of the result can have; None if the conditions do not limit them.
        rule: how log files are merged; None if log files are ignored or the table has none.
        visibility: the instants whose log blocks are read; other log blocks are ignored.
        base_commits: the commit times of the base rows that take part in the merge with log files; None for all.
        state: words for messages, such as ``the state as of 20260102030405006``.
        until: for an incremental read, the start of the next window; otherwise the requested time of the newest write
            that is read, or an empty string if there is none.
    """

    config: TableConfig
    schema: StructType
    schema_json: str
    columns: tuple[str, ...] | None
    predicates: tuple[ColumnPredicate, ...]
    keys: frozenset[str] | None
    plan: ScanPlan
    rule: MergeRule | None
    visibility: Visibility
    state: str
    until: str
    base_commits: frozenset[str] | None = None

    @property
    def gone(self) -> tuple[str, str]:
        """Two sentences for an error about a file of the scan that no longer exists: what happened, and what to do."""
        return (
            f"This read was planned with {self.state}; since then, a clean has deleted the file, or a rollback has "
            "undone its write.",
            f"Read the table again. If this happens often, raise {COMMITS_RETAINED}, or {FLOOR_HOURS} for cleans of "
            "this project, so that cleans keep the files of running reads.",
        )

    def explain(self) -> str:
        """Return the plan in words."""
        return explain_scan(self.plan, self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where the rows of a query come from."""

    slices: tuple[FileSlice, ...]
    visibility: Visibility
    state: str
    until: str
    extra: tuple[Predicate, ...] = ()
    base_commits: frozenset[str] | None = None
    is_latest: bool = False
    notes: tuple[str, ...] = ()


def plan_table_scan(storage: Storage, request: ReadRequest, clock: Clock) -> TableScan:
    """Plan a read.

    Raises:
        InvalidRequestError: the table has no such column; a filter does not fit its column; or the state or window
            is unknown, incomplete or may still change.
        TableNotFoundError: there is no table.
        UnsupportedTableError: this release does not read the table; the message names the feature.
        CorruptTableError: metadata of the table is damaged, or a log file is shorter than its commit recorded.
        StorageError: a request failed.
    """
    return repeat_if_deleted(lambda: _planned(storage, request, clock), "the timeline")


def _planned(storage: Storage, request: ReadRequest, clock: Clock) -> TableScan:
    query = request.query
    config = read_table_config(storage)
    refuse_features(config)
    merges = config.table_type is TableType.MERGE_ON_READ and query.query_type is not QueryType.READ_OPTIMIZED
    rule = merge_rule(config, request.merge_settings) if merges else None
    partitions = _named_partitions(storage, config, query) if _needs_table(query, config) else ()
    snapshot = _loaded(storage, config, query, partitions)
    source = _source(storage, snapshot, query)
    if partitions:
        note = (
            f"Lists only {counted(len(partitions), 'partition')}, which the filters name: {some(partitions)}."
        )
        source = replace(source, notes=(*source.notes, note))
    if rule is None:
        source = replace(source, slices=tuple(replace(each, log_files=()) for each in source.slices))
    schema_json, schema = schema_of_snapshot(snapshot)
    check_columns(query, schema)
    predicates = column_predicates((*query.predicates, *source.extra), schema)
    reader = FactsReader(
        storage=storage,
        config=config,
        timeline=snapshot.timeline,
        clock=clock,
        schema=schema,
        is_latest=source.is_latest and (merges or config.table_type is TableType.COPY_ON_WRITE),
    )
    conditions = ScanConditions(
        predicates=predicates, layout=PartitionLayout.of(config, schema), needs_base_file=rule is None
    )
    plan = _plan(query, source, conditions, reader)
    if not snapshot.is_from_metadata_table or query.query_type is QueryType.INCREMENTAL:
        # The metadata table contains the recorded sizes, so its listing cannot show that a file is too short.
        refuse_short_logs(TimelineStore(storage, config, clock), snapshot, plan.slices)
    return TableScan(
        config=config,
        schema=schema,
        schema_json=schema_json,
        columns=query.columns,
        predicates=predicates,
        keys=reader.wanted_keys(predicates) if query.skips_files else None,
        plan=plan,
        rule=rule,
        visibility=source.visibility,
        base_commits=source.base_commits,
        state=source.state,
        until=source.until,
    )


def _plan(query: TableQuery, source: _Source, conditions: ScanConditions, reader: FactsReader) -> ScanPlan:
    """Choose the slices. The indexes are read only for slices that the conditions on partitions do not exclude."""
    facts = SkippingFacts()
    if query.skips_files and query.metadata_enable:
        facts = reader.facts(conditions.predicates, plan_scan(source.slices, conditions).slices)
    facts = replace(facts, notes=(*source.notes, *facts.notes))
    return plan_scan(source.slices, replace(conditions, facts=facts))


def schema_of_read(storage: Storage, query: TableQuery) -> StructType:
    """Return the columns of the user in the state that a query reads, without planning the read.

    Raises:
        InvalidRequestError: the table has no completed write; or `query.as_of` is not a point in time, or is before
            the first write of the active timeline.
        TableNotFoundError, CorruptTableError: see `load_snapshot`.
    """
    config = read_table_config(storage)
    as_of = instant_of(query.as_of, config) if query.as_of else None
    snapshot = load_snapshot(storage, (), config=config, as_of=as_of)
    if as_of is not None:
        refuse_before_active_timeline(snapshot.timeline, as_of, ArchivedTimeline(storage, config))
    return schema_of_snapshot(snapshot)[1]


def refuse_features(config: TableConfig) -> None:
    """Raise UnsupportedTableError if the table has a feature with which this release cannot read rows."""
    for feature in refused_features(config, merge_on_read=True, merges_logs=True):
        raise UnsupportedTableError(f"The table {feature}, so this release does not read its rows.")


def _loaded(
    storage: Storage, config: TableConfig, query: TableQuery, partitions: tuple[str, ...] | None
) -> TableSnapshot:
    listing = None if query.metadata_enable else False
    if query.as_of:
        as_of = instant_of(query.as_of, config)
        return load_earlier_state(storage, config, as_of, partitions=partitions, metadata_enable=listing)
    return load_snapshot(storage, partitions, config=config, metadata_enable=listing)


def _named_partitions(storage: Storage, config: TableConfig, query: TableQuery) -> tuple[str, ...] | None:
    """The partitions to list, if the filters name all partitions that the query needs; None to list all partitions."""
    named = {each.column for each in query.predicates if each.comparison in (Comparison.EQUAL, Comparison.IN)}
    if not config.partition_fields or not named.issuperset(config.partition_fields):
        return None
    schema = schema_of_read(storage, query)
    predicates = column_predicates(query.predicates, schema)
    return PartitionLayout.of(config, schema).named_paths(predicates)


def _needs_table(query: TableQuery, config: TableConfig) -> bool:
    """Whether a query may read slices of the whole table. Other queries read only files that commits name."""
    if query.query_type is not QueryType.INCREMENTAL or query.scans_table_if_incomplete:
        return True
    return not query.end and not window_bound(query.begin, config)


def _source(storage: Storage, snapshot: TableSnapshot, query: TableQuery) -> _Source:
    if query.query_type is QueryType.INCREMENTAL:
        return _changes(storage, snapshot, query)
    writes = snapshot.timeline.completed_writes
    newest = max(
        (i.requested_time for i in writes if snapshot.as_of is None or i.requested_time <= snapshot.as_of),
        default="",
    )
    at = snapshot.as_of or newest
    return _Source(
        slices=snapshot.all_slices,
        visibility=visibility_of(snapshot),
        state=f"the state as of {at}" if at else "a table without commits",
        until=newest,
        is_latest=snapshot.as_of is None,
    )


def _changes(storage: Storage, snapshot: TableSnapshot, query: TableQuery) -> _Source:
    window, commits = window_commits(storage, snapshot, query)
    after = f"after {window.after}" if window.after else "from the first commit on"
    source = _Source(
        slices=(),
        visibility=visibility_of(snapshot),
        state=f"the changes of {counted(len(commits.writes), 'commit')} {after}, until {commits.until or 'now'}",
        until=commits.until or EARLIEST,
        notes=(
            "Deleted rows, and the values of rows before the changes, are not part of an incremental read.",
        ),
    )
    if not commits.writes:
        return source
    if window.is_unbounded:
        return replace(source, slices=snapshot.all_slices)
    source = replace(source, extra=(Predicate(_COMMIT_TIME, Comparison.IN, commits.commit_times),))
    found = changed_slices(storage, snapshot, commits)
    if (found.missing or commits.archived) and query.scans_table_if_incomplete:
        note = (
            "The whole table is read, because commits of the window are archived or their files were deleted."
        )
        return replace(source, slices=snapshot.all_slices, notes=(*source.notes, note))
    if found.missing:
        refuse_incomplete(commits, found.missing)
    # Hudi 1.2 leaves out base rows of other commits before the merge. Hudi 0.15 leaves them out after the merge.
    filters_first = snapshot.config.table_version.layout.has_completion_time_in_names
    base_commits = frozenset(commits.commit_times) if filters_first else None
    return replace(source, slices=found.slices, visibility=found.visibility, base_commits=base_commits)


def schema_of_snapshot(snapshot: TableSnapshot) -> tuple[str, StructType]:
    """Return the Avro schema of a snapshot, and its columns without meta columns.

    Raises:
        InvalidRequestError: the table has no completed write.
    """
    if not snapshot.schema_json:
        raise InvalidRequestError(
            "The table has no completed write yet, so its columns are not known.",
            hint="Read the table after its first write.",
        )
    return snapshot.schema_json, without_meta_columns(from_avro_json(snapshot.schema_json))


def check_columns(query: TableQuery, schema: StructType) -> None:
    """Raise InvalidRequestError if the table lacks a column of the query."""
    known = (*META_COLUMNS, *schema.names)
    for name in query.columns or ():
        if name not in known:
            raise InvalidRequestError(f"The table has no column {name!r}.", hint=similar_column(name, known))
