"""Describe, in sentences for a log, the state of a request after its job was ended."""

from airflow_hudi_provider.hooks.hudi import HudiHook
from hudi_table_services.contract.text import counted

_SEARCHED_INSTANTS = 20
"""Number of the newest completed instants that are searched for the instant of a failed request."""


def state_of_request(hook: HudiHook, request_id: str, *, how: str, otherwise: str) -> str:
    """Describe the writes of a request.

    Args:
        how: how the job ended, as the first word of the sentence, e.g. ``Killed``.
        otherwise: sentence to return if the request has no write on the timeline.
    """
    if (committed := hook.find_request(request_id)) is not None:
        return f"{how} after instant {committed[0].requested_time} was completed: the rows are in the table."
    if pending := hook.pending_of_request(request_id):
        times = ", ".join(instant.requested_time for instant in pending)
        return (
            f"{how} while instant {times} was pending: readers see the table as it was before. Clear the task to "
            "repeat the write; the next write rolls back the pending write."
        )
    return otherwise


def state_of_service(hook: HudiHook, request_id: str, action: str, *, otherwise: str) -> str:
    """Describe the instants of a table service whose job failed.

    The sentence names the completed instant of the request or, if there is none, all pending instants of the action.

    Args:
        action: action of the service's instants, such as ``clean``.
        otherwise: sentence about the effect of pending instants of this action. Other requests may have begun these
            instants.
    """
    from hudi_table_services.tables.instant_requests import request_id_of

    store = hook.timeline_store()
    timeline = store.load()
    completed = [i for i in timeline.completed if i.action.value == action][-_SEARCHED_INSTANTS:]
    for instant in reversed(completed):
        if request_id_of(store, instant) == request_id:
            return f"Failed after {action} {instant.requested_time} was completed."
    pending = [i.requested_time for i in timeline.pending if i.action.value == action]
    if pending:
        return f"Pending on the timeline: {action} {', '.join(pending)}. {otherwise}"
    return f"No {action} is pending."


def state_of_savepoints(hook: HudiHook, *, then: str) -> str:
    """Describe the savepoints of a table after the failure of a job that creates or deletes savepoints.

    Args:
        then: what happens to a pending savepoint.
    """
    savepoints = [i for i in hook.timeline() if i.action.value == "savepoint"]
    completed = [i.requested_time for i in savepoints if i.is_completed]
    pending = [i.requested_time for i in savepoints if not i.is_completed]
    sentences = [f"Savepoints on the table: {', '.join(completed) or 'none'}."]
    if pending:
        sentences.append(f"Pending: savepoint {', '.join(pending)}; {then}")
    return " ".join(sentences)


def state_of_timeline(hook: HudiHook, *, then: str) -> str:
    """Describe the active timeline after the failure of a job that writes no instants of its own.

    Args:
        then: what follows for readers and for the next run.
    """
    timeline = hook.timeline()
    completed = [i.requested_time for i in timeline.completed]
    pending = [f"{i.action.value} {i.requested_time}" for i in timeline.pending]
    oldest = f", the oldest {min(completed)}" if completed else ""
    return (
        f"The active timeline has {counted(len(completed), 'completed instant')}{oldest}; pending: "
        f"{', '.join(pending) or 'none'}. {then}"
    )


def state_of_metadata_table(hook: HudiHook) -> str:
    """Describe the metadata table after the failure of a job that builds or drops indexes."""
    config = hook.table_config()
    complete, begun = config.metadata_partitions, config.inflight_metadata_partitions
    sentences = [
        f"Complete indexes of the metadata table: {', '.join(complete)}."
        if complete
        else "The table has no metadata table that readers use."
    ]
    if begun:
        sentences.append(f"Begun but not complete: {', '.join(begun)}; the next run builds them again.")
    return " ".join(sentences)
