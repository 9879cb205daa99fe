"""Describe, in a sentence for a log, the state of a request after its job was ended."""

from airflow_hudi_provider.hooks.hudi import HudiHook


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
            "repeat the write; the next write rolls back the pending one."
        )
    return otherwise
