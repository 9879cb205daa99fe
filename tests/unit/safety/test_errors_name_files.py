"""Errors have an attribute with the path of their file, so that no code searches a message for the path."""

import ast
import pickle
from pathlib import Path
from uuid import uuid4

import pytest

from hudi_table_services import errors
from hudi_table_services.errors import (
    CorruptTableError,
    ExecutionFailedError,
    FileGroupConflictError,
    MalformedMetadataError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    UnhealthyTableError,
)
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.archive.history_manifest_store import HistoryManifestStore
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import PROPERTIES, read_table_config
from hudi_table_services.tables.cleaned_files import conflict_where_cleaned
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess, check_writable
from support.small_tables import SmallTable

GROUP = FileGroupId("a", "f0-0")
OTHER_GROUP = FileGroupId("a", "f1-0")


def test_the_module_of_errors_imports_nothing() -> None:
    """The module does not even import types, because every layer imports this module."""
    tree = ast.parse(Path(errors.__file__).read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def test_pickling_keeps_the_path_of_an_error_but_not_its_evidence() -> None:
    error = UnhealthyTableError("Too old.", hint="Run clean.py.", path="a/b.parquet", evidence=object())
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.message, copy.hint, copy.path) == (
        UnhealthyTableError,
        "Too old.",
        "Run clean.py.",
        "a/b.parquet",
    )
    assert copy.evidence is None


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_storage_errors_contain_the_path_of_their_object(kind: str, tmp_path: Path) -> None:
    storage: Storage = MemoryStorage(uuid4().hex) if kind == "memory" else LocalStorage(str(tmp_path))
    with pytest.raises(ObjectNotFoundError) as missing:
        storage.read("a/gone.parquet")
    assert missing.value.path == "a/gone.parquet"
    storage.create("a/there", b"1")
    with pytest.raises(ObjectExistsError) as present:
        storage.create("a/there", b"2")
    assert present.value.path == "a/there"
    found: list[StorageError] = [missing.value, present.value]
    assert all(error.retryable for error in found)


def test_an_error_gets_the_path_of_the_innermost_file() -> None:
    with pytest.raises(MalformedMetadataError) as caught, naming("outer"), naming("inner"):
        raise MalformedMetadataError("Four bytes that are not Avro.")
    assert caught.value.message == "inner: Four bytes that are not Avro."
    assert caught.value.path == "inner"


def test_an_error_gets_its_path_even_if_its_message_contains_the_path() -> None:
    with pytest.raises(MalformedMetadataError) as caught, naming("a"):
        raise MalformedMetadataError("a field is missing")
    assert (caught.value.message, caught.value.path) == ("a: a field is missing", "a")


DAMAGED = [
    (".hoodie/20260102030405006.commit", b"", TableVersion.V6),
    (".hoodie/20260102030405006_20260102030405009.commit", b"Obj", TableVersion.V6),
    (".hoodie/timeline/20260102030405006.commit", b"{}", TableVersion.V9),
    (".hoodie/timeline/20260102030405006_20260102030405009.commit", b"", TableVersion.V9),
    (PROPERTIES, b"hoodie.table.name=trips\nhoodie.table.version=6", TableVersion.V6),
    (PROPERTIES, b"", TableVersion.V9),
    (".hoodie/timeline/history/manifest_1", b"{", TableVersion.V9),
]


def read_everything(table: SmallTable) -> None:
    config = read_table_config(table.storage)
    check_writable(config, "", updates_metadata=True)
    table.timeline_store.load()
    HistoryManifestStore(table.storage, config).files()


@pytest.mark.parametrize(("path", "content", "version"), DAMAGED)
def test_an_error_about_a_damaged_file_names_the_file(
    path: str, content: bytes, version: TableVersion
) -> None:
    table = SmallTable(MemoryStorage(uuid4().hex), version)
    table.commit(GROUP)
    table.storage.write(path, content)
    with pytest.raises(CorruptTableError) as caught:
        read_everything(table)
    assert caught.value.path == path
    assert caught.value.message.count(path) == 1


@pytest.fixture
def table() -> SmallTable:
    table = SmallTable(MemoryStorage(uuid4().hex))
    table.commit(GROUP, OTHER_GROUP)
    return table


def read_beside_a_write(table: SmallTable, failure: Exception, *, removes: bool = True) -> None:
    """Raise the failure of a reader while another writer updates GROUP; with `removes` a clean deletes the old file."""
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    before = load_snapshot(table.storage)
    table.commit(GROUP)
    if removes:
        table.storage.delete(path_of(table, GROUP))
    with conflict_where_cleaned(access, lambda: before):
        raise failure


def path_of(table: SmallTable, group: FileGroupId) -> str:
    first = table.timeline_store.load().completed_writes[0]
    stats = table.timeline_store.commit_metadata(first).write_stats
    return next(stat.path for stat in stats if stat.file_id == group.file_id)


@pytest.mark.parametrize("kind", [ExecutionFailedError, ObjectNotFoundError])
def test_a_file_that_a_clean_removed_is_a_conflict(
    table: SmallTable, kind: type[ExecutionFailedError | ObjectNotFoundError]
) -> None:
    path = path_of(table, GROUP)
    with pytest.raises(FileGroupConflictError, match=path):
        read_beside_a_write(table, kind("It could not be read.", path=path))


def test_a_missing_file_of_an_unchanged_file_group_is_not_a_conflict(table: SmallTable) -> None:
    path = path_of(table, OTHER_GROUP)
    table.storage.delete(path)
    with pytest.raises(ObjectNotFoundError):
        read_beside_a_write(table, ObjectNotFoundError("It could not be read.", path=path))


def test_a_failure_without_a_path_is_not_a_conflict(table: SmallTable) -> None:
    path = path_of(table, GROUP)
    with pytest.raises(ExecutionFailedError, match="ran out of memory"):
        read_beside_a_write(table, ExecutionFailedError(f"A worker ran out of memory after {path}."))


def test_a_file_that_still_exists_is_not_a_conflict(table: SmallTable) -> None:
    path = path_of(table, GROUP)
    with pytest.raises(ObjectNotFoundError):
        read_beside_a_write(table, ObjectNotFoundError("It could not be read.", path=path), removes=False)
