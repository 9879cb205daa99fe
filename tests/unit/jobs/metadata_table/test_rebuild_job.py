"""The job that rebuilds the metadata table: request, preview, drop, report."""

from pathlib import Path

import pytest

from hudi_table_services.contract.metadata_table import MetadataTableReport, RebuildMetadataTableRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError, PendingPlanError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
)
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import Listing
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.metadata_table import REBUILD_METADATA_TABLE
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.metadata_table.opened_table import open_metadata_table
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import (
    BACKUP,
    METADATA_TABLE,
    PROPERTIES,
    read_table_config,
    update_properties,
)
from support.fixed_clock import FixedClock
from support.metadata_table.built_tables import access, records_in, table_with_statistics
from support.small_tables import SmallTable

EACH = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
NO_RETRIES = {"hoodie.write.lock.num_retries": "0", "hoodie.write.lock.client.num_retries": "0"}
DEFAULT = {TableVersion.V6: (FILES,), TableVersion.V9: (FILES, COLUMN_STATS, PARTITION_STATS)}


def run(storage: Storage, **fields: object) -> JobResult:
    request = RebuildMetadataTableRequest(base_path="/t", **fields)  # type: ignore[arg-type]
    return rebuild_metadata_table(request, storage=storage, clock=FixedClock())


def report(result: JobResult) -> MetadataTableReport:
    assert isinstance(result.report, MetadataTableReport)
    return result.report


def content(storage: Storage) -> dict[str, bytes]:
    return {stored.path: storage.read(stored.path) for stored in storage.list_files()}


def test_an_unknown_partition_cannot_be_dropped() -> None:
    storage = table_with_statistics(TableVersion.V9)
    run(storage)
    before = content(storage)
    with pytest.raises(
        InvalidRequestError, match="has no partition 'colum_stats'. Did you mean column_stats?"
    ):
        run(storage, drop=("colum_stats",))
    assert content(storage) == before


