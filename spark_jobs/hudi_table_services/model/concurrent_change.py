"""What other writers did to a table while one write was under way."""

from dataclasses import dataclass
from enum import Enum

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant


class ChangeKind(str, Enum):
    """How far the other action is."""

    COMPLETED = "completed"
    PENDING_PLAN = "pending"
    BEING_WRITTEN = "being written"
    UNDONE = "undone"


class ConflictStrategy(str, Enum):
    """``hoodie.write.lock.conflict.resolution.strategy``, by the names of Hudi's classes."""

    SIMPLE = "SimpleConcurrentFileWritesConflictResolutionStrategy"
    """Whoever commits or plans first wins."""
    PREFER_WRITER = "PreferWriterConflictResolutionStrategy"
    """A write does not wait for plans of table services, which have to give way to it when they commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrentChange:
    """One instant of another writer.

    Attributes:
        kind: COMPLETED: a write that became visible since; PENDING_PLAN: a clustering or compaction that is going to
            replace file slices; BEING_WRITTEN: an inflight write that says what it changes; UNDONE: a write that was
            visible at the start and is rolled back now.
        file_groups: what it wrote, replaced or is going to replace; empty for UNDONE, where it is not known any more.
        added_to: partitions that have new rows by it, or rows of new file groups; only COMPLETED writes of rows,
            without services, which move rows.
        overwrites: it was to leave nothing but its own rows in those partitions.
    """

    instant: Instant
    kind: ChangeKind
    file_groups: frozenset[FileGroupId] = frozenset()
    added_to: frozenset[str] = frozenset()
    overwrites: bool = False
