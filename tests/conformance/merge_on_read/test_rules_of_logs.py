"""The 21 rules that a writer of merge-on-read tables must follow so that Hudi and hudi-rs read the right rows.

If a writer breaks certain rules, Hudi reports no error, but reads wrong rows. So each rule has a negative control: a
test breaks only this rule in a table of the engine. Then real Hudi or hudi-rs reads wrong rows or fails. Table version
6 is judged by Hudi 0.15.0, version 9 by Hudi 1.2.0.

====  ===========================================================================  ===============================
rule  the writer must                                                              tested in
====  ===========================================================================  ===============================
1     in version 6, name a log file after the base instant of its slice            test_log_rules
2     put no new key into a log file, because Hudi looks for keys in base files    here, test_log_rules
3     give an unconditional delete the ordering value `IntWrapper(0)`              test_log_rules
4     in version 6, undo dead writes at instants before its own instant            here
5     write whole rows                                                             here
6     name every log file in the commit metadata                                   test_log_rules
7     give each block the instant of its own commit                                test_log_rules
8     name a log file with a write token                                           test_log_rules
9     in version 6 with hudi-rs as a reader, not write while a compaction is       here
      pending
10    write one row for each key of a batch                                        here, test_log_rules
11    in version 6, keep log files that a pending compaction does not name         here
12    compact by the merge rule of the table                                       here
13    list log files in the metadata table                                         here,
                                                                                   test_log_files_in_metadata_tables
14    give each delete an ordering value that is not null                          test_log_rules
15    put ordering values of only one type into a delete block                     test_log_rules
16    give a delete the type of the ordering column                                test_log_rules
17    fill all meta columns                                                        test_log_rules
18    give each block the header INSTANT_TIME                                      test_log_rules
19    give each operation of a compaction plan its metrics                         here
20    mark the files of a compaction                                               here
21    write content of version 3                                                   test_log_rules
====  ===========================================================================  ===============================
"""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.hudi_format.log_blocks import HeaderKey, decode_blocks
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.views.table_rows import read_table_rows
from judges import hudi_rs
from judges.broken_metadata import remove_delta_commit
from judges.hudi_judge import HudiRefusedError
from judges.merge_on_read.broken_logs import (
    change_plan,
    die_before_completing,
    die_before_completing_a_compaction,
    only_columns,
    plan_path,
    set_property,
    we_compact,
    we_execute,
    we_schedule,
    with_row,
    without_log,
)
from judges.merge_on_read.shared_log_tables import SharedTable
from judges.oracle import V6_OLD, V9, Oracle
from judges.rows import (
    KEY,
    ORDERING,
    PLAIN,
    Model,
    assert_rows_equal,
    count_of_keys_seen_twice,
    merged,
    some_rows,
)
from judges.table_files import copy_table, data_files, file_id_of, instant_names
from support.depth import cases

both = pytest.mark.parametrize("oracle", [V6_OLD, V9], ids=str)
sampled = pytest.mark.parametrize("oracle", cases([V6_OLD, V9], [V9]))

OLD = some_rows(range(0, 16, 2), 5, PLAIN)
CHANGED = some_rows(range(0, 6, 2), 6, PLAIN)
"""All rows of these tests are in one partition, so each write of ours makes one log file."""

Tables = Callable[[Oracle], tuple[SharedTable, Model]]


@pytest.fixture
def new_table(hudi, tmp_path: Path) -> Tables:
    """A function that makes a table with the rows `OLD` and our update `CHANGED`, and returns the model of its rows."""

    def made(oracle: Oracle) -> tuple[SharedTable, Model]:
        table = SharedTable(tmp_path / str(oracle), oracle, hudi(oracle.release), PLAIN)
        table.write(OLD)
        table.write(CHANGED)
        return table, merged(merged({}, OLD), CHANGED)

    return made


def copied(table: SharedTable, name: str) -> SharedTable:
    """The same table in another folder."""
    return replace(table, base_path=copy_table(table.base_path, table.base_path.with_name(name)))


def found_by_hudi(table: SharedTable) -> Model:
    return {row[KEY]: row for row in table.judge.read(table.base_path).to_pylist()}


# ---------------------------------------------------------------- rule 2


@pytest.mark.thorough
@sampled
def test_rule_02_control_hudi_writes_a_duplicate_of_a_key_that_only_a_log_file_has(
    new_table: Tables, oracle: Oracle
) -> None:
    table, model = new_table(oracle)
    (added,) = some_rows([20], 6, PLAIN)
    table.change_newest_log(with_row(added))
    model = merged(model, [added])
    table.check(model, "a new key in a log file")
    ours = copied(table, "ours")
    again = some_rows([20], 7, PLAIN)
    table.hudi_writes(again)
    assert count_of_keys_seen_twice(table.judge.read(table.base_path)) == 1
    ours.write(again)
    ours.check(merged(model, again), "the engine finds the key in the log file")