@EACH
def test_the_job_builds_the_default_partitions_and_reports_them(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    result = run(storage)
    found = report(result)
    assert (result.outcome, result.instant_time) == (Outcome.COMPLETED, None)
    assert tuple(built.name for built in found.built) == DEFAULT[version]
    assert (found.is_whole, found.partitions_before, found.dropped) == (True, (), ())
    assert (found.data_files, found.data_partitions) == (4, 3)
    assert [built.records for built in found.built] == [
        len(records_in(storage, name)) for name in DEFAULT[version]
    ]
    for built in found.built:
        files = storage.list_files(f"{METADATA_TABLE}/{built.name}")
        assert built.size_bytes == sum(f.size_bytes for f in files if f.name.endswith(".hfile"))
    assert read_table_config(storage).metadata_partitions == tuple(sorted(DEFAULT[version]))
    assert not storage.exists(".hoodie/lock")


@EACH
def test_the_result_document_can_be_read_back(version: TableVersion) -> None:
    result = run(table_with_statistics(version), drop=("column_stats",), partitions=(BLOOM_FILTERS,))
    assert read_result(result.to_json()) == result
    text = "\n".join(line for _, lines in result.sections() for line in lines)
    assert "bloom_filters: 4 file groups, 4 records" in text
    assert "built files, bloom_filters" in result.summary()


@EACH
def test_the_partitions_of_the_table_are_built_again(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    run(storage, partitions=(BLOOM_FILTERS,))
    found = report(run(storage))
    assert [built.name for built in found.built] == [*DEFAULT[version], BLOOM_FILTERS]
    assert found.partitions_before == (BLOOM_FILTERS, FILES)


@EACH
def test_a_preview_writes_nothing_and_names_what_the_job_builds(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    run(storage, partitions=(COLUMN_STATS, BLOOM_FILTERS))
    before = content(storage)
    previewed = run(storage, preview=True)
    assert previewed.outcome is Outcome.PLANNED
    assert content(storage) == before
    expected, done = report(previewed), report(run(storage))
    assert expected.is_whole
    for estimate, built in zip(expected.built, done.built, strict=True):
        assert (estimate.name, estimate.file_groups) == (built.name, built.file_groups)
        assert built.records <= estimate.records <= built.records * 2
        assert built.size_bytes / 2 < estimate.size_bytes < built.size_bytes * 3
    assert (expected.data_files, expected.data_partitions) == (done.data_files, done.data_partitions)


@pytest.mark.parametrize(
    ("version", "wanted"),
    [(TableVersion.V6, ()), (TableVersion.V9, ()), (TableVersion.V9, (COLUMN_STATS,))],
    ids=["V6", "V9", "V9, one partition"],
)
def test_damaged_properties_of_the_metadata_table_are_replaced(
    version: TableVersion, wanted: tuple[str, ...]
) -> None:
    storage = table_with_statistics(version)
    run(storage)
    for name in (PROPERTIES, BACKUP):
        storage.write(f"{METADATA_TABLE}/{name}", b"hoodie.table.version=9")
    previewed = report(run(storage, partitions=wanted, preview=True))
    found = report(run(storage, partitions=wanted))
    assert previewed.is_whole
    assert found.is_whole
    assert {FILES, *wanted} <= {built.name for built in found.built}
    metadata = open_metadata_table(storage, read_table_config(storage), FixedClock())
    assert FILES in metadata.partitions


def test_a_preview_of_a_drop_writes_nothing() -> None:
    storage = table_with_statistics(TableVersion.V9)
    run(storage)
    before = content(storage)
    found = report(run(storage, drop=(COLUMN_STATS,), preview=True))
    assert (found.dropped, found.built) == ((COLUMN_STATS, PARTITION_STATS), ())
    found = report(run(storage, drop=(COLUMN_STATS,), partitions=(BLOOM_FILTERS,), preview=True))
    assert [built.name for built in found.built] == [BLOOM_FILTERS]
    assert content(storage) == before


@EACH
def test_partitions_are_dropped(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    run(storage, partitions=(COLUMN_STATS, BLOOM_FILTERS))
    found = report(run(storage, drop=(COLUMN_STATS,)))
    assert (found.dropped, found.built) == ((COLUMN_STATS,), ())
    assert read_table_config(storage).metadata_partitions == (BLOOM_FILTERS, FILES)
    again = run(storage, drop=(COLUMN_STATS,))
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert again.reason == "the metadata table has no column_stats"
    assert report(run(storage, drop=("all",))).dropped == (BLOOM_FILTERS, FILES)
    assert not list(storage.list_files(METADATA_TABLE))
    assert read_table_config(storage).metadata_partitions == ()


def test_an_index_that_another_release_built_is_dropped_and_the_rest_is_built() -> None:
    storage = table_with_statistics(TableVersion.V9)
    run(storage)
    listed = ",".join([*read_table_config(storage).metadata_partitions, "expr_index_x"])
    update_properties(storage, {"hoodie.table.metadata.partitions": listed}, FixedClock())
    with pytest.raises(UnsupportedTableError, match="expr_index_x"):
        run(storage, preview=True)
    found = report(run(storage, drop=("expr_index_x",), partitions=DEFAULT[TableVersion.V9]))
    assert found.dropped == ("expr_index_x",)
    assert read_table_config(storage).metadata_partitions == tuple(sorted(DEFAULT[TableVersion.V9]))


@pytest.mark.parametrize("preview", [True, False])
@EACH
def test_a_pending_write_is_refused_and_the_lock_is_released(version: TableVersion, preview: bool) -> None:
    storage = table_with_statistics(version)
    store = access(storage).timeline_store
    pending = store.start(store.request(Action.COMMIT, b""))
    before = content(storage)
    with pytest.raises(PendingPlanError, match=pending.requested_time):
        run(storage, preview=preview, options=NO_RETRIES)
    assert content(storage) == before


@EACH
def test_a_table_without_commits_gets_an_empty_metadata_table(version: TableVersion) -> None:
    storage = SmallTable(MemoryStorage(f"empty-{version.name}"), version).storage
    found = report(run(storage))
    assert tuple(built.name for built in found.built) == DEFAULT[version]
    assert [built.records for built in found.built] == [1, *(0 for _ in DEFAULT[version][1:])]
    assert records_in(storage, FILES)["__all_partitions__"].payload.files == {}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"partitions": "files"}, "must be a list of strings"),
        ({"drop": ("all", "files")}, "other names"),
        ({"drop": ("../x",)}, "not the name of a partition"),
        ({"partitions": ("",)}, "not the name of a partition"),
    ],
)
def test_invalid_requests_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        RebuildMetadataTableRequest(base_path="/t", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hoodie.metadata.enable": "false"}, "contradicts the request"),
        ({"hoodie.metadata.index.column.stats.max.columns.to.index": "0"}, "too small"),
        ({"hoodie.metadata.record.index.min.filegroup.count": "20000"}, "is above"),
        ({"hoodie.metadata.index.column.stats.columns": "a"}, "Unknown option"),
        ({"hoodie.metadata.index.column.stats.column.list": "zzz"}, "no column 'zzz'"),
    ],
)
def test_invalid_options_are_refused_before_anything_changes(options: dict[str, str], message: str) -> None:
    storage = table_with_statistics(TableVersion.V9)
    before = content(storage)
    with pytest.raises(InvalidRequestError, match=message):
        run(storage, options=options)
    assert content(storage) == before


