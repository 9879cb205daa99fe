"""Real Hudi and the engine change a merge-on-read table with a record index in turns.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 8 and 9. Hudi finds the rows of its batches in the
record index, so a wrong entry causes a lost or a double row. After each change, the record index has exactly one entry
for each row.
"""

from pathlib import Path

import pytest

from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from judges.merge_on_read.key_indexes import assert_record_index_equals_rows, stored_entries, stored_instants
from judges.merge_on_read.shared_log_tables import DELETED, SharedTable, without
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import KEY, PLAIN, Model, Row, assert_rows_equal, merged, some_rows
from judges.secondary_indexes import TYPES, assert_filters, assert_indexes_equal_rows, create_indexes
from judges.table_files import instant_names
from support.compaction.jobs_here import execute, schedule
from support.depth import cases

ORACLES = cases([V6_OLD, V8, V9], [V9])
INDEX = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
}
COMPACTS_AFTER = "hoodie.metadata.compact.max.delta.commits"
"""Number of delta commits after which the metadata table is compacted."""
OUR_LOOKUP = {"hoodie.index.type": "RECORD_INDEX"}
HUDI = {"index__type": "RECORD_INDEX", "embed__timeline__server": "true"}


class IndexedTable(SharedTable):
    """Hudi finds rows in the record index; by default, the engine finds rows in the files."""

    def hudi_upserts(self, rows: list[Row], operation: str = "upsert") -> None:
        more = {
            name.removeprefix("hoodie.").replace(".", "__"): value for name, value in self.options.items()
        }
        self.hudi_writes(rows, operation, **more, **HUDI)

    def check_all(self, model: Model, who: str) -> None:
        assert_record_index_equals_rows(self.base_path, who)
        for options in (
            {"hoodie.metadata.enable": "false"},
            {**INDEX, "hoodie.enable.data.skipping": "true"},
        ):
            assert_rows_equal(self.judge.read(self.base_path, options), model, f"{who}, {options}")
        name = self.judge.new_table_name()
        self.judge.sql(f"create table {name} using hudi location '{self.base_path}'")
        wanted = sorted(model)[::4]
        condition = f"{KEY} in ({', '.join(repr(key) for key in wanted)})"
        found = self.judge.sql(
            f"select {KEY} from {name} where {condition}",
            settings={**INDEX, "hoodie.enable.data.skipping": "true"},
        )
        assert sorted(row[KEY] for row in found) == wanted, f"{who}: {condition}"


@pytest.fixture(params=ORACLES)
def table(request: pytest.FixtureRequest, hudi, tmp_path: Path) -> IndexedTable:
    oracle: Oracle = request.param
    options = {**INDEX, COMPACTS_AFTER: "6"}
    return IndexedTable(tmp_path / "t", oracle, hudi(oracle.release), PLAIN, options)


@pytest.mark.thorough
@pytest.mark.parametrize("creator", ["hudi", "engine"])
def test_hudi_finds_rows_by_our_entries(table: IndexedTable, creator: str) -> None:
    first = some_rows(range(20), 1, PLAIN)
    if creator == "hudi":
        table.hudi_upserts(first)
    else:
        table.write(first)
    model = merged({}, first)
    table.check_all(model, creator)

    rows = some_rows(range(2, 26, 3), 2, PLAIN)
    table.write(rows)
    model = merged(model, rows)
    gone = sorted(model)[:4]
    table.write([model[key] for key in gone], "delete")
    model = without(model, gone)
    table.check_all(model, "our updates, inserts and deletes")

    # Hudi updates our rows, and inserts keys that our log files deleted.
    rows = some_rows(range(0, 30, 2), 3, PLAIN)
    table.hudi_upserts(rows)
    model = merged(model, rows)
    table.check_all(model, "updates of Hudi on top of ours")
    gone = sorted(model)[5:9]
    table.hudi_upserts([model[key] for key in gone], "delete")
    model = without(model, gone)
    table.check_all(model, "deletes of Hudi")

    # We find the rows that Hudi inserted, in the index or in the files.
    for version, options in ((4, OUR_LOOKUP), (5, {})):
        rows = some_rows(range(version, 32, 3), version, PLAIN)
        table.write(rows, options=options)
        model = merged(model, rows)
        table.check_all(model, f"our updates with {options}")

    schedule(LocalStorage(str(table.base_path)), SystemClock())
    execute(LocalStorage(str(table.base_path)), SystemClock())
    table.check_all(model, "our compaction")
    rows = some_rows(range(1, 34, 2), 6, PLAIN)
    table.hudi_upserts(rows)
    model = merged(model, rows)
    table.check_all(model, "updates of Hudi after our compaction")
    table.write([model[key] for key in sorted(model)[:5]], "insert_overwrite")
    kept = {model[key]["part"] for key in sorted(model)[:5]}
    model = {key: row for key, row in model.items() if row["part"] not in kept or key in sorted(model)[:5]}
    table.check_all(model, "our overwrite")
    rows = some_rows(range(0, 34, 3), 7, PLAIN)
    table.hudi_upserts(rows)
    model = merged(model, rows)
    table.check_all(model, "updates of Hudi after our overwrite")


