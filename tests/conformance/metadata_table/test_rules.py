"""Rules that a metadata table must follow so that Hudi finds all rows: 18 rules, each with a test.

If a writer breaks certain rules, Hudi reports no error, but reads wrong rows. So each rule also has a negative control:
a test breaks only this rule in a copy of the table. Then real Hudi reads wrong rows or fails, or, where Hudi tolerates
the difference, the checks of this project find it. Table version 6 is judged by Hudi 0.15.0, version 9 by Hudi 1.2.0.

====  ======================================================================  ==========================
rule  the writer must                                                         tested in
====  ======================================================================  ==========================
1     write each change into every partition of the metadata table            here
2     remove a commit from the metadata table before it removes the instant   test_rules_of_instants
3     archive an instant of the table only after the metadata table has       test_rules_of_instants
      compacted it
4     compact at an instant before the completion of all later commits        test_rules_of_instants
5     not compact what a pending instant wrote                                test_rules_of_instants
6     compute tight ranges of a partition from all of its live files          test_rules_of_indexes
7     put each key into the file group of its hash                            test_rules_of_indexes
8     store inserted keys, and delete deleted and replaced keys               test_rules_of_indexes
9     store bounds that contain the rows of a column with NaN                 test_rules_of_indexes
10    mark strings as Java strings in the schemas                             test_rules_of_indexes
11    name the instant of the commit in each block                            test_rules_of_instants
12    complete a commit in the metadata table first                           test_rules_of_instants
13    list files with their sizes                                             here
14    in version 6, undo a commit so that readers ignore its blocks           test_rules_of_instants
15    give each log file of a slice a version of its own (table version 6)    test_rules_of_instants
16    list new partitions                                                     here
17    read the list of partitions of the metadata table for each commit       here
18    sort the keys of HFiles by their bytes                                  test_rules_of_indexes
====  ======================================================================  ==========================
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_table_services.hudi_format.metadata_table.file_groups import (
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.hudi_format.metadata_table.keys import ALL_PARTITIONS
from hudi_table_services.model.metadata_table import ListedFile, Listing
from judges.broken_metadata import (
    Records,
    change_records,
    log_files,
    metadata_folder,
    records_of,
    remove_delta_commit,
)
from judges.engine import Engine
from judges.interruption import just_after_start
from judges.metadata_check import assert_describes_the_table
from judges.metadata_readers import files_in_folders, listed_by_hudi
from judges.oracle import EDGES, V9, Oracle
from judges.rows import as_table, count_of_keys_seen_twice, merged, some_rows
from judges.rule_tables import (
    NEW_GROUPS,
    NEW_KEYS,
    NEW_PARTITION,
    SCHEMA,
    expected,
    findings,
    found_by_hudi,
    hudi_writes,
    newest_commit,
    our_rows,
)
from judges.table_files import forget_checksum, properties
from support.depth import cases

sampled = pytest.mark.parametrize("oracle", cases(EDGES, [V9]))
thorough = pytest.mark.parametrize("oracle", cases(EDGES, []))
PROPERTY = "hoodie.table.metadata.partitions"


def listed_indexes(base_path: Path) -> set[str]:
    return set(properties(base_path)[PROPERTY].split(","))


def set_listed_indexes(base_path: Path, names: set[str]) -> None:
    path = base_path / ".hoodie" / "hoodie.properties"
    text = path.read_text()
    (line,) = (each for each in text.splitlines() if each.startswith(f"{PROPERTY}="))
    path.write_text(text.replace(line, f"{PROPERTY}={','.join(sorted(names))}"))
    forget_checksum(path)


# ---------------------------------------------------------------- rule 1


@sampled
def test_rule_01_our_commit_is_in_every_partition_and_hudi_finds_all_rows(
    ruled, hudi, oracle: Oracle
) -> None:
    table, judge = ruled(oracle), hudi(oracle.release)
    indexes = listed_indexes(table.base_path)
    assert indexes >= {FILES, COLUMN_STATS, RECORD_INDEX}
    assert (PARTITION_STATS in indexes) is (oracle is V9)
    assert {path.parent.name for path in log_files(table.base_path, table.ours)} == indexes
    assert_describes_the_table(table.base_path)
    assert found_by_hudi(judge, table) == expected(table.model)
    assert listed_by_hudi(judge, table.base_path) == files_in_folders(table.base_path)


@pytest.mark.thorough
@sampled
def test_rule_01_control_without_the_commit_hudi_does_not_see_the_rows_of_the_commit(
    ruled, hudi, oracle: Oracle
) -> None:
    table, judge = ruled(oracle), hudi(oracle.release)
    remove_delta_commit(table.base_path, table.ours)
    found = found_by_hudi(judge, table)
    assert (found["all"], found["ours"]) == (len(table.before), 0)
    unlisted = files_in_folders(table.base_path).keys() - listed_by_hudi(judge, table.base_path).keys()
    assert {path.partition("/")[0] for path in unlisted} == {"a", "b", "c", NEW_PARTITION}
    assert "metadata_commits_behind" in findings(table)
    with pytest.raises(AssertionError):
        assert_describes_the_table(table.base_path)


@pytest.mark.thorough
def test_rule_01_control_without_ranges_of_partitions_hudi_skips_partitions(ruled, hudi) -> None:
    table = ruled(V9)
    remove_delta_commit(table.base_path, table.ours, PARTITION_STATS)
    found = found_by_hudi(hudi("1.2.0"), table)
    wanted = expected(table.model)
    assert found["all"] == wanted["all"]
    assert found["ours"] < wanted["ours"]
    with pytest.raises(AssertionError):
        assert_describes_the_table(table.base_path)


@thorough
def test_rule_01_control_hudi_reads_files_without_statistics(ruled, hudi, oracle: Oracle) -> None:
    """Hudi does not skip files without statistics. This project's check reports such files."""
    table = ruled(oracle)
    remove_delta_commit(table.base_path, table.ours, COLUMN_STATS)
    assert found_by_hudi(hudi(oracle.release), table) == expected(table.model)
    with pytest.raises(AssertionError, match="no statistics"):
        assert_describes_the_table(table.base_path)


