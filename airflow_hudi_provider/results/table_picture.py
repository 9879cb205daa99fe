"""Draw a table as text: its files by partition, with bars for file sizes, and the latest instants."""

from collections.abc import Iterable, Sequence

from hudi_table_services.contract.text import NOT_PARTITIONED, bar, counted, human_bytes
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_snapshot import TableSnapshot

SHOWN_PARTITIONS = 40
SHOWN_FILES = 8
SHOWN_INSTANTS = 10


def draw_table(snapshot: TableSnapshot) -> str:
    """Draw the partitions in order, each with its largest files first.

    A full bar stands for the size of the table's largest file.
    """
    config = snapshot.config
    sizes = {
        path: sorted((s.size_bytes for s in snapshot.slices_of(path)), reverse=True)
        for path in snapshot.partitions
    }
    logs = {path: sum(len(s.log_files) for s in snapshot.slices_of(path)) for path in snapshot.partitions}
    count, total = sum(map(len, sizes.values())), sum(map(sum, sizes.values()))
    lines = [
        f"{config.table_name}: {counted(count, 'file')}{_with_logs(sum(logs.values()))}, {human_bytes(total)} in "
        f"{counted(len(sizes), 'partition')} (table version {int(config.table_version)})"
    ]
    largest = max((size for of_partition in sizes.values() for size in of_partition), default=0)
    for path in sorted(sizes)[-SHOWN_PARTITIONS:]:
        lines.extend(_partition_lines(path, sizes[path], logs[path], largest))
    if len(sizes) > SHOWN_PARTITIONS:
        lines.append(f"  … and {counted(len(sizes) - SHOWN_PARTITIONS, 'partition')} before these")
    lines.extend(instant_lines(snapshot.timeline.instants[-SHOWN_INSTANTS:]))
    return "\n".join(lines)


def _partition_lines(path: str, sizes: Sequence[int], logs: int, largest: int) -> Iterable[str]:
    yield (
        f"  {path or NOT_PARTITIONED}: {counted(len(sizes), 'file')}{_with_logs(logs)}, {human_bytes(sum(sizes))}"
    )
    for size in sizes[:SHOWN_FILES]:
        yield f"    {bar(size, largest)} {human_bytes(size)}"
    if len(sizes) > SHOWN_FILES:
        yield f"    … and {counted(len(sizes) - SHOWN_FILES, 'smaller file')}"


def _with_logs(count: int) -> str:
    """Return the number of log files in words, or an empty string for 0. The sizes of file slices include log files."""
    return f" with {counted(count, 'log file')}" if count else ""


def instant_lines(instants: Sequence[Instant]) -> Iterable[str]:
    """Yield one line per instant; lines of pending instants show the state."""
    for instant in instants:
        state = "" if instant.is_completed else f"  {instant.state.value.upper()}"
        yield f"  {instant.requested_time}  {instant.action.value}{state}"
