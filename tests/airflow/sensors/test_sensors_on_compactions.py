"""Sensors, counts and watchers on tables that are compacted.

A completed compaction is a ``commit`` on the timeline. Its write operation distinguishes it from a write of rows.
"""

from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.sensors.instant import HudiInstantSensor
from airflow_hudi_provider.sensors.pending_service import HudiPendingServiceSensor
from airflow_hudi_provider.tables.commit_cursor import CommitCursor
from airflow_hudi_provider.tables.watched_commits import CommitWatch
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.storage.stores.local import LocalStorage
from support.compaction import jobs_here
from support.compaction.written_table import WrittenTable, a_row
from support.jobs_on_tables import later

GROUP = FileGroupId("city=a", "a-0")


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> WrittenTable:
    made = WrittenTable(LocalStorage(str(tmp_path / "table")), request.param, clock=later(-1))
    made.insert({GROUP: [a_row("k", 1)]})
    made.log({GROUP: [a_row("k", 2)]})
    return made


def schedule(table: WrittenTable) -> str:
    (plan,) = jobs_here.report_of(jobs_here.schedule(table.storage, later(0))).instants
    return plan


def execute(table: WrittenTable) -> None:
    jobs_here.execute(table.storage, later(0))


def poke(kind: type[Any], table: WrittenTable, **arguments: Any) -> Any:
    return kind(task_id="wait", base_path=table.storage.base_path, **arguments).poke({})


def test_the_instant_sensor_recognises_completed_compactions_by_their_operation(table: WrittenTable) -> None:
    newest = table.timeline_store.load().completed[-1].visible_from
    plan = schedule(table)
    assert not poke(HudiInstantSensor, table, after=newest, operations="compact").is_done
    execute(table)
    found = poke(HudiInstantSensor, table, after=newest, operations="compact")
    assert found.is_done
    (seen,) = found.xcom_value["instants"]
    assert (seen["requested_time"], seen["action"], seen["operation"], seen["partitions"]) == (
        plan,
        "commit",
        "compact",
        ["city=a"],
    )
    assert not poke(HudiInstantSensor, table, after=newest, operations=["upsert", "insert"]).is_done


def test_the_pending_service_sensor_waits_until_a_compaction_completes(table: WrittenTable) -> None:
    assert poke(HudiPendingServiceSensor, table).is_done
    plan = schedule(table)
    waiting = poke(HudiPendingServiceSensor, table, services="compaction", partitions="city=a")
    assert not waiting.is_done
    assert [(each["service"], each["instant"]) for each in waiting.xcom_value["pending"]] == [
        ("compaction", plan)
    ]
    assert poke(HudiPendingServiceSensor, table, services="clustering").is_done
    assert poke(HudiPendingServiceSensor, table, partitions="city=b").is_done
    execute(table)
    assert poke(HudiPendingServiceSensor, table).is_done


def test_compactions_do_not_count_as_commits(table: WrittenTable) -> None:
    hook = HudiHook(table.storage.base_path)
    before = hook.commit_count()
    schedule(table)
    execute(table)
    after = hook.commit_count()
    assert (before.count, after.count, after.not_counted) == (2, 2, 1)
    assert after.since is None, "only a clustering starts the count again"


def test_a_watcher_counts_a_compaction_only_if_its_operation_is_named(table: WrittenTable) -> None:
    hook = HudiHook(table.storage.base_path)
    cursor = CommitCursor.at_head(table.timeline_store.load())
    plan = schedule(table)
    execute(table)
    table.log({GROUP: [a_row("k", 3)]})
    rows = CommitWatch().poll(hook, cursor)
    assert [metadata.operation_type for _, metadata in rows.wanted] == [WriteOperation.UPSERT]
    compactions = CommitWatch(operations=(WriteOperation.COMPACT,)).poll(hook, cursor)
    assert [instant.requested_time for instant, _ in compactions.wanted] == [plan]
