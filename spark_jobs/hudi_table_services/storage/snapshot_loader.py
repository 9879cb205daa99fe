"""Build a TableSnapshot from storage."""

from collections import defaultdict
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from hudi_table_services.errors import MalformedFileNameError
from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore


def load_snapshot(storage: Storage, partitions: Collection[str] | None = None) -> TableSnapshot:
    config = read_table_config(storage)
    store = TimelineStore(storage, config, SystemClock())
    timeline = store.load()
    done = {i.requested_time for i in timeline.completed_writes}
    first = timeline.first_requested_time or ""
    replaced = set()
    schema = None
    for instant in timeline.completed_writes:
        if instant.action is Action.REPLACE_COMMIT:
            metadata = decode_commit_metadata(store.read(instant))
            replaced |= {FileGroupId(p, f) for p, ids in (metadata.partition_to_replace_file_ids or {}).items() for f in ids}
    for instant in sorted(timeline.completed_writes, key=lambda i: i.visible_from, reverse=True):
        schema = decode_commit_metadata(store.read(instant)).extra_metadata.get("schema")
        if schema:
            break
    slices = {}
    for path in _partitions(storage, "") if partitions is None else partitions:
        groups = defaultdict(dict)
        for stored in storage.list_folder(path).files:
            try:
                base = BaseFile.from_file_name(stored.path.rpartition("/")[2], stored.size_bytes)
            except MalformedFileNameError:
                continue
            if base.instant_time in done or base.instant_time < first:
                groups[base.file_id][base.instant_time] = base
        found = []
        for file_id, versions in groups.items():
            group = FileGroupId(path, file_id)
            if group not in replaced:
                base = versions[max(versions)]
                found.append(FileSlice(file_group_id=group, base_instant_time=base.instant_time, base_file=base))
        slices[path] = tuple(sorted(found))
    return TableSnapshot(config=config, timeline=timeline, file_slices=slices, schema_json=schema or config.create_schema_json)


def _partitions(storage: Storage, folder: str) -> list[str]:
    listing = storage.list_folder(folder)
    if any(f.path.rpartition("/")[2].startswith(".hoodie_partition_metadata") for f in listing.files):
        return [folder]
    return [p for name in listing.folders if not name.startswith(".hoodie") for p in _partitions(storage, f"{folder}/{name}" if folder else name)]


def load_commit_changes(store, before, after, *, ignore):
    return ()
