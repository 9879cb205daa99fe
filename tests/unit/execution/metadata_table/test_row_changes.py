"""Tasks stage old and new entries of secondary indexes, and the keys of the record index."""

from uuid import uuid4

import pyarrow as pa
import pytest

from hudi_table_services.errors import InstantVanishedError
from hudi_table_services.execution.base_file_reader import KEPT_META_COLUMNS
from hudi_table_services.execution.base_file_writer import (
    RECORD_KEY,
    BaseFileSpec,
    BaseFileWriter,
    BloomSettings,
)
from hudi_table_services.execution.metadata_table.key_changes import StagedKeysReader
from hudi_table_services.execution.metadata_table.row_changes import (
    RowChangeStager,
    StagedRowChanges,
    secondary_staging,
    stage_replaced_rows,
)
from hudi_table_services.execution.metadata_table.staged_keys import KeyStaging, StagedKeys
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of, secondary_index_prefix
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.metadata_table import SecondaryIndex
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage

FOLDER = ".hoodie/.aux/staging/job"
GROUPS = 3
GROUP = FileGroupId("p", "f")
CITY = SecondaryIndex(name="secondary_index_city", column="city", is_grouped_by_value=True)
AGE = SecondaryIndex(name="secondary_index_age", column="age", is_grouped_by_value=False)
STAGINGS = tuple(secondary_staging(FOLDER, index, GROUPS) for index in (CITY, AGE))
DATA = pa.schema([("city", pa.string()), ("age", pa.int32())])


@pytest.fixture
def storage() -> Storage:
    return MemoryStorage(uuid4().hex)


def rows(*found: tuple[str, str | None, int | None]) -> pa.Table:
    columns = list(zip(*found, strict=True)) or [[], [], []]
    return pa.table(
        {
            RECORD_KEY: pa.array(columns[0], pa.string()),
            "city": pa.array(columns[1], pa.string()),
            "age": pa.array(columns[2], pa.int32()),
        }
    )


def stager(storage: Storage) -> RowChangeStager:
    return RowChangeStager(storage, KeyStaging(FOLDER, GROUPS), STAGINGS, GROUP)


def changes_of(storage: Storage, *staged: StagedKeys | None) -> tuple[set[str], set[str]]:
    reader = StagedKeysReader(storage, [each for each in staged if each is not None])
    found = [reader.changes(group, GROUPS) for group in range(GROUPS)]
    new = {key for each in found for key, _ in each.locations()}
    return new, {key for each in found for key in each.deletions()}


def entries_of(
    storage: Storage, index: SecondaryIndex, *staged: StagedRowChanges
) -> tuple[set[str], set[str]]:
    return changes_of(
        storage, *(entry.keys for each in staged for entry in each.secondary if entry.index == index)
    )


def test_rows_differ_if_their_index_entries_differ(storage: Storage) -> None:
    weight = SecondaryIndex(name="secondary_index_weight", column="weight", is_grouped_by_value=True)
    staging = secondary_staging(FOLDER, weight, GROUPS)

    def weights(*values: float | None) -> pa.Table:
        keys = [f"k{number}" for number in range(len(values))]
        return pa.table({RECORD_KEY: keys, "weight": pa.array(values, pa.float64())})

    nan = float("nan")
    with RowChangeStager(storage, KeyStaging(FOLDER, GROUPS), (staging,), GROUP) as changes:
        assert not changes.differ(weights(nan, None, 1.5), weights(nan, None, 1.5))
        assert not changes.differ(weights(nan, 2.0), weights(nan, 2.0)[::-1])
        assert changes.differ(weights(nan), weights(None))
        assert changes.differ(weights(nan), weights(nan, nan))
        changes.close()


def test_inserts_updates_and_deletions_change_the_entries(storage: Storage) -> None:
    with stager(storage) as staging:
        staging.inserted(rows(("k1", "Rome", 1), ("k2", None, None)))
        staging.deleted(rows(("k3", "a$b", 3)))
        staging.updated(
            rows(("k4", "Rome", 4), ("k5", None, 5), ("k6", "Oslo", 6)),
            rows(("k4", "Paris", 4), ("k5", "Oslo", None), ("k6", "Oslo", 6)),
        )
        staged = staging.close()
    assert changes_of(storage, staged.keys) == ({"k1", "k2"}, {"k3"})
    assert entries_of(storage, CITY, staged) == (
        {"Rome$k1", "\0$k2", "Paris$k4", "Oslo$k5"},
        {"a\\$b$k3", "Rome$k4", "\0$k5"},
    )
    assert entries_of(storage, AGE, staged) == ({"1$k1", "\0$k2", "\0$k5"}, {"3$k3", "5$k5"})


