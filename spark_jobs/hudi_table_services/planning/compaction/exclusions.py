"""Find the slices with log files that a compaction may plan, and the reasons why other slices are left out.

As in BaseHoodieCompactionPlanGenerator (Hudi 0.15.0 and 1.2.0), a plan contains no file group of a pending compaction
or clustering. In addition, this module leaves out:

- File groups of a pending log compaction. Hudi plans these file groups (`filterLogCompactionOperations` is false); the
  compaction then has priority over the log compaction.
- In table version 6, file groups to which a pending delta commit may write. The log file of the delta commit belongs to
  the current slice, but is not in the plan, so its rows would disappear when the compaction completes. Hudi on Spark
  prevents such a loss only with eager rollbacks and without concurrency control. With these settings, Hudi schedules
  no compaction while an older write is pending. From version 8 on, the log file belongs to the new slice.
- Slices with a file of unknown size.

Partitions are selected by a list of paths and by a pattern, which must match a part of the path, as in
PartitionRegexBasedCompactionStrategy. In Hudi the pattern is a strategy of its own. In this project the pattern applies
to each strategy.
"""

import re
from collections.abc import Callable

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.compaction.compaction_proposal import CompactionInput, SkippedSlice
from hudi_table_services.model.compaction.compaction_settings import CompactionOptions
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.compaction import PARTITION_PATTERN, SELECTED_PARTITIONS

UNKNOWN_SIZE = "size of a file is unknown"

_SERVICES = {
    Action.COMPACTION: "compaction",
    Action.LOG_COMPACTION: "log compaction",
    Action.CLUSTERING: "clustering",
    Action.REPLACE_COMMIT: "clustering",
}


def partition_obstacle(options: CompactionOptions) -> Callable[[str], str | None]:
    """Return a function that takes a partition path and returns the reason to leave the partition out, or None.

    Raises:
        InvalidRequestError: the pattern is not a regular expression.
    """
    selected = frozenset(options.selected_partitions)
    try:
        pattern = re.compile(options.partition_pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidRequestError(
            f"{PARTITION_PATTERN} is {options.partition_pattern!r}, which is not a regular expression: {error}."
        ) from error

    def obstacle(partition_path: str) -> str | None:
        if selected and partition_path not in selected:
            return f"partition is not in {SELECTED_PARTITIONS}"
        if pattern.search(partition_path) is None:
            return f"partition does not match {PARTITION_PATTERN}={options.partition_pattern}"
        return None

    return obstacle


def slice_obstacle(
    snapshot: TableSnapshot, given: CompactionInput
) -> Callable[[FileSlice], SkippedSlice | None]:
    """Return a function that takes a slice with log files and returns the reason to leave the slice out, or None."""
    reserved = snapshot.reserved_file_groups
    plans = {i.requested_time: _plan_name(i) for i in snapshot.timeline.pending if i.action in _SERVICES}
    has_shared_slices = not snapshot.config.table_version.has_own_log_instants
    open_groups = given.open_file_groups if has_shared_slices else {}
    unknown = min(given.unknown_delta_commits, default=None) if has_shared_slices else None

    def obstacle(file_slice: FileSlice) -> SkippedSlice | None:
        group = file_slice.file_group_id
        # The hash of a file group takes time, and most tables have no plans and no open writes.
        if reserved and group in reserved:
            return SkippedSlice(
                group, f"in the {plans.get(reserved[group], f'pending plan {reserved[group]}')}"
            )
        if open_groups and group in open_groups:
            return SkippedSlice(
                group, f"the pending delta commit {open_groups[group]} may write to the file group"
            )
        if unknown is not None:
            return SkippedSlice(group, f"the pending delta commit {unknown} may write to any file group")
        if _has_unknown_size(file_slice):
            return SkippedSlice(group, UNKNOWN_SIZE)
        return None

    return obstacle


def _plan_name(instant: Instant) -> str:
    return f"pending {_SERVICES[instant.action]} {instant.requested_time}"


def _has_unknown_size(file_slice: FileSlice) -> bool:
    base = file_slice.base_file
    if base is not None and base.size_bytes < 0:
        return True
    for log in file_slice.log_files:  # noqa: SIM110 - a generator takes twice as long, and most slices have few log files
        if log.size_bytes < 0:
            return True
    return False
