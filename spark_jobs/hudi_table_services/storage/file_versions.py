"""Find all visible versions of a partition's file groups, for cleaning and savepoints."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE
from hudi_table_services.model.cleaning import FileGroupVersions, PartitionFiles, SliceFiles
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.clock import UTC, instant_text
from hudi_table_services.storage.file_slices import Visibility, is_visible_log, logs_by_slice
from hudi_table_services.storage.stores.storage import Storage, StoredObject
from hudi_table_services.storage.timeline_store import TimelineStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """A completed replace commit that replaced a file group.

    Attributes:
        visible_at: instant time from which readers see the replacement.
    """

    requested_time: str
    visible_at: str


def visible_times(
    storage: Storage, store: TimelineStore, config: TableConfig, timeline: Timeline
) -> dict[str, str]:
    """Map the requested time of each completed write to the instant time from which readers see the write.

    Timeline layout 1 does not record completion times, so the modification time of the completed file is used instead.
    """
    writes = timeline.completed_writes
    if config.table_version.layout.has_completion_time_in_names:
        return {i.requested_time: i.visible_from for i in writes}
    folder = config.table_version.layout.timeline_folder
    changed = {stored.path: stored.modified_ms for stored in storage.list_folder(folder).files}
    found = {}
    for instant in writes:
        modified_ms = changed.get(store.path_of(instant))
        found[instant.requested_time] = max(
            instant.requested_time, _text(modified_ms, config) if modified_ms is not None else ""
        )
    return found


def _text(modified_ms: int, config: TableConfig) -> str:
    return instant_text(datetime.fromtimestamp(modified_ms / 1000, UTC), config)


def replacements(
    store: TimelineStore, timeline: Timeline, visible_at: Mapping[str, str]
) -> dict[FileGroupId, Replacement]:
    """Map each file group that was replaced on the active timeline to its completed replace commit."""
    found: dict[FileGroupId, Replacement] = {}
    for instant in timeline.completed_writes:
        if instant.action is Action.REPLACE_COMMIT:
            taken = _replacement(instant, visible_at)
            for path, ids in (store.commit_metadata(instant).partition_to_replace_file_ids or {}).items():
                found.update({FileGroupId(path, file_id): taken for file_id in ids})
    return found


def _replacement(instant: Instant, visible_at: Mapping[str, str]) -> Replacement:
    time = instant.requested_time
    return Replacement(requested_time=time, visible_at=visible_at.get(time, instant.visible_from))


def partition_files(
    partition_path: str,
    files: Iterable[StoredObject],
    visibility: Visibility,
    replaced: Mapping[FileGroupId, Replacement],
    visible_at: Mapping[str, str],
    *,
    with_logs: bool = False,
) -> PartitionFiles:
    """Return the versions of all file groups in the listing of a partition's folder, newest first.

    Args:
        with_logs: whether log files belong to the versions, as in merge-on-read tables. Otherwise they count as other
            files of the partition.
    """
    sizes: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    logs: dict[str, list[LogFile]] = defaultdict(list)
    has_other_files = False
    for stored in files:
        base = _visible_base_file(stored, visibility)
        log = LogFile.parse_or_none(stored.name, stored.size_bytes) if with_logs and base is None else None
        if base is not None:
            sizes[base.file_id][base.instant_time][stored.name] = stored.size_bytes
        elif log is not None and is_visible_log(log, visibility):
            logs[log.file_id].append(log)
        elif not _is_side_file(stored.name):
            has_other_files = True
    for file_id, found in logs.items():
        for time, each in logs_by_slice(sizes[file_id].keys(), found, visibility).items():
            sizes[file_id][time].update({log.file_name: log.size_bytes for log in each})
    groups = []
    for file_id in sorted(sizes):
        group_id = FileGroupId(partition_path, file_id)
        taken = replaced.get(group_id)
        groups.append(
            FileGroupVersions(
                file_group_id=group_id,
                slices=tuple(
                    SliceFiles(
                        base_instant_time=time,
                        visible_at=visible_at.get(time, visibility.visible_from(time)),
                        sizes=sizes[file_id][time],
                    )
                    for time in sorted(sizes[file_id], reverse=True)
                ),
                replaced_by=taken.requested_time if taken else None,
                replaced_at=taken.visible_at if taken else "",
            )
        )
    return PartitionFiles(
        partition_path=partition_path, groups=tuple(groups), has_other_files=has_other_files
    )


def _visible_base_file(stored: StoredObject, visibility: Visibility) -> BaseFile | None:
    try:
        base = BaseFile.from_file_name(stored.name)
    except MalformedFileNameError:
        return None
    return base if visibility.sees(base.instant_time) else None


def _is_side_file(name: str) -> bool:
    """Whether the file is the partition's metadata file or a checksum file that Hadoop wrote next to another file."""
    return name.startswith(PARTITION_METAFILE) or (name.startswith(".") and name.endswith(".crc"))
