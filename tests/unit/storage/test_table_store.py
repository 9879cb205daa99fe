"""Reading, creating and changing table properties; the difference between tables and other folders."""

from uuid import uuid4

import pytest

from hudi_table_services.errors import (
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    TableNotFoundError,
)
from hudi_table_services.hudi_format.table_properties import encode_properties
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage import table_store
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import (
    BACKUP,
    METADATA_TABLE,
    PROPERTIES,
    create_table,
    disable_metadata_table,
    find_table_config,
    find_table_to_read,
    read_table_config,
    remove_unlisted_metadata_table,
    update_properties,
)
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, table_properties

CLOCK = FixedClock()


@pytest.fixture
def storage() -> Storage:
    return MemoryStorage(uuid4().hex)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_store, "_READ_PAUSE_SECONDS", 0)


def test_created_properties_are_read_back(storage: Storage) -> None:
    config = create_table(storage, table_properties(), CLOCK)
    assert table_properties().items() <= config.properties.items()
    assert read_table_config(storage) == config


@pytest.mark.parametrize(
    ("version", "folders"),
    [(TableVersion.V6, {"archived"}), (TableVersion.V9, {"timeline", "timeline/history"})],
)
def test_a_new_table_has_the_folders_of_its_version(
    tmp_path, version: TableVersion, folders: set[str]
) -> None:
    create_table(LocalStorage(str(tmp_path)), table_properties(version), CLOCK)
    found = {str(p.relative_to(tmp_path / ".hoodie")) for p in tmp_path.rglob("*") if p.is_dir()} - {"."}
    assert found == folders | {
        ".aux", ".aux/.bootstrap", ".aux/.bootstrap/.fileids", ".aux/.bootstrap/.partitions", ".schema", ".temp",
    }  # fmt: skip


def test_a_second_creation_of_a_table_is_a_conflict(storage: Storage) -> None:
    create_table(storage, table_properties(), CLOCK)
    with pytest.raises(CommitConflictError, match="created a table"):
        create_table(storage, table_properties(), CLOCK)


def test_an_empty_base_path_has_no_table(storage: Storage) -> None:
    assert find_table_config(storage) is None
    with pytest.raises(
        TableNotFoundError, match="no Hudi table at .*: no write has completed there. Run a load first"
    ) as refused:
        read_table_config(storage)
    assert ".hoodie" not in str(refused.value)


@pytest.mark.parametrize(
    "path", [".hoodie/.aux/staging/1/x.arrow", ".hoodie/lock", ".hoodie/.heartbeat/2026", ".hoodie/.temp/1/x"]
)
def test_a_base_path_with_leftovers_of_a_dead_first_write_has_no_table(storage: Storage, path: str) -> None:
    storage.create(path, b"")
    assert find_table_config(storage) is None
    assert find_table_to_read(storage) is None
    with pytest.raises(TableNotFoundError, match="no write has completed there"):
        read_table_config(storage)


@pytest.mark.parametrize("path", ["data.csv", "logs/a.txt", ".hoodie/20260101000000000.commit"])
def test_a_base_path_with_other_files_is_refused(storage: Storage, path: str) -> None:
    storage.create(path, b"x")
    with pytest.raises(InvalidRequestError, match="not a Hudi table"):
        find_table_config(storage)
    for read in (read_table_config, find_table_to_read):
        with pytest.raises(
            TableNotFoundError,
            match=f"contains '{path.split('/')[0]}.*Check the base path.*restore .hoodie from",
        ):
            read(storage)


@pytest.mark.parametrize(
    "main", [None, b"", b"hoodie.table.na", b"hoodie.table.name=trips\nhoodie.table.checksum=1\n"]
)
def test_the_backup_is_read_while_the_main_file_is_missing_or_truncated(
    storage: Storage, main: bytes | None
) -> None:
    storage.create(BACKUP, encode_properties(table_properties(), saved_at=CLOCK.now()))
    if main is not None:
        storage.create(PROPERTIES, main)
    assert read_table_config(storage).table_name == "trips"
    assert find_table_config(storage) == find_table_to_read(storage) is not None


