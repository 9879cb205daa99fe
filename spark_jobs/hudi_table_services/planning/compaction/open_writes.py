"""Find the file groups to which pending delta commits may write log files, from their workload profiles."""

from collections.abc import Mapping
from typing import NamedTuple

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata


class OpenWrites(NamedTuple):
    """File groups of pending delta commits; see the fields of `CompactionInput` with the same names."""

    open_file_groups: Mapping[FileGroupId, str]
    unknown_delta_commits: tuple[str, ...]


def open_writes(timeline: Timeline, profiles: Mapping[str, CommitMetadata]) -> OpenWrites:
    """Collect the file groups of all pending delta commits.

    A workload profile lists each file group with updates, and the number of inserts of each partition (WorkloadProfile;
    Hudi 0.15.0). With the simple, bloom and bucket indexes, Hudi writes the inserts of a profile to base files, or
    counts them as updates. With the HBase and in-memory indexes, inserts can go to log files that no profile lists. A
    table of version 6 does not store which index its writers use, so the result can lack file groups. Therefore,
    `commits.plans.left_logs` does not complete a compaction while an older delta commit inserts rows into a partition
    of the plan.

    Args:
        profiles: maps the requested time of each inflight delta commit to its workload profile. A delta commit without
            a profile, or with a profile without write stats, is unknown.
    """
    groups: dict[FileGroupId, str] = {}
    unknown = []
    for instant in timeline.pending:
        if instant.action is not Action.DELTA_COMMIT:
            continue
        profile = profiles.get(instant.requested_time)
        stats = profile.write_stats if profile is not None else ()
        if not stats:
            unknown.append(instant.requested_time)
        for stat in stats:
            if stat.file_id:
                groups.setdefault(FileGroupId(stat.partition_path, stat.file_id), instant.requested_time)
    return OpenWrites(groups, tuple(unknown))
