"""The compactions that a request executed, and sentences about their state."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hudi_table_services.tables.compaction.compaction_history import Compaction, CompactionHistory


def executed_by(history: "CompactionHistory", request_id: str) -> "tuple[Compaction, ...]":
    """Find the compactions on the active timeline that this request completed, whichever request planned them."""
    from hudi_table_services.model.write_stat import REQUEST_ID_KEY

    return tuple(
        each
        for each in history.compactions
        if each.instant.is_completed
        and history.store.commit_metadata(each.instant).extra_metadata.get(REQUEST_ID_KEY) == request_id
    )


def state_of_compactions(
    history: "CompactionHistory | None", names: tuple[str, ...] | None, request_id: str, *, next_try: str
) -> str:
    """Describe the compactions that a request named, planned or executed before its job failed.

    Args:
        names: requested times of the plans that the request names; empty for all pending plans, and None if the request
            makes its own plan.
        next_try: what the next try does with a pending plan, such as ``executes``.
    """
    if history is None:
        return "There is no table."
    own = history.of_request(request_id)
    found: tuple[Compaction, ...]
    if names is None:
        found = (own,) if own is not None else ()
    elif names:
        found = tuple(each for name in names if (each := history.current(name)) is not None)
    else:
        found = history.pending
    done = (*found, *executed_by(history, request_id))
    completed = sorted({each.instant.requested_time for each in done if each.instant.is_completed})
    pending = sorted({each.instant.requested_time for each in found if not each.instant.is_completed})
    sentences = [f"Compaction {time} is completed: readers see its files." for time in completed]
    sentences += [
        f"Compaction plan {time} is pending: readers see the same rows as before; the next try {next_try} it."
        for time in pending
    ]
    return " ".join(sentences) or "The timeline has no compaction of this request."
