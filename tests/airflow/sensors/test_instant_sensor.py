"""The instant sensor and its trigger on real timelines of both layouts."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException, TaskDeferred
from airflow.sdk import DAG, task

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.sensors.instant import HudiInstantSensor
from airflow_hudi_provider.triggers.instant import HudiInstantTrigger
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable


class TaskInstanceWithXCom:
    """A task instance whose earlier runs pushed no XCom, or the XCom ``seen``."""

    def __init__(self, seen: Any = None) -> None:
        self.seen = seen

    def xcom_pull(self, **arguments: Any) -> Any:
        return self.seen

    def get_first_reschedule_date(self, context: Any) -> None:
        return None


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    return SmallTable(LocalStorage(str(tmp_path / "trips")), request.param)


def sensor(table: SmallTable, **arguments: Any) -> HudiInstantSensor:
    return HudiInstantSensor(task_id="wait", base_path=table.storage.base_path, **arguments)


def poke(table: SmallTable, seen: Any = None, **arguments: Any) -> Any:
    return sensor(table, **arguments).poke({"ti": TaskInstanceWithXCom(seen)})  # type: ignore[typeddict-item]


def test_a_relative_base_path_is_refused_when_the_dag_is_parsed() -> None:
    with pytest.raises(ValueError, match="wait: base_path='lake/x' is relative"):
        HudiInstantSensor(task_id="wait", base_path="lake/x", after="2020-01-01T00:00:00Z")
    HudiInstantSensor(task_id="wait", base_path="{{ x }}", after="2020-01-01T00:00:00Z")
    HudiInstantSensor(task_id="wait", base_path="x", hudi_conn_id="lake", after="2020-01-01T00:00:00Z")


def visible(instant: Instant) -> str:
    return instant.visible_from


def test_new_instants_are_counted_and_described(table: SmallTable) -> None:
    assert not poke(table).is_done
    first = table.commit(FileGroupId("city=a", "a-0"))
    second = table.commit(FileGroupId("city=b", "b-0"))
    found = poke(table)
    assert found.is_done
    assert (found.xcom_value["count"], found.xcom_value["until"]) == (2, visible(second))
    assert [i["requested_time"] for i in found.xcom_value["instants"]] == [
        first.requested_time,
        second.requested_time,
    ]
    assert found.xcom_value["instants"][0]["operation"] == "upsert"
    assert found.xcom_value["instants"][0]["partitions"] == ["city=a"]


def test_a_pending_instant_does_not_count(table: SmallTable) -> None:
    table.begin()
    assert not poke(table).is_done


def test_instants_before_the_given_time_do_not_count(table: SmallTable) -> None:
    first = table.commit(FileGroupId("city=a", "a-0"))
    assert not poke(table, after=visible(first)).is_done
    table.commit(FileGroupId("city=a", "a-1"))
    assert poke(table, after=visible(first)).xcom_value["count"] == 1
    assert not poke(table, after="2126-01-01T00:00:00Z").is_done
    assert poke(table, after="2013-01-01 00:00:00+01:00").is_done


def test_instants_before_the_last_success_do_not_count(table: SmallTable) -> None:
    table.commit(FileGroupId("city=a", "a-0"))
    seen = poke(table).xcom_value
    assert not poke(table, seen).is_done
    table.commit(FileGroupId("city=a", "a-1"))
    assert poke(table, seen).xcom_value["count"] == 1


def test_filters_select_instants(table: SmallTable) -> None:
    table.commit(FileGroupId("city=a", "a-0"))
    table.commit(FileGroupId("city=b", "b-0"), replaces={"city=a": ("a-0",)})
    assert poke(table, actions=["replacecommit"]).xcom_value["count"] == 1
    assert poke(table, actions="commit, replacecommit").xcom_value["count"] == 2
    assert not poke(table, actions=["clean"]).is_done
    assert poke(table, operations=["upsert"]).xcom_value["count"] == 2
    assert not poke(table, operations=["cluster"]).is_done
    assert poke(table, partitions=["city=b"]).xcom_value["count"] == 1
    assert poke(table, partitions=["city=a"]).xcom_value["count"] == 2
    assert not poke(table, min_count=3).is_done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actions": ["comit"]}, "no action 'comit'"),
        ({"operations": ["merge"]}, "no operation 'merge'"),
        ({"after": "yesterday"}, "after='yesterday' is neither an instant time"),
        ({"after": " "}, "'after' is empty after Airflow rendered its template"),
    ],
)
def test_wrong_values_fail_without_a_retry(
    table: SmallTable, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(HudiTaskRefusedError, match=message):
        poke(table, **arguments)


@pytest.mark.parametrize("arguments", [{"if_missing": "x"}, {"min_count": 0}, {"base_path": None}])
def test_wrong_arguments_fail_when_the_dag_is_parsed(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="wait: "):
        HudiInstantSensor(**{"task_id": "wait", "base_path": "/t", **arguments})


def test_the_sensor_waits_for_a_missing_table_or_fails(tmp_path: Path) -> None:
    waiting = HudiInstantSensor(task_id="wait", base_path=str(tmp_path / "none"))
    assert not waiting.poke({"ti": TaskInstanceWithXCom()}).is_done  # type: ignore[typeddict-item]
    failing = HudiInstantSensor(task_id="wait", base_path=str(tmp_path / "none"), if_missing="fail")
    with pytest.raises(HudiTaskRefusedError, match="no Hudi table"):
        failing.poke({"ti": TaskInstanceWithXCom()})  # type: ignore[typeddict-item]


def truncate_file_of(table: SmallTable, instant: Instant) -> Path:
    path = Path(table.storage.base_path) / table.timeline_store.path_of(instant)
    path.write_bytes(b"")
    return path


def test_a_completed_instant_of_zero_bytes_is_an_error(table: SmallTable) -> None:
    path = truncate_file_of(table, table.commit(FileGroupId("city=a", "a-0")))
    with pytest.raises(HudiTaskRefusedError, match=path.name):
        poke(table)


def deferred_trigger(table: SmallTable, **arguments: Any) -> HudiInstantTrigger:
    waiting = sensor(table, deferrable=True, poke_interval=0.05, **arguments)
    with pytest.raises(TaskDeferred) as deferred:
        waiting.execute({"ti": TaskInstanceWithXCom()})  # type: ignore[typeddict-item]
    assert deferred.value.method_name == "execute_complete"
    trigger = deferred.value.trigger
    assert isinstance(trigger, HudiInstantTrigger)
    class_path, arguments_again = trigger.serialize()
    assert class_path == "airflow_hudi_provider.triggers.instant.HudiInstantTrigger"
    again = HudiInstantTrigger(**arguments_again)
    assert again.serialize() == trigger.serialize()
    return again


async def first_event(trigger: HudiInstantTrigger) -> dict[str, Any]:
    async with aclosing(trigger.run()) as events:
        async for event in events:
            return event.payload
    raise AssertionError("the trigger ended without an event")


def test_deferral_ends_when_an_instant_completes(table: SmallTable) -> None:
    trigger = deferred_trigger(table)

    async def wait() -> dict[str, Any]:
        waiting = asyncio.create_task(first_event(trigger))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await asyncio.to_thread(table.commit, FileGroupId("city=a", "a-0"))
        return await asyncio.wait_for(waiting, 10)

    event = asyncio.run(wait())
    assert event["answer"]["count"] == 1
    assert sensor(table).execute_complete({}, event) == event["answer"]  # type: ignore[typeddict-item]


def test_deferral_ends_with_the_error_of_the_trigger(table: SmallTable) -> None:
    trigger = deferred_trigger(table)
    path = truncate_file_of(table, table.commit(FileGroupId("city=a", "a-0")))
    event = asyncio.run(asyncio.wait_for(first_event(trigger), 10))
    with pytest.raises(HudiTaskRefusedError, match=path.name):
        sensor(table).execute_complete({}, event)  # type: ignore[typeddict-item]


def test_a_soft_failure_skips_in_every_mode(table: SmallTable) -> None:
    """Airflow applies `soft_fail` only to its own exceptions, and in a deferrable sensor only after the deferral."""
    no_xcoms = {"ti": TaskInstanceWithXCom()}
    for arguments in ({}, {"deferrable": True}):
        failing = HudiInstantSensor(
            task_id="wait", base_path="/nowhere", if_missing="fail", soft_fail=True, **arguments
        )
        with pytest.raises(AirflowSkipException):
            failing.execute(no_xcoms)  # type: ignore[arg-type]
    soft = sensor(table, deferrable=True, soft_fail=True)
    with pytest.raises(AirflowSkipException):
        soft.resume_execution("execute_complete", {"event": {"error": "CorruptTableError: x"}}, no_xcoms)  # type: ignore[arg-type]


def test_a_short_reschedule_interval_logs_a_warning(
    table: SmallTable, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    table.commit(FileGroupId("city=a", "a-0"))
    sensor(table, mode="reschedule", poke_interval=5).execute({"ti": TaskInstanceWithXCom()})  # type: ignore[typeddict-item]
    assert "Use 60 or more, or deferrable=True" in caplog.text + "".join(capfd.readouterr())


@pytest.mark.parametrize("event", [None, {}, {"status": "done"}])
def test_an_unknown_event_fails(table: SmallTable, event: dict[str, Any] | None) -> None:
    with pytest.raises(HudiTaskError, match="unknown event"):
        sensor(table).execute_complete({}, event)  # type: ignore[typeddict-item]


def test_a_finished_sensor_does_not_defer(table: SmallTable) -> None:
    table.commit(FileGroupId("city=a", "a-0"))
    assert sensor(table, deferrable=True).execute({"ti": TaskInstanceWithXCom()})["count"] == 1  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("table", "arguments"),
    [
        (TableVersion.V6, {}),
        (TableVersion.V9, {"mode": "reschedule"}),
        (TableVersion.V9, {"deferrable": True}),
    ],
    ids=["poke", "reschedule", "deferrable"],
    indirect=["table"],
)
def test_each_run_of_a_dag_counts_only_new_instants(
    table: SmallTable, run_dag: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    with DAG(f"watch_{'_'.join(map(str, arguments)) or 'poke'}_{table.version.name}", schedule=None) as dag:
        wait = HudiInstantSensor(
            task_id="wait", base_path=table.storage.base_path, poke_interval=1, timeout=20, **arguments
        )

        @task
        def count(seen: dict[str, Any]) -> int:
            return int(seen["count"])

        count(wait.output)

    def counted() -> int:
        from airflow.models.xcom import XComModel
        from airflow.utils.session import create_session

        run = run_dag(dag)
        assert run.state == "success"
        with create_session() as session:
            query = XComModel.get_many(
                run_id=run.run_id, dag_ids=dag.dag_id, task_ids="count", key="return_value"
            )
            (row,) = session.scalars(query).all()
            return int(XComModel.deserialize_value(row))

    table.commit(FileGroupId("city=a", "a-0"))
    table.commit(FileGroupId("city=a", "a-1"))
    assert counted() == 2
    for name in ("a-2", "a-3"):
        table.commit(FileGroupId("city=a", name))
        assert counted() == 1, "instants that any earlier run saw do not count again"


def test_a_mapped_sensor_continues_from_its_own_last_success(
    tmp_path: Path, run_dag: Callable[..., Any]
) -> None:
    tables = [SmallTable(LocalStorage(str(tmp_path / name))) for name in ("one", "two")]
    with DAG("watch_mapped", schedule=None) as dag:
        HudiInstantSensor.partial(task_id="wait", timeout=0, soft_fail=True, poke_interval=0.1).expand(
            base_path=[table.storage.base_path for table in tables]
        )

    def states() -> list[str]:
        return [ti.state for ti in sorted(run_dag(dag).get_task_instances(), key=lambda ti: ti.map_index)]

    for table in tables:
        table.commit(FileGroupId("city=a", "a-0"))
    assert states() == ["success", "success"]
    tables[0].commit(FileGroupId("city=a", "a-1"))
    assert states() == ["success", "skipped"]
    tables[1].commit(FileGroupId("city=a", "a-1"))
    assert states() == ["skipped", "success"]


def test_a_storage_failure_is_retried_and_a_denied_permission_is_not(
    table: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_hudi_provider.triggers import instant as triggers
    from hudi_table_services.errors import StorageError, StoragePermissionError

    table.commit(FileGroupId("city=a", "a-0"))
    failures: list[Exception] = []
    query_once = triggers.query_once

    def failing(*arguments: Any, **named: Any) -> Any:
        if failures:
            raise failures.pop()
        return query_once(*arguments, **named)

    monkeypatch.setattr(triggers, "query_once", failing)
    trigger = deferred_trigger(table, min_count=2, after="2013-01-01T00:00:00Z")
    table.commit(FileGroupId("city=a", "a-1"))
    failures[:] = [StorageError("503"), StorageError("503")]
    assert asyncio.run(asyncio.wait_for(first_event(trigger), 10))["answer"]["count"] == 2
    failures[:] = [StoragePermissionError("403")]
    assert "403" in asyncio.run(asyncio.wait_for(first_event(trigger), 10))["error"]


@pytest.mark.parametrize("field", ["after", "partitions", "operations"])
def test_a_filter_whose_template_renders_to_nothing_is_refused(table: SmallTable, field: str) -> None:
    waiting = sensor(table, **{field: "{{ params.x }}"})
    setattr(waiting, field, "")
    with pytest.raises(HudiTaskRefusedError, match=f"'{field}' is empty after Airflow rendered its template"):
        waiting.poke({"ti": TaskInstanceWithXCom()})  # type: ignore[typeddict-item]