def test_options_choose_the_columns() -> None:
    storage = table_with_statistics(TableVersion.V9)
    run(storage, options={"hoodie.metadata.index.column.stats.column.list": "ts, name"})
    columns = {r.payload.column_name for r in records_in(storage, COLUMN_STATS).values()}  # type: ignore[union-attr]
    assert columns - {"_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key"} == {"ts", "name"}


def test_flags_are_the_fields_of_the_request() -> None:
    line = REBUILD_METADATA_TABLE.parse(
        ["--base-path", "/t", "--partitions", "files, record_index", "--drop", "column_stats"]
    )
    assert isinstance(line.request, RebuildMetadataTableRequest)
    assert (line.request.partitions, line.request.drop) == (("files", "record_index"), ("column_stats",))
    assert REBUILD_METADATA_TABLE.uses_spark(line.request)
    preview = RebuildMetadataTableRequest(base_path="/t", partitions=("record_index",), preview=True)
    assert not REBUILD_METADATA_TABLE.uses_spark(preview)
    assert not REBUILD_METADATA_TABLE.uses_spark(RebuildMetadataTableRequest(base_path="/t"))


@EACH
def test_a_table_without_partitions_has_one_list_of_files(version: TableVersion) -> None:
    table = SmallTable(MemoryStorage(f"unpartitioned-{version.name}"), version)
    name = table.commit(FileGroupId("", "f1")).requested_time
    update_properties(table.storage, {"hoodie.table.partition.fields": None}, table.clock)
    run(table.storage, partitions=(FILES,))
    found = records_in(table.storage, FILES)
    assert found.keys() == {"__all_partitions__", "."}
    listing = found["."].payload
    assert isinstance(listing, Listing)
    assert {file: each.size_bytes for file, each in listing.files.items()} == {f"f1_0-1-0_{name}.parquet": 4}
    with pytest.raises(InvalidRequestError, match=r"no partition fields|version 6 have no"):
        run(table.storage, partitions=(PARTITION_STATS,))


@EACH
def test_hudis_options_set_the_numbers_of_file_groups(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    keys = {
        "hoodie.metadata.index.column.stats.file.group.count": "3",
        "hoodie.metadata.index.partition.stats.file.group.count": "5",
        "hoodie.metadata.index.bloom.filter.file.group.count": "2",
    }
    names = (*DEFAULT[version], *(() if version is TableVersion.V9 else (COLUMN_STATS,)), BLOOM_FILTERS)
    planned = report(run(storage, partitions=names, options=keys, preview=True))
    built = report(run(storage, partitions=names, options=keys))
    expected = {FILES: 1, COLUMN_STATS: 3, PARTITION_STATS: 5, BLOOM_FILTERS: 2}
    for found in (planned, built):
        assert {each.name: each.file_groups for each in found.built} == {n: expected[n] for n in names}
    table = open_metadata_table(storage, read_table_config(storage), FixedClock())
    assert {name: len(partition_slices(table, name)) for name in names} == {n: expected[n] for n in names}
    assert len(records_in(storage, COLUMN_STATS)) == next(
        each.records for each in built.built if each.name == COLUMN_STATS
    )


def test_a_table_that_cannot_be_changed_is_refused_before_spark_starts(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "t"))
    SmallTable(storage, TableVersion.V9)
    request = RebuildMetadataTableRequest(base_path=storage.base_path, partitions=("record_index",))
    assert REBUILD_METADATA_TABLE.start_without_spark(request) is None
    update_properties(storage, {"hoodie.table.cdc.enabled": "true"}, FixedClock())
    with pytest.raises(UnsupportedTableError, match="CDC"):
        REBUILD_METADATA_TABLE.start_without_spark(request)
