"""Merges of every case for which the results of real Hudi 0.15.0 and 1.2.0 are stored (tests/golden/PROVENANCE.md)."""

from pathlib import Path

import pytest

from hudi_table_services.model.table_version import TableVersion
from support.log_merging.hudi_cases import COMMIT_COLUMN, HudiTable, as_slice, every_table, hudi_tables
from support.log_merging.slices import KEY_COLUMN, NO_LIMIT, Merged, merge

TABLES = every_table()
COLUMNS = ("ts", "ts2", "v", "s", COMMIT_COLUMN)
# With a delete marker, Hudi 0.15.0 ignores `_hoodie_is_deleted` in compactions, but not in snapshots. A merge has
# the result of the snapshot, so that a compaction does not change what readers see.
SMALL = 1500
"""Memory budget in bytes with which a merge divides the slice into buckets, but does not divide most buckets again."""
CONTRADICTION = "0.15.0/v6/default_payload_marker"


def name_of(each: HudiTable) -> str:
    return f"{each.name}-{len(each.cases)}"


def answers(each: HudiTable, merged: Merged) -> dict[str, list[object]]:
    """Map each key to those values of its row that the results of Hudi also contain."""
    size = max(len(answer) for answer in each.snapshot.values() if answer)
    rows = merged.rows
    found = {row[KEY_COLUMN]: [row[name] for name in COLUMNS[:size]] for row in rows}
    assert len(found) == len(rows)
    return found


def expected(each: HudiTable) -> dict[str, list[object]]:
    found = {key: answer for key, answer in each.snapshot.items() if answer is not None}
    return {key: [*answer[:4], *map(str, answer[4:])] for key, answer in found.items()}


@pytest.mark.parametrize(
    ("file", "table_count", "case_count"),
    [("merge_cases.json", 19, 43), ("merge_cases_of_long_logs.json", 10, 16)],
)
def test_a_golden_file_has_every_case_and_configuration(file: str, table_count: int, case_count: int) -> None:
    tables = hudi_tables(file)
    assert len(tables) == table_count
    assert {len(each.cases) for each in tables} == {case_count}
    assert {tuple(each.snapshot) for each in tables} == {tuple(each.compacted) for each in tables}
    assert {tuple(each.snapshot) for each in tables} == {tuple(tables[0].cases)}
    assert {each.name.rpartition("/")[0] for each in tables} == {"0.15.0/v6", "1.2.0/v9"}


@pytest.mark.parametrize("each", TABLES, ids=name_of)
@pytest.mark.parametrize("budget", [NO_LIMIT, SMALL], ids=["memory", "spilled"])
def test_a_merge_gives_the_rows_of_the_snapshot_of_hudi(each: HudiTable, budget: int, tmp_path: Path) -> None:
    merged = merge(each.rule, as_slice(each), budget, tmp_path)
    assert answers(each, merged) == expected(each)
    assert merged.spills == (budget == SMALL)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("each", TABLES, ids=name_of)
def test_the_snapshot_of_hudi_is_the_same_before_and_after_a_compaction(each: HudiTable) -> None:
    """A merge equals the snapshot. So a merge also equals a compaction of Hudi, unless Hudi contradicts itself."""
    differing = {key for key in each.cases if each.snapshot[key] != each.compacted[key]}
    if each.name != CONTRADICTION:
        assert differing == set()
        return
    for key in differing:
        answer = each.compacted[key]
        assert (each.snapshot[key], answer and answer[3]) == (None, "soft")


@pytest.mark.parametrize(
    "each",
    [each for each in hudi_tables("merge_cases.json") if each.version is TableVersion.V9],
    ids=name_of,
)
def test_a_marked_row_in_a_data_block_has_the_effect_of_a_delete_block(each: HudiTable) -> None:
    """Keys whose delete follows an unconditional delete are an exception (`_deletes_after_delete`).

    Only the cases of long logs have such keys.
    """
    merged = merge(each.rule, as_slice(each, deletes_in_data_blocks=True))
    assert answers(each, merged) == expected(each)
