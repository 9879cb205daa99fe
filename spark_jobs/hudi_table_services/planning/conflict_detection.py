"""Find conflicts of a write with concurrent changes, and file groups that a clustering must leave out.

This module follows Hudi's SimpleConcurrentFileWritesConflictResolutionStrategy and
PreferWriterConflictResolutionStrategy (1.2): two writes conflict if they change the same file group. For this module,
new file groups never conflict; `commits` checks separately whether two writes add rows with the same keys. This module
adds two rules to those of Hudi. First, if a commit was rolled back while a write updated the rows of this commit, the
write has a conflict, because the update would restore the rolled-back rows. Second, under both strategies, a clustering
drops a group if a writer changed a file of the group; Hudi's clustering checks this only under
PreferWriterConflictResolutionStrategy.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange, ConflictStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant

_MAX_NAMED_GROUPS = 3
_CONFLICTING_KINDS = {
    ConflictStrategy.SIMPLE: (ChangeKind.COMPLETED, ChangeKind.PENDING_PLAN),
    ConflictStrategy.PREFER_WRITER: (ChangeKind.COMPLETED,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A reason why a write must not commit.

    Attributes:
        other: the concurrent instant.
        file_groups: file groups that this write and the other instant change, in order; empty if the other instant was
            rolled back.
        message: description of the conflict.
    """

    other: Instant
    file_groups: tuple[FileGroupId, ...]
    message: str


def find_conflict(
    changes: Iterable[ConcurrentChange],
    own_file_groups: Collection[FileGroupId],
    strategy: ConflictStrategy = ConflictStrategy.SIMPLE,
    logged_file_groups: Collection[FileGroupId] = (),
    reinserted_file_groups: Collection[FileGroupId] = (),
) -> Conflict | None:
    """Return the first conflict of a write of rows, in the order of the other instants; None if the write may commit.

    Args:
        changes: changes by other writers since this write read its snapshot.
        own_file_groups: file groups that this write changes or replaces, without its new file groups.
        logged_file_groups: file groups in `own_file_groups` to which this write only adds a log file. A compaction of
            such a file group is no conflict: the compaction reads only the files in its plan, and readers apply later
            log files to its result.
        reinserted_file_groups: file groups in `own_file_groups` to which this write adds rows that log files have
            deleted. A completed compaction of such a file group is a conflict: its new base file lacks the keys of
            these rows, so another write that began after the compaction may have added the same keys to a new file
            group.
    """
    own = frozenset(own_file_groups)
    rewritten = own.difference(logged_file_groups)
    reinserted = own.intersection(reinserted_file_groups)
    if not own:
        return None
    for change in sorted(changes, key=lambda c: c.instant.visible_from):
        may_conflict = change.kind in _CONFLICTING_KINDS[strategy]
        concerned = own
        if change.compacts:
            concerned = rewritten | reinserted if change.kind is ChangeKind.COMPLETED else rewritten
        shared = tuple(sorted(change.file_groups & concerned)) if may_conflict else ()
        if shared or change.kind is ChangeKind.UNDONE:
            return Conflict(other=change.instant, file_groups=shared, message=_message(change, shared))
    return None


def groups_to_drop(changes: Iterable[ConcurrentChange]) -> frozenset[FileGroupId]:
    """Return the file groups that a clustering must not change, because other writers changed or will change them."""
    return frozenset(group for change in changes for group in change.file_groups)


def _message(change: ConcurrentChange, shared: tuple[FileGroupId, ...]) -> str:
    name = f"{change.instant.action.value} {change.instant.requested_time}"
    if change.kind is ChangeKind.UNDONE:
        return f"Another writer rolled back {name} after this write had read the table."
    named = ", ".join(map(str, shared[:_MAX_NAMED_GROUPS]))
    more = f" and {len(shared) - _MAX_NAMED_GROUPS} more" if len(shared) > _MAX_NAMED_GROUPS else ""
    verb = "changed" if change.kind is ChangeKind.COMPLETED else "is going to replace"
    return f"Another writer's {name} {verb} file groups that this write changes too: {named}{more}."
