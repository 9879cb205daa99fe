"""Plan the reads that find the changed rows and the deleted rows of a window (docs/adr/0057)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hudi_table_services.contract.text import counted
from hudi_table_services.model.archival import ArchivedWrite
from hudi_table_services.model.reading.predicate import Comparison, Predicate
from hudi_table_services.model.reading.query import EARLIEST
from hudi_table_services.model.reading.scan import ScanPlan
from hudi_table_services.model.schema import META_COLUMNS
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType
from hudi_table_services.options.reading.read_options import ReadRequest
from hudi_table_services.planning.reading.affected_groups import (
    affected_groups,
    by_partition,
    may_change_rows,
    may_delete_rows,
)
from hudi_table_services.planning.reading.column_predicates import column_predicates
from hudi_table_services.planning.reading.window import Window
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.archive.repeated_reads import repeat_if_deleted
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.reading.changed_slices import commits_in, end_before_holes
from hudi_table_services.tables.reading.points_in_time import window_bound
from hudi_table_services.tables.reading.table_scan import (
    TableScan,
    check_columns,
    refuse_features,
    schema_of_snapshot,
)
from hudi_table_services.tables.reading.visible_state import StateLoader, VisibleState
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

KEY_COLUMNS = (META_COLUMNS[2], META_COLUMNS[3])
"""Record key and partition path: together they identify a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeScan:
    """The planned reads of a window.

    Attributes:
        changed: the rows that the window added or changed, as of its end.
        before: the rows of the changed file groups as of the start of the window, with `KEY_COLUMNS`; no slices if the
            window deletes no rows.
        remaining: `KEY_COLUMNS` of all rows of these file groups as of the end. Rows of `before` without a row in
            `remaining` are deleted.
        until: the start of the next window.
        commit_count: number of commits in the window.
        whole: all rows of the table as of the end; no slices unless `plan_changes` was called with `with_whole`.
        has_begin: whether the window begins after a commit. False if it begins with the first commit of the table.
        waits_for: requested time of the pending write before which the window ends although later writes have
            completed; empty if there is no such write.
    """

    changed: TableScan
    before: TableScan
    remaining: TableScan
    until: str
    commit_count: int
    has_begin: bool
    whole: TableScan
    waits_for: str = ""

    def explain(self) -> str:
        """Return the plan in words."""
        if not self.before.plan.slices:
            return f"{self.changed.explain()}\nThe window deletes no rows."
        size = counted(len(self.before.plan.slices), "file slice")
        return f"{self.changed.explain()}\nAlso reads {size} as of the start of the window, to find deleted rows."


def plan_changes(
    storage: Storage, request: ReadRequest, *, with_replaced: bool = False, with_whole: bool = False
) -> ChangeScan:
    """Plan the reads of a window.

    Args:
        request: an incremental query without predicates.
        with_replaced: plan `ChangeScan.before` also if the window only updates rows.
        with_whole: plan `ChangeScan.whole`.

    Raises:
        InvalidRequestError: a bound is not a point in time; a write that belongs to the window is pending; the table
            has no such column; or files of a state were deleted.
        TableNotFoundError, UnsupportedTableError, CorruptTableError, StorageError: see `plan_table_scan`.
    """
    return repeat_if_deleted(
        lambda: _planned(storage, request, with_replaced=with_replaced, with_whole=with_whole), "a window"
    )


def _planned(storage: Storage, request: ReadRequest, *, with_replaced: bool, with_whole: bool) -> ChangeScan:
    query = request.query
    config = read_table_config(storage)
    refuse_features(config)
    snapshot = load_snapshot(storage, (), config=config, metadata_enable=False)
    check_columns(query, schema_of_snapshot(snapshot)[1])
    wanted = Window(
        after=window_bound(query.begin, config), until=window_bound(query.end, config) if query.end else ""
    )
    window, pending = end_before_holes(storage, snapshot, wanted, query.holes)
    # The writes after the window show which files of the states a clean may have deleted.
    found = commits_in(storage, snapshot, replace(wanted, until=""))
    writes = [write for write in found.writes if window.contains(write.instant)]
    until = writes[-1].instant.visible_from if writes else window.after
    changes = _Changes(storage, snapshot, request, window, until, with_replaced, with_whole)
    return replace(changes.plan(writes, found.writes), waits_for=pending)


@dataclass(frozen=True, slots=True)
class _Changes:
    storage: Storage
    snapshot: TableSnapshot
    request: ReadRequest
    window: Window
    until: str
    with_replaced: bool
    with_whole: bool

    def plan(self, writes: Sequence[ArchivedWrite], known: Sequence[ArchivedWrite]) -> ChangeScan:
        """Plan the reads.

        Args:
            writes: the completed writes of the window. If the window begins with the first commit, archived writes are
                missing.
            known: the completed writes after the start of the window.
        """
        commits = [write.metadata for write in writes]
        groups = by_partition(affected_groups(commits)) if self._has_begin else None
        after = before = whole = self._nothing
        if writes and groups != {}:
            loader = self._loader(groups, known)
            after = loader.load(self.until)
            may_need_before = may_change_rows if self.with_replaced else may_delete_rows
            if self._has_begin and may_need_before(commits, self.snapshot.config.table_type):
                before = loader.load(self.window.after)
            if self.with_whole:
                whole = self._loader(None, known).load(self.until) if self._has_begin else after
        columns = self.request.query.columns
        with_keys = columns if columns is None else tuple(dict.fromkeys((*columns, *KEY_COLUMNS)))
        times = tuple(sorted({write.instant.requested_time for write in writes}))
        return ChangeScan(
            changed=self._scan(after, columns, times),
            before=self._scan(before, with_keys),
            remaining=self._scan(after, KEY_COLUMNS),
            until=self.until or EARLIEST,
            commit_count=len(writes),
            has_begin=self._has_begin,
            whole=self._scan(whole, columns),
        )

    def _loader(
        self, groups: Mapping[str, frozenset[str]] | None, known: Sequence[ArchivedWrite]
    ) -> StateLoader:
        files = list_partitions(self.storage, None if groups is None else groups.keys())
        return StateLoader(
            storage=self.storage, snapshot=self.snapshot, groups=groups, files=files, writes=known
        )

    @property
    def _has_begin(self) -> bool:
        return bool(self.window.after)

    @property
    def _nothing(self) -> VisibleState:
        has_own = self.snapshot.config.table_version.has_own_log_instants
        sees_nothing = Visibility(
            completed={},
            first_write_time=None,
            pending_compactions=frozenset(),
            has_own_log_instants=has_own,
        )
        return VisibleState(slices=(), visibility=sees_nothing)

    def _scan(
        self, state: VisibleState, columns: tuple[str, ...] | None, commit_times: tuple[str, ...] = ()
    ) -> TableScan:
        config = self.snapshot.config
        schema_json, schema = schema_of_snapshot(self.snapshot)
        merges = config.table_type is TableType.MERGE_ON_READ
        in_window = Predicate(META_COLUMNS[0], Comparison.IN, commit_times)
        changed = (in_window,) if commit_times and self._has_begin else ()
        after = f"after {self.window.after}" if self.window.after else "from the first commit on"
        count = counted(len(commit_times), "commit")
        return TableScan(
            config=config,
            schema=schema,
            schema_json=schema_json,
            columns=columns,
            predicates=column_predicates(changed, schema),
            keys=None,
            plan=ScanPlan(slices=state.slices),
            rule=merge_rule(config, self.request.merge_settings) if merges else None,
            visibility=state.visibility,
            state=f"the changes of {count} {after}, until {self.until or 'now'}",
            until=self.until,
        )