def test_the_backup_is_read_if_the_main_file_is_truncated_before_its_checksum(storage: Storage) -> None:
    whole = encode_properties(table_properties(), saved_at=CLOCK.now())
    storage.create(BACKUP, whole)
    storage.create(PROPERTIES, whole[: whole.index(b"hoodie.table.checksum")])
    assert "hoodie.table.checksum" in read_table_config(storage).properties


def test_a_table_without_checksum_is_read(storage: Storage) -> None:
    storage.create(PROPERTIES, b"hoodie.table.name=trips\nhoodie.table.version=6\n")
    assert read_table_config(storage).table_version is TableVersion.V6


@pytest.mark.parametrize("content", [b"", b"hoodie.table.name=trips\nhoodie.table.checksum=1\n"])
def test_the_error_names_corrupt_properties(storage: Storage, content: bytes) -> None:
    storage.create(PROPERTIES, content)
    with pytest.raises(CorruptTableError, match=r"hoodie\.properties"):
        read_table_config(storage)


def test_changes_are_merged_with_the_properties_and_the_backup_is_deleted(storage: Storage) -> None:
    create_table(storage, table_properties(), CLOCK)
    config = update_properties(storage, {"a": "1", "hoodie.table.type": None}, CLOCK)
    assert config.get("a") == "1"
    assert config.get("hoodie.table.type") is None
    assert config.get("hoodie.table.name") == "trips"
    assert not storage.exists(BACKUP)


def test_a_change_first_completes_an_interrupted_change(storage: Storage) -> None:
    storage.create(BACKUP, encode_properties({**table_properties(), "b": "2"}, saved_at=CLOCK.now()))
    config = update_properties(storage, {"a": "1"}, CLOCK)
    assert (config.get("a"), config.get("b")) == ("1", "2")
    assert not storage.exists(BACKUP)


def test_a_leftover_backup_does_not_replace_the_main_file(storage: Storage) -> None:
    create_table(storage, {**table_properties(), "b": "main"}, CLOCK)
    storage.create(BACKUP, encode_properties({**table_properties(), "b": "backup"}, saved_at=CLOCK.now()))
    assert update_properties(storage, {"a": "1"}, CLOCK).get("b") == "main"


def test_a_change_removes_the_checksum_file_of_hadoop(tmp_path) -> None:
    storage = LocalStorage(str(tmp_path))
    create_table(storage, table_properties(), CLOCK)
    (tmp_path / ".hoodie" / ".hoodie.properties.crc").write_bytes(b"crc\0")
    update_properties(storage, {"a": "1"}, CLOCK)
    assert not (tmp_path / ".hoodie" / ".hoodie.properties.crc").exists()


def test_switching_off_the_metadata_table_removes_it_from_the_properties_and_deletes_it(
    storage: Storage,
) -> None:
    SmallTable(storage)
    listed = {
        "hoodie.table.metadata.partitions": "files",
        "hoodie.table.metadata.partitions.inflight": "column_stats",
    }
    config = update_properties(storage, listed, CLOCK)
    storage.create(f"{METADATA_TABLE}/.hoodie/hoodie.properties", b"")
    config = disable_metadata_table(storage, config, CLOCK)
    assert config.metadata_partitions == config.inflight_metadata_partitions == ()
    assert list(storage.list_files(METADATA_TABLE)) == []


def test_a_metadata_table_is_deleted_only_if_the_properties_do_not_list_it(storage: Storage) -> None:
    SmallTable(storage)
    storage.create(f"{METADATA_TABLE}/x", b"")
    listed = update_properties(storage, {"hoodie.table.metadata.partitions": "files"}, CLOCK)
    remove_unlisted_metadata_table(storage, listed)
    assert storage.exists(f"{METADATA_TABLE}/x")
    unlisted = update_properties(storage, {"hoodie.table.metadata.partitions": ""}, CLOCK)
    remove_unlisted_metadata_table(storage, unlisted)
    assert not storage.exists(f"{METADATA_TABLE}/x")
