"""A listing of a table has the same result, whether it comes from the metadata table or from the folders."""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage import timeline_store
from hudi_table_services.storage.metadata_table.unusable import Reason
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_files import FEW_PARTITIONS, Source, TableListing, list_table
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.fixed_clock import FixedClock
from support.listing.counting_storage import CountingStorage
from support.listing.listed_tables import ListedTable, listed_table
from support.metadata_table.whole_metadata_golden import NAMES, VERSIONS, whole_table

EACH_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"v{version.value}")
MOST_REQUESTS = 25
WRITES_BEFORE_COMPACTION = 9
"""By default the tenth write since a compaction compacts the metadata table again."""

_TABLES = {version: listed_table(version, partitions=30, files_each=3) for version in VERSIONS}


@pytest.fixture(params=VERSIONS, ids=lambda version: f"v{version.value}")
def table(request: pytest.FixtureRequest) -> ListedTable:
    return listed_table(request.param, partitions=12, files_each=2)


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs read damaged files again without a pause."""
    monkeypatch.setattr(timeline_store, "_PAUSES", (0.0,))


def listing_of(
    storage: Storage, partitions: Collection[str] | None = None, *, config: TableConfig | None = None
) -> TableListing:
    config = config or read_table_config(storage)
    timeline = TimelineStore(storage, config, FixedClock()).load()
    return list_table(storage, config, timeline, FixedClock(), partitions)


def from_folders(storage: Storage, partitions: Collection[str] | None = None) -> TableSnapshot:
    return without_empty(load_snapshot(storage, partitions, metadata_enable=False))


def from_either(storage: Storage, partitions: Collection[str] | None = None) -> TableSnapshot:
    return without_empty(load_snapshot(storage, partitions))


def without_empty(snapshot: TableSnapshot) -> TableSnapshot:
    """The snapshot without partitions that have no file of a completed write."""
    return replace(
        snapshot, file_slices={path: found for path, found in snapshot.file_slices.items() if found}
    )


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# ------------------------------------------------------------------ equal results


@EACH_VERSION
@pytest.mark.parametrize("name", NAMES)
def test_tables_of_hudi_have_the_same_snapshot_from_metadata_table_and_folders(
    version: TableVersion, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    golden = whole_table(version, name, LocalStorage(str(tmp_path)))
    golden.put_data_files()
    assert listing_of(golden.storage).source is Source.METADATA_TABLE
    snapshot = from_either(golden.storage)
    assert snapshot.all_slices
    assert snapshot == from_folders(golden.storage)
    assert warnings(caplog) == []


@EACH_VERSION
@given(data=st.data())
def test_any_partitions_have_the_same_slices_from_metadata_table_and_folders(
    version: TableVersion, data: st.DataObject
) -> None:
    made = _TABLES[version]
    names = st.sampled_from([*made.partitions, "absent", "year=2000"])
    wanted = data.draw(st.none() | st.sets(names, max_size=len(made.partitions)))
    listing = listing_of(made.storage, wanted)
    is_few = wanted is not None and len(wanted) < FEW_PARTITIONS
    assert listing.source is (Source.FOLDERS if is_few else Source.METADATA_TABLE)
    snapshot = load_snapshot(made.storage, wanted)
    assert snapshot == load_snapshot(made.storage, wanted, metadata_enable=False)
    assert set(snapshot.partitions) == set(made.partitions) & (
        set(made.partitions) if wanted is None else wanted
    )


def test_files_of_the_newest_writes_are_in_the_snapshot(table: ListedTable) -> None:
    snapshot = load_snapshot(table.storage)
    ids = [each.file_group_id.file_id for each in snapshot.slices_of(table.partitions[0])]
    assert ids == ["g0-0", "g1-0", "new0-0"]
    assert snapshot.slices_of(table.partitions[0])[0].size_bytes == 5


# ------------------------------------------------------------------ the chosen source, and the requests to it


@EACH_VERSION
def test_a_thousand_partitions_need_few_requests(version: TableVersion) -> None:
    made = listed_table(version, partitions=1000, files_each=1, writes=WRITES_BEFORE_COMPACTION)
    storage = CountingStorage(made.storage)
    snapshot = load_snapshot(storage)
    assert len(snapshot.partitions) == 1000
    assert storage.count <= MOST_REQUESTS, storage.requests


def test_few_partitions_are_listed_in_their_folders(table: ListedTable) -> None:
    storage = CountingStorage(table.storage)
    few = table.partitions[: FEW_PARTITIONS - 1]
    assert listing_of(storage, few).source is Source.FOLDERS
    assert storage.below(METADATA_TABLE) == 0
    assert listing_of(storage, table.partitions[:FEW_PARTITIONS]).source is Source.METADATA_TABLE


def test_folders_are_listed_if_the_metadata_table_is_switched_off(table: ListedTable) -> None:
    storage = CountingStorage(table.storage)
    load_snapshot(storage, metadata_enable=False)
    assert storage.below(METADATA_TABLE) == 0
    assert storage.below(table.partitions[0]) == 1


def test_a_listing_from_the_metadata_table_reads_no_folders(table: ListedTable) -> None:
    storage = CountingStorage(table.storage)
    load_snapshot(storage)
    assert {path for path in storage.requests if not path.startswith(".hoodie/")} == set()


@pytest.mark.parametrize("listed", [{}, {"hoodie.table.metadata.partitions.inflight": "files"}])
def test_a_metadata_table_that_the_properties_do_not_list_is_not_read_and_not_reported(
    table: ListedTable, caplog: pytest.LogCaptureFixture, listed: Mapping[str, str]
) -> None:
    properties = {**read_table_config(table.storage).properties, "hoodie.table.metadata.partitions": ""}
    storage = CountingStorage(table.storage)
    listing = listing_of(storage, config=TableConfig({**properties, **listed}))
    assert listing.source is Source.FOLDERS
    assert listing.refusal is not None
    assert listing.refusal.reason in (Reason.NOT_LISTED, Reason.BEING_BUILT)
    assert storage.below(METADATA_TABLE) == 0
    assert warnings(caplog) == []


# ------------------------------------------------------------------ damage and changes


def lose_a_log(table: ListedTable) -> str:
    path = table.metadata_files(".log.")[-1]
    table.storage.delete(path)
    return "damaged, lost"


def cut_the_base_file(table: ListedTable) -> str:
    path = table.metadata_files(".hfile")[-1]
    table.storage.write(path, table.storage.read(path)[:-100])
    return f"File: {path}."


def lose_the_base_file(table: ListedTable) -> str:
    path = table.metadata_files(".hfile")[-1]
    table.storage.delete(path)
    return path.rpartition("/")[2]


def lose_everything(table: ListedTable) -> str:
    table.storage.delete_folder(METADATA_TABLE)
    return "a metadata table that does not exist"


def forget_a_write(table: ListedTable) -> str:
    table.table.data("20260101000099999")
    return "20260101000099999"


@pytest.mark.parametrize(
    "harm", [lose_a_log, cut_the_base_file, lose_the_base_file, lose_everything, forget_a_write]
)
def test_folders_are_listed_with_one_warning_if_the_metadata_table_cannot_be_used(
    table: ListedTable, caplog: pytest.LogCaptureFixture, harm: Callable[[ListedTable], str]
) -> None:
    expected = harm(table)
    assert from_either(table.storage) == from_folders(table.storage)
    (message,) = warnings(caplog)
    assert table.storage.uri in message
    assert expected in message
    assert "rebuild_metadata_table.py" in message


def test_the_metadata_table_is_read_again_if_a_file_vanishes_during_the_first_reading(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Changing(MemoryStorage):
        failures: list[str] = []  # noqa: RUF012 - the threads share this list

        def read(self, path: str) -> bytes:
            if ".log." in path and not Changing.failures:
                Changing.failures.append(path)
                raise ObjectNotFoundError(f"{path} does not exist.", path=path)
            return super().read(path)

    storage = Changing(uuid4().hex)
    made = listed_table(TableVersion.V9, partitions=12, files_each=1, storage=storage)
    assert listing_of(made.storage).source is Source.METADATA_TABLE
    assert len(Changing.failures) == 1
    assert warnings(caplog) == []


def test_folders_are_listed_if_a_file_vanishes_at_every_reading(
    table: ListedTable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = MemoryStorage.read

    def read(self: MemoryStorage, path: str) -> bytes:
        if ".log." in path:
            raise ObjectNotFoundError(f"{path} does not exist.", path=path)
        return original(self, path)

    monkeypatch.setattr(MemoryStorage, "read", read)
    listing = listing_of(table.storage)
    assert listing.source is Source.FOLDERS
    assert listing.refusal is not None
    assert listing.refusal.reason is Reason.CHANGED
    assert set(listing.files) == set(table.partitions)
    (message,) = warnings(caplog)
    assert "retain more commits" in message