def test_entries_are_divided_by_the_rule_of_their_index(storage: Storage) -> None:
    cities = [f"city {number}" for number in range(20)]
    with stager(storage) as staging:
        staging.inserted(rows(*((f"k{number}", city, number) for number, city in enumerate(cities))))
        staged = staging.close()
    for entry in staged.secondary:
        reader = StagedKeysReader(storage, [entry.keys])
        for group in range(GROUPS):
            for key, _ in reader.changes(group, GROUPS).locations():
                value = key.partition("$")[0]
                hashed = secondary_index_prefix(value) if entry.index == CITY else key
                assert file_group_of(hashed, GROUPS) == group


def test_a_row_that_moves_with_its_values_keeps_its_entries(storage: Storage) -> None:
    with stager(storage) as first:
        first.deleted(rows(("k1", "Rome", 1), ("k2", "Rome", 2)))
        left = first.close()
    with stager(storage) as second:
        second.inserted(rows(("k1", "Rome", 1), ("k2", "Oslo", 2)))
        arrived = second.close()
    assert entries_of(storage, CITY, left, arrived) == ({"Rome$k1", "Oslo$k2"}, {"Rome$k2"})


def test_unchanged_rows_stage_nothing(storage: Storage) -> None:
    with stager(storage) as staging:
        staging.updated(rows(("k", "Rome", 1)), rows(("k", "Rome", 1)))
        staging.inserted(rows())
        assert staging.close() == StagedRowChanges()
    assert not list(storage.list_files(FOLDER))


def test_a_failed_task_leaves_no_staged_file(storage: Storage) -> None:
    def fail_after_staging() -> None:
        with stager(storage) as staging:
            staging.inserted(rows(("k", "Rome", 1)))
            staging.close()
            assert len(list(storage.list_files(FOLDER))) == 3
            raise InstantVanishedError("the write was undone")

    with pytest.raises(InstantVanishedError):
        fail_after_staging()
    assert not list(storage.list_files(FOLDER))


def test_all_rows_of_a_replaced_file_group_are_deleted_except_rows_that_were_written_again(
    storage: Storage,
) -> None:
    keys = ["a", "b", "c"]
    base_file = BaseFile(file_id="old", write_token="0-0-0", instant_time="20260101000000000")
    data_schema = pa.schema([("city", pa.string())])
    spec = BaseFileSpec(
        base_file=base_file,
        partition_path="p",
        expected_rows=3,
        data_schema=data_schema,
        avro_schema_json="{}",
        marker_kind=MarkerKind.CREATE,
    )
    with BaseFileWriter(storage, spec, ParquetFormat(), BloomSettings()) as writer:
        writer.write(pa.table({**dict.fromkeys(KEPT_META_COLUMNS, keys), "city": ["Rome", None, "Oslo"]}))
    group = FileGroupId("p", "old")
    replaced = FileSlice(file_group_id=group, base_instant_time=base_file.instant_time, base_file=base_file)
    gone = stage_replaced_rows(storage, KeyStaging(FOLDER, GROUPS), STAGINGS, DATA, replaced)
    assert gone.deleted_count == 3
    assert gone.size_bytes > 0
    with stager(storage) as staging:
        staging.inserted(rows(("b", None, 7), ("c", "Bonn", None)))
        again = staging.close()
    assert changes_of(storage, gone.keys, again.keys) == ({"b", "c"}, {"a"})
    assert entries_of(storage, CITY, gone, again) == ({"\0$b", "Bonn$c"}, {"Rome$a", "Oslo$c"})
    # The file does not have the column `age`, so its rows have nulls.
    assert entries_of(storage, AGE, gone, again) == ({"7$b", "\0$c"}, {"\0$a", "\0$b"})
    without_file = FileSlice(file_group_id=group, base_instant_time=base_file.instant_time)
    assert stage_replaced_rows(storage, None, STAGINGS, DATA, without_file) == StagedRowChanges()
