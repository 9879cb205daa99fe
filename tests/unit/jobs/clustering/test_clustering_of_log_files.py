"""Clusterings of merge-on-read tables: eligible slices, plans, merged rows, commits, and writes beside a clustering."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import CorruptTableError, InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import (
    decode_requested_replace,
    encode_requested_replace,
)
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import ClusteringPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.storage.table_store import update_properties
from support.compaction import jobs_here as compactions
from support.compaction.golden_slices import delete_settings, golden_table, table_of_cases
from support.compaction.written_table import NORTH, SOUTH, Deleted, WrittenTable, a_row, new_storage
from support.fixed_clock import FixedClock
from support.jobs_on_tables import later
from support.log_golden import ARCHIVES, plain_row
from support.log_merging.hudi_cases import HudiTable, every_table
from support.with_logs.clusterings_here import (
    NORTH2,
    ROWS,
    a_table,
    cancel,
    execute,
    keys,
    merged_rows,
    plan_of,
    report_of,
    schedule,
)

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")
SORTED = {"sort_columns": ("ts",)}


def leftovers(table: WrittenTable) -> list[str]:
    folders = (".hoodie/.aux", ".hoodie/.temp", ".hoodie/.heartbeat")
    return [stored.path for folder in folders for stored in table.storage.list_files(folder)]


@VERSIONS
@pytest.mark.parametrize("fields", [{}, SORTED], ids=["unsorted", "sorted"])
def test_a_clustering_merges_log_files_and_replaces_the_file_groups(
    version: TableVersion, fields: dict[str, Any]
) -> None:
    table = a_table(version)
    before = merged_rows(table.storage)
    scheduled = schedule(table.storage, table.clock, request_id="plan", **fields)
    assert merged_rows(table.storage) == before
    result = execute(table.storage, table.clock, request_id="run")
    assert (result.outcome, result.instant_time) == (Outcome.COMPLETED, scheduled.instant_time)
    assert keys(before) == ROWS
    assert merged_rows(table.storage) == before
    slices = table.snapshot.all_slices
    assert [(s.file_group_id.partition_path, len(s.log_files)) for s in slices] == [
        ("north", 0),
        ("south", 0),
    ]
    (commit,) = (i for i in table.timeline_store.load().completed if i.action is Action.REPLACE_COMMIT)
    metadata = table.timeline_store.commit_metadata(commit)
    assert metadata.operation_type is WriteOperation.CLUSTER
    assert metadata.partition_to_replace_file_ids == {"north": ("n1", "n2"), "south": ("s1", "s2")}
    assert [stat.num_writes for stat in metadata.write_stats] == [3, 3]
    assert leftovers(table) == []
    (plan,) = report_of(result).plans
    assert (plan.state, plan.rows_checked, plan.groups_given_up) == ("completed", 6, 0)


@VERSIONS
def test_a_plan_names_the_log_files_as_hudi_does(version: TableVersion) -> None:
    table = a_table(version)
    logs_only = FileGroupId("north", "logs-only")
    table.log({logs_only: [a_row("z", 1)]})
    current = {s.file_group_id: s for s in table.snapshot.all_slices}
    schedule(table.storage, table.clock)
    prefix = table.storage.base_path.rstrip("/") + "/"
    for group in plan_of(table).groups:
        for planned in group.slices:
            found = current[FileGroupId(planned.partition_path, planned.file_id)]
            names = [path.removeprefix("file://").removeprefix(prefix) for path in planned.delta_file_paths]
            assert names == [p for p in found.paths if ".log." in p]
            has_base = found.base_file is not None
            assert (planned.data_file_path or "").endswith(".parquet") is has_base
            assert planned.data_file_path is not None
    (north,) = (g for g in plan_of(table).groups if g.slices[0].partition_path == "north")
    assert {s.file_id for s in north.slices} == {"n1", "n2", "logs-only"}
    assert north.metrics["TOTAL_LOG_FILES"] == 4
    execute(table.storage, table.clock)
    assert keys(merged_rows(table.storage)) == [*ROWS, ("z", 1)]


@VERSIONS
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_a_table_of_hudi_has_the_rows_that_hudi_returned(version: TableVersion, name: str) -> None:
    table = golden_table(version, name)
    clock = FixedClock(FixedClock().moment.replace(year=2030))
    schedule(table.storage, clock, **SORTED)
    result = execute(table.storage, clock)
    assert result.outcome is Outcome.COMPLETED
    written = WrittenTable(table.storage, version, is_new=False)
    found = {row["_hoodie_record_key"]: plain_row(row) for row in written.base_rows()}
    expected = {row["_hoodie_record_key"]: row for row in table.snapshot}
    assert found == {key: {c: row[c] for c in found[key]} for key, row in expected.items()}
    commits = {row["_hoodie_record_key"]: row["_hoodie_commit_time"] for row in written.base_rows()}
    assert commits == {key: row["_hoodie_commit_time"] for key, row in expected.items()}


@pytest.mark.parametrize("each", every_table(), ids=str)
def test_a_clustering_merges_every_case_as_a_compaction_does(each: HudiTable) -> None:
    """`test_merge_slice` compares a compaction of the same cases with the rows that real Hudi returned."""
    compacted, _ = table_of_cases(each)
    clustered, _ = table_of_cases(each)
    settings = delete_settings(each)
    compactions.schedule(compacted.storage, compacted.clock, settings)
    compactions.execute(compacted.storage, compacted.clock, options=settings)
    schedule(clustered.storage, clustered.clock, settings, **SORTED)
    execute(clustered.storage, clustered.clock, options=settings)
    columns = ("_hoodie_record_key", "_hoodie_commit_seqno", "ts", "ts2", "v", "s", "op")
    expected = [[row[c] for c in columns] for row in compacted.base_rows()]
    assert [[row[c] for c in columns] for row in clustered.base_rows()] == expected
    assert not any(s.log_files for s in clustered.snapshot.all_slices)


@VERSIONS
def test_a_group_whose_rows_are_all_deleted_is_replaced_by_no_file_group(version: TableVersion) -> None:
    table = WrittenTable(new_storage(), version)
    table.insert({NORTH: [a_row("a", 1)], SOUTH: [a_row("c", 1)]})
    table.insert({NORTH2: [a_row("b", 1)]})
    table.log({NORTH: [Deleted("a")], NORTH2: [Deleted("b")]})
    schedule(table.storage, table.clock, **SORTED, partitions=("north",))
    assert execute(table.storage, table.clock).outcome is Outcome.COMPLETED
    assert keys(merged_rows(table.storage)) == [("c", 1)]
    assert [s.file_group_id for s in table.snapshot.all_slices] == [SOUTH]


@VERSIONS
def test_a_clustering_after_a_compaction_divides_file_groups_that_are_too_large(
    version: TableVersion,
) -> None:
    table = WrittenTable(new_storage(), version)
    text = "".join(chr(33 + (i * 7919) % 90) for i in range(300))
    table.insert({NORTH: [a_row(f"k{n:03}", 1, f"{text}{n * n}") for n in range(400)]})
    table.log({NORTH: [a_row(f"k{n:03}", 2, f"{text}{n}") for n in range(400, 800)]})
    compactions.schedule(table.storage, table.clock)
    compactions.execute(table.storage, table.clock)
    (compacted,) = table.snapshot.all_slices
    before = merged_rows(table.storage)
    third = compacted.size_bytes // 3 + 1
    options = {
        "hoodie.clustering.plan.strategy.target.file.max.bytes": str(third),
        "hoodie.clustering.plan.strategy.small.file.limit": str(third // 2),
        "hoodie.airflow.clustering.split.above.bytes": str(third * 2),
    }
    schedule(table.storage, table.clock, options)
    assert execute(table.storage, table.clock).outcome is Outcome.COMPLETED
    assert len(table.snapshot.all_slices) == 3
    assert merged_rows(table.storage) == before
    assert schedule(table.storage, table.clock, options).outcome is Outcome.NOTHING_TO_DO


@VERSIONS
def test_slices_in_a_pending_compaction_are_left_out(version: TableVersion) -> None:
    table = a_table(version)
    compactions.schedule(table.storage, table.clock, partitions=("south",))
    result = schedule(table.storage, table.clock)
    assert {s.partition_path for g in plan_of(table).groups for s in g.slices} == {"north"}
    assert any("south: 1 file, in the pending plan" in line for line in report_of(result).skipped)
    compactions.schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    compactions.execute(table.storage, table.clock)
    assert keys(merged_rows(table.storage)) == ROWS


@VERSIONS
def test_file_groups_of_a_running_delta_commit_are_left_out(version: TableVersion) -> None:
    table = a_table(version)
    pending = table.begin({SOUTH: ()})
    schedule(table.storage, table.clock)
    assert {s.partition_path for g in plan_of(table).groups for s in g.slices} == {"north"}
    table.finish(pending, {SOUTH: [a_row("c", 9)]})
    execute(table.storage, table.clock)
    assert ("c", 9) in keys(merged_rows(table.storage))


def test_the_size_of_a_slice_includes_the_weighted_size_of_its_log_files() -> None:
    table = a_table()
    sizes = {s.file_group_id: s for s in table.snapshot.all_slices}
    base = sizes[NORTH].base_file
    assert base is not None
    logs = sum(log.size_bytes for log in sizes[NORTH].log_files)
    between = base.size_bytes + int(0.5 * logs)
    options = {
        "hoodie.clustering.plan.strategy.small.file.limit": str(between),
        "hoodie.clustering.plan.strategy.target.file.max.bytes": str(between * 10),
    }
    schedule(table.storage, table.clock, {**options, "hoodie.logfile.to.parquet.compression.ratio": "0.4"})
    planned = {s.file_id for g in plan_of(table).groups for s in g.slices}
    assert "n1" in planned
    heavy = a_table()
    result = schedule(
        heavy.storage, heavy.clock, {**options, "hoodie.logfile.to.parquet.compression.ratio": "1"}
    )
    assert (
        f"north: 2 files, at or above the small-file limit of {between / 1024:.1f} KiB"
        in report_of(result).skipped
    )


def test_a_clustered_file_with_log_files_does_not_count_as_clustered() -> None:
    table = a_table()
    schedule(table.storage, table.clock, **SORTED)
    execute(table.storage, table.clock)
    assert schedule(table.storage, table.clock, **SORTED).outcome is Outcome.NOTHING_TO_DO
    (north,) = (
        s.file_group_id for s in table.snapshot.all_slices if s.file_group_id.partition_path == "north"
    )
    table.log({north: [a_row("a", 8)]})
    schedule(table.storage, table.clock, **SORTED)
    execute(table.storage, table.clock)
    assert ("a", 8) in keys(merged_rows(table.storage))
    assert not any(s.log_files for s in table.snapshot.all_slices)


@VERSIONS
def test_plans_of_hudi_are_executed(version: TableVersion) -> None:
    """Plans of Hudi name the log files of a slice newest first."""
    table = a_table(version)
    schedule(table.storage, table.clock)
    (pending,) = table.timeline_store.load().pending
    requested = decode_requested_replace(table.timeline_store.read_requested(pending))
    assert requested.clustering_plan is not None
    groups = tuple(
        replace(
            group,
            slices=tuple(replace(s, delta_file_paths=s.delta_file_paths[::-1]) for s in group.slices),
        )
        for group in requested.clustering_plan.groups
    )
    theirs = encode_requested_replace(ClusteringPlan(groups=groups), {})
    table.storage.write(table.timeline_store.requested_path_of(pending), theirs)
    assert execute(table.storage, table.clock).outcome is Outcome.COMPLETED
    assert keys(merged_rows(table.storage)) == ROWS


@VERSIONS
def test_a_clean_deletes_the_replaced_base_and_log_files(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    (north,) = (
        s.file_group_id for s in table.snapshot.all_slices if s.file_group_id.partition_path == "north"
    )
    for ts in (11, 12):
        table.log({north: [a_row("a", ts)]})
    before = merged_rows(table.storage)
    options = {"hoodie.airflow.clean.floor.hours": "0"}
    request = CleanRequest(base_path="/t", commits_retained=1, options=options)
    assert clean(request, storage=table.storage, clock=later(1)).outcome is Outcome.COMPLETED
    assert merged_rows(table.storage) == before
    names = {f.path for f in table.storage.list_files() if f.path.endswith(".parquet") or ".log." in f.path}
    assert names == {path for s in table.snapshot.all_slices for path in s.paths}


@VERSIONS
def test_a_completed_clustering_can_be_undone(version: TableVersion) -> None:
    table = a_table(version)
    before, slices = merged_rows(table.storage), table.snapshot.file_slices
    schedule(table.storage, table.clock)
    done = execute(table.storage, table.clock).instant_time or ""
    request = RollbackRequest(base_path="/t", instants=(done,))
    assert rollback(request, storage=table.storage, clock=table.clock).outcome is Outcome.COMPLETED
    assert merged_rows(table.storage) == before
    assert table.snapshot.file_slices == slices


@VERSIONS
def test_a_cancelled_plan_leaves_the_log_files(version: TableVersion) -> None:
    table = a_table(version)
    slices = table.snapshot.file_slices
    plan = schedule(table.storage, table.clock).instant_time or ""
    assert cancel(table.storage, table.clock, plan).outcome is Outcome.COMPLETED
    assert table.snapshot.file_slices == slices
    assert keys(merged_rows(table.storage)) == ROWS


def test_a_table_that_merges_by_a_custom_rule_is_refused_before_anything_is_written() -> None:
    properties = {"hoodie.record.merge.mode": "CUSTOM", "hoodie.table.ordering.fields": "ts"}
    table = WrittenTable(new_storage(), more_properties=properties, has_ordering=False)
    table.insert({NORTH: [a_row("a", 1)]})
    before = {f.path for f in table.storage.list_files()}
    for job in (schedule, execute):
        with pytest.raises(UnsupportedTableError, match="CUSTOM"):
            job(table.storage, table.clock)
    assert {f.path for f in table.storage.list_files()} == before


def test_settings_of_a_delete_marker_are_refused_for_a_copy_on_write_table() -> None:
    table = a_table(TableVersion.V6)
    update_properties(table.storage, {"hoodie.table.type": "COPY_ON_WRITE"}, table.clock)
    settings = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "D"}
    with pytest.raises(InvalidRequestError, match="copy-on-write"):
        schedule(table.storage, table.clock, settings)


def changed_log(table: WrittenTable, change: Callable[[bytes], bytes]) -> str:
    """Change the log file of the file group `SOUTH`. Returns the path of the log file."""
    (log,) = next(s for s in table.snapshot.all_slices if s.file_group_id == SOUTH).log_files
    path = f"{SOUTH.partition_path}/{log.file_name}"
    table.storage.write(path, change(table.storage.read(path)))
    return path


@VERSIONS
def test_a_log_file_that_lost_its_end_is_an_error(version: TableVersion) -> None:
    table = a_table(version)
    path = changed_log(table, lambda data: data[:-12])
    schedule(table.storage, table.clock)
    before = {s.file_group_id for s in table.snapshot.all_slices}
    with pytest.raises(CorruptTableError, match="committed rows are missing") as caught:
        execute(table.storage, table.clock)
    assert caught.value.path == path
    assert path in caught.value.message
    assert {s.file_group_id for s in table.snapshot.all_slices} == before


@VERSIONS
def test_the_incomplete_block_of_a_dead_writer_is_a_warning(version: TableVersion) -> None:
    table = a_table(version)
    before = merged_rows(table.storage)
    path = changed_log(table, lambda data: data + data[:-12])
    schedule(table.storage, table.clock)
    (warning,) = execute(table.storage, table.clock).warnings
    assert merged_rows(table.storage) == before
    assert warning.startswith(f"{path} has no complete block from position ")
    assert warning.endswith("and the clustering skipped it, too.")


@VERSIONS
def test_a_clustering_keeps_the_default_values_in_the_schema(version: TableVersion) -> None:
    table = a_table(version)
    store = table.timeline_store
    newest = store.load().completed_writes[-1]
    metadata = store.commit_metadata(newest)
    schema = json.loads(metadata.extra_metadata["schema"])
    column = next(each for each in schema["fields"] if each["name"] == "s")
    column.update(type="string", default="none")
    changed = replace(metadata, extra_metadata={**metadata.extra_metadata, "schema": json.dumps(schema)})
    table.storage.write(store.path_of(newest), encode_commit_metadata(changed, version))
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    assert table.snapshot.schema_json == json.dumps(schema)