# ---------------------------------------------------------------- rule 4


def test_rule_04_we_undo_a_dead_write_before_we_take_an_instant(new_table: Tables) -> None:
    table, model = new_table(V6_OLD)
    die_before_completing(table, some_rows(range(0, 12, 2), 7, PLAIN))
    rows = some_rows(range(0, 8, 2), 8, PLAIN)
    table.write(rows)
    undone, newest = (
        instant_names(table.base_path, suffix)[-1].partition(".")[0]
        for suffix in (".rollback", ".deltacommit")
    )
    assert undone < newest
    table.check(merged(model, rows), "our write after our dead write")


@pytest.mark.thorough
def test_rule_04_control_hudi_does_not_read_its_own_update_below_a_later_rollback_block(
    new_table: Tables,
) -> None:
    """Hudi 0.15 takes its instant, and then undoes our dead write by a block with a later instant.

    A reader of Hudi 0.15 stops at this block, so it does not reach the update of Hudi in the next log file.
    """
    table, model = new_table(V6_OLD)
    die_before_completing(table, some_rows(range(0, 12, 2), 7, PLAIN))
    rows = some_rows(range(0, 8, 2), 8, PLAIN)
    table.hudi_writes(rows)
    expected = merged(model, rows)
    assert_rows_equal(hudi_rs.read_snapshot(table.base_path), expected, "hudi-rs")
    found = found_by_hudi(table)
    assert all(found[row[KEY]] != row for row in rows), "Hudi should not return its own update"
    later = some_rows([14], 9, PLAIN)
    table.write(later)
    table.check(merged(expected, later), "after a later commit")


# ---------------------------------------------------------------- rule 5


@both
def test_rule_05_our_blocks_are_not_partial(new_table: Tables, oracle: Oracle) -> None:
    table, _ = new_table(oracle)
    for path in table.log_paths():
        assert all(HeaderKey.IS_PARTIAL not in block.headers for block in decode_blocks(path.read_bytes()))


@pytest.mark.thorough
@both
def test_rule_05_control_partial_rows_are_wrong_or_an_error(new_table: Tables, oracle: Oracle) -> None:
    """Hudi 0.15 fails. Hudi 1.2 fills the rows of a snapshot query, but not those of an incremental query."""
    table, _ = new_table(oracle)
    begin = table.bounds()[-2]
    expected = merged({}, CHANGED)
    assert_rows_equal(table.judge.read_incremental(table.base_path, begin), expected, "whole rows")
    table.change_newest_log(only_columns("text"))
    try:
        found = table.judge.read_incremental(table.base_path, begin).to_pylist()
    except HudiRefusedError:
        found = []
    assert {row[KEY]: row for row in found} != expected
    if oracle is V6_OLD:
        with pytest.raises(HudiRefusedError):
            table.judge.read(table.base_path)
    with pytest.raises(UnsupportedTableError, match="IS_PARTIAL"):
        read_table_rows(LocalStorage(str(table.base_path)))


# ---------------------------------------------------------------- rule 9


@pytest.mark.thorough
def test_rule_09_control_hudi_rs_does_not_read_log_files_above_a_pending_compaction(
    new_table: Tables,
) -> None:
    """Hudi reads these log files. hudi-rs reads them only after the compaction has completed."""
    table, model = new_table(V6_OLD)
    table.hudi_compacts("schedule")
    rows = some_rows(range(0, 8, 2), 7, PLAIN)
    table.write(rows)
    expected = merged(model, rows)
    assert_rows_equal(table.judge.read(table.base_path), expected, "Hudi beside the pending compaction")
    assert_rows_equal(
        read_table_rows(LocalStorage(str(table.base_path)), columns=PLAIN.names), expected, "our reader"
    )
    assert_rows_equal(hudi_rs.read_snapshot(table.base_path), model, "hudi-rs, without our write")
    we_execute(table.base_path)
    table.check(expected, "the completed compaction")


# ---------------------------------------------------------------- rule 10


@pytest.mark.thorough
def test_rule_10_control_hudi_rs_takes_the_later_of_two_rows_of_a_key(hudi, tmp_path: Path) -> None:
    """The table has the default payload class of Hudi 0.15, so Hudi takes the row with the larger ordering value."""
    table = SharedTable(tmp_path / "t", V6_OLD, hudi(V6_OLD.release), PLAIN)
    table.hudi_writes(OLD)
    (newer,), (older,) = some_rows([2], 9, PLAIN), some_rows([2], 8, PLAIN)
    table.write([newer])
    model = merged(merged({}, OLD), [newer])
    table.check(model, "one row of the key")
    table.change_newest_log(with_row(older))
    assert_rows_equal(table.judge.read(table.base_path), model, "Hudi, two rows of the key")
    assert_rows_equal(hudi_rs.read_snapshot(table.base_path), {**model, newer[KEY]: older}, "hudi-rs")


# ---------------------------------------------------------------- rule 11


