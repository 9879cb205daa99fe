"""Rules about the content of the indexes of a metadata table, and about its HFiles; see `test_rules`."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey, decode_blocks
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.model.metadata_table import ColumnStats, StatKind, StatValue
from judges.broken_metadata import (
    Records,
    change_blocks,
    change_records,
    change_schema,
    log_files,
    metadata_folder,
    records_of,
    without_deletions,
    without_java_strings,
)
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.indexed_tables import COMPACTION
from judges.metadata_check import assert_describes_the_table
from judges.oracle import EDGES, V9, Oracle
from judges.rows import (
    KEY,
    Model,
    Row,
    as_table,
    assert_rows_equal,
    count_of_keys_seen_twice,
    merged,
    some_rows,
)
from judges.rule_tables import (
    NEW_GROUPS,
    NEW_KEYS,
    NEW_PARTITION,
    SCHEMA,
    RuleTable,
    expected,
    found_by_hudi,
    hudi_writes,
    instant_times,
    lost,
    newest_commit,
    opened,
    rows_of_hudi_rs,
)
from judges.table_files import forget_checksum
from support.depth import cases

sampled = pytest.mark.parametrize("oracle", cases(EDGES, [V9]))
thorough = pytest.mark.parametrize("oracle", cases(EDGES, []))


def changed(table: RuleTable, partition: str, change) -> None:
    """Change the records of our commit in a partition of the metadata table."""
    for log in log_files(table.base_path, table.ours, partition):
        if records_of(log):
            change_records(log, table.version, change)


def stats_of(record) -> ColumnStats:
    assert isinstance(record.payload, ColumnStats)
    return record.payload


# ---------------------------------------------------------------- rule 6


def with_bounds_of_new_files(table: RuleTable, *, is_tight: bool):
    """Return a change of records: each partition gets a range that contains only the bounds of its new file."""
    names = {path.name: path.parent.name for path in table.base_path.glob(f"*/*_{table.ours}.parquet")}
    own = {
        (names[str(stats.file_name)], stats.column_name): stats
        for log in log_files(table.base_path, table.ours, COLUMN_STATS)
        for stats in map(stats_of, records_of(log))
    }

    def narrowed(records: Records) -> Records:
        return [
            replace(
                each,
                payload=replace(
                    stats_of(each),
                    min_value=own[stats_of(each).file_name, stats_of(each).column_name].min_value,
                    max_value=own[stats_of(each).file_name, stats_of(each).column_name].max_value,
                    is_tight_bound=is_tight,
                ),
            )
            for each in records
        ]

    return narrowed


@pytest.mark.parametrize(
    "is_tight", [True, pytest.param(False, marks=pytest.mark.thorough)], ids=["tight", "not tight"]
)
def test_rule_06_control_tight_ranges_that_cover_only_new_files_hide_rows_of_other_files(
    ruled, hudi, is_tight: bool
) -> None:
    """A range that is not tight widens the earlier range. The tests of rule 1 check the ranges of the engine."""
    table = ruled(V9)
    changed(table, PARTITION_STATS, with_bounds_of_new_files(table, is_tight=is_tight))
    found, wanted = found_by_hudi(hudi("1.2.0"), table), expected(table.model)
    if is_tight:
        assert found["all"] == wanted["all"]
        assert found["great double"] < wanted["great double"]
        with pytest.raises(AssertionError, match="outside of"):
            assert_describes_the_table(table.base_path)
    else:
        assert found == wanted


# ---------------------------------------------------------------- rule 7


def swap_groups(table: RuleTable, partition: str) -> None:
    first, second = log_files(table.base_path, table.ours, partition)
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)


@thorough
def test_rule_07_control_statistics_in_the_wrong_file_group_are_not_used(ruled, hudi, oracle: Oracle) -> None:
    """Hudi does not find the statistics, so it skips no file. This project's check reports the wrong file group."""
    table = ruled(oracle)
    swap_groups(table, COLUMN_STATS)
    assert found_by_hudi(hudi(oracle.release), table) == expected(table.model)
    with pytest.raises(AssertionError, match="wrong file group"):
        assert_describes_the_table(table.base_path)


@thorough
def test_rule_07_control_hudi_does_not_find_keys_in_the_wrong_file_group(ruled, hudi, oracle: Oracle) -> None:
    table, judge = ruled(oracle), hudi(oracle.release)
    swap_groups(table, RECORD_INDEX)
    assert lost(found_by_hudi(judge, table), expected(table.model)) == {"added key": 1}
    with pytest.raises(AssertionError, match="wrong file group"):
        assert_describes_the_table(table.base_path)
    hudi_writes(judge, table.base_path, oracle, some_rows(NEW_KEYS, 30, SCHEMA, (NEW_PARTITION,)))
    rows = judge.read(table.base_path, {"hoodie.metadata.enable": "false"})
    assert count_of_keys_seen_twice(rows) == len(NEW_KEYS)


# ---------------------------------------------------------------- rule 8


