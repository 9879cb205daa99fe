"""Commits since the newest completed or pending clustering: hook, payload, sensor and trigger, on both layouts."""

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred
from airflow.sdk import DAG, task

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.sensors.commit_count import HudiCommitCountSensor
from airflow_hudi_provider.tables.commit_payload import SHOWN_INSTANTS, commit_payload, describe_count
from airflow_hudi_provider.triggers.commit_count import HudiCommitCountTrigger
from hudi_table_services.errors import InvalidRequestError, TableNotFoundError
from hudi_table_services.model.clustering import CommitCount
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.clustered_tables import complete, schedule
from support.small_tables import SmallTable

CONTEXT: Any = {}


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    return SmallTable(LocalStorage(str(tmp_path / "trips")), request.param)


def commit(table: SmallTable, times: int = 1) -> list[str]:
    return [table.commit(FileGroupId("city=a", "a-0")).requested_time for _ in range(times)]


def sensor(table: SmallTable, **arguments: Any) -> HudiCommitCountSensor:
    given = {"task_id": "wait", "base_path": table.storage.base_path, "every_n_commits": 2, **arguments}
    return HudiCommitCountSensor(**given)


# The count


def test_the_hook_counts_commits_since_the_last_completed_or_pending_clustering(table: SmallTable) -> None:
    hook = HudiHook(table.storage.base_path)
    assert hook.commit_count().count == 0
    commit(table, 2)
    assert hook.commit_count().count == 2
    plan = schedule(table)
    later = commit(table)
    pending = hook.commit_count()
    assert (pending.count, pending.instants) == (1, tuple(later))
    assert pending.since is not None
    assert (pending.since.requested_time, pending.since.is_completed) == (plan.requested_time, False)
    complete(table, plan)
    done = hook.commit_count()
    assert done.count == 1
    assert done.since is not None
    assert done.since.is_completed
    assert hook.commit_count(["insert"]).count == 0
    assert hook.commit_count(["UPSERT"]).count == 1
    with pytest.raises(InvalidRequestError, match="no operation 'merge'"):
        hook.commit_count(["merge"])


def test_the_hook_lists_clusterings(table: SmallTable, tmp_path: Path) -> None:
    commit(table)
    first, second = schedule(table), schedule(table)
    complete(table, first)
    found = HudiHook(table.storage.base_path).clusterings()
    assert [each.instant.requested_time for each in found.pending] == [second.requested_time]
    assert found.requested_times == {first.requested_time, second.requested_time}
    missing = HudiHook(str(tmp_path / "none"))
    assert missing.clusterings().pending == ()
    with pytest.raises(TableNotFoundError):
        missing.commit_count()


# The payload


def counted(number: int, since: Instant | None = None) -> CommitCount:
    times = tuple(f"202601010000{index:05d}" for index in range(number))
    return CommitCount(count=number, since=since, instants=times, not_counted=1)


SINCE = Instant(requested_time="20250101000000000", action=Action.CLUSTERING, state=InstantState.REQUESTED)


def test_a_payload_is_small_json_with_count_and_start() -> None:
    payload = commit_payload(counted(70, SINCE), 4)
    assert json.loads(json.dumps(payload)) == payload
    assert (payload["count"], payload["every"], payload["not_counted"]) == (70, 4, 1)
    assert (payload["since"], payload["since_state"]) == (SINCE.requested_time, "requested")
    assert len(payload["instants"]) == SHOWN_INSTANTS
    assert payload["instants"][-1] == counted(70).instants[-1]
    assert commit_payload(counted(1), 4)["since"] is None


def test_the_dedupe_key_changes_with_every_nth_commit_and_every_clustering() -> None:
    keys = [commit_payload(counted(number), 3)["dedupe_key"] for number in range(9)]
    assert keys[:3] == ["", "", ""]
    assert len(set(keys[3:6])) == len(set(keys[6:9])) == 1
    assert len({keys[0], keys[3], keys[6]}) == 3
    assert commit_payload(counted(3, SINCE), 3)["dedupe_key"] not in keys


def test_an_incomplete_count_is_a_lower_bound() -> None:
    due = commit_payload(replace(counted(3), is_complete=False), 2)
    assert (due["count"], due["is_complete"]) == (3, False)
    assert describe_count(due).startswith("at least 3 of 2 commits without a clustering; the last at")
    assert due["dedupe_key"] == f"+2@{counted(3).instants[-1]}"
    assert not commit_payload(replace(counted(3), is_complete=False), 4)["dedupe_key"]


def test_events_of_earlier_releases_can_be_described() -> None:
    event = commit_payload(counted(3), 2)
    del event["is_complete"]
    assert describe_count(event).startswith("3 of 2 commits and no clustering yet")


# The sensor


