"""Rollback plans in Hudi's form, and the rollbacks that are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import (
    CorruptTableError,
    MalformedFileNameError,
    UnsupportedTableError,
)
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import InstantReference, RollbackPlan, RollbackRequest
from hudi_table_services.planning.recovery.rollback_plan import (
    AppendedLog,
    UndoneBlocks,
    appended_logs_to_delete,
    files_to_delete,
    log_blocks_to_undo,
    plan_rollback,
    rollback_metadata,
)

TIME = "20261121051541055"
DEAD = Instant(requested_time=TIME, action=Action.COMMIT, state=InstantState.INFLIGHT)
FILE = f"48c79efb-0_1-835-1091_{TIME}.parquet"
LOG = f".48c79efb-0_{TIME}.log.1_0-847-1407"


def test_a_rollback_plan_from_markers_names_file_group_and_absolute_path() -> None:
    plan = plan_rollback(DEAD, [f"b/{FILE}"], "/data/trips")
    assert plan == RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=TIME, action="commit"),
        requests=(
            RollbackRequest(
                partition_path="b",
                file_id="48c79efb-0",
                latest_base_instant=TIME,
                files_to_delete=(f"/data/trips/b/{FILE}",),
            ),
        ),
    )


def test_a_rollback_plan_from_a_listing_names_no_file_group() -> None:
    (request,) = plan_rollback(DEAD, [FILE], "/data/trips/", by_listing=True).requests
    assert (request.partition_path, request.file_id, request.latest_base_instant) == ("", "", "")
    assert request.files_to_delete == (f"/data/trips/{FILE}",)


def test_log_files_of_the_dead_write_itself_are_deleted() -> None:
    (request,) = plan_rollback(DEAD, [f"a/{LOG}"], "s3://b/t").requests
    assert (request.file_id, request.files_to_delete) == ("48c79efb-0", (f"s3://b/t/a/{LOG}",))


@pytest.mark.parametrize(
    "name", [".f-0_20200101000000000.log.2_0-1-0", "f-0_0-1-0_20200101000000000.parquet"]
)
def test_an_append_to_an_older_slice_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedTableError, match="older slice"):
        plan_rollback(DEAD, [f"a/{name}"], "/t")


def test_a_marker_that_does_not_name_a_data_file_is_refused() -> None:
    with pytest.raises(MalformedFileNameError):
        plan_rollback(DEAD, ["a/notes.txt"], "/t")


@given(st.sets(st.tuples(st.sampled_from(["", "a", "x/y=z", "city=a b%"]), st.integers(0, 50)), max_size=8))
def test_a_plan_deletes_exactly_the_files_it_was_built_from(files: set[tuple[str, int]]) -> None:
    paths = {f"{folder}/f{n}-0_{FILE.partition('_')[2]}".lstrip("/") for folder, n in files}
    plan = plan_rollback(DEAD, paths, "/t")
    assert {path for found in files_to_delete(plan).values() for path in found} == paths
    assert rollback_metadata(plan, "1", 2).total_files_deleted == len(paths)


@pytest.mark.parametrize("prefix", ["/somewhere/else/b/", "file:/t/b/", "hdfs://host/t/b/"])
def test_a_stored_plan_is_valid_after_the_table_was_moved(prefix: str) -> None:
    request = RollbackRequest(partition_path="b", files_to_delete=(prefix + FILE,))
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=TIME, action="commit"), requests=(request,)
    )
    assert files_to_delete(plan) == {"b": (f"b/{FILE}",)}


@pytest.mark.parametrize(
    ("partition_path", "path"),
    [
        ("b", f"/t/c/{FILE}"),
        ("b", f"/t/{FILE}"),
        ("b", "/t/b/f-0_0-1-0_20200101000000000.parquet"),
        ("b", "/t/b/.hoodie_partition_metadata"),
        ("b", "/t/b/"),
        ("b", FILE),
        ("", "/t/.hoodie/hoodie.properties"),
    ],
)
def test_a_stored_plan_that_names_other_files_is_refused(partition_path: str, path: str) -> None:
    request = RollbackRequest(partition_path=partition_path, files_to_delete=(path,))
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=TIME, action="commit"), requests=(request,)
    )
    with pytest.raises(CorruptTableError):
        files_to_delete(plan)


OLDER_LOG = ".48c79efb-0_20200101000000000.log.2_0-1-0"


def a_stored_plan(*requests: RollbackRequest) -> RollbackPlan:
    undone = InstantReference(requested_time=TIME, action="deltacommit")
    return RollbackPlan(instant_to_rollback=undone, requests=requests)


@pytest.mark.parametrize("prefix", ["", "/t/b/", "file:/t/b/"])
def test_log_blocks_of_a_stored_plan_are_found_by_slice(prefix: str) -> None:
    plan = a_stored_plan(
        RollbackRequest(partition_path="b", log_blocks_to_delete={prefix + OLDER_LOG: 1}),
        RollbackRequest(partition_path="b", log_blocks_to_delete={OLDER_LOG.replace(".2_", ".3_"): 1}),
    )
    (blocks,) = log_blocks_to_undo(plan)
    assert (blocks.partition_path, blocks.file_id, blocks.base_instant_time) == (
        "b",
        "48c79efb-0",
        "20200101000000000",
    )
    assert blocks.names == (OLDER_LOG, OLDER_LOG.replace(".2_", ".3_"))
    assert files_to_delete(plan) == {"b": ()}


@pytest.mark.parametrize("name", [FILE, "notes.txt", ".hoodie_partition_metadata", ""])
def test_log_blocks_outside_of_log_files_are_refused(name: str) -> None:
    with pytest.raises(CorruptTableError):
        log_blocks_to_undo(a_stored_plan(RollbackRequest(partition_path="b", log_blocks_to_delete={name: 1})))


def test_log_blocks_outside_of_the_data_folders_are_refused() -> None:
    request = RollbackRequest(partition_path=".hoodie", log_blocks_to_delete={OLDER_LOG: 1})
    with pytest.raises(CorruptTableError):
        log_blocks_to_undo(a_stored_plan(request))


@pytest.mark.parametrize("is_deletable", [True, False])
def test_a_log_file_of_an_older_slice_is_deleted_or_gets_a_rollback_block(is_deletable: bool) -> None:
    log = AppendedLog(path=f"b/{OLDER_LOG}", size_bytes=7, is_deletable=is_deletable)
    plan = plan_rollback(DEAD, [], "/t", logs=[log])
    (request,) = plan.requests
    assert files_to_delete(plan) == {"b": ()}
    if is_deletable:
        assert appended_logs_to_delete(plan) == (log.path,)
        assert (request.file_id, request.latest_base_instant, request.log_blocks_to_delete) == ("", "", {})
    else:
        assert appended_logs_to_delete(plan) == ()
        assert (request.file_id, request.latest_base_instant) == ("48c79efb-0", "20200101000000000")
        assert request.log_blocks_to_delete == {f"/t/b/{OLDER_LOG}": 7}


def test_metadata_lists_rollback_blocks_by_partition() -> None:
    log = AppendedLog(path=f"b/{OLDER_LOG}", size_bytes=7, is_deletable=False)
    plan = plan_rollback(DEAD, [f"b/{FILE}"], "/t", logs=[log])
    done = UndoneBlocks({"b": ("/t/b/x",)}, {"b": {"/t/b/y": 105}})
    (partition,) = rollback_metadata(plan, "1", 2, done).partitions.values()
    assert partition.deleted_files == (f"/t/b/{FILE}", "/t/b/x")
    assert partition.rollback_log_files == {"/t/b/y": 105}
    assert partition.log_files_of_failed_commit == {f"/t/b/{OLDER_LOG}": 7}


def test_metadata_lists_deleted_files_by_partition() -> None:
    other = FILE.replace("48c79efb", "d66577da")
    plan = plan_rollback(DEAD, [f"b/{FILE}", f"a/{other}", f"b/{other}"], "/t")
    metadata = rollback_metadata(plan, "20261121051545305", 350)
    assert (metadata.start_rollback_time, metadata.time_taken_ms) == ("20261121051545305", 350)
    assert metadata.commits_rolled_back == (TIME,)
    assert metadata.instants_rolled_back == (InstantReference(requested_time=TIME, action="commit"),)
    assert {path: p.deleted_files for path, p in metadata.partitions.items()} == {
        "a": (f"/t/a/{other}",),
        "b": (f"/t/b/{FILE}", f"/t/b/{other}"),
    }
