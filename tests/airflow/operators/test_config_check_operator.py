"""The operator that checks settings, and `HudiHook.check_config`: their results and the findings that fail a task."""

import json
import logging
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.config_check import HudiConfigCheckOperator
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import TaskInstance, context
from support.small_tables import SmallTable

WRITE = "hoodie.datasource.write."
SMALL_MINIMUM = {"hoodie.keep.min.commits": 3}
CANARY = "canary-3c9d1"


class RecordingTaskInstance(TaskInstance):
    """A task instance that keeps the XComs that a task pushes."""

    def __init__(self) -> None:
        super().__init__()
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = json.loads(json.dumps(value))


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    made = SmallTable(LocalStorage(str(tmp_path / "table")), TableVersion.V9)
    made.commit(FileGroupId("city=a", "a-0"))
    return made


def check(ti: TaskInstance | None = None, dag: Any = None, **arguments: Any) -> dict[str, Any]:
    task = HudiConfigCheckOperator(task_id="check", **arguments)
    answer = task.execute(context(ti=ti or TaskInstance(), **({"dag": dag} if dag else {})))
    assert json.loads(json.dumps(answer)) == answer
    return answer


def rules(answer: dict[str, Any]) -> set[str]:
    return {each["rule"] for each in answer["findings"]}


def test_a_finding_fails_the_task_after_the_task_pushed_the_report(caplog: pytest.LogCaptureFixture) -> None:
    ti = RecordingTaskInstance()
    with pytest.raises(
        HudiTaskRefusedError, match=r"UnsafeConfigError.*archival-before-cleaning.*Set hoodie.keep"
    ):
        check(ti, hudi_options=SMALL_MINIMUM)
    (finding,) = ti.pushed["config"]["findings"]
    assert finding["options"] == {
        "hoodie.keep.min.commits": "3",
        "hoodie.clean.commits.retained": "10 (default)",
    }
    assert (ti.pushed["config"]["status"], ti.pushed["config"]["finding_count"]) == ("error", 1)