def test_the_sensor_waits_for_n_commits(table: SmallTable) -> None:
    waiting = sensor(table)
    commit(table)
    found = waiting.poke(CONTEXT)
    assert (found.is_done, found.xcom_value["count"]) == (False, 1)
    commit(table)
    assert waiting.poke(CONTEXT).is_done
    schedule(table)
    assert not waiting.poke(CONTEXT).is_done
    assert not sensor(table, operations="insert, delete").poke(CONTEXT).is_done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"every_n_commits": 0}, "wait: .*at least 1"),
        ({"every_n_commits": "many"}, "wait: .*not a whole number"),
        ({"operations": ["merge"]}, "wait: .*no operation 'merge'"),
        ({"base_path": None}, "wait: give base_path"),
        ({"if_missing": "x"}, "wait: if_missing"),
    ],
)
def test_wrong_arguments_fail_when_the_dag_is_parsed(
    table: SmallTable, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        sensor(table, **arguments)


@pytest.mark.parametrize(
    ("field", "rendered", "message"),
    [
        ("every_n_commits", "", "'every_n_commits' is empty"),
        ("every_n_commits", "0", "at least 1"),
        ("operations", "merge", "no operation"),
    ],
)
def test_wrong_template_values_fail_without_a_retry(
    table: SmallTable, field: str, rendered: str, message: str
) -> None:
    waiting = sensor(table, **{field: "{{ params.x }}"})
    setattr(waiting, field, rendered)
    with pytest.raises(HudiTaskRefusedError, match=message):
        waiting.poke(CONTEXT)


def test_the_sensor_waits_for_a_missing_table_or_fails(tmp_path: Path) -> None:
    def waiting(**arguments: Any) -> HudiCommitCountSensor:
        return HudiCommitCountSensor(
            task_id="wait", base_path=str(tmp_path / "none"), every_n_commits=1, **arguments
        )

    assert not waiting().poke(CONTEXT).is_done
    with pytest.raises(HudiTaskRefusedError, match="no Hudi table"):
        waiting(if_missing="fail").poke(CONTEXT)


def deferred_trigger(waiting: HudiCommitCountSensor) -> HudiCommitCountTrigger:
    with pytest.raises(TaskDeferred) as deferred:
        waiting.execute(CONTEXT)
    assert deferred.value.timeout is not None
    class_path, arguments = deferred.value.trigger.serialize()
    assert class_path == "airflow_hudi_provider.triggers.commit_count.HudiCommitCountTrigger"
    again = HudiCommitCountTrigger(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (class_path, arguments)
    return again


async def first_event(trigger: HudiCommitCountTrigger) -> dict[str, Any]:
    async with aclosing(trigger.run()) as events:
        async for event in events:
            return event.payload
    raise AssertionError("the trigger ended without an event")


def test_the_last_necessary_commit_ends_the_deferral_and_a_restarted_trigger_sends_the_same_event(
    table: SmallTable,
) -> None:
    commit(table)
    waiting = sensor(table, deferrable=True, poke_interval=0.05)
    trigger = deferred_trigger(waiting)

    async def wait() -> tuple[dict[str, Any], dict[str, Any]]:
        first = asyncio.create_task(first_event(trigger))
        await asyncio.sleep(0.2)
        assert not first.done()
        await asyncio.to_thread(commit, table)
        event = await asyncio.wait_for(first, 10)
        restarted = deferred_again(trigger)
        return event, await asyncio.wait_for(first_event(restarted), 10)

    event, again = asyncio.run(wait())
    assert event["answer"]["count"] == 2
    assert event == again, "a restarted trigger sends the same dedupe key"
    assert waiting.execute_complete(CONTEXT, event) == event["answer"]
    assert waiting.execute(CONTEXT) == event["answer"], "a sensor whose count is reached does not defer"


def deferred_again(trigger: HudiCommitCountTrigger) -> HudiCommitCountTrigger:
    return HudiCommitCountTrigger(**trigger.serialize()[1])


def test_deferral_ends_with_the_error_of_the_trigger(table: SmallTable) -> None:
    trigger = deferred_trigger(sensor(table, deferrable=True))
    commit(table)
    latest = table.timeline_store.load().completed[-1]
    path = Path(table.storage.base_path) / table.timeline_store.path_of(latest)
    path.write_bytes(b"")
    event = asyncio.run(asyncio.wait_for(first_event(trigger), 10))
    with pytest.raises(HudiTaskRefusedError, match=path.name):
        sensor(table).execute_complete(CONTEXT, event)
    with pytest.raises(HudiTaskError, match="unknown event"):
        sensor(table).execute_complete(CONTEXT, {"status": "done"})


@pytest.mark.parametrize("table", [TableVersion.V9], indirect=True)
def test_a_short_circuit_and_a_deferred_sensor_agree_in_a_dag(
    table: SmallTable, run_dag: Callable[..., Any]
) -> None:
    commit(table, 2)
    with DAG("count_commits", schedule=None) as dag:

        @task.short_circuit
        def is_due(base_path: str) -> bool:
            return HudiHook(base_path).commit_count().count >= 2

        @task
        def counted(answer: dict[str, Any]) -> None:
            assert answer["count"] == 2

        wait = sensor(table, deferrable=True)
        is_due(table.storage.base_path) >> wait
        counted(wait.output)

    run = run_dag(dag)
    assert {ti.task_id: ti.state for ti in run.get_task_instances()} == dict.fromkeys(
        ("is_due", "wait", "counted"), "success"
    )
