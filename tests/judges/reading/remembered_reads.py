"""Reads of one table at random moments, and what each of them must return later.

A test changes the table and calls `look` after each change. Readers then read the current table, the table as of
an earlier write, a scan that was planned earlier, and the changes since an earlier write.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.instant import Action
from hudi_table_services.model.schema import META_COLUMNS
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.reading.read_options import change_request
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.file_slices import first_write_time
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.reading.change_scan import KEY_COLUMNS, plan_changes
from hudi_table_services.tables.reading.planned_reads import plan_read, rows_of_scan
from hudi_table_services.tables.reading.table_scan import TableScan
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.hudi_judge import HudiRefusedError
from judges.oracle import V6_OLD
from judges.reading.reads_compared import ComparingJudge, Row, counted_rows
from judges.rows import KEY, Model, assert_rows_equal
from support.reading.read_here import AS_OF, READ_OPTIMIZED, window

COMMIT_TIME = META_COLUMNS[0]
_BEFORE_RETENTION = "Cleaner cleaned up the timestamp of interest"


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The table after one change.

    Attributes:
        requested, visible: requested time of the newest completed write, and the latest time at which a completed
            write became visible.
        scan: a snapshot read that was planned then.
        turn: number of changes until then.
        has_pending_compaction: whether a compaction was pending.
    """

    requested: str
    visible: str
    model: Model
    scan: TableScan
    turn: int
    has_pending_compaction: bool

    def lost_files(self, base_path: Path) -> list[str]:
        """The files of this state that do not exist any more."""
        paths = [path for each in self.scan.plan.slices for path in each.paths]
        return [path for path in paths if not (base_path / path).exists()]