def test_rule_11_we_merge_a_log_file_that_the_plan_does_not_name_and_hudi_loses_it(
    new_table: Tables,
) -> None:
    """The table looks as if a delta commit began before the compaction was scheduled, and ended afterwards."""
    table, before = new_table(V6_OLD)
    late = some_rows(range(4, 10, 2), 7, PLAIN)
    table.write(late)
    model = merged(before, late)
    instant = we_schedule(table.base_path)
    change_plan(table.base_path, instant, without_log(table.log_paths()[-1].name))
    table.check(model, "the pending compaction")
    ours = copied(table, "ours")
    we_execute(ours.base_path)
    ours.check(model, "our execution")
    table.hudi_compacts("execute")
    assert_rows_equal(table.judge.read(table.base_path), before, "Hudi's execution loses the late rows")


# ---------------------------------------------------------------- rule 12


@pytest.mark.thorough
@both
def test_rule_12_control_a_compaction_by_another_merge_rule_changes_rows(
    new_table: Tables, oracle: Oracle
) -> None:
    table, model = new_table(oracle)
    late = {**some_rows([8], 4, PLAIN)[0], "text": "late"}
    assert late[ORDERING] < model[late[KEY]][ORDERING]
    table.write([late])
    table.check(model, "a late row")
    right = copied(table, "right")
    we_compact(right.base_path)
    right.check(model, "our compaction")
    right.check_read_optimized(model, "our compaction")
    name, other = (
        ("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING")
        if oracle is V9
        else (
            "hoodie.compaction.payload.class",
            "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
        )
    )
    earlier = set_property(table.base_path, name, other)
    assert earlier != other
    we_compact(table.base_path)
    set_property(table.base_path, name, earlier)
    assert_rows_equal(
        table.judge.read(table.base_path),
        {**model, late[KEY]: late},
        "the late row has replaced the newer row",
    )


# ---------------------------------------------------------------- rule 13


@pytest.mark.thorough
@both
def test_rule_13_control_hudi_does_not_read_a_log_file_that_the_metadata_table_does_not_list(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    listed = {"hoodie.metadata.enable": "true"}
    table = SharedTable(tmp_path / "t", oracle, hudi(oracle.release), PLAIN, listed)
    table.write(OLD, options=listed)
    table.write(CHANGED)
    before = merged({}, OLD)
    assert_rows_equal(
        table.judge.read(table.base_path, listed), merged(before, CHANGED), "the listed log file"
    )
    newest = instant_names(table.base_path, ".deltacommit")[-1].partition(".")[0].partition("_")[0]
    remove_delta_commit(table.base_path, newest)
    assert_rows_equal(table.judge.read(table.base_path, listed), before, "the unlisted log file")


# ---------------------------------------------------------------- rule 19


@pytest.mark.thorough
@both
def test_rule_19_control_hudi_cannot_execute_a_plan_without_metrics(
    new_table: Tables, oracle: Oracle
) -> None:
    table, model = new_table(oracle)
    instant = we_schedule(table.base_path)
    right = copied(table, "right")
    right.hudi_compacts("execute")
    right.check_read_optimized(model, "a plan with metrics")
    change_plan(table.base_path, instant, lambda operation: replace(operation, metrics={}))
    with pytest.raises(HudiRefusedError):
        table.hudi_compacts("execute")
    assert plan_path(table.base_path, instant).exists()
    assert not instant_names(table.base_path, ".commit")
    table.check(model, "the plan that stays pending")


# ---------------------------------------------------------------- rule 20


def base_files_of(table: SharedTable, instant: str) -> Counter[str]:
    """Number of base files of one instant, by file id."""
    return Counter(file_id_of(path) for path in data_files(table.base_path) if instant in path.name)


@both
def test_rule_20_hudi_removes_the_marked_files_of_our_dead_execution(
    new_table: Tables, oracle: Oracle
) -> None:
    table, model = new_table(oracle)
    instant = we_schedule(table.base_path)
    die_before_completing_a_compaction(table.base_path)
    table.check(model, "the dead execution")
    table.hudi_compacts("execute")
    assert set(base_files_of(table, instant).values()) == {1}
    table.check(model, "Hudi's execution")
    table.check_read_optimized(model, "Hudi's execution")


@pytest.mark.thorough
@both
def test_rule_20_control_without_markers_two_base_files_of_one_instant_remain(
    new_table: Tables, oracle: Oracle
) -> None:
    table, model = new_table(oracle)
    instant = we_schedule(table.base_path)
    die_before_completing_a_compaction(table.base_path)
    shutil.rmtree(table.base_path / ".hoodie" / ".temp" / instant)
    table.hudi_compacts("execute")
    assert set(base_files_of(table, instant).values()) == {2}
    assert_rows_equal(table.judge.read(table.base_path), model, "Hudi reads the file of its own execution")
    with pytest.raises(Exception, match=r"(?i)already present"):
        hudi_rs.read_snapshot(table.base_path)
