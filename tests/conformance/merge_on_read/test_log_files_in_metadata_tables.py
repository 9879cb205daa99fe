"""The engine records its log files in a metadata table. Hudi uses the table to list files and to skip files.

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 8 and 9, with a metadata table that has column
statistics. Half of the tables were created by Hudi, the others by the engine.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from judges.merge_on_read.shared_log_tables import SharedTable, without
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import KEY, PLAIN, Model, Row, assert_rows_equal, merged, some_rows
from support.depth import cases

ORACLES = cases([V6_OLD, V8, V9], [V9])
SKIPPING = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
WITH_STATISTICS = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
HUDI_WITH_STATISTICS = {
    "metadata__enable": "true",
    "metadata__index__column__stats__enable": "true",
}


@pytest.fixture(params=ORACLES)
def table(request: pytest.FixtureRequest, hudi, tmp_path: Path) -> SharedTable:
    oracle: Oracle = request.param
    return SharedTable(tmp_path / "t", oracle, hudi(oracle.release), PLAIN, WITH_STATISTICS)


def check(table: SharedTable, model: Model, who: str) -> None:
    """Check all rows with and without the metadata table, and the rows that filters select with the metadata table."""
    judge = table.judge
    for options in ({"hoodie.metadata.enable": "false"}, SKIPPING):
        assert_rows_equal(judge.read(table.base_path, options), model, f"{who}, {options}")
    newest = max(row["ts"] for row in model.values())
    conditions: dict[str, Callable[[Row], bool]] = {
        f"ts = {newest}": lambda row: row["ts"] == newest,
        "ts = 1": lambda row: row["ts"] == 1,
        f"ts > 1 and part = 'a' and ts < {newest}": lambda row: row["part"] == "a" and 1 < row["ts"] < newest,
        "text is null": lambda row: row["text"] is None,
    }
    name = judge.new_table_name()
    judge.sql(f"create table {name} using hudi location '{table.base_path}'")
    for condition, holds in conditions.items():
        found = judge.sql(f"select {KEY} from {name} where {condition}", settings=SKIPPING)
        expected = sorted(row[KEY] for row in model.values() if holds(row))
        assert sorted(row[KEY] for row in found) == expected, f"{who}: {condition}"


@pytest.mark.parametrize("creator", cases(["hudi", "engine"], ["engine"]))
@pytest.mark.thorough
def test_hudi_lists_and_skips_files_by_our_records_of_log_files(table: SharedTable, creator: str) -> None:
    first = some_rows(range(20), 1, PLAIN)
    if creator == "hudi":
        table.hudi_writes(first, **HUDI_WITH_STATISTICS)
    else:
        table.write(first, options=WITH_STATISTICS)
    model = merged({}, first)
    check(table, model, creator)
    for version in (2, 3):
        rows = some_rows(range(version, 20, 4), version, PLAIN)
        table.write(rows)
        model = merged(model, rows)
        check(table, model, f"our updates {version}")
    victims = [model[key] for key in sorted(model)[:3]]
    table.write(victims, "delete")
    model = without(model, [row[KEY] for row in victims])
    check(table, model, "our deletes")
    rows = some_rows(range(15, 26), 4, PLAIN)
    table.hudi_writes(rows, **HUDI_WITH_STATISTICS)
    model = merged(model, rows)
    check(table, model, "updates of Hudi")
    rows = some_rows(range(18, 30), 5, PLAIN)
    table.write(rows)
    model = merged(model, rows)
    check(table, model, "our updates on top of those of Hudi")
