"""Write operations on merge-on-read tables: which files a write creates, and the rows that hudi-rs reads afterwards."""

from pathlib import Path

import pyarrow as pa
import pytest

from hudi_table_services.execution.log_files.data_block import open_data_block
from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey
from hudi_table_services.hudi_format.ordering_values import UNCONDITIONAL, OrderingValue, Wrapper
from hudi_table_services.model.instant import Action
from hudi_table_services.model.schema import META_COLUMNS
from hudi_table_services.model.table_version import TableType
from hudi_table_services.storage.log_files.located_blocks import read_content
from hudi_table_services.storage.table_store import read_table_config
from support.spark.log_tables import LogTable, Row, new_log_table

VERSIONS = [6, 8, 9]
OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], "old") for i in range(8)]


def updated(rows: list[Row], ts: int, value: str) -> list[Row]:
    return [(key, ts, partition, value) for key, _, partition, *_ in rows]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def table(tmp_path: Path, version: int) -> LogTable:
    made = new_log_table(tmp_path / "t", version)
    made.write(OLD)
    return made


def test_a_new_merge_on_read_table_has_version_9_unless_the_request_chooses_another(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t")
    table.options = {k: v for k, v in table.options.items() if k != "hoodie.write.table.version"}
    result = table.write(OLD)
    config = read_table_config(table.storage)
    assert (config.table_type, int(config.table_version)) == (TableType.MERGE_ON_READ, 9)
    assert (result.action, result.rows.inserted) == ("deltacommit", 8)
    assert table.rows() == OLD


def test_updates_go_to_one_log_file_per_slice_and_new_keys_to_base_files(table: LogTable) -> None:
    before = {s.file_group_id: s.base_file for s in table.slices()}
    result = table.write([*updated(OLD[:4], 2, "new")])
    assert (result.rows.updated, result.rows.inserted, result.action) == (4, 0, "deltacommit")
    assert {s.file_group_id: s.base_file for s in table.slices()} == before
    assert [len(s.log_files) for s in table.slices()] == [1, 1]
    assert table.rows() == sorted([*updated(OLD[:4], 2, "new"), *OLD[4:]])
    table.write([*updated(OLD[:2], 3, "newer"), ("n1", 3, "a", "inserted")])
    logs = [len(s.log_files) for s in table.slices() if s.file_group_id in before]
    assert logs == [2, 2], "a slice with log files is never padded"
    assert len(table.slices()) == 3
    assert table.rows() == sorted(
        [*updated(OLD[:2], 3, "newer"), *updated(OLD[2:4], 2, "new"), *OLD[4:], ("n1", 3, "a", "inserted")]
    )


def test_new_keys_pad_a_small_slice_without_log_files_and_its_updates_go_into_the_base_file(
    table: LogTable,
) -> None:
    before = table.slice_of("a").file_group_id
    table.write([("n1", 2, "a", "inserted"), *updated(OLD[:2], 2, "new")])
    padded = table.slice_of("a")
    assert padded.file_group_id == before
    assert not padded.log_files
    assert len(table.slice_of("b").log_files) == 1
    assert table.rows() == sorted([("n1", 2, "a", "inserted"), *updated(OLD[:2], 2, "new"), *OLD[2:]])
    (stat,) = [s for s in table.newest()[1].write_stats if not s.is_log_file]
    assert stat.prev_commit != "null"
    assert not {"logVersion", "logFiles", "baseFile"} & stat.extra.keys()


def test_the_inflight_file_names_the_changed_slices(table: LogTable) -> None:
    slices = {s.file_group_id.file_id: s.base_instant_time for s in table.slices()}
    table.write(updated(OLD[:1], 2, "new"))
    name = f"{table.newest()[0].requested_time}.deltacommit.inflight"
    (inflight,) = [path for path in table.files() if path.endswith(name)]
    profile = decode_commit_metadata(table.storage.read(inflight))
    inserts, changed = profile.partition_to_write_stats["a"]
    assert (inserts.file_id, inserts.num_inserts) == ("", 0)
    assert (changed.prev_commit, changed.num_update_writes) == (slices[changed.file_id], 1)


def test_a_delete_operation_writes_unconditional_deletes(table: LogTable) -> None:
    result = table.write([("k0", 0, "a", None), ("none", 0, "a", None)], "delete")
    assert (result.rows.deleted, result.rows.unmatched_deletes) == (1, 1)
    ((record,),) = table.deletes(table.slice_of("a"))
    assert (record.record_key, record.partition_path, record.ordering) == ("k0", "a", UNCONDITIONAL)
    assert table.rows() == OLD[1:]


def test_the_rows_of_a_delete_need_only_key_and_partition(table: LogTable) -> None:
    table.write(updated(OLD[:2], 2, "new"))
    result = table.write([("k0", "a"), ("k1", "b")], "delete", names=("k", "p"))
    assert result.rows.deleted == 2
    assert table.rows() == OLD[2:]


def test_a_row_marked_as_deleted_becomes_a_delete_with_its_ordering_value(
    tmp_path: Path, version: int
) -> None:
    table = new_log_table(tmp_path / "t", version)
    table.write([(*row, False) for row in OLD])
    marked = [("k0", 5, "a", None, True), ("k2", 6, "a", "new", False), ("k4", None, "a", None, True)]
    result = table.write(marked)
    assert (result.rows.updated, result.rows.deleted) == (1, 2)
    blocks = table.deletes(table.slice_of("a"))
    wrappers = [{r.record_key: r.ordering for r in block} for block in blocks]
    # One block for each type of ordering value: a null deletes in any case.
    assert wrappers == [{"k4": UNCONDITIONAL}, {"k0": OrderingValue(Wrapper.LONG, 5)}]
    assert table.rows() == sorted([OLD[1], ("k2", 6, "a", "new"), OLD[3], *OLD[5:]])


@pytest.mark.parametrize(
    ("kind", "value", "wrapped"),
    [
        (pa.int32(), 7, OrderingValue(Wrapper.INT, 7)),
        (pa.float64(), 7.5, OrderingValue(Wrapper.DOUBLE, 7.5)),
        (pa.string(), "7", OrderingValue(Wrapper.STRING, "7")),
        (pa.timestamp("us", tz="UTC"), 7_000_000, OrderingValue(Wrapper.LONG, 7_000_000)),
    ],
    ids=str,
)
def test_the_wrapper_of_a_delete_has_the_type_of_the_ordering_column(
    tmp_path: Path, version: int, kind: pa.DataType, value: object, wrapped: OrderingValue
) -> None:
    table = new_log_table(tmp_path / "t", version)
    table.types = {"ts": kind}
    first = pa.scalar(1, pa.int64()).cast(kind).as_py() if not pa.types.is_string(kind) else "1"
    later = pa.scalar(value, pa.int64()).cast(kind).as_py() if pa.types.is_timestamp(kind) else value
    table.write([("k0", first, "a", "old", False), ("k1", first, "a", "old", False)])
    table.write([("k0", later, "a", None, True)])
    ((record,),) = table.deletes(table.slice_of("a"))
    assert record.ordering == wrapped
    assert [row[0] for row in table.rows()] == ["k1"]


@pytest.mark.parametrize("ordering", ["ts", ""], ids=["event time", "commit time"])
def test_duplicates_in_the_batch_are_combined_by_the_rule_of_the_table(
    tmp_path: Path, version: int, ordering: str
) -> None:
    table = new_log_table(tmp_path / "t", version)
    table.ordering_field = ordering
    table.write(OLD)
    result = table.write([("k0", 8, "a", "first"), ("k0", 6, "a", "second")])
    assert (result.rows.superseded, result.rows.updated) == (1, 1)
    expected = ("k0", 8, "a", "first") if ordering else ("k0", 6, "a", "second")
    assert table.rows() == [expected, *OLD[1:]]


def test_in_a_commit_time_table_with_an_ordering_field_the_later_duplicate_wins(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", hoodie__record__merge__mode="COMMIT_TIME_ORDERING")
    table.write(OLD)
    table.write([("k0", 8, "a", "first"), ("k0", 6, "a", "second")])
    assert table.rows() == [("k0", 6, "a", "second"), *OLD[1:]]


def test_a_late_update_is_logged_and_loses_when_it_is_read(table: LogTable) -> None:
    table.write([("k0", 0, "a", "late")])
    assert len(table.slice_of("a").log_files) == 1
    assert table.rows() == OLD


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_inserts_write_base_files_without_a_lookup_of_keys(table: LogTable, operation: str) -> None:
    result = table.write([("k0", 2, "a", "twice")], operation)
    assert (result.action, result.rows.inserted) == ("deltacommit", 1)
    assert not any(s.log_files for s in table.slices())
    assert table.rows() == sorted([*OLD, ("k0", 2, "a", "twice")])


@pytest.mark.parametrize(
    ("operation", "left"),
    [("insert_overwrite", [r for r in OLD if r[2] == "b"]), ("insert_overwrite_table", [])],
)
def test_an_overwrite_replaces_slices_with_their_log_files(
    table: LogTable, operation: str, left: list[Row]
) -> None:
    table.write(updated(OLD[:2], 2, "new"))
    new = [("n", 1, "a", "only")]
    result = table.write(new, operation)
    assert (result.action, result.rows.inserted) == ("replacecommit", 1)
    expected = [r for r in left if r[0] != "k1"] + [("k1", 2, "b", "new")] if left else []
    assert table.rows() == sorted([*new, *expected])


def test_delete_partition_replaces_slices_with_their_log_files(table: LogTable) -> None:
    table.write(updated(OLD[:2], 2, "new"))
    options = {"hoodie.datasource.write.partitions.to.delete": "a"}
    result = table.write([], "delete_partition", options=options)
    assert result.action == "replacecommit"
    assert {row[2] for row in table.rows()} == {"b"}


def test_a_dry_run_writes_nothing(table: LogTable) -> None:
    before = table.files()
    result = table.write(updated(OLD[:3], 2, "new"), dry_run=True)
    assert result.rows.updated == 3
    assert table.files() == before


def test_a_repeated_request_writes_once(table: LogTable) -> None:
    first = table.write(updated(OLD[:3], 2, "new"), request_id="same")
    again = table.write(updated(OLD[:3], 2, "new"), request_id="same")
    assert again.reused
    assert again.instant_time == first.instant_time
    assert [len(s.log_files) for s in table.slices()] == [1, 1]


def test_unchanged_rows_of_slices_without_log_files_are_left_out(table: LogTable) -> None:
    result = table.write([*OLD[:3], ("k3", 2, "b", "new")], skip_unchanged=True)
    assert (result.rows.unchanged, result.rows.updated) == (3, 1)
    result = table.write([("k1", 1, "b", "old")], skip_unchanged=True)
    assert (result.rows.unchanged, result.rows.updated) == (0, 1), (
        "the base file may not have the current row"
    )


def test_rows_in_parquet_blocks_are_read_as_rows_in_avro_blocks(table: LogTable) -> None:
    table.write(updated(OLD[:2], 2, "new"), options={"hoodie.logfile.data.block.format": "parquet"})
    assert {b.block_type for s in table.slices() for b in table.blocks(s)} == {BlockType.PARQUET_DATA}
    assert table.rows() == sorted([*updated(OLD[:2], 2, "new"), *OLD[2:]])


def test_rows_above_the_block_size_begin_new_blocks_of_the_same_file(tmp_path: Path, version: int) -> None:
    table = new_log_table(tmp_path / "t", version)
    rows = [(f"k{i:03}", 1, "a", "x" * 100) for i in range(100)]
    table.write(rows)
    table.write(updated(rows, 2, "y" * 100), options={"hoodie.logfile.data.block.max.size": "4096"})
    assert len(table.slice_of("a").log_files) == 1
    assert len(table.blocks(table.slice_of("a"))) > 2
    assert table.rows() == updated(rows, 2, "y" * 100)


def test_every_block_has_its_instant_and_schema_and_no_other_header(table: LogTable) -> None:
    table.write([*updated(OLD[:2], 2, "new")])
    table.write([("k4", 0, "a", None)], "delete")
    times = {i.requested_time for i in table.timeline_store.load().completed_writes}
    for file_slice in table.slices():
        for block in table.blocks(file_slice):
            assert block.headers.keys() == {HeaderKey.INSTANT_TIME, HeaderKey.SCHEMA}
            assert block.instant_time in times


def test_rows_of_a_block_have_all_meta_columns(table: LogTable) -> None:
    table.write(updated(OLD[:3], 2, "new"))
    instant, _ = table.newest()
    found = table.slice_of("a")
    (block,) = table.blocks(found)
    wanted = pa.schema([pa.field(name, pa.string()) for name in META_COLUMNS])
    rows = open_data_block(block, read_content(table.storage, block)).read(wanted).to_pylist()
    assert [row["_hoodie_record_key"] for row in rows] == ["k0", "k2"]
    for row in rows:
        assert row["_hoodie_commit_time"] == instant.requested_time
        assert row["_hoodie_commit_seqno"].startswith(f"{instant.requested_time}_")
        assert row["_hoodie_partition_path"] == "a"
        assert row["_hoodie_file_name"] == found.file_group_id.file_id
    assert len({row["_hoodie_commit_seqno"] for row in rows}) == 2


def test_the_names_and_stats_of_log_files_are_those_of_hudi(table: LogTable, version: int) -> None:
    base = table.slice_of("a").base_file
    assert base is not None
    for number in (1, 2):
        table.write([("k0", 1 + number, "a", "new"), ("k2", 1 + number, "a", "new")])
        instant, metadata = table.newest()
        (stat,) = table.log_stats()
        logs = table.slice_of("a").log_files
        newest = logs[-1]
        assert stat.path == f"a/{newest.file_name}"
        assert newest.write_token is not None
        assert (stat.num_writes, stat.num_update_writes, stat.num_inserts, stat.num_deletes) == (2, 2, 0, 0)
        assert stat.file_size_bytes == table.storage.size(stat.path) == newest.size_bytes
        expected: dict[str, object]
        if version == 6:
            assert (newest.instant_time, newest.version) == (base.instant_time, number)
            assert stat.prev_commit == base.instant_time
            names = [log.file_name for log in logs]
            expected = {"baseFile": base.file_name, "logFiles": names, "recordsStats": {"val": None}}
        else:
            assert (newest.instant_time, newest.version) == (instant.requested_time, 1)
            assert stat.prev_commit == instant.requested_time
            expected = {"baseFile": "", "logFiles": [newest.file_name]}
        assert stat.extra == {**expected, "logVersion": newest.version, "logOffset": 0}
        assert instant.action is Action.DELTA_COMMIT
        assert "schema" in metadata.extra_metadata
