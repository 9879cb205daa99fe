"""Build the changes of the metadata table's partition `files` (HoodieTableMetadataUtil, Hudi 0.15 and 1.2).

For each partition of the table, a commit writes a record with only the files that the commit adds or deletes. Readers
unite the records of all commits.
"""

from collections.abc import Iterable, Iterator, Mapping

from hudi_table_services.hudi_format.metadata_table.keys import ALL_PARTITIONS, files_key
from hudi_table_services.model.metadata_table import (
    DeletedKey,
    ListedFile,
    Listing,
    MetadataChange,
    MetadataRecord,
    RecordType,
)
from hudi_table_services.model.table_service_plans import CleanMetadata, RollbackMetadata
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata

_DELETED = ListedFile(0, is_deleted=True)


def write_changes(metadata: CommitMetadata) -> Iterator[MetadataChange]:
    """Yield the records of a completed write or of a clustering: the new files with their sizes.

    Replaced files stay listed until a clean deletes them. A commit without new files, such as the deletion of
    partitions, has an empty list of partitions.
    """
    files: dict[str, dict[str, int]] = {}
    for stat in metadata.write_stats:
        if not stat.path:
            continue
        sizes = files.setdefault(stat.partition_path, {})
        name = _name(stat.path)
        # Two stats of one log file differ if a writer appended to the file between them: the greater size is current.
        sizes[name] = max(stat.file_size_bytes, sizes.get(name, 0))
    yield _all_partitions(_entries(files, ListedFile(0)))
    for partition_path in sorted(files):
        listed = {name: ListedFile(size) for name, size in sorted(files[partition_path].items())}
        yield _files(partition_path, listed)


def first_records(files: Mapping[str, Mapping[str, int]]) -> Iterator[MetadataRecord]:
    """Yield the records of a new metadata table: all partitions, and the files of each partition.

    Args:
        files: maps each partition path to its files, and each file to its size. A partition may have no files.
    """
    yield _all_partitions(_entries(files, ListedFile(0)))
    for partition_path in sorted(files):
        yield _files(
            partition_path, {name: ListedFile(size) for name, size in sorted(files[partition_path].items())}
        )


def clean_changes(metadata: CleanMetadata, version: TableVersion) -> Iterator[MetadataChange]:
    """Yield the changes of a clean: its deleted files, and the partitions that it removed."""
    for path, names in cleaned_files(metadata):
        yield _files(path, dict.fromkeys(names, _DELETED))
    removed = sorted(
        path for path, partition in metadata.partitions.items() if partition.is_partition_deleted
    )
    if removed:
        yield _all_partitions(_entries(removed, _DELETED))
    yield from _removed_keys(removed, version)


def cleaned_files(metadata: CleanMetadata) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return pairs of a partition path and the names of the files that a clean deleted or could not delete, sorted.

    As in Hudi, a file that could not be deleted is also removed from the lists, because no reader needs the file.
    """
    found: list[tuple[str, tuple[str, ...]]] = []
    for path in sorted(metadata.partitions):
        partition = metadata.partitions[path]
        names = {_name(file) for file in (*partition.delete_path_patterns, *partition.deleted_files)}
        found += [(path, tuple(sorted(names)))] if names else []
    return tuple(found)


def rollback_changes(metadata: RollbackMetadata, version: TableVersion) -> Iterator[MetadataChange]:
    """Yield the records of a rollback: in table version 6, the log files to which the rollback appended a block.

    The files of the rolled-back commit need no record: the rollback of the commit in the metadata table removes them.
    From version 8 on, a rollback deletes log files instead of appending to them, so there is no record.
    """
    if version >= TableVersion.V8:
        return
    for path in sorted(metadata.partitions):
        partition = metadata.partitions[path]
        sizes: dict[str, int] = {}
        for file, size in partition.rollback_log_files.items():
            sizes[_name(file)] = max(size, sizes.get(_name(file), 0))
        if sizes:
            yield _files(path, {name: ListedFile(size) for name, size in sorted(sizes.items())})


def repair_changes(
    listed: Mapping[str, Mapping[str, int]], present: Mapping[str, Mapping[str, int]], version: TableVersion
) -> Iterator[MetadataChange]:
    """Yield the changes that make the lists equal to the folders, as Hudi does after a restore.

    If the metadata table lists a file with too large a size, no change can correct the size, because readers use the
    greatest size in any record of the file.

    Args:
        listed: maps each partition path to its files, and each file to its size in the metadata table.
        present: maps each partition path to its files, and each file to its size in the folders of the table.
    """
    new, gone = sorted(present.keys() - listed.keys()), sorted(listed.keys() - present.keys())
    if new or gone:
        yield _all_partitions(_entries(new, ListedFile(0)) | _entries(gone, _DELETED))
    for path in sorted(present.keys() | listed.keys()):
        before, now = listed.get(path, {}), present.get(path, {})
        changed = {name: ListedFile(size) for name, size in now.items() if before.get(name) != size}
        changed |= dict.fromkeys(before.keys() - now.keys(), _DELETED)
        if changed:
            yield _files(path, dict(sorted(changed.items())))
    yield from _removed_keys(gone, version)


def _removed_keys(paths: Iterable[str], version: TableVersion) -> Iterator[DeletedKey]:
    """In version 9, yield a deletion of the record of each removed partition. Older versions keep these records."""
    if version >= TableVersion.V9:
        yield from (DeletedKey(files_key(path)) for path in paths)


def _entries(paths: Iterable[str], entry: ListedFile) -> dict[str, ListedFile]:
    return dict.fromkeys(map(files_key, sorted(paths)), entry)


def _all_partitions(entries: Mapping[str, ListedFile]) -> MetadataRecord:
    return MetadataRecord(key=ALL_PARTITIONS, record_type=RecordType.ALL_PARTITIONS, payload=Listing(entries))


def _files(partition_path: str, entries: Mapping[str, ListedFile]) -> MetadataRecord:
    return MetadataRecord(
        key=files_key(partition_path), record_type=RecordType.FILES, payload=Listing(entries)
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]
