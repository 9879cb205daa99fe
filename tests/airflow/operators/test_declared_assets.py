"""Operators declare their table as an asset: as an outlet, as an inlet or not at all. Writes cause asset events."""

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.clustering import ScheduleClusteringOperator
from airflow_hudi_provider.operators.compaction import CompactionOperator
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.operators.recovery import RestoreOperator, RollbackOperator
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
PATH = "s3a://lake/flights/"
COMMIT = "i = commit(); result(outcome='completed', instant_time=i.requested_time)"


def uris(assets: list[Any]) -> list[str]:
    return [each.uri for each in assets]


def upsert(**arguments: Any) -> UpsertWithSizingOperator:
    given = {"task_id": "load", "base_path": PATH, "source_path": "/s", "record_key": "id", **arguments}
    return UpsertWithSizingOperator(**given)


@pytest.mark.parametrize(
    "task",
    [
        upsert,
        lambda: RestoreOperator(task_id="t", base_path=PATH, savepoint="20260101000000000"),
        lambda: RollbackOperator(task_id="t", base_path=PATH, instant="20260101000000000"),
    ],
    ids=["upsert", "restore", "rollback"],
)
def test_a_task_that_changes_rows_has_the_table_as_an_outlet(task: Callable[[], Any]) -> None:
    made = task()
    assert (uris(made.outlets), uris(made.inlets)) == (["hudi://s3/lake/flights"], [])


@pytest.mark.parametrize(
    "task",
    [
        lambda: upsert(dry_run=True),
        lambda: CleanOperator(task_id="t", base_path=PATH),
        lambda: ScheduleClusteringOperator(task_id="t", base_path=PATH),
        lambda: CompactionOperator(task_id="t", base_path=PATH),
        lambda: HudiTableHealthOperator(task_id="t", base_path=PATH),
        lambda: RollbackOperator(task_id="t", base_path=PATH, all_failed=True),
        lambda: RestoreOperator(task_id="t", base_path=PATH, savepoint="20260101000000000", preview=True),
    ],
    ids=[
        "dry run",
        "clean",
        "schedule",
        "compaction",
        "health",
        "rollback of failed writes",
        "preview of a restore",
    ],
)
def test_any_other_task_has_the_table_as_an_inlet(task: Callable[[], Any]) -> None:
    made = task()
    assert (uris(made.outlets), uris(made.inlets)) == ([], ["hudi://s3/lake/flights"])


def test_the_declared_asset_names_the_connections() -> None:
    (outlet,) = upsert(hudi_conn_id="h", storage_conn_id="{{ var.value.s }}").outlets
    assert outlet.extra == {"hudi_conn_id": "h"}
    (outlet,) = upsert(storage_conn_id="lake").outlets
    assert outlet.extra == {"storage_conn_id": "lake"}


@pytest.mark.parametrize("kind", ["outlets", "inlets"])
def test_assets_of_the_user_take_precedence(kind: str) -> None:
    for own in (HudiAsset("s3://lake/flights", name="flights"), HudiAsset("s3n://lake/flights", view="four")):
        made = upsert(**{kind: [own]})
        assert [*made.outlets, *made.inlets] == [own]
    other = Asset("other")
    assert uris(upsert(outlets=[other]).outlets) == [other.uri, "hudi://s3/lake/flights"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"declare_asset": False},
        {"base_path": "{{ params.path }}"},
        {"base_path": "flights", "hudi_conn_id": "lake"},
        {"base_path": None, "hudi_conn_id": "lake"},
    ],
    ids=["switched off", "template", "relative", "only a connection"],
)
def test_a_table_without_a_fixed_location_is_not_declared(arguments: dict[str, Any]) -> None:
    made = upsert(**arguments)
    assert (made.outlets, made.inlets, made.declared_asset) == ([], [], None)


def test_partition_keys_need_no_explicit_outlet() -> None:
    assert uris(upsert(emit_partitions=True).outlets) == ["hudi://s3/lake/flights"]
    with pytest.raises(ValueError, match="emit_partitions needs outlets"):
        upsert(emit_partitions=True, declare_asset=False)


def events_of(path: Path) -> list[Any]:
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        query = select(AssetEvent, AssetModel.name).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        found = session.execute(query.where(AssetModel.uri == HudiAsset(str(path)).uri)).all()
        return [(name, event.extra["hudi"]["outcome"]) for event, name in found]


@pytest.mark.parametrize("name", ["", "flights of another DAG"])
def test_a_write_emits_an_event_whatever_the_asset_is_called(
    operator: Callable[..., Any], run_dag: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "table"
    if name:  # Airflow activates the first asset with this URI, so the declared asset is not active
        with DAG(
            f"reader_{tmp_path.name}", schedule=[HudiAsset(str(path), name=name)], start_date=START
        ) as reader:
            HudiTableHealthOperator(task_id="health", base_path=str(tmp_path / "elsewhere"))
        run_dag(reader)
    with DAG(f"writer_{tmp_path.name}_{bool(name)}", schedule=None, start_date=START) as dag:
        operator(COMMIT)
    assert uris(dag.get_task("load").outlets) == [HudiAsset(str(path)).uri]
    assert run_dag(dag).state == "success"
    assert events_of(path) == [(name or HudiAsset(str(path)).uri, "completed")]


@pytest.mark.parametrize("is_listed", [False, True], ids=["declared", "listed in outlets"])
def test_a_task_that_wrote_nothing_emits_an_event_only_for_an_asset_in_outlets(
    operator: Callable[..., Any], run_dag: Callable[..., Any], tmp_path: Path, is_listed: bool
) -> None:
    asset = HudiAsset(str(tmp_path / "table"))
    with DAG(f"empty_{tmp_path.name}", schedule=None, start_date=START) as dag:
        empty = "result(outcome='nothing_to_do', reason='the source has no rows')"
        operator(empty, outlets=[asset] if is_listed else [])
    assert run_dag(dag).state == "success"
    assert events_of(tmp_path / "table") == ([(asset.name, "nothing_to_do")] if is_listed else [])
