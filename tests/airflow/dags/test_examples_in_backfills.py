"""Examples that write rows can be backfilled from the UI, and no backfill damages their tables."""

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.operators.job import HudiJobOperator
from airflow_hudi_provider.operators.write import HudiWriteOperator
from judges.hudi_rs import read_snapshot
from support.airflow.task_context import context

EXAMPLES = Path(__file__).parents[3] / "dags_examples"
WRITERS = ("first_table", "flights_daily", "flights_merge_on_read")
CHAINS = ("airport_delays",)
"""Examples that load the changes of a table, independently of the interval of a run."""

HARMLESS_OPERATIONS = {"upsert", "insert"}
"""Operations that remove no row of another day."""


@pytest.fixture(scope="module")
def dags(airflow_db: None) -> dict[str, Any]:
    from support.airflow.airflow_versions import DagBag

    bag = DagBag(EXAMPLES)
    assert bag.import_errors == {}
    return dict(bag.dags)


def kind_of(task: Any) -> type:
    """Return the operator class of a task or of a mapped task."""
    return task.operator_class if task.is_mapped else type(task)


def loads_of(dag: Any) -> list[Any]:
    return [task for task in dag.tasks if issubclass(kind_of(task), HudiWriteOperator)]


def problems_of(dag: Any) -> list[str]:
    """List the reasons why a backfill of this DAG could damage its table; the list of a safe DAG is empty."""
    from airflow.sdk import CronDataIntervalTimetable

    found = []
    reads_files = [task for task in loads_of(dag) if task.is_mapped or not task.source_table]
    if reads_files and not isinstance(dag.timetable, CronDataIntervalTimetable):
        found.append("its runs have no data intervals")
    if dag.catchup or not 1 <= dag.max_active_runs <= 3:
        found.append("it starts many runs by itself")
    for task in loads_of(dag):
        if task.is_mapped:
            found.append(f"{task.task_id} is mapped: check it by hand and extend this test")
            continue
        if not (task.take_turns or task.max_active_tis_per_dag):
            found.append(f"{task.task_id} has no limit that applies to backfills")
        if task.retries < 3:
            found.append(f"{task.task_id} does not try again after a conflict")
        if task in reads_files and not task._has_interval_template:
            found.append(f"{task.task_id} does not read the interval of its run")
        operations = {task.operation}
        if task.operation.startswith("{{ params."):
            name = task.operation.removeprefix("{{ params.").removesuffix(" }}")
            operations = set(dag.params.get_param(name).schema.get("enum", ["anything"]))
        if not operations <= HARMLESS_OPERATIONS:
            found.append(f"{task.task_id} may remove rows of other days: {operations}")
    return found + [f"param {name} {what}" for name in dag.params for what in gaps_of(dag, name)]


def gaps_of(dag: Any, name: str) -> list[str]:
    """List the properties of a parameter that are missing for Airflow's trigger form."""
    param = dag.params.get_param(name)
    schema = param.schema
    described = {**schema, "description": param.description}
    gaps = [f"has no {key}" for key in ("type", "title", "description") if not described.get(key)]
    accepted_keys = {
        "integer": ({"minimum", "maximum"},),
        "string": ({"enum"}, {"pattern"}, {"minLength"}),
        "boolean": (set(),),
    }.get(schema.get("type", ""), ())
    if not any(keys <= schema.keys() for keys in accepted_keys):
        gaps.append("takes any value")
    return gaps


def test_the_listed_examples_write_rows(dags: dict[str, Any]) -> None:
    assert {name for name, dag in dags.items() if loads_of(dag)} == {*WRITERS, *CHAINS}


def test_backfills_of_the_examples_are_safe(dags: dict[str, Any]) -> None:
    """The test covers every DAG that writes rows, including new DAGs."""
    found = {name: problems_of(dag) for name, dag in dags.items() if loads_of(dag)}
    assert found == {name: [] for name in (*WRITERS, *CHAINS)}


def test_the_forms_of_the_examples_have_valid_defaults(dags: dict[str, Any]) -> None:
    """A backfill runs with the default values."""
    for name in WRITERS:
        dags[name].params.validate()
        assert "on_pending_plan" in dags[name].params
        with pytest.raises(Exception, match="'hope' is not one of"):
            dags[name].params.get_param("on_pending_plan").resolve("hope")


def test_an_unsafe_dag_is_detected() -> None:
    from airflow.sdk import DAG, Param

    from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

    with DAG("harmful", schedule=None, params={"way": "upsert", "size": Param(1, type="integer")}) as dag:
        UpsertWithSizingOperator(
            task_id="load", base_path="/t", source_path="/s", operation="{{ params.way }}", record_key="id"
        )
    assert problems_of(dag) == [
        "its runs have no data intervals",
        "it starts many runs by itself",
        "load has no limit that applies to backfills",
        "load does not try again after a conflict",
        "load does not read the interval of its run",
        "load may remove rows of other days: {'anything'}",
        "param way has no type",
        "param way has no title",
        "param way has no description",
        "param way takes any value",
        "param size has no title",
        "param size has no description",
        "param size takes any value",
    ]


def test_table_services_run_one_at_a_time_and_do_not_catch_up(dags: dict[str, Any]) -> None:
    """A backfill of a service would find nothing to do. DAGs without a schedule have no backfill."""
    for dag in dags.values():
        services = [task for task in dag.tasks if issubclass(kind_of(task), HudiJobOperator)]
        if services and dag.dag_id not in WRITERS and dag.schedule is not None:
            assert (dag.catchup, dag.max_active_runs) == (False, 1), dag.dag_id
            assert not any(getattr(task, "_has_interval_template", False) for task in services)


@pytest.mark.parametrize("name", WRITERS)
def test_a_run_without_an_interval_is_refused_with_a_hint(dags: dict[str, Any], name: str) -> None:
    moment = datetime(2026, 1, 2, tzinfo=timezone.utc)
    for task in loads_of(dags[name]):
        with pytest.raises(HudiTaskRefusedError, match="schedule=CronDataIntervalTimetable"):
            task.execute(context(data_interval_start=moment, data_interval_end=moment))


@pytest.mark.thorough
def test_a_run_loads_its_day_with_the_values_of_the_trigger_form(
    run_dag: Callable[..., Any], example: Callable[[str], Any], tmp_path: Path
) -> None:
    """`first_table` on real Spark loads only the day of its run from a landing folder with two days."""
    dag = example("first_table")
    for day in (1, 2):
        folder = tmp_path / "elsewhere" / f"2026-01-{day:02d}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": [day, 9], "updated_at": [day, day]}), folder / "part.parquet")

    form = {"landing": f"{tmp_path}/elsewhere", "on_pending_plan": "refuse"}
    with pytest.raises(Exception, match="'hope' is not one of"):
        run_dag(
            dag, logical_date=datetime(2026, 1, 2, tzinfo=timezone.utc), run_conf={"on_pending_plan": "hope"}
        )
    run = run_dag(dag, logical_date=datetime(2026, 1, 3, tzinfo=timezone.utc), run_conf=form)
    assert run.state == "success"
    rows = read_snapshot(tmp_path / "customers").to_pylist()
    assert {(row["id"], row["updated_at"]) for row in rows} == {(2, 2), (9, 2)}
