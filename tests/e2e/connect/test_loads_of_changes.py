"""Loads of the changes of a table whose Spark tasks run on a Spark Connect server."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from e2e.job_processes import SCRIPT, Ended, run
from e2e.orders import orders, stored, table_flags, write_parquet
from judges.hudi_rs import read_snapshot

pytestmark = pytest.mark.thorough

DOUBLED = "SELECT id, region, amount * 2 AS amount, version FROM source WHERE version < 3"
SUMS = "SELECT region, sum(amount) AS total FROM source GROUP BY region"


def test_changes_deletes_and_aggregates_reach_the_target(
    variables: Mapping[str, str], tmp_path: Path
) -> None:
    source, target, sums = tmp_path / "source", tmp_path / "target", tmp_path / "sums"

    def job(flags: list[str]) -> Ended:
        ended = run([sys.executable, SCRIPT, *flags], variables, tmp_path / "run")
        assert ended.exit_code == 0, ended.log
        return ended

    def write(name: str, rows: list[tuple[int, str, float, int]], operation: str = "upsert") -> None:
        landed = write_parquet(rows, tmp_path / f"{name}.parquet")
        job(table_flags(source, source_path=str(landed), operation=operation))

    def load() -> None:
        job(table_flags(target, source_table=str(source), source_sql=DOUBLED))
        groups = {"table_name": "sums", "record_key": "region", "source_mode": "changed_groups"}
        flags = {"base_path": str(sums), **groups, "source_table": str(target), "source_sql": SUMS}
        job([f"--{name.replace('_', '-')}={value}" for name, value in flags.items()])
        expected = [(id_, region, 2 * amount, v) for id_, region, amount, v in stored(source) if v < 3]
        assert stored(target) == expected
        totals: dict[str, float] = {}
        for _, region, amount, _ in expected:
            totals[region] = totals.get(region, 0.0) + amount
        assert {row["region"]: row["total"] for row in read_snapshot(sums).to_pylist()} == totals

    write("first", orders(range(60)))
    load()
    write("changed", orders(range(3), version=2) + orders(range(3, 6), version=3))
    write("deleted", orders([9, 10], version=2), "delete")
    load()
    aggregate = [sys.executable, SCRIPT, *table_flags(target, source_table=str(source), source_sql=SUMS)]
    assert run(aggregate, variables, tmp_path / "run").result.is_nothing_to_do
    write("late", orders([70]))
    refused = run(aggregate, variables, tmp_path / "run")
    assert refused.exit_code == 64
    assert "combines rows of the source (Aggregate)" in refused.log
