"""Which completed writes may be undone, as pure rules on the timeline (BaseRollbackActionExecutor, Hudi 1.2).

Hudi asks that nothing was committed or begun later, and that no savepoint holds the commit. Beyond Hudi: what the
commit replaced must still be there, which is not a question of the timeline alone.
"""

from collections.abc import Collection, Iterable

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline

_CURE_OF_LATER = (
    "Undo those first, or name them in the same request; or go back to a savepoint with restore.py."
)


def newest_first(instants: Iterable[Instant]) -> tuple[Instant, ...]:
    """Pending ones first, then completed ones by the time at which they became visible, the latest first."""
    return tuple(
        sorted(instants, key=lambda i: (not i.is_completed, i.visible_from, i.requested_time), reverse=True)
    )


def require_newest(timeline: Timeline, chosen: Collection[Instant]) -> None:
    """Raises InvalidRequestError where a chosen completed write has later ones that are not chosen."""
    identities = {i.identity for i in chosen}
    others = [i for i in timeline if i.action.writes_data and i.identity not in identities]
    for instant in chosen:
        if not instant.is_completed:
            continue
        later = [other for other in others if _is_later(other, instant)]
        if later:
            named = ", ".join(f"{i.action.value} {i.requested_time} ({i.state.value})" for i in later[:5])
            more = f" and {len(later) - 5} more" if len(later) > 5 else ""
            raise InvalidRequestError(
                f"{instant.action.value} {instant.requested_time} is not the newest write: {named}{more} came later, "
                "and may build on it.",
                hint=_CURE_OF_LATER,
            )


def _is_later(other: Instant, instant: Instant) -> bool:
    return other.requested_time > instant.requested_time or (
        other.is_completed and other.visible_from > instant.visible_from
    )


def require_unsaved(timeline: Timeline, chosen: Iterable[Instant]) -> None:
    """Raises InvalidRequestError where a savepoint holds a chosen completed write, or one that came after it."""
    savepoints = [i.requested_time for i in timeline if i.action is Action.SAVEPOINT]
    for instant in chosen:
        held = [time for time in savepoints if time >= instant.requested_time]
        if instant.is_completed and held:
            raise InvalidRequestError(
                f"Savepoint {held[0]} keeps {instant.action.value} {instant.requested_time}.",
                hint=f"Delete it first: delete_savepoint.py --instant {held[0]}.",
            )


def restored_instants(
    timeline: Timeline, savepoint: Instant, replacing: Collection[Instant] = ()
) -> tuple[Instant, ...]:
    """What a restore undoes, in this order: pending services and writes after it, then completed writes.

    A completed write counts as after the savepointed commit by completion time, where the table writes it down, else
    by requested time (SavepointRestore, Hudi 0.15 and 1.2).

    Args:
        replacing: replace commits that took out file groups of the savepoint. Beyond Hudi they go too, whatever their
            time: cleaning may have taken what they wrote, and without either version the rows would be gone.
    """
    commit = next(i for i in timeline.completed_writes if i.requested_time == savepoint.requested_time)
    pending = [
        i for i in timeline.pending if i.action.writes_data and i.requested_time > commit.requested_time
    ]
    completed = [
        i for i in timeline.completed_writes if i.visible_from > commit.visible_from or i in replacing
    ]
    return newest_first([*pending, *completed])


def refuse_unfinished_restore(timeline: Timeline) -> None:
    """Raises UnsupportedTableError while a restore is under way or was left half done."""
    restores = [i for i in timeline.pending if i.action is Action.RESTORE]
    if restores:
        raise UnsupportedTableError(
            f"Restore {restores[0].requested_time} has not been finished; the table is between two states.",
            hint="Finish it first: run restore.py with its savepoint.",
        )
