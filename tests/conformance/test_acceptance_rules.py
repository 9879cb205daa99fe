"""Rules that a table must follow so that real Hudi accepts it: 21 rules, each with a test.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 6, 8 and 9, both on Spark 3.5.8. If a writer
breaks certain rules, Hudi reports no error, but reads wrong rows later. Each of these rules also has a negative
control: a test changes the table so that the table breaks only this rule. Hudi must then fail or read wrong rows.

====  ===================================================================  ===================================
rule  the writer must                                                      tested in
====  ===================================================================  ===================================
1     not commit while the metadata table is active                        test_metadata_table
2     remove the metadata table's property before its folder, and check    test_metadata_table
      before the commit that the metadata table is still switched off
3     remove Hadoop's checksum file of a file that it rewrites             test_acceptance_rules_timeline
4     hash the last 1 to 3 bytes of a key as Hudi's bloom filter does      here
5     name list elements ``element``                                       here
6     store decimals as fixed-length bytes                                 here
7     store timestamps as UTC microseconds                                 here
8     write a marker before each data file                                 test_acceptance_rules_timeline
9     not complete an instant that another writer has rolled back          test_acceptance_rules_timeline
10    leave no Parquet file that is not part of its commit                 here
11    put no null into a list                                              here
12    write filter, type code, smallest and greatest key into the footer   here
13    name nested Avro records by the chain of their parents               here
14    give size, id, path and partition of each file in the commit         test_acceptance_rules_timeline
15    write ``.hoodie_partition_metadata`` into each partition             here
16    from version 8 on, use Avro content, completion times, a merge mode  test_acceptance_rules_timeline
17    write a correct ``hoodie.table.checksum`` or none                    test_acceptance_rules_timeline
18    use file ids without ``_`` and ``.``                                 here
19    URL-encode partition values if the table is configured so            here
20    expect that Hudi 1.x upgrades the table between two jobs             test_acceptance_rules_timeline
21    write plans that Hudi can execute, and not change planned groups     test_hudi_executes_our_plans,
                                                                           test_acceptance_rules_timeline
====  ===================================================================  ===================================
"""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.errors import InvalidDataError
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.oracle import EDGES, ONLY_NEWEST_SAMPLED, ONLY_OLDEST_SAMPLED, SAMPLED_ORACLES, V6_OLD, V9, Oracle
from judges.rows import (
    ALL_TYPES,
    KEY,
    OUR_ROWS,
    PARTITION,
    PLAIN,
    a_row,
    as_table,
    assert_rows_equal,
    count_of_keys_seen_twice,
    merged,
    rows_by_key,
    some_rows,
)
from judges.table_files import (
    AVRO_SCHEMA,
    BLOOM_FILTER,
    BLOOM_TYPE,
    MAX_KEY,
    MIN_KEY,
    copy_table,
    data_files,
    footer,
    forget_checksum,
    instant_names,
    new_file_name,
    rewrite,
    timeline_folder,
)

every_oracle = pytest.mark.parametrize("oracle", SAMPLED_ORACLES)
oldest_and_newest = pytest.mark.parametrize("oracle", EDGES, ids=str)
every_version = pytest.mark.parametrize("version", [6, 8, 9])

BLOOM = {"index__type": "BLOOM", "parquet__small__file__limit": "0"}
SIMPLE = {"index__type": "SIMPLE", "parquet__small__file__limit": "0"}

OURS = merged({}, OUR_ROWS)
# One row of each partition, so that Hudi merges every file group and copies 19 rows of each group unchanged.
TOUCHED = [0, 1]
TOUCHING = some_rows(TOUCHED, 2)


def _let_hudi_merge_every_file_group(judge: HudiJudge, base_path: Path, oracle: Oracle) -> pa.Table:
    """Let Hudi merge every file group once, and return the rows afterwards."""
    judge.write(base_path, as_table(TOUCHING), oracle.options("t"))
    return judge.read(base_path)


# ---------------------------------------------------------------- rule 4