def test_our_entries_are_those_of_hudi(table: IndexedTable, hudi, tmp_path: Path) -> None:
    """The same batches change the same entries, and keep the same times."""
    other = IndexedTable(tmp_path / "other", table.oracle, table.judge, PLAIN, INDEX)
    first = some_rows(range(12), 1, PLAIN)
    kept: dict[str, list[tuple[set[str], set[str]]]] = {}
    for who, each in (("hudi", other), ("engine", table)):
        each.hudi_upserts(first)
        write = each.hudi_upserts if who == "hudi" else each.write
        changes = kept[who] = []
        for rows, operation in (
            (some_rows(range(0, 12, 2), 2, PLAIN), "upsert"),
            (some_rows(range(4), 3, PLAIN), "delete"),
            (some_rows(range(4, 14), 4, PLAIN), "upsert"),
        ):
            before = stored_instants(each.base_path)
            write(rows, operation)
            after = stored_instants(each.base_path)
            changes.append(
                (before.keys() - after.keys(), {k for k, time in after.items() if before.get(k) != time})
            )
    assert kept["engine"] == kept["hudi"]


def test_a_delete_that_loses_keeps_the_entry_of_the_row(table: IndexedTable) -> None:
    """Hudi and this project each write a delete that loses and a delete that wins."""
    table.schema = PLAIN.append(DELETED)
    rows = [{**row, DELETED.name: False} for row in some_rows(range(6), 5, PLAIN)]
    table.hudi_upserts(rows)
    is_old = table.oracle.table_version == 6
    late, wins = ({"ts": ts, DELETED.name: True} for ts in (3, 7))
    table.write([{**rows[0], **late}, {**rows[1], **wins}])
    table.hudi_upserts([{**rows[2], **late}, {**rows[3], **wins}])
    found = {key for key, *_ in stored_entries(table.base_path)}
    # In version 6, a delete always deletes the row of a base file.
    kept = (4, 5) if is_old else (0, 2, 4, 5)
    assert found == {rows[number][KEY] for number in kept}
    assert len(table.judge.read(table.base_path)) == len(kept)


@pytest.mark.thorough
def test_hudi_and_the_engine_roll_back_each_others_delta_commits(table: IndexedTable) -> None:
    # A write cannot be undone after the metadata table was compacted.
    table.options = {**INDEX, COMPACTS_AFTER: "50"}
    first = some_rows(range(12), 1, PLAIN)
    table.hudi_upserts(first)
    model = merged({}, first)
    entries = stored_instants(table.base_path)
    table.write([*some_rows(range(3), 2, PLAIN), *some_rows(range(20, 23), 2, PLAIN)])
    table.write(some_rows(range(3, 5), 3, PLAIN), "delete")
    for _ in range(2):
        newest = instant_names(table.base_path, ".deltacommit")[-1].partition("_")[0].partition(".")[0]
        name = table.judge.new_table_name()
        table.judge.sql(f"create table {name} using hudi location '{table.base_path}'")
        table.judge.sql(
            f"call rollback_to_instant(table => '{name}', instant_time => '{newest}')",
            settings={**table.oracle.pins, **table.options, "hoodie.embed.timeline.server": "true"},
        )
    assert stored_instants(table.base_path) == entries
    table.check_all(model, "Hudi rolled back our writes")
    table.hudi_upserts(some_rows(range(8, 16), 4, PLAIN))
    table.hudi_upserts(some_rows(range(2), 5, PLAIN), "delete")
    names = instant_names(table.base_path, ".deltacommit")[-2:]
    times = tuple(name.partition("_")[0].partition(".")[0] for name in names)
    rollback(RollbackRequest(base_path=str(table.base_path), instants=times))
    assert stored_instants(table.base_path) == entries
    table.check_all(model, "we rolled back writes of Hudi")
    rows = some_rows(range(0, 20, 3), 6, PLAIN)
    table.hudi_upserts(rows)
    model = merged(model, rows)
    table.check_all(model, "updates of Hudi after the rollback")


# If a table has two secondary indexes, updates of Hudi 1.2.0 in log files change only one of the indexes
# (SecondaryIndexStreamingTracker adds the new log files to the file slice that it compares for the second index).
@pytest.mark.thorough
@pytest.mark.parametrize("column", ["text", "ts"])
@pytest.mark.parametrize("oracle", cases([V8, V9], [V9]))
def test_hudi_finds_rows_by_our_entries_of_a_secondary_index(
    hudi, tmp_path: Path, oracle: Oracle, column: str
) -> None:
    columns = (column,)
    table = IndexedTable(tmp_path / "t", oracle, hudi(oracle.release), TYPES, INDEX)
    first = some_rows(range(16), 1, TYPES)
    table.hudi_upserts(first)
    create_indexes(table.judge, table.base_path, oracle, columns)
    model = merged({}, first)

    def check(who: str) -> None:
        assert_record_index_equals_rows(table.base_path, who)
        assert_indexes_equal_rows(table.base_path, columns)
        assert_filters(table.judge, table.base_path, model, columns)

    check("Hudi")
    rows = some_rows(range(4, 20, 2), 2, TYPES)
    rows[0]["text"] = None
    table.write(rows)
    model = merged(model, rows)
    check("our updates")
    gone = sorted(model)[:4]
    table.write([{**model[key], "ts": 3} for key in gone], "delete")
    model = without(model, gone)
    check("our deletes")
    rows = some_rows(range(2, 22, 3), 4, TYPES)
    table.hudi_upserts(rows)
    model = merged(model, rows)
    check("updates of Hudi")
    rows = some_rows(range(1, 22, 4), 5, TYPES)
    table.write(rows)
    model = merged(model, rows)
    check("our updates on top of those of Hudi")
    schedule(LocalStorage(str(table.base_path)), SystemClock())
    execute(LocalStorage(str(table.base_path)), SystemClock())
    check("our compaction")
    rows = some_rows(range(3, 24, 5), 6, TYPES)
    table.hudi_upserts(rows)
    model = merged(model, rows)
    check("updates of Hudi after our compaction")