class RememberedReads:
    """The moments of one table.

    Attributes:
        counts: number of successful reads, by kind. A test checks that each kind occurred.
        compared: number of reads that were compared with reads of Hudi, by kind.
    """

    def __init__(self, base_path: Path, seed: int) -> None:
        self._base_path = base_path
        self._storage = LocalStorage(str(base_path))
        self._random = random.Random(seed)
        self._moments: list[Moment] = []
        self._turn = 0
        self.counts = dict.fromkeys(("time travel", "planned earlier", "changes"), 0)
        self.compared = Counter(dict.fromkeys(("latest", "time travel", "window"), 0))

    def look(self, model: Model, change: str, read_optimized: Model | None = None) -> None:
        """Read the table in every way, after one change.

        Args:
            model: the rows that a snapshot query must return.
            change: name of the change; changes with ``roll`` in their name undo a write.
            read_optimized: the rows that a read-optimized query must return; None if this is not known.
        """
        self._turn += 1
        timeline = load_snapshot(self._storage, ()).timeline
        writes = timeline.completed_writes
        known = {write.requested_time for write in writes}
        if "roll" in change:
            self._moments = [each for each in self._moments if each.requested in known]
        for moment in self._random.sample(self._moments, min(2, len(self._moments))):
            self._read_as_of(moment)
            self._read_with_plan_of(moment)
            self._apply_changes_since(moment, model)
        scan = plan_read(self._storage, {})
        assert_rows_equal(self._rows(scan), model, "snapshot")
        if read_optimized is not None:
            found = self._rows(plan_read(self._storage, READ_OPTIMIZED))
            assert_rows_equal(found, read_optimized, "read-optimized")
        self._moments.append(
            Moment(
                requested=max(known),
                visible=max(write.visible_from for write in writes),
                model=dict(model),
                scan=scan,
                turn=self._turn,
                has_pending_compaction=any(i.action is Action.COMPACTION for i in timeline.pending),
            )
        )

    def compare_with_hudi(self, judge: ComparingJudge) -> None:
        """Compare reads of the latest state, of earlier states and of windows with reads of Hudi."""
        for options in ({}, READ_OPTIMIZED):
            judge.compare(self._base_path, options)
            self.compared["latest"] += 1
        for moment in self._random.sample(self._moments, min(2, len(self._moments))):
            self._compare_as_of(judge, moment)
            later = [each for each in self._moments if each.visible > moment.visible]
            self._compare_window(judge, moment, None)
            if later:
                self._compare_window(judge, moment, self._random.choice(later))

    def _compare_as_of(self, judge: ComparingJudge, moment: Moment) -> None:
        if moment.has_pending_compaction:
            return  # Hudi does not read log files of such a state (docs/differences.md).
        try:
            judge.compare(self._base_path, {AS_OF: moment.requested})
        except HudiTableServiceError as error:
            self._accept(error, [moment], may_be_archived=True)
        except HudiRefusedError as error:
            # Hudi refuses all states before the retention of the newest clean (docs/differences.md).
            if _BEFORE_RETENTION not in error.trace:
                raise
        else:
            self.compared["time travel"] += 1

    def _compare_window(self, judge: ComparingJudge, begin: Moment, end: Moment | None) -> None:
        """Compare the changes between two moments, or since a moment."""
        last = self._turn if end is None else end.turn
        inside = [each for each in self._moments if begin.turn <= each.turn <= last]
        may_lack = self._rows_that_hudi_may_lack(judge, begin, end)
        options = window(begin.visible, end.visible if end else "")
        try:
            judge.compare(self._base_path, options, may_lack=may_lack)
        except HudiTableServiceError as error:
            self._accept(error, inside)
        else:
            self.compared["window" if may_lack is None else "window that Hudi reads in part"] += 1

    def _rows_that_hudi_may_lack(
        self, judge: ComparingJudge, begin: Moment, end: Moment | None
    ) -> Callable[[Row], bool] | None:
        """Tell which rows of a window Hudi may lack; None if it must return all of them (docs/differences.md).

        If files of commits of the window were deleted, or commits are archived, Hudi from 1.1 on returns the rows of
        the newest state that the commits of the window wrote. Hudi 0.15 leaves out archived commits.
        """
        timeline = load_snapshot(self._storage, ()).timeline
        first = first_write_time(timeline) or ""
        archived = ArchivedTimeline(self._storage, read_table_config(self._storage))
        has_archived = begin.requested < first or bool(archived.writes_completed_after(begin.visible))
        if not has_archived and not self._has_lost_files(
            timeline, begin.visible, end.visible if end else "9"
        ):
            return None
        newest = counted_rows(self._rows(plan_read(self._storage, {})))

        if judge.release == V6_OLD.release:
            return lambda row: dict(row)[COMMIT_TIME] < first
        return lambda row: row not in newest

    def _has_lost_files(self, timeline: Timeline, after: str, until: str) -> bool:
        """Whether a file of a commit that became visible in a window does not exist any more."""
        store = TimelineStore(self._storage, read_table_config(self._storage), SystemClock())
        commits = [each for each in timeline.completed_writes if after < each.visible_from <= until]
        stats = (stat for each in commits for stat in store.commit_metadata(each).write_stats)
        return any(not (self._base_path / stat.path).exists() for stat in stats)

    def _rows(self, scan: TableScan) -> pa.Table:
        found = list(rows_of_scan(self._storage, scan))
        return pa.concat_tables(found) if found else pa.table({KEY: pa.array([], pa.string())})

    def _read_as_of(self, moment: Moment) -> None:
        """A state can be read as long as no file of it was deleted, and its commits are on the active timeline."""
        try:
            found = self._rows(plan_read(self._storage, {AS_OF: moment.requested}))
        except HudiTableServiceError as error:
            self._accept(error, [moment], may_be_archived=True)
        else:
            assert_rows_equal(found, moment.model, f"as of {moment.requested}")
            self.counts["time travel"] += 1

    def _read_with_plan_of(self, moment: Moment) -> None:
        """A planned read returns its state, whatever happened since then, or fails."""
        try:
            found = self._rows(moment.scan)
        except HudiTableServiceError as error:
            self._accept(error, [moment])
        else:
            assert_rows_equal(found, moment.model, f"a read planned with {moment.requested}")
            self.counts["planned earlier"] += 1

    def _apply_changes_since(self, moment: Moment, model: Model) -> None:
        """Apply the changes since the moment to its rows; the result must be the current rows."""
        try:
            scan = plan_changes(self._storage, change_request({}, moment.visible, None))
            changed, before, remaining = (
                self._rows(each).to_pylist() for each in (scan.changed, scan.before, scan.remaining)
            )
        except HudiTableServiceError as error:
            self._accept(error, [moment])
            return
        left = {tuple(row[name] for name in KEY_COLUMNS) for row in remaining}
        deleted = {row[KEY] for row in before if tuple(row[name] for name in KEY_COLUMNS) not in left}
        rows = {key: row for key, row in moment.model.items() if key not in deleted}
        names = list(next(iter(model.values()))) if model else [KEY]
        rows |= {row[KEY]: {name: row[name] for name in names} for row in changed}
        assert_rows_equal(list(rows.values()), model, f"changes since {moment.visible}")
        self.counts["changes"] += 1

    def _accept(
        self, error: HudiTableServiceError, moments: Sequence[Moment], *, may_be_archived: bool = False
    ) -> None:
        """A read may fail only if it needs a deleted file or an archived commit; its message says how to keep them.

        Args:
            moments: the states whose files the read needs.
            may_be_archived: whether the read needs the commits of these states on the active timeline.
        """
        is_lost = any(moment.lost_files(self._base_path) for moment in moments)
        if may_be_archived and not is_lost:
            first = first_write_time(load_snapshot(self._storage, ()).timeline)
            is_lost = first is not None and any(moment.requested < first for moment in moments)
        text = f"{error.message} {error.hint or ''}"
        if not is_lost or (".retained" not in text and "hoodie.keep.min.commits" not in text):
            raise error
