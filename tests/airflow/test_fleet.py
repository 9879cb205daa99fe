"""The ranking of many tables, and mapped tasks that process the tables that benefit most."""

import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.fleet import rank_tables
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.compaction import ScheduleCompactionOperator
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import context
from support.compaction.written_table import WrittenTable, a_row
from support.fixed_clock import FixedClock
from support.jobs_on_tables import later
from support.small_tables import SmallTable

TWO_COMMITS = {"hoodie.clean.policy": "KEEP_LATEST_COMMITS", "hoodie.clean.commits.retained": "2"}
CLUSTERS = """
from support.airflow.clustered_tables import complete_pending
(time,) = complete_pending(base_path, (), request["request_id"])
result(outcome="completed", operation="cluster", instant_time=time)
"""
Fleet = dict[str, SmallTable]


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """Tables: ``many`` has five small files, ``few`` two, ``old`` six versions of a file, and ``one`` a single file."""

    def table(name: str) -> SmallTable:
        clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=9), step=timedelta(minutes=5))
        return SmallTable(LocalStorage(str(tmp_path / name)), TableVersion.V9, clock)

    made = {name: table(name) for name in ("few", "many", "old", "one")}
    made["many"].commit(*(FileGroupId("city=a", f"a-{n}") for n in range(5)))
    made["few"].commit(*(FileGroupId("city=a", f"a-{n}") for n in range(2)))
    for _ in range(6):
        made["old"].commit(FileGroupId("city=a", "a-0"))
    made["one"].commit(FileGroupId("city=a", "a-0"))
    return made


def paths(fleet: Fleet, *names: str) -> list[str]:
    return [fleet[name].storage.base_path for name in names or fleet]


def test_the_tables_with_the_most_small_files_come_first(fleet: Fleet) -> None:
    ranked = rank_tables(paths(fleet))
    assert [each["base_path"] for each in ranked] == paths(fleet, "many", "few")
    assert json.loads(json.dumps(ranked)) == ranked
    assert rank_tables(paths(fleet), quota=1) == ranked[:1]
    assert rank_tables(paths(fleet), at_least=3, threads=1) == ranked[:1]
    assert ranked[0]["table_name"] == fleet["many"].config.table_name


def test_cleaning_ranks_tables_by_the_files_that_a_clean_would_delete(fleet: Fleet) -> None:
    assert rank_tables(paths(fleet), service="cleaning") == [], "by default, cleaning keeps ten commits"
    (ranked,) = rank_tables(paths(fleet), service="cleaning", hudi_options=TWO_COMMITS)
    assert ranked["base_path"] == fleet["old"].storage.base_path
    by_versions = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"}
    assert rank_tables(paths(fleet), service="cleaning", hudi_options=by_versions) == [ranked]
    operator = CleanOperator(
        task_id="clean", hudi_options={**TWO_COMMITS, "hoodie.airflow.clean.floor.hours": 0}, **ranked
    )
    assert operator.execute(context())["files"] == 3, (
        "the version before the first retained commit stays readable"
    )


def test_compaction_ranks_merge_on_read_tables_by_the_bytes_of_their_log_files(
    fleet: Fleet, tmp_path: Path
) -> None:
    group = FileGroupId("city=a", "a-0")
    written = []
    for name, updates in (("one_log", 1), ("three_logs", 3), ("no_log", 0)):
        table = WrittenTable(LocalStorage(str(tmp_path / name)), clock=later(-1))
        table.insert({group: [a_row("k", 1)]})
        for number in range(updates):
            table.log({group: [a_row("k", 2 + number)]})
        written.append(table.storage.base_path)
    one, three, _ = written
    ranked = rank_tables([*paths(fleet), *written], service="compaction")
    assert [each["base_path"] for each in ranked] == [three, one]
    schedule = ScheduleCompactionOperator(task_id="compact", ignore_trigger=True, **ranked[0])
    assert schedule.execute(context())["log_files"] == 3


def test_an_unreadable_table_is_logged_and_does_not_stop_the_ranking(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    (done,) = fleet["few"].timeline_store.load().completed_writes
    (path,) = (
        f.path
        for f in fleet["few"].storage.list_files(".hoodie")
        if done.requested_time in f.name and f.name.endswith(".commit")
    )
    fleet["few"].storage.write(path, b"")
    tables: list[Any] = [*paths(fleet), "/nowhere/at/all", {"hudi_conn_id": "no_such_connection"}]
    with caplog.at_level(logging.WARNING):
        ranked = rank_tables(tables)
    assert [each["base_path"] for each in ranked] == paths(fleet, "many")
    for name in ("/nowhere/at/all", "no_such_connection", fleet["few"].storage.base_path):
        assert name in caplog.text
    with pytest.raises(HudiTaskError, match="None of the tables"):
        rank_tables(tables[-2:])


def test_a_table_with_several_names_counts_once(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    many, few = paths(fleet, "many", "few")
    tables = [HudiAsset(many), {"base_path": few, "hudi_conn_id": None, "sort_columns": ["x"]}, many + "/"]
    ranked = rank_tables(tables)
    assert [each["base_path"] for each in ranked] == [many, few]
    assert ranked[1]["sort_columns"] == ["x"]
    assert "hudi_conn_id" not in ranked[1]
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", json.dumps({"f": {"base_path": few}}))
    assert [each["base_path"] for each in rank_tables()] == [few]


def test_invalid_arguments_are_refused(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HudiTaskRefusedError, match="'clustering', 'compaction', 'cleaning'"):
        rank_tables(paths(fleet), service="archival")
    monkeypatch.setenv("AIRFLOW__HUDI__TABLES", "")
    for none in ([], None):
        with pytest.raises(HudiTaskRefusedError, match="no tables to rank"):
            rank_tables(none)


def test_mapped_clusterings_in_a_dag_cluster_the_tables_of_the_ranking(
    fleet: Fleet, tmp_path: Path, run_dag: Callable[..., Any], connections: Callable[..., None]
) -> None:
    from airflow.sdk import DAG, task

    from airflow_hudi_provider.operators.clustering import ClusteringOperator

    connections("spark_default", conn_type="spark", host="local[2]")
    named = paths(fleet)
    with DAG("mapped_fleet", schedule=None, start_date=datetime(2026, 1, 1)) as dag:

        @task
        def worst() -> list[dict[str, Any]]:
            return rank_tables(named)

        ClusteringOperator.partial(
            task_id="cluster",
            map_index_template="{{ task.base_path }}",
            spark_binary=stand_in(tmp_path, CLUSTERS),
        ).expand_kwargs(worst())
    done = run_dag(dag)
    mapped = [ti for ti in done.get_task_instances() if ti.task_id == "cluster"]
    assert {str(ti.rendered_map_index): str(ti.state) for ti in mapped} == dict.fromkeys(
        paths(fleet, "many", "few"), "success"
    )
    for name, count in {"many": 2, "few": 2, "old": 6, "one": 1}.items():
        assert len(fleet[name].timeline_store.load().completed) == count
