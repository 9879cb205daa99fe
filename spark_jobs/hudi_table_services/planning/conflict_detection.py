"""Optimistic concurrency: may a write commit after what others did meanwhile, and what must a clustering give up?

Follows SimpleConcurrentFileWritesConflictResolutionStrategy and PreferWriterConflictResolutionStrategy (Hudi 1.2):
two writes conflict where they change the same file group. New file groups never clash here; whether their rows have
the same keys is asked in `jobs.duplicate_check`. Beyond Hudi: a commit that was rolled back under a running update is a
conflict too, since the update would bring the undone rows back; and a clustering gives way to writers under either
strategy, where Hudi's clustering looks for conflicts only under the second.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange, ConflictStrategy
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant

_NAMED_GROUPS = 3
_STOPS_A_WRITE = {
    ConflictStrategy.SIMPLE: (ChangeKind.COMPLETED, ChangeKind.PENDING_PLAN),
    ConflictStrategy.PREFER_WRITER: (ChangeKind.COMPLETED,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Why a write must not commit.

    Attributes:
        other: instant that was first.
        file_groups: file groups both change, in order; empty if the other was undone.
        message: what happened, in words.
    """

    other: Instant
    file_groups: tuple[FileGroupId, ...]
    message: str


def find_conflict(
    changes: Iterable[ConcurrentChange],
    own_file_groups: Collection[FileGroupId],
    strategy: ConflictStrategy = ConflictStrategy.SIMPLE,
) -> Conflict | None:
    """First conflict of a write of rows in order of the other instants; None: the write may commit.

    Args:
        changes: what others did since this write took its snapshot.
        own_file_groups: file groups this write rewrites or replaces, without the ones it creates.
    """
    own = frozenset(own_file_groups)
    if not own:
        return None
    for change in sorted(changes, key=lambda c: c.instant.visible_from):
        stops = change.kind in _STOPS_A_WRITE[strategy]
        shared = tuple(sorted(change.file_groups & own)) if stops else ()
        if shared or change.kind is ChangeKind.UNDONE:
            return Conflict(other=change.instant, file_groups=shared, message=_message(change, shared))
    return None


def groups_to_give_up(changes: Iterable[ConcurrentChange]) -> frozenset[FileGroupId]:
    """File groups that a clustering must leave as they are: others wrote or replaced them, or are about to."""
    return frozenset(group for change in changes for group in change.file_groups)


def _message(change: ConcurrentChange, shared: tuple[FileGroupId, ...]) -> str:
    name = f"{change.instant.action.value} {change.instant.requested_time}"
    if change.kind is ChangeKind.UNDONE:
        return f"Another writer rolled back {name} while this write was building on it."
    named = ", ".join(map(str, shared[:_NAMED_GROUPS]))
    more = f" and {len(shared) - _NAMED_GROUPS} more" if len(shared) > _NAMED_GROUPS else ""
    verb = "changed" if change.kind is ChangeKind.COMPLETED else "is going to replace"
    return f"Another writer's {name} {verb} file groups that this write changes too: {named}{more}."
