"""The example ``airport_delays`` on real Spark, judged by a full computation of both derived tables."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from demo_support.quick_spark import SETTINGS, jvm_flags

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from judges.hudi_rs import read_snapshot

QUICK = {**SETTINGS, "spark.driver.extraJavaOptions": jvm_flags()}
KEY = ("flight_date", "carrier", "flight", "origin")
NAMES = (*KEY, "dest", "dep_delay")
Flight = tuple[date, str, int, str, str, int | None]


def flights(day: int, delays: list[int | None], origin: str = "JFK") -> list[Flight]:
    return [(date(2013, 1, day), "AA", number, origin, "LAX", delay) for number, delay in enumerate(delays)]


def stored(path: Path, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names) for row in read_snapshot(path).to_pylist())


def expected_delays(clean: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    groups: dict[tuple[Any, ...], list[float]] = {}
    for day, _, _, origin, _, delay in clean:
        groups.setdefault((day, origin), []).append(delay)
    return sorted((*key, len(found), sum(found), max(found)) for key, found in groups.items())


@pytest.mark.thorough
def test_corrections_and_deletes_flow_through_both_tables(
    run_dag: Callable[..., Any], example: Callable[[str], Any], tmp_path: Path
) -> None:
    from airflow.sdk import DAG

    chain = example("airport_delays")

    def write(name: str, rows: list[Flight], operation: str = "upsert") -> None:
        types = (pa.date32(), pa.string(), pa.int64(), pa.string(), pa.string(), pa.int64())
        columns = {
            each: pa.array([row[i] for row in rows], kind)
            for i, (each, kind) in enumerate(zip(NAMES, types, strict=True))
        }
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        with DAG(f"write_{name}", schedule=None, default_args={"retries": 0}) as dag:
            UpsertWithSizingOperator(
                task_id="write",
                base_path=f"{tmp_path}/flights",
                table_name="flights",
                operation=operation,
                source_path=f"{tmp_path}/{name}.parquet",
                record_key=KEY,
                conf=QUICK,
            )
        assert run_dag(dag).state == "success"

    def states() -> dict[str, str]:
        run = run_dag(chain)
        clean = [row for row in stored(tmp_path / "flights", NAMES) if row[-1] is not None]
        assert stored(tmp_path / "clean_flights", NAMES) == clean
        names = ("flight_date", "origin", "flights", "total_delay", "longest_delay")
        assert stored(tmp_path / "airport_delays", names) == expected_delays(clean)
        return {ti.task_id: str(ti.state) for ti in run.get_task_instances()}

    write("first", [*flights(1, [5, None, 7]), *flights(2, [1, 2]), *flights(3, [9], "EWR")])
    assert states() == {"clean_flights": "success", "airport_delays": "success"}
    # A correction, a departure that becomes known, a cancelled flight, and a day whose only flight is deleted.
    write("corrected", [*flights(1, [6, 3, None]), *flights(4, [4], "LGA")])
    write("deleted", flights(3, [9], "EWR"), "delete")
    assert states() == {"clean_flights": "success", "airport_delays": "success"}
    assert date(2013, 1, 3) not in {row[0] for row in stored(tmp_path / "airport_delays", ("flight_date",))}
    assert states() == {"clean_flights": "skipped", "airport_delays": "skipped"}