def keys_of_partition(model: Model, *partitions: str) -> Model:
    return {key: row for key, row in model.items() if row["part"] in partitions}


@thorough
def test_rule_08_hudi_finds_each_key_in_our_record_index_after_deletes_and_overwrites(
    ruled, hudi, engine: Engine, oracle: Oracle
) -> None:
    table, judge = ruled(oracle), hudi(oracle.release)
    base_path, model = table.base_path, table.model

    def we_write(rows: list[Row], operation: str, **options: str) -> None:
        more = {f"hoodie.{name.replace('__', '.')}": value for name, value in options.items()}
        engine.write(
            base_path,
            as_table(rows, SCHEMA),
            version=table.version,
            operation=operation,
            options={**NEW_GROUPS, **more},
        )
        assert_describes_the_table(base_path)

    deleted = [model[key] for key in sorted(keys_of_partition(model, "a"))[:4]]
    we_write([{**row, "ts": 20} for row in deleted], "delete")
    kept = [{**model[key], "ts": 21} for key in sorted(keys_of_partition(model, "b"))[:3]]
    we_write(kept, "insert_overwrite")
    we_write([], "delete_partition", datasource__write__partitions__to__delete="c")
    gone = {row[KEY] for row in deleted} | set(keys_of_partition(model, "b", "c"))
    now = merged({key: row for key, row in model.items() if key not in gone}, kept)
    assert found_by_hudi(judge, table) == expected(now)
    # Hudi inserts the keys that we deleted, and updates the others.
    again = [{**row, "ts": 30} for row in model.values()]
    hudi_writes(judge, base_path, oracle, again)
    assert_describes_the_table(base_path)
    assert_rows_equal(judge.read(base_path), merged(now, again), str(oracle))


@thorough
def test_rule_08_control_hudi_cannot_write_replaced_keys_that_stay_in_the_record_index(
    ruled, hudi, engine: Engine, oracle: Oracle
) -> None:
    table, judge = ruled(oracle), hudi(oracle.release)
    options = {**NEW_GROUPS, "hoodie.datasource.write.partitions.to.delete": "c"}
    engine.write(
        table.base_path,
        as_table([], SCHEMA),
        version=table.version,
        operation="delete_partition",
        options=options,
    )
    for log in log_files(table.base_path, newest_commit(table.base_path), RECORD_INDEX):
        change_blocks(log, without_deletions)
    with pytest.raises(AssertionError, match="keys or locations that no live file contains"):
        assert_describes_the_table(table.base_path)
    rows = [{**row, "ts": 30} for row in keys_of_partition(table.model, "c").values()]
    with pytest.raises(HudiRefusedError, match="HoodieUpsertException"):
        hudi_writes(judge, table.base_path, oracle, rows)


# ---------------------------------------------------------------- rule 9


NAN_ROWS = (math.nan, 3.0, 90.0)
CONDITIONS = {
    "double = 3.0": {"k1"},
    "double > 2.5": {"k0", "k1", "k2", "k3"},
    "double > 80": {"k0", "k2", "k3"},
    "double < 4": {"k1", "k4"},
    "double >= 90.0 and ts = 5": {"k0", "k2"},
    "double is null": set(),
}


def with_nan(judge: HudiJudge, engine: Engine, base_path: Path, oracle: Oracle) -> Model:
    """Hudi writes partition b, and the engine a file with NaN into partition a."""
    first = [
        {**row, KEY: f"k{n}", "double": value, "ts": 1}
        for n, value, row in zip((3, 4), (100.0, 1.0), some_rows(range(2), 1, SCHEMA, ("b",)), strict=True)
    ]
    hudi_writes(judge, base_path, oracle, first)
    ours = [
        {**row, KEY: f"k{n}", "double": value, "ts": 5}
        for n, (value, row) in enumerate(zip(NAN_ROWS, some_rows(range(3), 5, SCHEMA, ("a",)), strict=True))
    ]
    engine.write(base_path, as_table(ours, SCHEMA), version=oracle.table_version, options=NEW_GROUPS)
    return merged(merged({}, first), ours)


