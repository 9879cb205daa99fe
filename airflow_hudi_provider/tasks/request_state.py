"""What a job that was ended leaves on the timeline, as a sentence for a log."""

from airflow_hudi_provider.hooks.hudi import HudiHook


def state_of_request(hook: HudiHook, request_id: str, *, how: str, otherwise: str) -> str:
    """Describe the writes of a request.

    Args:
        how: how the job ended, e.g. ``Killed``.
        otherwise: the sentence for a request that has begun nothing.
    """
    if (committed := hook.find_request(request_id)) is not None:
        return f"{how} after {committed[0].requested_time} was completed: the rows are in the table."
    if pending := hook.pending_of_request(request_id):
        times = ", ".join(instant.requested_time for instant in pending)
        return (
            f"{how} while {times} was pending: readers see the table as it was. Clear the task to do it again; the "
            "next write rolls the pending one back."
        )
    return otherwise
