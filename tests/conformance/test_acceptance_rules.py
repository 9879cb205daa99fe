"""Rules that a table must follow so that real Hudi accepts it: 21 rules, each with a test.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 6, 8 and 9, both on Spark 3.5.8. If a writer
breaks certain rules, Hudi reports no error, but reads wrong rows later. Each of these rules also has a negative
control: a test changes the table so that the table breaks only this rule. Hudi must then fail or read wrong rows.

====  ===================================================================  ===================================
rule  the writer must                                                      tested in
====  ===================================================================  ===================================
1     update an active metadata table with each commit                     test_metadata_table
2     switch the metadata table off by removing its property, then its     test_metadata_table
      folder, and check before the commit that it is still switched off
3     remove Hadoop's checksum file of a file that it rewrites             test_acceptance_rules_timeline
4     hash the last 1 to 3 bytes of a key as Hudi's bloom filter does      here
5     name list elements ``element``                                       here
6     store decimals as fixed-length bytes                                 here
7     store timestamps as UTC microseconds                                 here
8     write a marker before each data file                                 test_acceptance_rules_timeline
9     not complete an instant that another writer has rolled back          test_acceptance_rules_timeline
10    leave only Parquet files that are part of its commit                 test_acceptance_rules_files
11    put no null into a list                                              here
12    write filter, type code, smallest and greatest key into the footer   test_acceptance_rules_files
13    name nested Avro records by the chain of their parents               here
14    give size, id, path and partition of each file in the commit         test_acceptance_rules_timeline
15    write ``.hoodie_partition_metadata`` into each partition             test_acceptance_rules_files
16    from version 8 on, use Avro content, completion times, a merge mode  test_acceptance_rules_timeline
17    write a correct ``hoodie.table.checksum`` or none                    test_acceptance_rules_timeline
18    use file ids without ``_`` and ``.``                                 test_acceptance_rules_files
19    URL-encode partition values if the table is configured so            test_acceptance_rules_files
20    expect that Hudi 1.x upgrades the table between two jobs             test_acceptance_rules_timeline
21    write plans that Hudi can execute, and not change planned groups     test_hudi_executes_our_plans,
                                                                           test_acceptance_rules_timeline
====  ===================================================================  ===================================
"""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from acceptance_rules import BLOOM, OURS, TOUCHED, TOUCHING, every_oracle, every_version, oldest_and_newest

from hudi_table_services.errors import InvalidDataError
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.oracle import ONLY_OLDEST_SAMPLED, V6_OLD, V9, Oracle
from judges.rows import (
    ALL_TYPES,
    KEY,
    OUR_ROWS,
    PARTITION,
    PLAIN,
    as_table,
    assert_rows_equal,
    count_of_keys_seen_twice,
    merged,
    rows_by_key,
    some_rows,
)
from judges.table_files import (
    BLOOM_FILTER,
    copy_table,
    data_files,
    footer,
    instant_names,
    rewrite,
    timeline_folder,
)


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


def test_hudi_reads_and_writes_a_copy_of_a_table_like_the_original(hudi, ours, tmp_path: Path) -> None:
    """The negative controls change copies of tables. This test shows that a copy alone causes no wrong rows."""
    base_path = copy_table(ours(9), tmp_path / "copy")
    for path in data_files(base_path):
        rewrite(path)
    assert_rows_equal(
        _let_hudi_merge_every_file_group(hudi(V9.release), base_path, V9), merged(OURS, TOUCHING), str(V9)
    )
