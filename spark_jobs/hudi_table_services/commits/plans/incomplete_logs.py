"""Report log files that end with an incomplete block, or that are empty: a writer died while it wrote the file."""

from collections.abc import Iterable, Sequence


def warnings_of_incomplete_logs(skipped: Iterable[tuple[str, int]], service: str) -> Sequence[str]:
    """Return a warning about each log file whose end the merge skipped. Readers skip the end of the file, too.

    `refuse_short_logs` refuses log files that the storage has truncated.

    Args:
        skipped: see `SliceLog.skipped`.
        service: name of the table service that merged the log files, for messages.
    """
    return [
        f"{path} has no complete block from position {position} on. Readers skip the rest of the file, and the "
        f"{service} skipped it, too."
        for path, position in sorted(set(skipped))
    ]
