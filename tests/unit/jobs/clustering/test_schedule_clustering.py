"""Scheduling and cancelling, which need no Spark: plans, refused requests, messages, and tables without changes."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import uuid4

import pytest

from hudi_table_services.command.summaries.clustering import details
from hudi_table_services.contract.clustering import (
    CancelClusteringRequest,
    ClusteringReport,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import (
    InstantHeldError,
    InvalidRequestError,
    TableNotFoundError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.table_service_plans import (
    decode_requested_replace,
    encode_compaction_plan,
)
from hudi_table_services.jobs.clustering.cancel import cancel_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CompactionOperation, CompactionPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import update_properties
from hudi_table_services.tables.clustering_lookup import ClusteringLookup
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

SCHEMA = (
    '{"type":"record","name":"r","fields":[{"name":"k","type":"string"},{"name":"tags","type":'
    '{"type":"array","items":"string"}},{"name":"place","type":{"type":"record","name":"p","fields":'
    '[{"name":"x","type":"long"}]}}]}'
)
STRATEGY = "hoodie.clustering.plan.strategy."


def a_table(version: TableVersion = TableVersion.V6, files: int = 3) -> SmallTable:
    table = SmallTable(MemoryStorage(uuid4().hex), version)
    for number in range(files):
        table.commit(FileGroupId("a", f"a{number}-0"), FileGroupId("b", f"b{number}-0"), schema=SCHEMA)
    return table


def schedule(table: SmallTable, options: Mapping[str, str] | None = None, **fields: object) -> JobResult:
    request = ScheduleClusteringRequest(base_path="/t", options=options or {}, **fields)  # type: ignore[arg-type]
    return schedule_clustering(request, storage=table.storage, clock=table.clock)


def cancel(table: SmallTable, *instants: str, **fields: object) -> JobResult:
    request = CancelClusteringRequest(base_path="/t", instants=instants, **fields)  # type: ignore[arg-type]
    return cancel_clustering(request, storage=table.storage, clock=table.clock)


def content(table: SmallTable) -> dict[str, int]:
    return {stored.path: stored.size_bytes for stored in table.storage.list_files()}


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9])
def test_a_plan_has_the_format_of_hudi_with_absolute_file_names(version: TableVersion) -> None:
    table = a_table(version)
    scheduled = schedule(table, sort_columns=("k",), layout="linear", request_id="mine")
    (pending,) = table.timeline_store.load().pending
    assert pending.action is (Action.REPLACE_COMMIT if version is TableVersion.V6 else Action.CLUSTERING)
    assert pending.requested_time == scheduled.instant_time
    requested = decode_requested_replace(table.timeline_store.read_requested(pending))
    plan = requested.clustering_plan
    assert plan is not None
    assert [len(group.slices) for group in plan.groups] == [3, 3]
    assert plan.strategy.parameters[f"{STRATEGY}sort.columns"] == "k"
    assert all(":/" in (s.data_file_path or "") for group in plan.groups for s in group.slices)
    assert requested.extra_metadata["airflow.request_id"] == "mine"


@pytest.mark.parametrize(
    ("options", "fields", "named"),
    [
        ({}, {"sort_columns": ("nope",)}, ["'nope'", "k, tags, place"]),
        ({}, {"sort_columns": ("Place",)}, ["'Place'", "The table has 'place'; only the case differs."]),
        ({}, {"sort_columns": ("tags",)}, ["'tags'", "no order"]),
        ({}, {"sort_columns": ("place",)}, ["'place'", "no order"]),
        ({}, {"sort_columns": ("k", "k")}, ["sort.columns", "twice"]),
        ({f"{STRATEGY}sort.columns": "k"}, {"sort_columns": ("tags",)}, ["'tags'", "is 'k'"]),
        ({f"{STRATEGY}target.file.max.bytes": "100"}, {}, ["target.file.max.bytes", "small.file.limit"]),
        ({f"{STRATEGY}small.file.limit": "0"}, {}, ["small.file.limit=0", "at least 1"]),
        ({f"{STRATEGY}max.bytes.per.group": "-5"}, {}, ["max.bytes.per.group=-5"]),
        ({f"{STRATEGY}max.num.groups": "0"}, {}, ["max.num.groups=0"]),
        ({f"{STRATEGY}partition.regex.pattern": "("}, {}, ["partition.regex.pattern", "("]),
        (
            {"hoodie.clustering.inline": "true", "hoodie.clustering.schedule.inline": "true"},
            {},
            ["hoodie.clustering.inline=true", "hoodie.clustering.schedule.inline=true"],
        ),
        ({f"{STRATEGY}class": "org.example.Mine"}, {}, ["plan.strategy.class"]),
        ({f"{STRATEGY}class": "SparkSingleFileSortPlanStrategy"}, {}, ["sort.columns"]),
        ({f"{STRATEGY}class": "CommitBasedClusteringPlanStrategy"}, {}, ["earliest.commit.to.cluster"]),
        ({f"{STRATEGY}small.file.limti": "1"}, {}, ["small.file.limti", "Did you mean"]),
        ({"hoodie.layout.optimize.strategy": "SPIRAL"}, {}, ["hoodie.layout.optimize.strategy=SPIRAL"]),
        ({"hoodie.clustering.async.max.commits": "7"}, {"every_n_commits": 4}, ["'4'", "'7'"]),
    ],
)
def test_the_error_names_the_fault_of_an_impossible_request_and_nothing_is_written(
    options: dict[str, str], fields: dict[str, object], named: list[str]
) -> None:
    table = a_table()
    before = content(table)
    with pytest.raises(InvalidRequestError) as refused:
        schedule(table, options, **fields)
    assert all(word in str(refused.value) for word in named), str(refused.value)
    assert content(table) == before


@pytest.mark.parametrize(
    ("options", "fields", "reason"),
    [
        ({f"{STRATEGY}partition.regex.pattern": "2024.*"}, {}, "partition.regex.pattern=2024.*: 0 of 2"),
        ({}, {"partitions": ("c",)}, "c"),
        ({}, {"every_n_commits": 4}, "due after 4 commits; the table has 3"),
        ({"hoodie.clustering.inline": "true"}, {}, "the table has 3 and"),
        ({f"{STRATEGY}small.file.limit": "4"}, {}, "at or above the small-file limit of 4 B"),
    ],
)
def test_the_result_explains_why_there_is_nothing_to_do(
    options: dict[str, str], fields: dict[str, object], reason: str
) -> None:
    table = a_table()
    before = content(table)
    result = schedule(table, options, **fields)
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert reason in result.reason
    assert content(table) == before


def test_the_summary_names_the_commits_once_and_no_key_that_the_request_does_not_contain() -> None:
    result = schedule(a_table(), every_n_commits=4)
    assert (
        result.summary()
        == "Nothing to do: a clustering is due after 4 commits; the table has 3 and no clustering yet"
    )
    by_key = schedule(a_table(), {"hoodie.clustering.inline": "true"})
    assert by_key.summary().endswith(
        "after 4 commits (hoodie.clustering.inline.max.commits=4); the table has 3 and no clustering yet"
    )


def test_an_option_of_writes_gives_a_warning() -> None:
    result = schedule(a_table(), {"hoodie.index.type": "BLOOM"})
    assert result.warnings == ("hoodie.index.type has no effect here: it is for writes.",)


def test_a_base_path_without_a_table_is_an_error() -> None:
    request = ScheduleClusteringRequest(base_path="/t")
    with pytest.raises(TableNotFoundError):
        schedule_clustering(request, storage=MemoryStorage(uuid4().hex))


def test_a_table_name_that_differs_from_the_request_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="'trips'.*'other'"):
        schedule(a_table(), table_name="other")


def test_file_groups_in_a_pending_compaction_plan_are_left_out() -> None:
    table = a_table()
    operation = CompactionOperation(base_instant_time="1", file_id="a0-0", partition_path="a")
    table.timeline_store.request(
        Action.COMPACTION, encode_compaction_plan(CompactionPlan(operations=(operation,)))
    )
    result = schedule(table)
    assert result.report is not None
    assert [group.input_files for group in result.report.plans[0].groups] == [3, 2]
    assert any("in the pending plan" in text for text in result.report.skipped)


def test_the_number_of_left_out_file_slices_includes_those_that_the_report_does_not_list() -> None:
    table = SmallTable(MemoryStorage(uuid4().hex), TableVersion.V9)
    table.commit(*(FileGroupId(f"day={number}", f"f{number}-0") for number in range(500)), schema=SCHEMA)
    result = schedule(table, preview=True)
    assert isinstance(result.report, ClusteringReport)
    assert len(result.report.skipped) == 51
    assert dict(details(result.report, result).facts)["Left out"] == "500 file slices"
    assert dict(result.sections())["Left out"][-1] == "… and 480 more reasons"


def find(table: SmallTable, requested_time: str) -> None:
    ClusteringLookup.load(table.timeline_store).find(requested_time)


def test_the_error_explains_why_an_instant_is_not_a_clustering() -> None:
    table = a_table()
    commit = table.timeline_store.load().completed[0].requested_time
    with pytest.raises(InvalidRequestError, match=f"{commit} is a commit, not a clustering"):
        find(table, commit)
    with pytest.raises(InvalidRequestError, match="no instant 20200101000000000"):
        find(table, "20200101000000000")
    with pytest.raises(InvalidRequestError, match="'yesterday' is not an instant time"):
        CancelClusteringRequest(base_path="/t", instants=("yesterday",))


def test_a_missing_partition_gives_a_warning() -> None:
    result = schedule(a_table(), partitions=("a", "z"), preview=True)
    assert result.outcome is Outcome.PLANNED
    assert result.warnings == ("The table has no partition 'z'.",)


def test_a_plan_that_only_sorts_single_tiny_files_gives_a_warning() -> None:
    table = SmallTable(MemoryStorage(uuid4().hex), TableVersion.V9)
    table.commit(FileGroupId("a", "a0-0"), FileGroupId("b", "b0-0"), FileGroupId("b", "b1-0"))
    options = {f"{STRATEGY}sort.columns": "id"}
    schema = '{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}'
    table.commit(FileGroupId("c", "c0-0"), schema=schema)
    (warning,) = schedule(table, options, preview=True).warnings
    assert warning.startswith("Of 3 groups of the plan, 2 only sort a single file below 1.0 MiB.")
    key = "hoodie.clustering.plan.strategy.single.group.clustering.enabled"
    assert warning.endswith(f"set {key}=false.")
    without = schedule(table, {**options, key: "false"}, preview=True)
    assert without.warnings == ()
    assert without.report is not None
    assert [group.partition_path for group in without.report.plans[0].groups] == ["b"]


def test_cancelling_removes_the_plan_and_records_a_rollback() -> None:
    table = a_table(TableVersion.V9)
    plan = schedule(table).instant_time or ""
    assert cancel(table, plan).outcome is Outcome.COMPLETED
    assert [i.action for i in table.timeline_store.load()][-1] is Action.ROLLBACK
    again = cancel(table, plan)
    assert (again.outcome, again.reused) == (Outcome.COMPLETED, True)
    with pytest.raises(InvalidRequestError, match="was cancelled: rollback"):
        find(table, plan)


def test_a_plan_that_another_attempt_is_executing_is_not_cancelled() -> None:
    table = a_table()
    plan = schedule(table).instant_time or ""
    table.storage.write(heartbeat_path(plan), b"other writer")
    assert cancel(table, older_than_minutes=0).outcome is Outcome.NOTHING_TO_DO
    with pytest.raises(InstantHeldError, match="is being executed"):
        cancel(table, plan)


def test_only_plans_that_are_old_enough_are_cancelled() -> None:
    table = a_table()
    schedule(table)
    assert cancel(table, older_than_minutes=30).outcome is Outcome.NOTHING_TO_DO
    table.clock = FixedClock(table.clock.now() + timedelta(minutes=31))
    assert cancel(table, older_than_minutes=30, preview=True).outcome is Outcome.PLANNED
    assert cancel(table, older_than_minutes=30).outcome is Outcome.COMPLETED


def test_expired_plans_are_cancelled_before_scheduling_if_the_option_is_set() -> None:
    table = a_table()
    first = schedule(table).instant_time
    table.clock = FixedClock(table.clock.now() + timedelta(minutes=61))
    assert schedule(table).outcome is Outcome.NOTHING_TO_DO
    renewed = schedule(table, {"hoodie.clustering.enable.expirations": "true"})
    assert renewed.outcome is Outcome.COMPLETED
    assert renewed.instant_time != first


def test_no_expired_plan_is_cancelled_on_a_table_with_an_unfinished_restore() -> None:
    table = a_table()
    schedule(table)
    table.clock = FixedClock(table.clock.now() + timedelta(minutes=61))
    table.begin(Action.RESTORE, b"x")
    pending = table.timeline_store.load().pending
    with pytest.raises(UnsupportedTableError, match="has not been finished"):
        schedule(table, {"hoodie.clustering.enable.expirations": "true"})
    assert table.timeline_store.load().pending == pending


def test_a_plan_is_scheduled_beside_an_index_that_this_release_cannot_update() -> None:
    table = a_table()
    update_properties(table.storage, {"hoodie.table.metadata.partitions": "expr_index_a"}, table.clock)
    schedule(table, {})
    assert len(table.timeline_store.load().pending) == 1