@every_oracle
def test_rule_04_the_bloom_index_of_hudi_finds_our_keys_of_every_length(hudi, ours, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    judge.write(base_path, as_table(some_rows(range(0, 40, 2), 2)), oracle.options("t", **BLOOM))
    assert_rows_equal(judge.read(base_path), merged(OURS, some_rows(range(0, 40, 2), 2)), str(oracle))


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_rule_04_control_if_the_filter_contains_other_keys_hudi_writes_duplicates(
    hudi, ours, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    others = [{**row, KEY: "another " + row[KEY]} for row in OUR_ROWS]
    engine.write(tmp_path / "others", as_table(others), version=oracle.table_version)
    foreign_filter = footer(data_files(tmp_path / "others")[0])[BLOOM_FILTER]
    for path in data_files(base_path):
        rewrite(path, footer_changes={BLOOM_FILTER: foreign_filter})
    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    assert count_of_keys_seen_twice(judge.read(base_path)) == len(TOUCHED)


# ---------------------------------------------------------------- rules 5, 6, 7, 13: a merge by Hudi


@every_oracle
def test_rules_05_06_07_13_a_merge_by_hudi_keeps_every_untouched_value(hudi, ours, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    assert_rows_equal(
        _let_hudi_merge_every_file_group(judge, base_path, oracle), merged(OURS, TOUCHING), str(oracle)
    )


@every_version
def test_rules_05_06_07_our_files_have_the_physical_types_that_hudi_merges_correctly(
    ours, version: int
) -> None:
    for path in data_files(ours(version)):
        columns = {column.path: column for column in pq.ParquetFile(path).schema}
        assert "numbers.list.element" in columns
        assert "visits.list.element.cost" in columns
        for name in ("small_decimal", "long_decimal", "wide_decimal", "visits.list.element.cost"):
            assert columns[name].physical_type == "FIXED_LEN_BYTE_ARRAY"
        assert columns["instant"].physical_type == "INT64"
        time = json.loads(columns["instant"].logical_type.to_json())
        assert (time["Type"], time["isAdjustedToUTC"], time["timeUnit"]) == (
            "Timestamp",
            True,
            "microseconds",
        )


@pytest.mark.thorough
@oldest_and_newest
def test_rule_05_control_if_list_elements_have_another_name_hudi_loses_the_lists(
    hudi, ours, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    for path in data_files(base_path):
        rewrite(path, change=_with_item_as_element_name, use_compliant_nested_type=False)
    assert_rows_equal(judge.read(base_path), OURS, str(oracle))
    assert _untouched(_let_hudi_merge_every_file_group(judge, base_path, oracle), "numbers") == {None}


@pytest.mark.thorough
@oldest_and_newest
def test_rule_06_control_if_decimals_are_stored_as_integers_hudi_multiplies_them(
    hudi, ours, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    for path in data_files(base_path):
        rewrite(path, store_decimal_as_integer=True)
    assert_rows_equal(judge.read(base_path), OURS, str(oracle))
    key, value = next((row[KEY], row["small_decimal"]) for row in OUR_ROWS[2:] if row["small_decimal"])
    assert (
        rows_by_key(_let_hudi_merge_every_file_group(judge, base_path, oracle))[key]["small_decimal"]
        == value * 100
    )


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V6_OLD], ids=str)
def test_rule_07_control_if_timestamps_are_in_milliseconds_hudi_reads_years_up_to_1970(
    hudi, ours, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    for path in data_files(base_path):
        rewrite(path, coerce_timestamps="ms", allow_truncated_timestamps=True)
    years = {
        instant.year
        for instant in _untouched(_let_hudi_merge_every_file_group(judge, base_path, oracle), "instant")
        if instant
    }
    assert years <= {1969, 1970}
    assert max(row["instant"].year for row in OUR_ROWS[2:] if row["instant"]) > 1970


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V6_OLD], ids=str)
def test_rule_13_control_if_a_namespace_has_one_more_level_hudi_refuses_upserts(
    hudi, ours, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    _rename_record_in_list(timeline_folder(base_path) / instant_names(base_path, ".commit")[-1])
    with pytest.raises(HudiRefusedError):
        _let_hudi_merge_every_file_group(judge, base_path, oracle)


def _with_item_as_element_name(rows: pa.Table) -> pa.Table:
    index = rows.schema.get_field_index("numbers")
    item = pa.list_(pa.field("item", pa.int32()))
    return rows.set_column(index, pa.field("numbers", item), rows.column("numbers").cast(item))


def _untouched(rows: pa.Table, column: str) -> set[object]:
    touched = {row[KEY] for row in TOUCHING}
    values = [row[column] for key, row in rows_by_key(rows).items() if key not in touched]
    return {tuple(value) if isinstance(value, list) else value for value in values}


def _rename_record_in_list(commit: Path) -> None:
    """Add a level to the Avro namespace of the record in ``visits``, in a commit of table version 6."""
    metadata = json.loads(commit.read_text())
    schema = json.loads(metadata["extraMetadata"]["schema"])
    visits = next(field for field in schema["fields"] if field["name"] == "visits")
    array = next(branch for branch in visits["type"] if isinstance(branch, dict))
    record = next(branch for branch in _branches(array["items"]) if isinstance(branch, dict))
    record["namespace"] += ".visits"
    metadata["extraMetadata"]["schema"] = json.dumps(schema)
    commit.write_text(json.dumps(metadata))


def _branches(schema: object) -> list[object]:
    return schema if isinstance(schema, list) else [schema]


# ---------------------------------------------------------------- rule 10


@every_version
def test_rule_10_every_parquet_file_that_we_write_is_part_of_its_commit(
    ours, engine: Engine, version: int
) -> None:
    base_path = ours(version)
    result = engine.write(base_path, as_table(some_rows(range(30, 50), 2)), version=version)
    written = {
        path.relative_to(base_path) for path in data_files(base_path) if result.instant_time in path.name
    }
    assert written == {Path(stat.path) for stat in _write_stats(base_path)}


@pytest.mark.thorough
@oldest_and_newest
def test_rule_10_control_hudi_reads_a_file_that_is_not_part_of_its_commit(hudi, ours, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    path = data_files(base_path)[0]
    path.with_name(new_file_name(path)).write_bytes(path.read_bytes())
    assert count_of_keys_seen_twice(judge.read(base_path)) == 20


def _write_stats(base_path: Path):
    from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata

    commit = timeline_folder(base_path) / instant_names(base_path, ".commit")[-1]
    return decode_commit_metadata(commit.read_bytes()).write_stats


# ---------------------------------------------------------------- rule 11

ONE_LIST = pa.schema([PLAIN.field(name) for name in (KEY, PARTITION, "ts")] + [ALL_TYPES.field("numbers")])
NULL_IN_LIST = {KEY: "holds a null", PARTITION: "a", "ts": 1, "numbers": [1, None, 3]}
NEIGHBOUR = {KEY: "neighbour", PARTITION: "a", "ts": 1, "numbers": [4]}


@every_version
def test_rule_11_we_refuse_nulls_in_lists_before_we_write_anything(
    engine: Engine, tmp_path: Path, version: int
) -> None:
    base_path = tmp_path / "t"
    with pytest.raises(InvalidDataError, match=r"'numbers' has lists with 1 null"):
        engine.write(base_path, as_table([NULL_IN_LIST, NEIGHBOUR], ONE_LIST), version=version)
    assert not (base_path / ".hoodie").exists()


@pytest.mark.thorough
def test_rule_11_control_hudi_reads_but_cannot_merge_a_file_with_a_null_in_a_list(
    hudi, engine: Engine, tmp_path: Path
) -> None:
    judge, base_path = hudi(V9.release), tmp_path / "t"
    engine.write(base_path, as_table([{**NULL_IN_LIST, "numbers": [1]}, NEIGHBOUR], ONE_LIST), version=9)
    for path in data_files(base_path):
        rewrite(path, change=_with_null_in_list)
    model = merged({}, [NULL_IN_LIST, NEIGHBOUR])
    assert_rows_equal(judge.read(base_path), model, str(V9))
    newer = {**NEIGHBOUR, "ts": 2}
    with pytest.raises(HudiRefusedError):
        judge.write(base_path, as_table([newer], ONE_LIST), V9.options("t"))
    # Without the old list structure, Hudi can merge the file.
    settings = {"parquet.avro.write-old-list-structure": "false"}
    judge.write(base_path, as_table([newer], ONE_LIST), V9.options("t"), hadoop=settings)
    assert_rows_equal(judge.read(base_path), merged(model, [newer]), str(V9))


def _with_null_in_list(rows: pa.Table) -> pa.Table:
    lists = [[1, None, 3] if value == [1] else value for value in rows.column("numbers").to_pylist()]
    index = rows.schema.get_field_index("numbers")
    return rows.set_column(index, rows.schema.field(index), pa.array(lists, rows.schema.field(index).type))


# ---------------------------------------------------------------- rule 12


@every_version
def test_rule_12_each_footer_contains_filter_type_code_key_range_and_schema(ours, version: int) -> None:
    files = data_files(ours(version))
    assert len(files) == 2
    for path in files:
        values = footer(path)
        keys = sorted(
            pq.read_table(path, columns=["_hoodie_record_key"], partitioning=None)[0].to_pylist(), key=_utf16
        )
        assert values[BLOOM_TYPE] in (b"SIMPLE", b"DYNAMIC_V0")
        assert 0 < len(values[BLOOM_FILTER]) < 2000, "the filter has the wrong size for the rows of the file"
        assert (values[MIN_KEY].decode(), values[MAX_KEY].decode()) == (keys[0], keys[-1])
        assert json.loads(values[AVRO_SCHEMA])["type"] == "record"


@pytest.mark.thorough
@oldest_and_newest
def test_rule_12_control_without_a_filter_the_bloom_index_fails_but_the_simple_index_works(
    hudi, ours, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    for path in data_files(base_path):
        rewrite(path, footer_changes={BLOOM_FILTER: None, BLOOM_TYPE: None})
    with pytest.raises(HudiRefusedError, match="NullPointer"):
        judge.write(base_path, as_table(TOUCHING), oracle.options("t", **BLOOM))
    judge.write(base_path, as_table(TOUCHING), oracle.options("t", **SIMPLE))
    assert_rows_equal(judge.read(base_path), merged(OURS, TOUCHING), str(oracle))


def _utf16(key: str) -> bytes:
    """The key as bytes that sort like Java strings."""
    return key.encode("utf-16-be")


# ---------------------------------------------------------------- rules 15, 18


@every_version
def test_rule_15_every_partition_folder_has_its_metafile(ours, version: int) -> None:
    base_path = ours(version)
    assert {path.parent.name for path in data_files(base_path)} == {"a", "b"}
    for partition in ("a", "b"):
        assert (base_path / partition / ".hoodie_partition_metadata").read_text().count(
            "partitionDepth=1"
        ) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V9], ids=str)
def test_rule_15_control_hudi_reads_no_rows_from_a_partition_without_a_metafile(
    hudi, ours, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    metafile = base_path / "a" / ".hoodie_partition_metadata"
    metafile.unlink()
    forget_checksum(metafile)
    assert set(judge.read(base_path).column(PARTITION).to_pylist()) == {"b"}


@every_version
def test_rule_18_the_name_of_a_base_file_contains_a_uuid_a_write_token_and_the_instant(
    ours, version: int
) -> None:
    name = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+_\d+-\d+-\d+_\d{17}\.parquet")
    for path in data_files(ours(version)):
        assert name.fullmatch(path.name), path.name


# ---------------------------------------------------------------- rule 19

HARD_VALUES = ("a b", "10:30", "a%20b", "50%", "ü世", "x=y/z", ".x", "+ &#?[*]'\"")
ENCODED = {
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.write.partitionpath.urlencode": "true",
}


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_rule_19_hudi_reads_and_updates_rows_in_partitions_with_encoded_values(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "base path, ü=50%"
    rows = [a_row(number, 1, PLAIN, HARD_VALUES) for number in range(len(HARD_VALUES))]
    engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=ENCODED)
    model = merged({}, rows)
    assert_rows_equal(judge.read(base_path), model, str(oracle))
    newer = [{**row, "ts": 2, "text": "newer"} for row in rows]
    judge.write(base_path, as_table(newer, PLAIN), {**oracle.options("t", **BLOOM), **ENCODED})
    assert_rows_equal(judge.read(base_path), merged(model, newer), str(oracle))
    newest = [{**row, "ts": 3, "text": "newest"} for row in rows]
    engine.write(base_path, as_table(newest, PLAIN), version=oracle.table_version, options=ENCODED)
    assert_rows_equal(judge.read(base_path), merged(model, newest), str(oracle))


def test_hudi_reads_and_writes_a_copy_of_a_table_like_the_original(hudi, ours, tmp_path: Path) -> None:
    """The negative controls change copies of tables. This test shows that a copy alone causes no wrong rows."""
    base_path = copy_table(ours(9), tmp_path / "copy")
    for path in data_files(base_path):
        rewrite(path)
    assert_rows_equal(
        _let_hudi_merge_every_file_group(hudi(V9.release), base_path, V9), merged(OURS, TOUCHING), str(V9)
    )
