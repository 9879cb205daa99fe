"""Check that a write adds no key that other writers have also added since the snapshot of the write.

Two writes that add the same new key share no file group, so Hudi's conflict detection lets both writes commit, and the
table then contains the key twice. With this check, the later write finds the rows of the earlier write by their keys.
The later write is then planned again and updates these rows. A plain insert does not guarantee unique keys: as in Hudi,
it adds all its rows.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.execution.staging import StagedBatch
from hudi_table_services.execution.writing.record_index import RecordIndex
from hudi_table_services.execution.writing.stage_input import StagedInput
from hudi_table_services.jobs.writing.batch_placement import PlacedBatch, lookup_for
from hudi_table_services.jobs.writing.index_settings import INSERTS
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.write_stat import OVERWRITE, WriteOperation
from hudi_table_services.options.writing_values import InsertDupPolicy, WriteOptions
from hudi_table_services.storage.file_slices import visibility_of
from hudi_table_services.tables.cleaned_files import conflict_where_cleaned
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_NAMED_CHANGES = 3
"""Largest number of changes that a message names."""


@dataclass(kw_only=True)
class DuplicateCheck:
    """Compares the rows that a write adds with the rows that other commits have added since the write's snapshot.

    Args:
        is_global: whether keys are unique in the whole table instead of in each partition. Always False for overwrites,
            which look up no keys.
        metadata_enable: see `load_snapshot`.
        index: compares the keys of rows with the keys in base files, in the whole table or in each partition.
    """

    table: TableAccess
    operation: WriteOperation
    placed: PlacedBatch
    index: RecordIndex
    is_global: bool
    metadata_enable: bool | None = None
    _compared: set[FileSlice] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._compared.update(self.placed.snapshot.all_slices)

    def concerns(self, change: ConcurrentChange) -> bool:
        """Whether `refuse` must examine the change.

        Such a change may have added or restored a row with a key of this write, or it overwrote partitions that this
        write also overwrites.
        """
        if change.kind is ChangeKind.UNDONE:
            return True
        return bool(self._shared_partitions(change)) or self._overwrites_same_partitions(change)

    def refuse(self, changes: Sequence[ConcurrentChange]) -> None:
        """Refuse changes that would make a key appear twice in the table.

        The method does not read files again that an earlier call has compared.

        Raises:
            FileGroupConflictError: another writer added a row with a key of this write, or undid a commit that was
                visible when this write started, or overwrote a partition that this write also overwrites. In the last
                case, neither write would replace the rows of the other write.
        """
        for change in changes:
            if change.kind is ChangeKind.UNDONE:
                raise _conflict(
                    f"Another writer rolled back {_named([change])} after this write looked up its keys."
                )
            if self._overwrites_same_partitions(change):
                raise _conflict(
                    f"Another writer's {_named([change])} overwrote partitions that this write overwrites."
                )
        partitions = set().union(*map(self._shared_partitions, changes))
        now = load_snapshot(self.table.storage, partitions, metadata_enable=self.metadata_enable)
        fresh = [s for s in now.all_slices if s not in self._compared]
        if not fresh:
            return
        with conflict_where_cleaned(self.table, lambda: now):
            matches = self.index.count_matches(self._added, fresh, visibility_of(now))
        _LOG.info(
            "Searched %s of other writers for keys that this write adds: found %s",
            counted(len(fresh), "new file"),
            counted(matches, "row"),
        )
        if matches:
            raise _conflict(
                f"After this write looked up its keys, other writers added {counted(matches, 'row')} in "
                f"{_named(changes)} or in a later commit. This write adds rows with the same keys."
            )
        self._compared.update(fresh)

    @cached_property
    def _added(self) -> StagedInput:
        """Return the rows that the write adds. The conflict detection checks all other rows: they change file groups.

        If a base file contains the key of a row, but a log file has deleted this key, the row counts as added. Another
        writer that looks up keys in the record index does not find this key, and adds it to another file group.
        """
        return StagedInput(tuple(batch for batch in self.placed.routed.batches if _adds_rows(batch)))

    def _shared_partitions(self, change: ConcurrentChange) -> frozenset[str]:
        return change.added_to if self.is_global else change.added_to & set(self._added.partition_paths)

    def _overwrites_same_partitions(self, change: ConcurrentChange) -> bool:
        if self.operation not in OVERWRITE or not change.overwrites:
            return False
        everything = self.operation is WriteOperation.INSERT_OVERWRITE_TABLE
        return bool(change.added_to if everything else self._shared_partitions(change))


def duplicate_check_for(
    spark: "SparkSession",
    folder: str,
    table: TableAccess,
    options: WriteOptions,
    settings: WriteSettings,
    placed: PlacedBatch,
) -> DuplicateCheck | None:
    """Return the check for a write; None if its operation allows duplicates, or if it neither overwrites nor adds rows.

    Args:
        folder: staging folder.
    """
    if not _guarantees_unique_keys(options, placed):
        return None
    lookup = lookup_for(spark, options, settings, table.config)
    if not lookup.searches_files:  # an overwrite ignores the index type
        lookup = replace(lookup, is_global=False, use_footers=False)
    index = RecordIndex(spark, table.storage, folder, lookup)
    return DuplicateCheck(
        table=table,
        operation=options.operation,
        placed=placed,
        index=index,
        is_global=lookup.is_global,
        metadata_enable=options.metadata.enable,
    )


def _guarantees_unique_keys(options: WriteOptions, placed: PlacedBatch) -> bool:
    """Whether the operation guarantees unique keys, and the write either overwrites partitions or adds rows."""
    if options.operation in OVERWRITE:
        return True
    is_guaranteed = (
        options.operation is WriteOperation.UPSERT
        or (
            options.operation is WriteOperation.INSERT
            and options.insert_dup_policy is not InsertDupPolicy.NONE
        )
        or (options.operation in INSERTS and options.index_type.has_buckets)
    )
    return is_guaranteed and any(map(_adds_rows, placed.routed.batches))


def _adds_rows(batch: StagedBatch) -> bool:
    return batch.file_id is None or batch.reinsert_count > 0


def _named(changes: Sequence[ConcurrentChange]) -> str:
    names = [f"{change.instant.action.value} {change.instant.requested_time}" for change in changes]
    more = f" and {len(names) - _NAMED_CHANGES} more" if len(names) > _NAMED_CHANGES else ""
    return f"{', '.join(names[:_NAMED_CHANGES])}{more}"


def _conflict(message: str) -> FileGroupConflictError:
    return FileGroupConflictError(message, hint="Nothing was committed; run the request again.")
