"""Rules that a writer of log files must follow.

If a writer breaks certain rules, Hudi reports no error, but reads wrong rows. Most of these tests are negative
controls: a test changes one log file or one commit of the engine, which then breaks only one rule. Hudi or hudi-rs must
then fail or read wrong rows. The tests of rules 2 and 10 check what the engine writes; ``test_rules_of_logs`` contains
the negative controls of these rules.

====  ==========================================================================================================
rule  the writer must
====  ==========================================================================================================
1     in table version 6, name a log file after the base instant of its slice
2     put no new key into a log file, because Hudi looks for keys in base files only
3     give an unconditional delete the ordering value `IntWrapper(0)`
6     name every log file in the commit metadata
7     give each block the instant of its own commit
8     name a log file with a write token
10    write one row for each key of a batch
14    give each delete an ordering value that is not null
15    put ordering values of only one type into a delete block
16    give a delete the type of the ordering column
17    fill all meta columns
18    give each block the header INSTANT_TIME
21    write content of version 3
====  ==========================================================================================================

The tests of the other rules, which concern rollbacks, compactions, readers and the metadata table, are in
``test_rules_of_logs``.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.hudi_format.delete_block import decode_items, encode_items
from hudi_table_services.hudi_format.log_blocks import (
    BlockType,
    HeaderKey,
    LogBlock,
    decode_records,
    encode_records,
)
from hudi_table_services.hudi_format.ordering_values import NAMESPACE
from judges import hudi_rs
from judges.hudi_judge import HudiRefusedError
from judges.merge_on_read.shared_log_tables import SharedTable, with_header, without
from judges.oracle import ONLY_NEWEST_SAMPLED, ONLY_OLDEST_SAMPLED, V6_OLD, V9, Oracle
from judges.rows import KEY, PLAIN, Model, assert_rows_equal, count_of_keys_seen_twice, merged, some_rows
from judges.table_files import instant_names, timeline_folder

OLD = some_rows(range(8), 5, PLAIN)
CHANGED = some_rows(range(3), 6, PLAIN)
LATER = "29991231235959999"


@pytest.fixture
def new_table(hudi, tmp_path: Path) -> Callable[[Oracle], tuple[SharedTable, Model]]:
    """A function that makes a table with the rows `OLD` and our update `CHANGED`, and returns the model of its rows."""

    def made(oracle: Oracle) -> tuple[SharedTable, Model]:
        table = SharedTable(tmp_path / str(oracle), oracle, hudi(oracle.release), PLAIN)
        table.write(OLD)
        table.write(CHANGED)
        model = merged(merged({}, OLD), CHANGED)
        table.check(model, "our update")
        return table, model

    return made


def reads(table: SharedTable) -> Model | str:
    """The rows that Hudi reads, or its error."""
    try:
        return {row[KEY]: row for row in table.judge.read(table.base_path).to_pylist()}
    except HudiRefusedError as error:
        return str(error)


def deletes_changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[LogBlock], LogBlock]:
    """Function that changes the ordering value of every delete record of a block."""

    def changed(block: LogBlock) -> LogBlock:
        if block.block_type != BlockType.DELETE:
            return block
        items = decode_items(block.content, "a block")
        return replace(block, content=encode_items([{**item, "orderingVal": change(item)} for item in items]))

    return changed


def wrapped(name: str, value: object) -> tuple[str, dict[str, object]]:
    return (f"{NAMESPACE}.{name}", {"value": value})


@pytest.mark.thorough
def test_rule_1_in_version_6_hudi_loses_rows_if_a_log_file_is_named_after_its_own_instant(new_table) -> None:
    table, model = new_table(V6_OLD)
    path = table.log_paths()[-1]
    own = instant_names(table.base_path, ".deltacommit")[-1].partition(".")[0]
    file_id = path.name[1:].partition("_")[0]
    path.rename(path.with_name(f".{file_id}_{own}.log.1_0-0-0"))
    found = reads(table)
    assert isinstance(found, dict)
    assert len(found) < len(model), "the rows of the base file should have disappeared"


@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_rule_2_new_keys_are_found_by_the_next_write_of_hudi(new_table, oracle: Oracle) -> None:
    table, model = new_table(oracle)
    inserted = some_rows(range(20, 24), 6, PLAIN)
    table.write(inserted)
    again = some_rows(range(20, 24), 7, PLAIN)
    table.hudi_writes(again)
    found = table.judge.read(table.base_path)
    assert count_of_keys_seen_twice(found) == 0
    assert_rows_equal(found, merged(model, again), "Hudi updates our inserted rows")


@pytest.mark.thorough
def test_rule_3_a_delete_with_the_ordering_value_long_zero_deletes_no_row(new_table) -> None:
    table, model = new_table(V9)
    table.write(OLD[:1], "delete")
    table.check(without(model, [OLD[0][KEY]]), "our delete")
    table.change_newest_log(deletes_changed(lambda item: wrapped("LongWrapper", 0)))
    assert_rows_equal(table.judge.read(table.base_path), model, "a delete with the ordering value long 0")


@pytest.mark.thorough
def test_rule_6_incremental_queries_of_hudi_miss_a_log_file_that_the_commit_does_not_name(new_table) -> None:
    table, _ = new_table(V6_OLD)
    begin = table.bounds()[-2]
    assert table.judge.read_incremental(table.base_path, begin).num_rows == len(CHANGED)
    path = timeline_folder(table.base_path) / instant_names(table.base_path, ".deltacommit")[-1]
    commit = json.loads(path.read_text())
    commit["partitionToWriteStats"] = {}
    path.write_text(json.dumps(commit))
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    assert table.judge.read_incremental(table.base_path, begin).num_rows == 0


@pytest.mark.thorough
@pytest.mark.reads_differ("in versions 8 and 9, this project takes the instant from the name of the log file")
@pytest.mark.parametrize("oracle", [V6_OLD, V9], ids=str)
def test_rule_7_hudi_ignores_a_block_with_a_later_instant(new_table, oracle: Oracle) -> None:
    table, _ = new_table(oracle)
    table.change_newest_log(with_header(HeaderKey.INSTANT_TIME, LATER))
    found = reads(table)
    assert isinstance(found, dict)
    assert any(found[row[KEY]] != row for row in CHANGED), "the block should be ignored"


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V6_OLD, V9], ids=str)
def test_rule_8_hudi_rs_ignores_a_log_file_without_a_write_token(new_table, oracle: Oracle) -> None:
    table, model = new_table(oracle)
    for path in table.log_paths():
        path.rename(path.with_name(path.name.rpartition("_")[0]))
    found = hudi_rs.read_snapshot(table.base_path)
    assert {row[KEY]: row for row in found.to_pylist()} != model, "hudi-rs should ignore the log files"


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_rule_10_we_write_one_row_for_each_key_of_a_batch(new_table, oracle: Oracle) -> None:
    table, model = new_table(oracle)
    newest, older = some_rows([1], 9, PLAIN)[0], some_rows([1], 8, PLAIN)[0]
    result = table.write([newest, older])
    assert result.rows.superseded == 1
    table.check(merged(model, [newest]), "duplicates in a batch")


@pytest.mark.thorough
def test_rule_14_hudi_cannot_read_a_delete_without_an_ordering_value(new_table) -> None:
    table, _ = new_table(V6_OLD)
    table.write(OLD[:1], "delete")
    table.change_newest_log(deletes_changed(lambda item: None))
    assert isinstance(reads(table), str), "Hudi 0.15 should fail on every read"


@pytest.mark.thorough
def test_rule_15_hudi_rs_cannot_read_a_delete_block_with_ordering_values_of_several_types(new_table) -> None:
    table, _ = new_table(V9)
    table.write([OLD[4], OLD[6]], "delete")  # both rows are in one partition
    values = iter([wrapped("IntWrapper", 0), wrapped("LongWrapper", 9)])
    table.change_newest_log(deletes_changed(lambda item: next(values)))
    with pytest.raises(Exception, match=r"(?i)ordering"):
        hudi_rs.read_snapshot(table.base_path)


@pytest.mark.thorough
def test_rule_16_hudi_cannot_read_a_delete_with_another_type_than_the_ordering_column(new_table) -> None:
    table, _ = new_table(V9)
    table.write(OLD[:1], "delete")
    table.change_newest_log(deletes_changed(lambda item: wrapped("StringWrapper", "7")))
    assert isinstance(reads(table), str), "Hudi 1.2 should fail on every read"


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V6_OLD, V9], ids=str)
def test_rule_17_hudi_fails_or_reads_wrong_rows_if_rows_have_no_key(new_table, oracle: Oracle) -> None:
    table, model = new_table(oracle)

    def keyless(block: LogBlock) -> LogBlock:
        """Replace the first byte of the union of the record key: 0 is null. The key's bytes follow it."""
        records = []
        for record in decode_records(block.content):
            position, fields = 0, 0
            while fields < 2:  # commit time and sequence number: branch, length, text
                length = record[position + 1] >> 1
                position, fields = position + 2 + length, fields + 1
            length = record[position + 1] >> 1
            records.append(record[:position] + b"\x00" + record[position + 2 + length :])
        return replace(block, content=encode_records(records))

    table.change_newest_log(keyless)
    found = reads(table)
    assert isinstance(found, str) or found != model


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V6_OLD, V9], ids=str)
def test_rule_18_hudi_fails_or_reads_wrong_rows_if_a_block_has_no_instant(new_table, oracle: Oracle) -> None:
    table, model = new_table(oracle)
    table.change_newest_log(with_header(HeaderKey.INSTANT_TIME, None))
    found = reads(table)
    assert isinstance(found, str) or found != model


@pytest.mark.thorough
def test_rule_21_hudi_rs_refuses_content_of_an_older_version(new_table) -> None:
    table, _ = new_table(V9)

    def older(block: LogBlock) -> LogBlock:
        return replace(block, content=(1).to_bytes(4, "big") + block.content[4:])

    table.change_newest_log(older)
    with pytest.raises(Exception, match=r"(?i)version"):
        hudi_rs.read_snapshot(table.base_path)
