"""The state of the table under the lock, and the interface of checks that can refuse a change of the table."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.model.concurrent_change import ConcurrentChange
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.concurrent_changes import load_commit_changes
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess


@dataclass(frozen=True, kw_only=True)
class TableNow:
    """The state of the table under the lock, read once for all checks.

    Attributes:
        planned_with: the table as it was when the job planned.
        snapshot: the current configuration, timeline and schema of the table, without file slices.
        own_times: requested times of the job's own instants, which do not count as changes by other writers.
        noted: changes that the job loaded when it began; archival may have removed their instant files since then.
    """

    table: TableAccess
    planned_with: TableSnapshot
    snapshot: TableSnapshot
    own_times: frozenset[str] = frozenset()
    noted: tuple[ConcurrentChange, ...] = ()

    @property
    def timeline(self) -> Timeline:
        return self.snapshot.timeline

    @cached_property
    def changes(self) -> tuple[ConcurrentChange, ...]:
        """Changes that other writers made after the job planned."""
        store = self.table.timeline_store
        found = load_commit_changes(
            store, self.planned_with.timeline, self.snapshot.timeline, ignore=self.own_times
        )
        present = {change.instant.identity for change in found}
        return (*found, *(change for change in self.noted if change.instant.identity not in present))


def read_table_now(
    table: TableAccess,
    planned_with: TableSnapshot,
    *,
    own_times: Collection[str] = (),
    noted: tuple[ConcurrentChange, ...] = (),
) -> TableNow:
    """Read the table for the checks of a commit. Call this function under the table lock.

    Raises:
        UnsupportedTableError: another writer changed the table version, so this job can no longer read the timeline.
    """
    config = read_table_config(table.storage)
    before, after = table.config.table_version, config.table_version
    if after is not before:
        raise UnsupportedTableError(
            f"Another writer changed the table from version {int(before)} to {int(after)} during this job.",
            hint="Nothing was committed; run the request again. Set hoodie.write.auto.upgrade=false in Hudi 1.x "
            "writers to keep the version.",
        )
    return TableNow(
        table=table,
        planned_with=planned_with,
        snapshot=load_snapshot(table.storage, (), config=config),
        own_times=frozenset(own_times),
        noted=noted,
    )


class Check(Protocol):
    """One condition that must be true before a change becomes visible."""

    def refuse(self, now: TableNow) -> None:
        """Raise an error of the module `errors` if the table no longer allows the change."""
        ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """The checks of a change, and the state of the table to which the checks are applied."""

    now: TableNow
    checks: tuple[Check, ...]

    def refuse(self) -> None:
        """Apply the checks in order. Raises the error of the first check that refuses the change."""
        for check in self.checks:
            check.refuse(self.now)
