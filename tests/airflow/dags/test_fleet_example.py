"""The example ``fleet_upkeep`` on small tables: cleans are real; clusterings and compactions are simulated."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.airflow_versions import DagBag
from support.compaction.written_table import WrittenTable, a_row
from support.fixed_clock import FixedClock
from support.jobs_on_tables import later
from support.small_tables import SmallTable

EXAMPLE = Path(__file__).parents[3] / "dags_examples" / "fleet_upkeep.py"


def made(folder: Path, commits: int, groups: int) -> SmallTable:
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(days=3), step=timedelta(minutes=5))
    table = SmallTable(LocalStorage(str(folder)), TableVersion.V9, clock)
    for _ in range(commits):
        table.commit(*(FileGroupId("city=a", f"a-{n}") for n in range(groups)))
    return table


def data_files(table: SmallTable) -> int:
    return sum(1 for stored in table.storage.list_files() if stored.path.endswith(".parquet"))


@pytest.mark.thorough
def test_each_service_runs_on_the_tables_that_need_it(
    tmp_path: Path, run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    to_clean = made(tmp_path / "to_clean", commits=14, groups=1)
    to_cluster = made(tmp_path / "to_cluster", commits=1, groups=4)
    well = made(tmp_path / "well", commits=1, groups=1)
    to_compact = WrittenTable(LocalStorage(str(tmp_path / "to_compact")), clock=later(-1))
    to_compact.insert({FileGroupId("city=a", "a-0"): [a_row("k", 1)]})
    to_compact.log({FileGroupId("city=a", "a-0"): [a_row("k", 2)]})
    tables = (to_clean, to_cluster, to_compact, well)
    named = [{"base_path": each.storage.base_path} for each in tables]
    monkeypatch.setenv("HUDI_FLEET", json.dumps([*named, {"base_path": str(tmp_path / "missing")}]))
    bag = DagBag(str(EXAMPLE))
    assert bag.import_errors == {}
    done = run_dag(bag.dags["fleet_upkeep"], mark_success_pattern="cluster|compact")
    found = [(ti.task_id, ti.map_index, str(ti.state)) for ti in done.get_task_instances()]
    assert sorted(found) == [
        ("clean", 0, "success"),
        ("cluster", 0, "success"),
        ("compact", 0, "success"),
        ("report_failure", -1, "skipped"),
        ("worst_to_clean", -1, "success"),
        ("worst_to_cluster", -1, "success"),
        ("worst_to_compact", -1, "success"),
    ]
    assert data_files(to_clean) < 14
    assert (data_files(to_cluster), data_files(well)) == (4, 1)
    for name, table in (("worst_to_cluster", to_cluster), ("worst_to_compact", to_compact)):
        ranked = done.get_task_instance(name).xcom_pull(task_ids=name)
        assert [each["base_path"] for each in ranked] == [table.storage.base_path]
