"""The keys that the tasks of a write collect for the metadata table, for writes that run without Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pyarrow as pa

from hudi_table_services.commits.metadata_table.maintenance import facts_to_collect
from hudi_table_services.execution.base_file_reader import keys_of, open_base_file
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts
from hudi_table_services.execution.metadata_table.row_changes import stage_replaced_rows
from hudi_table_services.execution.metadata_table.staged_keys import KeyStager, KeyStaging, StagedKeys
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import CommitMetadata, WriteStat
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.table import TableAccess

UNKNOWN_BYTES = -1


@contextmanager
def collected_facts(
    table: TableAccess, snapshot: TableSnapshot, content: CommitMetadata
) -> Iterator[CollectedFacts]:
    """Stage the keys that the files of the commit add and delete, if the table has a record index."""
    folder = f".hoodie/.aux/staging/{uuid4()}"
    wanted = facts_to_collect(table, content.extra_metadata["schema"], folder)
    if wanted.key_staging is None:
        yield CollectedFacts()
        return
    staged = list(_staged(table.storage, wanted.key_staging, snapshot, content))
    yield CollectedFacts.of(wanted, (), staged)
    table.storage.delete_folder(folder)


def keys_in(storage: Storage, path: str) -> list[str]:
    """Record keys in a base file."""
    with open_base_file(storage, path, UNKNOWN_BYTES) as file:
        return [key for column in keys_of(file) for key in column.to_pylist()]


def _staged(
    storage: Storage, staging: KeyStaging, snapshot: TableSnapshot, content: CommitMetadata
) -> Iterator[StagedKeys | None]:
    before = {found.file_group_id: found for found in snapshot.all_slices}
    for stat in content.write_stats:
        group = FileGroupId(stat.partition_path, stat.file_id)
        path = before[group].base_file_path if group in before else None
        yield _staged_changes(storage, staging, stat, path)
    for path, ids in (content.partition_to_replace_file_ids or {}).items():
        for file_id in ids:
            replaced = before[FileGroupId(path, file_id)]
            yield stage_replaced_rows(storage, staging, (), pa.schema([]), replaced).keys


def _staged_changes(
    storage: Storage, staging: KeyStaging, stat: WriteStat, path: str | None
) -> StagedKeys | None:
    new, old = set(keys_in(storage, stat.path)), set(keys_in(storage, path)) if path else set()
    with KeyStager(storage, staging, FileGroupId(stat.partition_path, stat.file_id)) as stager:
        stager.add_new(_column(new - old))
        stager.add_deleted(_column(old - new))
        return stager.close()


def _column(keys: set[str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(sorted(keys), pa.string())])
