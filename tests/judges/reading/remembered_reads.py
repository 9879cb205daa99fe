"""Reads of one table at random moments, and what each of them must return later.

A test changes the table and calls `look` after each change. Readers then read the current table, the table as of
an earlier write, a scan that was planned earlier, and the changes since an earlier write.
"""

import random
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.options.reading.read_options import change_request
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.reading.change_scan import KEY_COLUMNS, plan_changes
from hudi_table_services.tables.reading.planned_reads import plan_read, rows_of_scan
from hudi_table_services.tables.reading.table_scan import TableScan
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.rows import KEY, Model, assert_rows_equal
from support.reading.read_here import AS_OF, READ_OPTIMIZED


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The table after one change.

    Attributes:
        requested, visible: requested time of the newest completed write, and the latest time at which a completed
            write became visible.
        scan: a snapshot read that was planned then.
        turn: number of changes until then.
    """

    requested: str
    visible: str
    model: Model
    scan: TableScan
    turn: int


class RememberedReads:
    """The moments of one table.

    Attributes:
        counts: number of successful reads, by kind. A test checks that each kind occurred.
    """

    def __init__(self, base_path: Path, seed: int) -> None:
        self._base_path = base_path
        self._storage = LocalStorage(str(base_path))
        self._random = random.Random(seed)
        self._moments: list[Moment] = []
        self._removed_files: list[int] = []
        self._turn = 0
        self.counts = dict.fromkeys(("time travel", "planned earlier", "changes"), 0)

    def look(self, model: Model, change: str, read_optimized: Model | None = None) -> None:
        """Read the table in every way, after one change.

        Args:
            model: the rows that a snapshot query must return.
            change: name of the change; changes with ``clean``, ``archive`` or ``roll`` in their name remove files or
                instants.
            read_optimized: the rows that a read-optimized query must return; None if this is not known.
        """
        self._turn += 1
        if any(word in change for word in ("clean", "archive", "roll")):
            self._removed_files.append(self._turn)
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
            )
        )

    def _rows(self, scan: TableScan) -> pa.Table:
        found = list(rows_of_scan(self._storage, scan))
        return pa.concat_tables(found) if found else pa.table({KEY: pa.array([], pa.string())})

    def _read_as_of(self, moment: Moment) -> None:
        """A state can be read as long as no file of it was deleted, and its commits are on the active timeline."""
        try:
            found = self._rows(plan_read(self._storage, {AS_OF: moment.requested}))
        except HudiTableServiceError as error:
            self._accept(error, moment)
        else:
            assert_rows_equal(found, moment.model, f"as of {moment.requested}")
            self.counts["time travel"] += 1

    def _read_with_plan_of(self, moment: Moment) -> None:
        """A planned read returns its state, whatever happened since then, or fails."""
        try:
            found = self._rows(moment.scan)
        except HudiTableServiceError as error:
            self._accept(error, moment)
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
            self._accept(error, moment)
            return
        left = {tuple(row[name] for name in KEY_COLUMNS) for row in remaining}
        deleted = {row[KEY] for row in before if tuple(row[name] for name in KEY_COLUMNS) not in left}
        rows = {key: row for key, row in moment.model.items() if key not in deleted}
        names = list(next(iter(model.values()))) if model else [KEY]
        rows |= {row[KEY]: {name: row[name] for name in names} for row in changed}
        assert_rows_equal(list(rows.values()), model, f"changes since {moment.visible}")
        self.counts["changes"] += 1

    def _accept(self, error: HudiTableServiceError, moment: Moment) -> None:
        """A read may fail only after a change that removes files; then its message says how to keep them."""
        is_removed = any(turn > moment.turn for turn in self._removed_files)
        text = f"{error.message} {error.hint or ''}"
        if not is_removed or (".retained" not in text and "hoodie.keep.min.commits" not in text):
            raise error
