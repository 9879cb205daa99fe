"""Find the file slices of a partition that clustering may rewrite, and the reasons why other slices are left out."""

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import NamedTuple

from hudi_table_services.contract.text import human_bytes
from hudi_table_services.model.clustering import (
    ClusteringInput,
    ClusteringOptions,
    PlannedGroup,
    SkippedPartition,
)
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.clustering import MAX_NUM_GROUPS

UNKNOWN_SIZE = "size of a file is unknown"


class Candidate(NamedTuple):
    """A slice that may be rewritten. It is a named tuple for speed: a plan may have a hundred thousand candidates.

    Attributes:
        size_bytes: bytes of the base file plus weighted bytes of the log files.
        is_settled: whether the slice is already clustered with the same target size and layout.
        is_in_order: whether the slice's rows are known to be in the requested order; True if no order is requested.
    """

    file_slice: FileSlice
    size_bytes: int
    is_settled: bool = False
    is_in_order: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Slices of one partition.

    Attributes:
        chosen: slices that may be rewritten, largest first.
        large: slices that are divided into several files, largest first.
        skipped: maps each reason to the number of slices that may not be rewritten for this reason.
    """

    chosen: tuple[Candidate, ...]
    skipped: Counter[str]
    large: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionGroups:
    """Possible groups of one partition.

    Attributes:
        groups: most useful first; in parity mode in Hudi's order.
        skipped: the numbers of slices that are in no group, by reason.
    """

    partition_path: str
    groups: tuple[PlannedGroup, ...]
    skipped: tuple[SkippedPartition, ...]


def find_candidates(
    snapshot: TableSnapshot,
    partition_path: str,
    options: ClusteringOptions,
    given: ClusteringInput,
    written: Set[FileGroupId] | None,
) -> Candidates:
    """Find the latest slices that are small enough to rewrite or large enough to divide, and that a plan may contain.

    Args:
        written: the only file groups that may be chosen; None allows all file groups.
    """
    chosen, large = [], []
    skipped: Counter[str] = Counter()
    for file_slice in snapshot.slices_of(partition_path):
        size = equivalent_bytes(file_slice, options.log_weight)
        reason = obstacle(file_slice, snapshot, options, written)
        if reason is None and size is None:
            reason = UNKNOWN_SIZE
        if reason is None and size is not None and size < options.small_file_limit_bytes:
            chosen.append(_candidate(file_slice, size, options, given))
        elif reason is None and size is not None and _is_divided(file_slice, size, options, given):
            large.append(Candidate(file_slice, size))
        else:
            skipped[reason or above_limit(options)] += 1
    for candidates in (chosen, large):
        candidates.sort(key=lambda c: (-c.size_bytes, arrival_order(c.file_slice)))
    return Candidates(chosen=tuple(chosen), skipped=skipped, large=tuple(large))


def _is_divided(file_slice: FileSlice, size: int, options: ClusteringOptions, given: ClusteringInput) -> bool:
    """Whether to divide a slice into several files.

    If a clustering with the same target size wrote the file, the file is not divided, because another clustering would
    not make it smaller either.
    """
    known = given.settled.get(file_slice.file_group_id)
    is_settled = known is not None and known.target_file_max_bytes == options.target_file_max_bytes
    return 0 < options.split_above_bytes <= size and not is_settled


def equivalent_bytes(file_slice: FileSlice, log_weight: float) -> int | None:
    """Estimate the size of the slice as one base file, in bytes. Return None if the size of a file is unknown."""
    base = file_slice.base_file.size_bytes if file_slice.base_file else 0
    if not file_slice.log_files:
        return base if base >= 0 else None
    logs = [log.size_bytes for log in file_slice.log_files]
    if base < 0 or min(logs) < 0:
        return None
    return base + int(log_weight * sum(logs))


def obstacle(
    file_slice: FileSlice,
    snapshot: TableSnapshot,
    options: ClusteringOptions,
    written: Set[FileGroupId] | None,
) -> str | None:
    """Return why the slice must not be planned, whatever its size is; None if the slice may be planned."""
    reserved = snapshot.reserved_file_groups
    if reserved and file_slice.file_group_id in reserved:
        return f"in the pending plan {reserved[file_slice.file_group_id]}"
    if written is not None and file_slice.file_group_id not in written:
        return f"not written after {options.earliest_commit}"
    return None


def above_limit(options: ClusteringOptions) -> str:
    """Return the reason for a slice that is not small."""
    return f"at or above the small-file limit of {human_bytes(options.small_file_limit_bytes)}"


def no_room(options: ClusteringOptions) -> str:
    """Return the reason for a slice whose group waits for the next plan."""
    return f"no room in this plan: {MAX_NUM_GROUPS}={options.max_num_groups}"


def arrival_order(file_slice: FileSlice) -> tuple[str, str]:
    """Return a sort key: the time when the slice was written. Clustering without sort columns keeps this order."""
    return (file_slice.base_instant_time, file_slice.file_group_id.file_id)


def skipped_partitions(partition_path: str, reasons: Counter[str]) -> tuple[SkippedPartition, ...]:
    """Return the numbers of skipped slices of one partition, by reason."""
    return tuple(
        SkippedPartition(partition_path=partition_path, reason=reason, slices=count)
        for reason, count in sorted(reasons.items())
    )


def planned_group(
    partition_path: str, members: Iterable[Candidate], output_files: int, reason: str
) -> PlannedGroup:
    """Build a group of the members, in the order of `arrival_order`."""
    members = list(members)
    return PlannedGroup(
        partition_path=partition_path,
        slices=tuple(sorted((c.file_slice for c in members), key=arrival_order)),
        output_files=output_files,
        input_bytes=sum(c.size_bytes for c in members),
        reason=reason,
    )


def _candidate(
    file_slice: FileSlice, size: int, options: ClusteringOptions, given: ClusteringInput
) -> Candidate:
    known = given.settled.get(file_slice.file_group_id) if given.settled else None
    if known is None:
        return Candidate(file_slice, size, False, not options.layout.is_sorted)
    in_order = not options.layout.is_sorted or known.layout == options.layout
    settled = in_order and known.target_file_max_bytes == options.target_file_max_bytes
    return Candidate(file_slice, size, settled, in_order)
