"""What a job that was ended leaves on the timeline, in a sentence for a log."""

from airflow_hudi_provider.hooks.hudi import HudiHook


def what_is_left(hook: HudiHook, request_id: str, *, how: str, otherwise: str) -> str:
    """What became of the writes of a request.

    Args:
        how: it ended, e.g. ``Killed``.
        otherwise: the sentence where nothing was begun.
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
