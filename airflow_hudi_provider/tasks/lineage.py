"""Report the lineage of tasks to OpenLineage: datasets, statistics, schema, and this provider's run facet ``hudi``.

Dataset names follow OpenLineage's naming rules. If the OpenLineage provider is not installed, tasks report no lineage.
"""

import json
import logging
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from airflow_hudi_provider.tasks.metrics import service_of
from hudi_table_services.contract.result import JobResult, Outcome

if TYPE_CHECKING:
    from airflow_hudi_provider.hooks.hudi import HudiHook

_LOG = logging.getLogger(__name__)
_ALIASES = {"s3a": "s3", "s3n": "s3"}
RUN_FACET = "hudi"


def dataset_name(path: str) -> tuple[str, str] | None:
    """Return the namespace and the name of a dataset, or None if the path is relative.

    For example, ``s3a://lake/flights`` has the namespace ``s3://lake`` and the name ``flights``. Names of local files
    and of HDFS files begin with a slash; see https://openlineage.io/docs/spec/naming.
    """
    if path.startswith("/"):
        return "file", path.rstrip("/") or "/"
    parts = urlsplit(path)
    if parts.scheme == "file":
        return "file", parts.path.rstrip("/") or "/"
    if not parts.scheme or not parts.netloc:
        return None
    namespace = f"{_ALIASES.get(parts.scheme, parts.scheme)}://{parts.netloc}"
    name = parts.path.rstrip("/") if parts.scheme == "hdfs" else parts.path.strip("/")
    return namespace, name or "/"


class LineageTask(Protocol):
    """The part of an operator that lineage reads."""

    @property
    def script(self) -> str: ...

    @property
    def changes_table(self) -> bool:
        """Whether the task can change the table. If False, the task only reads the table."""

    def find_table(self) -> "HudiHook":
        """Return the hook of the table that the rendered arguments name."""

    def is_preview(self) -> bool:
        """Return whether the task writes nothing."""

    def lineage_inputs(self) -> list[str]:
        """Return the paths that the task reads besides the table."""


def lineage_of(task: LineageTask, result: JobResult | None) -> Any:
    """Return the task's lineage for the OpenLineage provider.

    Return None if OpenLineage is not installed, or if the table's location is unknown.
    """
    try:
        from airflow.providers.openlineage.extractors import OperatorLineage
    except ImportError:
        return None
    try:
        table = task.find_table()
        base_path = table.location.base_path
    except Exception as error:
        _LOG.debug("The task reports no lineage: %s", error)
        return None
    is_written = task.changes_table and not task.is_preview()
    inputs = [*task.lineage_inputs(), *(() if is_written else (base_path,))]
    facets = {} if result is None else {RUN_FACET: _run_facet(service_of(task.script), result)}
    outputs = [_output(base_path, table, result)] if is_written else []
    return OperatorLineage(
        inputs=[each for each in map(_input, inputs) if each is not None],
        outputs=[each for each in outputs if each is not None],
        run_facets=facets,
    )


def _input(path: str) -> Any:
    from airflow.providers.common.compat.openlineage.facet import InputDataset

    names = dataset_name(path)
    return InputDataset(*names) if names is not None else None


def _output(base_path: str, table: "HudiHook", result: JobResult | None) -> Any:
    from airflow.providers.common.compat.openlineage.facet import (
        OutputDataset,
        OutputStatisticsOutputDatasetFacet,
    )

    names = dataset_name(base_path)
    if names is None:
        return None
    if result is None or result.outcome is not Outcome.COMPLETED:
        return OutputDataset(*names)
    done = result.figures()
    statistics: dict[str, Any] = {}
    if done.files_written:
        statistics["outputStatistics"] = OutputStatisticsOutputDatasetFacet(
            rowCount=done.rows, size=done.bytes_written, fileCount=done.files_written
        )
    return OutputDataset(*names, facets=_schema_facet(table, result), outputFacets=statistics)


def _schema_facet(table: "HudiHook", result: JobResult) -> dict[str, Any]:
    """Return the schema that the commit contains; the function reads one small file of the timeline."""
    from airflow.providers.common.compat.openlineage.facet import SchemaDatasetFacet, SchemaDatasetFacetFields

    try:
        fields = _schema_fields(table, result.instant_time or "")
    except Exception as error:
        _LOG.debug("The lineage has no schema: %s", error)
        return {}
    described = [SchemaDatasetFacetFields(name=name, type=kind) for name, kind in fields]
    return {"schema": SchemaDatasetFacet(fields=described)} if described else {}


def _schema_fields(table: "HudiHook", instant_time: str) -> list[tuple[str, str]]:
    store = table.timeline_store()
    for instant in store.load().completed_writes:
        if instant.requested_time == instant_time:
            text = store.commit_metadata(instant).extra_metadata.get("schema") or "{}"
            fields = json.loads(text).get("fields", ())
            return [(field["name"], avro_type(field["type"])) for field in fields]
    return []


def avro_type(kind: Any) -> str:
    """Convert an Avro type to a short name, such as ``["null", "string"]`` to ``string``."""
    if isinstance(kind, list):
        return " or ".join(avro_type(each) for each in kind if each != "null")
    if isinstance(kind, dict):
        return str(kind.get("logicalType") or avro_type(kind["type"]))
    return str(kind)


def _run_facet(service: str, result: JobResult) -> Any:
    from airflow.providers.common.compat.openlineage.facet import RunFacet

    done = result.figures()
    return RunFacet().with_additional_properties(
        service=service,
        operation=result.operation,
        outcome=result.outcome.value,
        reused=result.reused,
        instantTime=result.instant_time or "",
        completionTime=result.completion_time or "",
        reason=result.reason,
        rows=done.rows,
        filesWritten=done.files_written,
        bytesWritten=done.bytes_written,
        filesRemoved=done.files_removed,
        errorKind=result.error.kind if result.error is not None else "",
    )
