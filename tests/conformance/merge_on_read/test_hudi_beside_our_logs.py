"""Real Hudi and the engine write to one merge-on-read table alternately. Hudi reads the expected rows after each write.

Oracles: Hudi 0.15.0 on table version 6; Hudi 1.2.0 on versions 8 and 9. hudi-rs 0.5 also reads the table after each
write. A dictionary contains the expected rows.
"""

import random
from pathlib import Path

import pytest

from judges.merge_on_read.broken_logs import die_before_completing
from judges.merge_on_read.shared_log_tables import DELETED, SharedTable, without
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import ALL_TYPES, KEY, ORDERING, Model, Row, assert_rows_equal, merged, some_rows
from support.depth import by_depth, cases

ORACLES = cases([V6_OLD, V8, V9], [V9])
TURNS = by_depth(10, 40)
KEY_SPACE = 30
MADE = [("hudi", "avro"), ("hudi", "parquet"), ("engine", "avro"), ("engine", "parquet")]
"""Writer of the first commit, and format of the data blocks."""

MADE_SAMPLED = [("hudi", "avro"), ("engine", "parquet")]


@pytest.fixture(params=ORACLES)
def table(request: pytest.FixtureRequest, hudi, tmp_path: Path) -> SharedTable:
    oracle: Oracle = request.param
    return SharedTable(tmp_path / "t", oracle, hudi(oracle.release))


@pytest.mark.oracles(V6_OLD, V8, V9)
@pytest.mark.parametrize("made", cases(MADE, MADE_SAMPLED, "-".join))
def test_hudi_reads_updates_and_compacts_our_log_files(table: SharedTable, made: tuple[str, str]) -> None:
    creator, encoding = made
    table.options = {"hoodie.logfile.data.block.format": encoding}
    first = some_rows(range(20), 1)
    if creator == "hudi":
        table.hudi_writes(first)
    else:
        table.write(first)
    model = base = merged({}, first)
    table.check(model, f"first rows of {creator}")

    begin = table.bounds()[-1]
    changed, inserted = some_rows(range(0, 20, 3), 2), some_rows(range(20, 24), 2)
    result = table.write(changed)
    assert (result.rows.updated, result.rows.inserted, result.action) == (7, 0, "deltacommit")
    model = merged(model, changed)
    table.check(model, "our updates")
    table.check_read_optimized(base, "our updates")
    assert_rows_equal(
        table.judge.read_incremental(table.base_path, begin), merged({}, changed), "incremental query"
    )

    table.write(inserted)
    model, base = merged(model, inserted), merged(base, inserted)
    table.check(model, "our inserts")
    table.write([model[key] for key in sorted(model)[:3]], "delete")
    model = without(model, sorted(model)[:3])
    table.check(model, "our deletes")

    # Hudi updates rows in the same slices, and the rows that we inserted.
    theirs = some_rows(range(4, 24, 2), 3)
    table.hudi_writes(theirs)
    model = merged(model, theirs)
    table.check(model, "updates of Hudi on top of ours")
    table.write(some_rows(range(5, 12), 4))
    model = merged(model, some_rows(range(5, 12), 4))
    table.check(model, "our updates on top of those of Hudi")

    table.hudi_compacts()
    table.check(model, "Hudi's compaction")
    table.check_read_optimized(model, "Hudi's compaction")
    table.write(some_rows(range(8, 26), 5))
    model = merged(model, some_rows(range(8, 26), 5))
    table.check(model, "our updates after the compaction")