def test_findings_cause_only_warnings_if_fail_on_is_never(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    answer = check(hudi_options=SMALL_MINIMUM, fail_on="never")
    assert (answer["status"], rules(answer)) == ("error", {"archival-before-cleaning"})
    assert any("archival-before-cleaning" in warning for warning in answer["warnings"])
    accepted = check(hudi_options=SMALL_MINIMUM, accepted_rules="archival-before-cleaning, refused-by-job")
    assert (accepted["status"], accepted["findings"], accepted["warnings"]) == ("clean", [], [])


def test_settings_are_compared_with_the_table(table: SmallTable) -> None:
    options = {f"{WRITE}partitionpath.field": "day"}
    answer = check(base_path=table.storage.base_path, hudi_options=options, fail_on="never")
    assert (answer["table"], rules(answer)) == ("trips", {"differs-from-table"})
    with pytest.raises(HudiTaskRefusedError, match="is called 'trips'"):
        check(base_path=table.storage.base_path, table_name="other")


def test_the_check_reads_the_dag_and_the_facts() -> None:
    from airflow.sdk import DAG

    start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    dag = DAG("d", schedule=None, start_date=start, max_active_runs=3, catchup=True)
    hudi = {"engine": "hudi"}
    assert rules(check(dag=dag, facts=hudi)) == {"runs-overlap", "catchup-overlaps"}
    assert rules(check(dag=dag, facts={**hudi, "max_active_tis_per_dag": 1})) == set()
    assert rules(check(dag=dag, facts={**hudi, "max_active_runs": 1})) == set()
    assert rules(check(dag=dag, facts=hudi, knows_dag=False)) == set()
    assert rules(check(facts={**hudi, "writers": 2}, fail_on="never")) == {
        "writers-without-lock",
        "eager-beside-writers",
    }


@pytest.mark.parametrize(("turns", "found"), [((True, True), set()), ((True, False), {"runs-overlap"})])
def test_loads_that_take_turns_do_not_overlap(turns: tuple[bool, ...], found: set[str]) -> None:
    from airflow.sdk import DAG

    from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

    start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    with DAG("d", schedule=None, start_date=start, max_active_runs=3) as dag:
        for number, takes_turns in enumerate(turns):
            UpsertWithSizingOperator(
                task_id=f"load_{number}", base_path="/t", source_path="/s", take_turns=takes_turns
            )
    assert rules(check(dag=dag)) == found
    assert rules(check(dag=dag, facts={"engine": "hudi"})) == {"runs-overlap"}
    with dag:
        UpsertWithSizingOperator.partial(task_id="mapped", base_path="/t").expand(source_path=["/a", "/b"])
    assert rules(check(dag=dag)) == {"runs-overlap"}


def test_the_check_runs_in_a_dag(run_dag: Callable[..., Any], table: SmallTable) -> None:
    from airflow.sdk import DAG

    start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    with DAG("settings", schedule=None, start_date=start, max_active_runs=2) as dag:
        HudiConfigCheckOperator(
            task_id="check",
            base_path=table.storage.base_path,
            hudi_options={"hoodie.keep.min.commits": "{{ 40 - 10 }}", "hoodie.keep.max.commits": "40"},
            facts={"engine": "{{ 'hudi' }}"},
        )
    run = run_dag(dag)
    assert run.state == "success"
    (ti,) = run.get_task_instances()
    answer = ti.xcom_pull(task_ids="check")
    assert (answer["engine"], answer["table"], rules(answer)) == ("hudi", "trips", {"runs-overlap"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"facts": {"writer": 1}}, "check: There is no fact 'writer'. Did you mean writers?"),
        ({"facts": {"writers": "some"}}, "not a whole number"),
        ({"fail_on": "warn"}, "Did you mean warning?"),
        ({"accepted_rules": "archival-bound"}, "Did you mean archival-bounds?"),
        ({"hudi_options": "hoodie.x=1"}, "hudi_options must be a dictionary"),
        ({"facts": ["writers"]}, "facts must be a dictionary"),
        ({"hudi_options": {}, "base_path": "lake/x"}, "check: base_path='lake/x' is relative"),
    ],
)
def test_wrong_arguments_fail_when_the_dag_is_parsed(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        HudiConfigCheckOperator(task_id="check", **arguments)


def test_a_template_is_checked_after_it_is_rendered() -> None:
    task = HudiConfigCheckOperator(
        task_id="check", facts={"writers": "{{ var.value.w }}"}, hudi_options={"hoodie.x": "{{ 1 }}"}
    )
    task.facts = {"writers": ""}
    with pytest.raises(HudiTaskRefusedError, match="'facts' is empty after Airflow rendered its template"):
        task.execute(context())


def test_secrets_are_not_shown(
    table: SmallTable, connections: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    connections("store", conn_type="aws", login="key", password=CANARY)
    answer = check(
        base_path=table.storage.base_path,
        storage_conn_id="store",
        hudi_options={"hoodie.datasource.hive_sync.password": CANARY},
    )
    assert answer["findings"][0]["options"] == {"hoodie.datasource.hive_sync.password": "***"}
    assert CANARY not in json.dumps(answer) + caplog.text


def test_the_hook_returns_the_same_findings(table: SmallTable, tmp_path: Path) -> None:
    hook = HudiHook(table.storage.base_path)
    report = hook.check_config(
        {**SMALL_MINIMUM, f"{WRITE}table.type": "MERGE_ON_READ"}, facts={"engine": "hudi"}
    )
    assert {each.rule for each in report.findings} == {"archival-before-cleaning", "differs-from-table"}
    assert hook.check_config(
        SMALL_MINIMUM, accepted_rules=["archival-before-cleaning", "refused-by-job"]
    ).status == ("clean")
    assert HudiHook(str(tmp_path / "none")).check_config().table == ""
    with pytest.raises(InvalidRequestError, match="Did you mean engine"):
        hook.check_config(facts={"engin": "hudi"})