def selected_keys(judge: HudiJudge, base_path: Path, condition: str) -> set[str]:
    name = judge.new_table_name()
    settings = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    rows = judge.sql(
        f"create table {name} using hudi location '{base_path}'",
        f"select {KEY} from {name} where {condition}",
        settings=settings,
    )
    return {row[KEY] for row in rows}


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", EDGES, ids=str)
def test_rule_09_hudi_finds_all_rows_of_our_columns_with_nan(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    """Spark orders NaN after all numbers. Only a filter that compares with NaN itself misses rows (version 9).

    Tables of version 6 have no `partition_stats`, so a file with NaN has no statistics, and no filter skips the file.
    """
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    with_nan(judge, engine, base_path, oracle)
    found = {condition: selected_keys(judge, base_path, condition) for condition in CONDITIONS}
    assert found == CONDITIONS
    if oracle is V9:
        assert_describes_the_table(base_path)
        assert selected_keys(judge, base_path, "double = double('NaN')") == set()
    else:
        with pytest.raises(AssertionError, match="no statistics of _hoodie_commit_time"):
            assert_describes_the_table(base_path)


@pytest.mark.thorough
@pytest.mark.parametrize("bounds", ["zero", "null"])
def test_rule_09_control_other_bounds_of_a_column_with_nan_lose_rows(
    hudi, engine: Engine, tmp_path: Path, bounds: str
) -> None:
    """Hudi 1.2.0 itself stores 0.0 as both bounds."""
    judge, base_path = hudi("1.2.0"), tmp_path / "t"
    with_nan(judge, engine, base_path, V9)
    value = StatValue(StatKind.DOUBLE, 0.0) if bounds == "zero" else None

    def change(records: Records) -> Records:
        return [
            replace(each, payload=replace(stats_of(each), min_value=value, max_value=value))
            if stats_of(each).column_name == "double"
            else each
            for each in records
        ]

    ours = newest_commit(base_path)
    for partition in (COLUMN_STATS, PARTITION_STATS):
        for log in log_files(base_path, ours, partition):
            if any(stats_of(each).column_name == "double" for each in records_of(log)):
                change_records(log, 9, change)
    for condition in ("double = 3.0", "double > 80"):
        assert selected_keys(judge, base_path, condition) == CONDITIONS[condition] - {"k0", "k1", "k2"}
    with pytest.raises(AssertionError):
        assert_describes_the_table(base_path)


# ---------------------------------------------------------------- rule 10


def schemas_of(base_path: Path, instant_time: str) -> set[str]:
    """Schemas in the headers of the blocks of records that a commit wrote."""
    return {
        block.headers[HeaderKey.SCHEMA]
        for log in log_files(base_path, instant_time)
        for block in decode_blocks(log.read_bytes())
        if block.block_type == BlockType.HFILE_DATA
    }


def schema_in_commit(base_path: Path, instant_time: str) -> str:
    table = opened(base_path)
    (instant,) = table.timeline.find(instant_time)
    return table.commit_metadata(instant).extra_metadata["schema"]


@sampled
def test_rule_10_our_schemas_are_those_of_hudi(ruled, oracle: Oracle) -> None:
    table = ruled(oracle)
    theirs = instant_times(table.base_path)[1]
    schemas = schemas_of(table.base_path, table.ours)
    assert schemas == schemas_of(table.base_path, theirs)
    text = schema_in_commit(table.base_path, table.ours)
    assert text == schema_in_commit(table.base_path, theirs)
    for schema in (text, *schemas):
        assert without_java_strings(schema) != schema


@pytest.mark.thorough
def test_rule_10_control_hudi_rs_refuses_log_files_without_java_strings(ruled, hudi) -> None:
    """Hudi itself reads the table."""
    table = ruled(V9)
    assert rows_of_hudi_rs(table) == len(table.model)
    for log in log_files(table.base_path, table.ours, FILES):
        change_schema(log, table.version, without_java_strings)
    with pytest.raises(Exception, match="cannot be re-tagged|reconcile"):
        rows_of_hudi_rs(table)
    assert found_by_hudi(hudi("1.2.0"), table) == expected(table.model)


@pytest.mark.thorough
def test_rule_10_control_hudi_cannot_compact_after_a_commit_without_java_strings(ruled, hudi) -> None:
    table, judge = ruled(V9), hudi("1.2.0")
    metadata = opened(table.base_path)
    (instant,) = metadata.timeline.find(table.ours)
    content = metadata.commit_metadata(instant)
    schema = without_java_strings(content.extra_metadata["schema"])
    changed_content = replace(content, extra_metadata={**content.extra_metadata, "schema": schema})
    path = metadata_folder(table.base_path) / metadata.timeline_store.path_of(instant)
    path.write_bytes(encode_commit_metadata(changed_content, metadata.config.table_version))
    forget_checksum(path)
    assert found_by_hudi(judge, table) == expected(table.model)
    rows = some_rows(range(3), 30, SCHEMA, ("a", "b", "c"))
    with pytest.raises(HudiRefusedError, match="cannot be cast to class java.lang.String"):
        hudi_writes(judge, table.base_path, V9, rows, COMPACTION)


# ---------------------------------------------------------------- rule 18


@pytest.mark.thorough
@sampled
def test_rule_18_control_hudi_does_not_find_keys_of_unsorted_files(ruled, hudi, oracle: Oracle) -> None:
    """This project's reader refuses such a file. The tests of rule 1 read the files of the engine with this reader."""
    table = ruled(oracle)
    for partition in (COLUMN_STATS, RECORD_INDEX):
        changed(table, partition, lambda records: list(reversed(records)))
    found, wanted = found_by_hudi(hudi(oracle.release), table), expected(table.model)
    assert lost(found, wanted).keys() >= {"added key"}
    assert found["all"] == wanted["all"]
    with pytest.raises((AssertionError, MalformedMetadataError)):
        assert_describes_the_table(table.base_path)