def test_rows_stay_correct_if_both_write_beside_a_pending_compaction(table: SharedTable) -> None:
    table.hudi_writes(some_rows(range(20), 1))
    table.write(some_rows(range(6), 2))
    model = merged(merged({}, some_rows(range(20), 1)), some_rows(range(6), 2))
    table.hudi_compacts("schedule")
    rows = some_rows(range(3, 26), 3)
    table.write(rows)
    model = merged(model, rows)
    assert_rows_equal(table.judge.read(table.base_path), model, "pending compaction")
    table.hudi_writes(some_rows(range(2, 5), 4))
    model = merged(model, some_rows(range(2, 5), 4))
    assert_rows_equal(table.judge.read(table.base_path), model, "both writers beside the pending compaction")
    table.hudi_compacts("execute")
    table.check(model, "executed compaction")
    table.write(some_rows(range(10, 14), 5))
    table.check(merged(model, some_rows(range(10, 14), 5)), "our update after the compaction")


def test_hudi_reads_neither_rows_that_are_marked_as_deleted_nor_late_rows(hudi, tmp_path: Path) -> None:
    """Versions 6 and 9 merge by event time alike, except for late deletes; see the reference of merges."""
    for oracle in (V6_OLD, V9):
        table = SharedTable(tmp_path / str(oracle), oracle, hudi(oracle.release), ALL_TYPES.append(DELETED))
        rows: list[Row] = [{**row, DELETED.name: False} for row in some_rows(range(8), 5)]
        table.write(rows)
        model = merged({}, rows)
        marked = {**rows[0], ORDERING: 6, DELETED.name: True}
        late = {**rows[2], ORDERING: 4, "text": "late"}
        table.write([marked, late])
        model = without(model, [rows[0][KEY]])
        table.check(model, "a deleted row and a late row")
        again = {**rows[0], ORDERING: 7}
        table.write([again])
        model = merged(model, [again])
        table.check(model, "the deleted row is written again")
        table.hudi_compacts()
        table.check(model, "compaction")
        table.check_read_optimized(model, "compaction")


def test_hudi_and_we_undo_dead_writes_of_ours(table: SharedTable) -> None:
    table.hudi_writes(some_rows(range(12), 1))
    table.write(some_rows(range(4), 2))
    model = merged(merged({}, some_rows(range(12), 1)), some_rows(range(4), 2))
    for number, recover in enumerate(("hudi", "engine"), start=1):
        die_before_completing(table, some_rows(range(2, 16), 2 + 2 * number))
        table.check(model, "a dead write is invisible")
        rows = some_rows(range(3), 3 + 2 * number)
        if recover == "hudi":
            table.hudi_writes(rows)
        else:
            table.write(rows, request_id="next")
        model = merged(model, rows)
        if recover == "engine" or table.oracle.table_version >= 8:
            table.check(model, f"after {recover} has undone the dead write")
        table.write(some_rows(range(5, 7), 4 + 2 * number))
        model = merged(model, some_rows(range(5, 7), 4 + 2 * number))
        table.check(model, "after the next write")


@pytest.mark.parametrize("seed", cases(range(2), [0]))
@pytest.mark.thorough
def test_rows_stay_correct_in_random_turns(table: SharedTable, seed: int) -> None:
    chosen = random.Random(f"{table.oracle} {seed}")
    model: Model = merged({}, some_rows(range(10), 1))
    table.hudi_writes(some_rows(range(10), 1))
    history = []
    for turn in range(2, TURNS + 2):
        step = chosen.choice(["ours"] * 4 + ["theirs"] * 3 + ["our delete", "their delete", "compaction"])
        encoding = chosen.choice(["avro", "parquet"])
        history.append((turn, step, encoding))
        if step == "compaction":
            table.hudi_compacts()
            table.check_read_optimized(model, str(history))
        elif step.endswith("delete") and len(model) > 4:
            victims = [model[key] for key in chosen.sample(sorted(model), 3)]
            write = table.write if step == "our delete" else table.hudi_writes
            write(victims, "delete")
            model = without(model, [row[KEY] for row in victims])
        else:
            rows = some_rows(chosen.sample(range(KEY_SPACE), 8), turn)
            if step.startswith("our"):
                table.write(rows, options={"hoodie.logfile.data.block.format": encoding})
            else:
                table.hudi_writes(rows)
            model = merged(model, rows)
        table.check(model, str(history))
