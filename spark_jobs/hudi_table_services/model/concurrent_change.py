"""Changes that other writers make to a table during one write."""

from dataclasses import dataclass
from enum import Enum

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant


class ChangeKind(str, Enum):
    """Progress of the other writer's action."""

    COMPLETED = "completed"
    PENDING_PLAN = "pending"
    BEING_WRITTEN = "being written"
    UNDONE = "undone"


class ConflictStrategy(str, Enum):
    """``hoodie.write.lock.conflict.resolution.strategy``. The values are the names of Hudi's classes."""

    SIMPLE = "SimpleConcurrentFileWritesConflictResolutionStrategy"
    """The action that commits or plans first wins."""
    PREFER_WRITER = "PreferWriterConflictResolutionStrategy"
    """A pending plan of a table service does not prevent a write from committing.

    When the plan is executed, it must leave out the file groups that the write changed.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrentChange:
    """One instant of another writer.

    Attributes:
        kind: COMPLETED: a write that became visible after this write started. PENDING_PLAN: a clustering or compaction
            that will replace file slices. BEING_WRITTEN: an inflight write that names the file groups it changes.
            UNDONE: a write that was visible when this write started, and that was rolled back afterwards.
        file_groups: file groups that the instant wrote, replaced or will replace. Empty for UNDONE, because these file
            groups are unknown.
        added_to: partitions to which the instant added rows or file groups. Set only for COMPLETED writes of rows.
            Empty for table services, because they only move rows.
        compacts: whether the instant is a compaction or log compaction, completed or planned.
        overwrites: whether the write replaces all earlier rows of the partitions in `added_to` by its own rows.
    """

    instant: Instant
    kind: ChangeKind
    file_groups: frozenset[FileGroupId] = frozenset()
    added_to: frozenset[str] = frozenset()
    compacts: bool = False
    overwrites: bool = False
