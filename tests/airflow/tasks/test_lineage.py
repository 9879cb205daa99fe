"""Tasks report lineage to OpenLineage's provider. Without that provider, tasks report no lineage and still work."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.assets import HudiAsset, to_openlineage_dataset
from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.config_check import HudiConfigCheckOperator
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.tasks.lineage import avro_type, dataset_name
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import TaskInstance, context
from support.small_tables import SmallTable

WRITES = """
from hudi_table_services.contract.result import FileGroupChange, PartitionReport, RowCounts
new = FileGroupChange(partition_path="city=a", file_id="f", update_count=0, insert_count=1, size_before_bytes=0,
                      expected_size_bytes=9, size_after_bytes=120)
i = commit(schema=json.dumps({"type": "record", "name": "r", "fields": [
    {"name": "id", "type": "string"}, {"name": "at", "type": ["null", "long"]}]}))
result(outcome='completed', operation='upsert', table_name='flights', instant_time=i.requested_time,
       rows=RowCounts(read=9, inserted=5), partitions=(PartitionReport(partition_path='city=a', opened=(new,)),))
"""


@pytest.fixture
def extracted() -> Callable[..., Any]:
    """Extract the lineage of an operator with the real provider."""
    base = pytest.importorskip("airflow.providers.openlineage.extractors.base", reason="needs OpenLineage")

    def extract(task: Any, event: str = "complete") -> Any:
        extractor = base.DefaultExtractor(task)
        if event == "start":
            return extractor.extract()
        return getattr(extractor, f"extract_on_{event}")(TaskInstance())

    return extract


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3a://lake/raw/flights/", ("s3://lake", "raw/flights")),
        ("s3://lake", ("s3://lake", "/")),
        ("gs://lake/flights", ("gs://lake", "flights")),
        (
            "abfss://lake@account.dfs.core.windows.net/flights",
            ("abfss://lake@account.dfs.core.windows.net", "flights"),
        ),
        ("hdfs://node:8020/flights", ("hdfs://node:8020", "/flights")),
        ("/data/flights/", ("file", "/data/flights")),
        ("file:///data/flights", ("file", "/data/flights")),
        ("flights", None),
        ("", None),
    ],
)
def test_datasets_have_names_according_to_the_rules_of_openlineage(
    path: str, expected: tuple[str, str] | None
) -> None:
    assert dataset_name(path) == expected


def test_schema_types_have_readable_names() -> None:
    assert avro_type(["null", "string"]) == "string"
    assert avro_type({"type": "long", "logicalType": "timestamp-micros"}) == "timestamp-micros"
    assert avro_type({"type": "array", "items": "long"}) == "array"
    assert avro_type(["null", "int", "string"]) == "int or string"


def test_tasks_work_and_report_no_lineage_without_openlineage(
    operator: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "airflow.providers.openlineage.extractors", None)
    task = operator(WRITES)
    assert task.get_openlineage_facets_on_start() is None
    task.execute(context())
    assert task.get_openlineage_facets_on_complete(TaskInstance()) is None
    assert task.get_openlineage_facets_on_failure(TaskInstance()) is None


def test_a_write_reports_source_and_table_at_its_start(
    operator: Callable[..., Any], extracted: Callable[..., Any], tmp_path: Path
) -> None:
    lineage = extracted(operator(WRITES, source_path="s3a://lake/landing/day=1"), "start")
    assert [(each.namespace, each.name) for each in lineage.inputs] == [("s3://lake", "landing/day=1")]
    assert [(each.namespace, each.name) for each in lineage.outputs] == [("file", str(tmp_path / "table"))]
    assert lineage.run_facets == {}


def test_a_completed_write_reports_figures_schema_and_instant(
    operator: Callable[..., Any], extracted: Callable[..., Any]
) -> None:
    task = operator(WRITES)
    answer = task.execute(context())
    lineage = extracted(task)
    (table,) = lineage.outputs
    figures = table.outputFacets["outputStatistics"]
    assert (figures.rowCount, figures.size, figures.fileCount) == (5, 120, 1)
    schema = [(field.name, field.type) for field in table.facets["schema"].fields]
    assert schema == [("id", "string"), ("at", "long")]
    facet = lineage.run_facets["hudi"]
    assert (facet.service, facet.outcome, facet.reused) == ("write", "completed", False)
    assert facet.instantTime == answer["instant_time"]
    from openlineage.client.serde import Serde

    assert b'"rowCount": 5' in Serde.to_json(table).encode()
    assert '"service": "write"' in Serde.to_json(facet)


def test_a_retry_does_not_report_rows_of_an_earlier_try(
    operator: Callable[..., Any], extracted: Callable[..., Any]
) -> None:
    operator(WRITES).execute(context())
    task = operator("raise SystemExit('submitted')")
    task.execute(context())
    lineage = extracted(task)
    assert lineage.run_facets["hudi"].reused
    assert lineage.outputs[0].outputFacets == {}


def test_a_failure_reports_its_kind(operator: Callable[..., Any], extracted: Callable[..., Any]) -> None:
    task = operator("failed('ConflictError', True); raise SystemExit(1)")
    with pytest.raises(HudiTaskError):
        task.execute(context())
    lineage = extracted(task, "failure")
    assert lineage.run_facets["hudi"].errorKind == "ConflictError"
    assert lineage.outputs[0].outputFacets == {}


def test_read_only_operators_report_the_table_as_input(tmp_path: Path, extracted: Callable[..., Any]) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "table")))
    table.commit(FileGroupId("city=a", "a-0"))
    path = table.storage.base_path
    health = HudiTableHealthOperator(task_id="health", base_path=path)
    health.execute(context())
    check = HudiConfigCheckOperator(task_id="check", base_path=path)
    check.execute(context())
    for task in (health, check, CleanOperator(task_id="clean", base_path=path, preview=True)):
        lineage = extracted(task)
        assert [each.name for each in lineage.inputs] == [path]
        assert lineage.outputs == []
    assert extracted(check).run_facets["hudi"].service == "check_config"


def test_a_check_without_a_table_has_no_lineage(extracted: Callable[..., Any]) -> None:
    task = HudiConfigCheckOperator(task_id="check")
    task.execute(context())
    assert extracted(task) is None


def test_a_table_without_a_location_raises_no_error(extracted: Callable[..., Any]) -> None:
    task = HudiTableHealthOperator(task_id="health", hudi_conn_id="nowhere")
    assert extracted(task, "start") is None


def test_assets_convert_to_the_same_datasets() -> None:
    pytest.importorskip("openlineage.client", reason="needs OpenLineage")
    dataset = to_openlineage_dataset(HudiAsset("s3a://lake/raw/flights"), None)
    assert (dataset.namespace, dataset.name) == ("s3://lake", "raw/flights")