# ---------------------------------------------------------------- rule 13


def half_sizes(records: Records) -> Records:
    return [
        replace(
            each,
            payload=Listing(
                {
                    name: ListedFile(file.size_bytes // 2, file.is_deleted)
                    for name, file in each.payload.files.items()
                }
            ),
        )
        for each in records
    ]


@thorough
def test_rule_13_control_hudi_reads_files_whose_listed_sizes_are_wrong(ruled, hudi, oracle: Oracle) -> None:
    """The tests of rule 1 check the sizes that the engine lists."""
    table, judge = ruled(oracle), hudi(oracle.release)
    (log,) = log_files(table.base_path, table.ours, FILES)
    change_records(log, table.version, half_sizes)
    assert found_by_hudi(judge, table) == expected(table.model)
    listed, present = listed_by_hudi(judge, table.base_path), files_in_folders(table.base_path)
    wrong = {path for path, size in present.items() if listed[path] != size}
    assert {listed[path] for path in wrong} == {present[path] // 2 for path in wrong}
    assert len(wrong) == 4
    with pytest.raises(AssertionError):
        assert_describes_the_table(table.base_path)


# ---------------------------------------------------------------- rule 16


@pytest.mark.thorough
@sampled
def test_rule_16_control_hudi_does_not_see_a_partition_that_is_not_listed(
    ruled, hudi, oracle: Oracle
) -> None:
    """The tests of rule 1 check that the engine lists its new partition."""
    table, judge = ruled(oracle), hudi(oracle.release)
    (log,) = log_files(table.base_path, table.ours, FILES)
    (listed,) = (each.payload for each in records_of(log) if each.key == ALL_PARTITIONS)
    assert NEW_PARTITION in listed.files
    change_records(log, table.version, lambda records: [r for r in records if r.key != ALL_PARTITIONS])
    found = found_by_hudi(judge, table)
    wanted = expected(table.model)
    assert (wanted["all"] - found["all"], found["new partition"]) == (len(NEW_KEYS), 0)
    with pytest.raises(AssertionError):
        assert_describes_the_table(table.base_path)


# ---------------------------------------------------------------- rule 17


@thorough
def test_rule_17_our_commits_update_exactly_the_indexes_that_hudi_lists(
    ruled, hudi, engine: Engine, oracle: Oracle
) -> None:
    table, judge = ruled(oracle), hudi(oracle.release)
    base_path, before = table.base_path, listed_indexes(table.base_path)
    without = {
        "hoodie.metadata.index.column.stats.enable": "false",
        "hoodie.metadata.record.index.enable": "false",
        "hoodie.metadata.global.record.level.index.enable": "false",
        "hoodie.index.type": "SIMPLE",
    }
    seen = []
    model = table.model
    # Hudi 0.15.0 builds column statistics without records of the files that existed before the build.
    for version, options in enumerate((without, {}) if oracle is V9 else (without,), start=20):
        rows = some_rows(range(6), version, SCHEMA, ("a", "b", "c"))
        hudi_writes(judge, base_path, oracle, rows, options)
        model = merged(model, rows)
        rows = some_rows(range(6, 12), version, SCHEMA, ("a", "b", "c"))
        rows += some_rows(range(3 * version, 3 * version + 9), version, SCHEMA, ("a", "b", "c"))
        engine.write(base_path, as_table(rows, SCHEMA), version=oracle.table_version, options=NEW_GROUPS)
        model = merged(model, rows)
        seen.append(listed_indexes(base_path))
        assert {path.parent.name for path in log_files(base_path, newest_commit(base_path))} == seen[-1]
        assert_describes_the_table(base_path)
    assert seen[0] < before
    assert oracle is not V9 or seen[1] == before
    assert found_by_hudi(judge, table) == expected(model)


@thorough
def test_rule_17_an_index_that_disappears_during_our_write_is_left_out(
    ruled, hudi, engine: Engine, oracle: Oracle
) -> None:
    table = ruled(oracle)
    base_path, kept = (
        table.base_path,
        {FILES, COLUMN_STATS, PARTITION_STATS} & listed_indexes(table.base_path),
    )

    def drop() -> None:
        set_listed_indexes(base_path, kept)
        shutil.rmtree(metadata_folder(base_path) / RECORD_INDEX)

    rows = some_rows(range(12), 20, SCHEMA, ("a", "b", "c"))
    with just_after_start(drop):
        engine.write(base_path, as_table(rows, SCHEMA), version=oracle.table_version, options=NEW_GROUPS)
    assert {path.parent.name for path in log_files(base_path, newest_commit(base_path))} == kept
    assert_describes_the_table(base_path)
    assert found_by_hudi(hudi(oracle.release), table) == expected(merged(table.model, rows))


@thorough
def test_rule_17_indexes_that_appear_during_our_write_are_updated(
    ruled, hudi, engine: Engine, oracle: Oracle
) -> None:
    table = ruled(oracle)
    base_path, every = table.base_path, listed_indexes(table.base_path)
    rows = some_rows([*range(12), *range(60, 66)], 20, SCHEMA, ("a", "b", "c"))
    set_listed_indexes(base_path, {FILES})
    with just_after_start(lambda: set_listed_indexes(base_path, every)):
        engine.write(base_path, as_table(rows, SCHEMA), version=oracle.table_version, options=NEW_GROUPS)
    assert {path.parent.name for path in log_files(base_path, newest_commit(base_path))} == every
    assert_describes_the_table(base_path)
    assert found_by_hudi(hudi(oracle.release), table) == expected(merged(table.model, rows))


@thorough
def test_rule_17_control_a_commit_that_leaves_an_index_out_makes_duplicates(
    ruled, hudi, oracle: Oracle
) -> None:
    table, judge = ruled(oracle), hudi(oracle.release)
    remove_delta_commit(table.base_path, table.ours, RECORD_INDEX)
    with pytest.raises(AssertionError, match="lacks keys"):
        assert_describes_the_table(table.base_path)
    hudi_writes(judge, table.base_path, oracle, [{**row, "ts": 30} for row in our_rows()])
    rows = judge.read(table.base_path, {"hoodie.metadata.enable": "false"})
    assert count_of_keys_seen_twice(rows) == len(NEW_KEYS)
