"""Check with the timeline whether completed writes may be rolled back (BaseRollbackActionExecutor, Hudi 1.2).

Hudi requires that no later instant was committed or begun, and that no savepoint protects the commit. Unlike Hudi, this
project also requires that the file groups that the commit replaced still exist. The timeline does not show whether
these file groups exist, so another module checks this condition.
"""

import shlex
from collections.abc import Collection, Iterable

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.timeline import Timeline


def newest_first(instants: Iterable[Instant]) -> tuple[Instant, ...]:
    """Sort instants, latest first: pending instants, then completed instants by the time when they became visible."""
    return tuple(
        sorted(instants, key=lambda i: (not i.is_completed, i.visible_from, i.requested_time), reverse=True)
    )


def require_newest(timeline: Timeline, chosen: Collection[Instant], base_path: str = "TABLE") -> None:
    """Raise InvalidRequestError if a chosen completed write has later writes that are not chosen.

    Args:
        base_path: base path of the table, for the commands in the hint.
    """
    identities = {i.identity for i in chosen}
    others = [i for i in timeline if i.action.writes_data and i.identity not in identities]
    for instant in chosen:
        if not instant.is_completed:
            continue
        later = [other for other in others if _is_later(other, instant)]
        if later:
            named = ", ".join(f"{i.action.value} {i.requested_time} ({i.state.value})" for i in later[:5])
            more = f" and {len(later) - 5} more" if len(later) > 5 else ""
            protecting = _protecting(timeline, instant)
            saved = f" Savepoint {protecting[0]} also protects it." if protecting else ""
            raise InvalidRequestError(
                f"{instant.action.value} {instant.requested_time} is not the newest write. Later writes may depend on "
                f"it: {named}{more}.{saved}",
                hint=_advice_on_later_writes(timeline, instant, base_path),
            )


def _advice_on_later_writes(timeline: Timeline, instant: Instant, base_path: str) -> str:
    advice = "Undo the later writes first, or name them in the same request."
    if protecting := _protecting(timeline, instant):
        advice += (
            " Before a rollback of the writes that a savepoint protects, delete the savepoint: "
            f"{_deletion(base_path, protecting[0])}."
        )
    earlier = [
        i.requested_time
        for i in timeline.completed
        if i.action is Action.SAVEPOINT and i.requested_time < instant.requested_time
    ]
    if earlier:
        advice += (
            f" To undo all writes after savepoint {max(earlier)}, run restore.py --base-path {shlex.quote(base_path)} "
            f"--savepoint {max(earlier)} instead."
        )
    return advice


def _is_later(other: Instant, instant: Instant) -> bool:
    return other.requested_time > instant.requested_time or (
        other.is_completed and other.visible_from > instant.visible_from
    )


def require_unsaved(timeline: Timeline, chosen: Iterable[Instant], base_path: str = "TABLE") -> None:
    """Raise InvalidRequestError if a chosen completed write or a later write has a savepoint.

    Args:
        base_path: base path of the table, for the command in the hint.
    """
    for instant in chosen:
        protecting = _protecting(timeline, instant)
        if instant.is_completed and protecting:
            raise InvalidRequestError(
                f"Savepoint {protecting[0]} protects {instant.action.value} {instant.requested_time}.",
                hint=f"Delete the savepoint first: {_deletion(base_path, protecting[0])}.",
            )


def _protecting(timeline: Timeline, instant: Instant) -> list[str]:
    """Return the savepoints of this write and of later writes, whose files may contain rows of this write."""
    savepoints = (i.requested_time for i in timeline if i.action is Action.SAVEPOINT)
    return [time for time in savepoints if time >= instant.requested_time]


def _deletion(base_path: str, savepoint: str) -> str:
    return f"delete_savepoint.py --base-path {shlex.quote(base_path)} --instant {savepoint}"


def restored_instants(
    timeline: Timeline, savepoint: Instant, replacing: Collection[Instant] = ()
) -> tuple[Instant, ...]:
    """Return the instants after the savepointed commit, which a restore undoes: first pending, then completed instants.

    Completion times decide whether a completed write is later than the savepointed commit; in tables without completion
    times, requested times decide (SavepointRestore, Hudi 0.15 and 1.2).

    Args:
        replacing: replace commits that replaced file groups of the savepoint. Unlike Hudi, a restore also undoes these
            commits, whatever their time. A clean may have deleted the files that these commits wrote. If the restore
            did not undo these commits, readers would see neither these files nor the savepoint's file groups.
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
    """Raise UnsupportedTableError if a restore is running or ended before it was complete."""
    restores = [i for i in timeline.pending if i.action is Action.RESTORE]
    if restores:
        raise UnsupportedTableError(
            f"Restore {restores[0].requested_time} has not been finished; the table is between two states.",
            hint="Finish the restore first: run restore.py with the same savepoint.",
        )
