"""Rows that others added since a write looked at the table: none may have a key that the write adds as well.

Two writes that add the same new key share no file group, so that Hudi's conflict detection lets both commit, and the
key is there twice from then on. Here the later one finds the rows of the other by their keys, and is planned anew: it
updates them. An insert promises nothing about keys, and adds its rows beside any others, as in Hudi.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.execution.record_index import RecordIndex
from hudi_table_services.jobs.batch_placement import PlacedBatch
from hudi_table_services.model.concurrent_change import ConcurrentChange
from hudi_table_services.model.write_options import InsertDupPolicy, WriteOptions
from hudi_table_services.model.write_stat import OVERWRITE, WriteOperation
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.storage.storage import Storage

_LOG = logging.getLogger(__name__)
_NAMED = 3


def adds_no_twins(options: WriteOptions) -> bool:
    """Whether the operation promises that none of the rows it adds has a key of another row."""
    if options.operation is WriteOperation.INSERT:
        return options.insert_dup_policy is not InsertDupPolicy.NONE
    return options.operation in (WriteOperation.UPSERT, *OVERWRITE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinRows:
    """What one write is about to add, to be compared with what commits added since its snapshot.

    Attributes:
        options: scope of a key and operation.
        index: compares the keys of the batch with those of base files.
        storage: the table's.
    """

    options: WriteOptions
    placed: PlacedBatch
    index: RecordIndex
    storage: Storage

    def refuse(self, added: Sequence[ConcurrentChange]) -> None:
        """Let no row be there twice.

        Raises:
            FileGroupConflictError: one of these commits added a row with a key of this write, or overwrote a partition
                that this one overwrites, so that neither would replace the rows of the other.
        """
        self._refuse_overwritten(added)
        touched = set().union(*(change.added_to for change in added))
        own = touched if self.options.index_type.is_global else touched & set(self._own_partitions)
        known = {s.base_file_path for s in self.placed.snapshot.all_slices}
        fresh = [s for s in load_snapshot(self.storage, own).all_slices if s.base_file_path not in known]
        if not fresh:
            return
        matches = self.index.count_matches(self.placed.staged, fresh)
        _LOG.info("%s: %d keys of this write in %d files", _named(added), matches, len(fresh))
        if matches:
            raise _conflict(f"{_named(added)} added rows of {matches} keys that this write has, too")

    @property
    def _own_partitions(self) -> tuple[str, ...]:
        return self.placed.staged.partition_paths

    def _refuse_overwritten(self, added: Sequence[ConcurrentChange]) -> None:
        if self.options.operation not in OVERWRITE:
            return
        everything = self.options.operation is WriteOperation.INSERT_OVERWRITE_TABLE
        for change in added:
            if change.overwrites and (everything or not change.added_to.isdisjoint(self._own_partitions)):
                raise _conflict(f"{_named([change])} overwrote the same partitions")


def _named(changes: Sequence[ConcurrentChange]) -> str:
    names = [f"{change.instant.action.value} {change.instant.requested_time}" for change in changes]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Another writer's {', '.join(names[:_NAMED])}{more}"


def _conflict(what: str) -> FileGroupConflictError:
    return FileGroupConflictError(f"{what}.", hint="Nothing was committed; run the request again.")
