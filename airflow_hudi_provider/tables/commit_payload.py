"""Return the number of commits since the newest completed or pending clustering, as JSON for sensors and triggers."""

from collections.abc import Iterable, Mapping
from typing import Any

from hudi_table_services.contract.text import counted, did_you_mean
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import CommitCount
from hudi_table_services.model.write_stat import WriteOperation

SHOWN_INSTANTS = 50
"""Maximum number of instants in a payload, so that the payload of a table without clusterings stays small."""


def commit_payload(count: CommitCount, every: int) -> dict[str, Any]:
    """Return a dictionary of plain JSON values.

    Its keys are ``count``, ``every``, ``since``, ``since_state``, ``instants``, ``not_counted``, ``is_complete`` and
    ``dedupe_key``.

    ``since`` is the newest completed or pending clustering, or None if there is no clustering. ``instants`` are the
    latest counted commits. ``dedupe_key`` changes when ``every`` more commits have completed or the table is clustered.
    If a triggerer fires an event again after a restart, both events have the same key, so a receiver can recognise the
    second event. The key is empty if no clustering is due. If the count is incomplete, the key changes with each
    commit, because the position of a commit among all commits is unknown.

    Args:
        every: number of commits after which a clustering is due, 1 or more.
    """
    since = count.since
    return {
        "count": count.count,
        "every": every,
        "since": None if since is None else since.requested_time,
        "since_state": None if since is None else since.state.value,
        "instants": list(count.instants[-SHOWN_INSTANTS:]),
        "not_counted": count.not_counted,
        "is_complete": count.is_complete,
        "dedupe_key": _dedupe_key(count, every),
    }


def describe_count(payload: Mapping[str, Any]) -> str:
    """Describe a commit payload in a phrase without a full stop."""
    since = (
        f" since clustering {payload['since']} ({payload['since_state']})"
        if payload["since"]
        else " and no clustering yet"
    )
    found = str(payload["count"])
    if not payload.get("is_complete", True):  # triggers of earlier releases do not send this key
        found, since = f"at least {found}", " without a clustering"
    latest = f"; the last at {payload['instants'][-1]}" if payload["instants"] else ""
    return f"{found} of {counted(payload['every'], 'commit')}{since}{latest}"


def _dedupe_key(count: CommitCount, every: int) -> str:
    """Return a key that contains the latest commit that made a clustering due, or an empty string.

    A commit makes a clustering due if it raises the count to a multiple of ``every``. If the count is incomplete, the
    key contains the latest commit instead.
    """
    if not count.is_complete:
        return f"+{every}@{count.instants[-1]}" if count.count >= every else ""
    due = count.count // every * every
    if not due or due > len(count.instants):
        return ""
    since = "" if count.since is None else count.since.requested_time
    return f"{since}+{every}@{count.instants[due - 1]}"


def write_operations(names: Iterable[str]) -> tuple[WriteOperation, ...]:
    """Return write operations by their names, regardless of case.

    Raises:
        InvalidRequestError: Hudi has no such operation.
    """
    known = {operation.value.lower(): operation for operation in WriteOperation}
    found = []
    for name in names:
        if name.lower() not in known:
            raise InvalidRequestError(
                f"There is no operation {name!r}.",
                hint=f"{did_you_mean(name, known)} Valid operations: {', '.join(known)}.".strip(),
            )
        found.append(known[name.lower()])
    return tuple(found)
