"""Executions in which some plans fail: one error reports all failures, and is retryable if one failure is retryable."""

from dataclasses import dataclass
from uuid import uuid4

import pytest

from hudi_table_services.contract.clustering import (
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import FileGroupConflictError, HudiTableServiceError, InvalidRequestError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.small_tables import SmallTable

K_AND_X = (
    '{"type":"record","name":"r","fields":[{"name":"k","type":"string"},{"name":"x","type":["null","long"]}]}'
)
K_ONLY = '{"type":"record","name":"r","fields":[{"name":"k","type":"string"}]}'


def groups(partition: str) -> list[FileGroupId]:
    return [FileGroupId(partition, f"{partition}{number}-0") for number in range(2)]


@dataclass
class Plans:
    """A table with a plan for each of its partitions; the first plan sorts by a column that no longer exists."""

    table: SmallTable
    unsortable: str
    blocked: str
    outdated: str
    completed: str

    @classmethod
    def make(cls) -> "Plans":
        table = SmallTable(MemoryStorage(uuid4().hex))
        table.commit(*groups("a"), *groups("b"), *groups("c"), *groups("d"), schema=K_AND_X)
        made = cls(
            table,
            _schedule(table, "a", sort_columns=("x",)),
            _schedule(table, "b"),
            _schedule(table, "c"),
            _schedule(table, "d"),
        )
        table.commit(*groups("c"), schema=K_ONLY)
        metadata = CommitMetadata(
            operation_type=WriteOperation.CLUSTER,
            partition_to_write_stats={},
            partition_to_replace_file_ids={"d": tuple(group.file_id for group in groups("d"))},
        )
        store = table.timeline_store
        (pending,) = store.load().find(made.completed)
        store.complete(store.start(pending), encode_commit_metadata(metadata, table.version))
        return made

    def block(self) -> None:
        """Begin a write that is going to rewrite a file of the plan `blocked`."""
        store, group = self.table.timeline_store, groups("b")[0]
        stat = WriteStat(file_id=group.file_id, partition_path=group.partition_path, path="")
        profile = CommitMetadata(
            operation_type=WriteOperation.UPSERT, partition_to_write_stats={"b": (stat,)}
        )
        store.start(store.request(Action.COMMIT, b""), encode_commit_metadata(profile, self.table.version))


def _schedule(table: SmallTable, partition: str, sort_columns: tuple[str, ...] = ()) -> str:
    request = ScheduleClusteringRequest(
        base_path="/t",
        partitions=(partition,),
        sort_columns=sort_columns,
        options={"hoodie.airflow.clustering.max.pending.plans": "0"},
    )
    return schedule_clustering(request, storage=table.storage, clock=table.clock).instant_time or ""


def failure(table: SmallTable, *instants: str) -> tuple[HudiTableServiceError, JobResult]:
    """Run an execution that fails before Spark starts; return its error and its result document."""
    request = ExecuteClusteringRequest(base_path="/t", instants=instants)
    with pytest.raises(HudiTableServiceError) as failed:
        execute_clustering(None, request, storage=table.storage, clock=table.clock)  # type: ignore[arg-type]
    return failed.value, read_result(JobResult.failed(request, failed.value).to_json())


def states(result: JobResult) -> dict[str, str]:
    assert result.report is not None
    return {plan.instant_time: plan.state for plan in result.report.plans}


def test_a_retryable_failure_is_raised_and_the_result_reports_every_plan() -> None:
    plans = Plans.make()
    plans.block()
    error, result = failure(plans.table, plans.unsortable, plans.blocked, plans.outdated, plans.completed)
    assert isinstance(error, FileGroupConflictError)
    assert error.hint == "The plan committed nothing; run the job again when the other writers have ended."
    assert (
        f"Clustering {plans.unsortable} failed: Clustering {plans.unsortable} sorts by 'x'" in error.message
    )
    assert f"Clustering {plans.blocked} failed: Other writers changed or are" in error.message
    assert f"These plans are completed nevertheless: {plans.completed}." in error.message
    assert (
        f"These plans were cancelled, because none of their groups can be executed any more: {plans.outdated}."
        in error.message
    )
    assert result.outcome is Outcome.FAILED
    assert result.error is not None
    assert (result.error.kind, result.error.retryable) == ("FileGroupConflictError", True)
    assert states(result) == {
        plans.unsortable: "failed",
        plans.blocked: "failed",
        plans.outdated: "cancelled",
        plans.completed: "reused",
    }
    assert result.report is not None
    assert "sorts by 'x'" in result.report.plans[0].error


def test_the_first_failure_is_raised_if_none_is_retryable() -> None:
    plans = Plans.make()
    error, result = failure(plans.table, plans.completed, plans.unsortable)
    assert isinstance(error, InvalidRequestError)
    assert error.message.startswith(f"Clustering {plans.unsortable} failed: ")
    assert error.message.endswith(f"These plans are completed nevertheless: {plans.completed}.")
    assert states(result) == {plans.unsortable: "failed", plans.completed: "reused"}


def test_the_failure_of_a_single_plan_keeps_its_message() -> None:
    plans = Plans.make()
    error, result = failure(plans.table, plans.unsortable)
    assert error.message == f"Clustering {plans.unsortable} sorts by 'x', which the table does not have."
    assert states(result) == {plans.unsortable: "failed"}
