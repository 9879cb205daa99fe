"""The stored plan equals the plans of real Hudi, and survives encoding."""

from dataclasses import replace
from pathlib import Path

import pytest

from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata
from hudi_table_services.hudi_format.table_properties import decode_properties
from hudi_table_services.hudi_format.table_service_plans import decode_compaction_plan, encode_compaction_plan
from hudi_table_services.model.compaction.compaction_proposal import CompactionInput
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_service_plans import CompactionPlan
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.planning.compaction.planner import plan_compaction
from hudi_table_services.planning.compaction.stored_plan import stored_compaction_plan
from support.merge_on_read import BASE_TIME, LOG_TIME, MIB, PLAN_TIME, a_slice, a_table, compaction

GOLDEN = Path(__file__).parents[3] / "golden"
TABLES = [GOLDEN / "hudi-0.15.0" / "v6" / "logs", GOLDEN / "hudi-1.2.0" / "v9" / "logs"]


def stored(*slices: FileSlice, **changes: object) -> CompactionPlan:
    options = compaction(**changes)
    proposal = plan_compaction(a_table(slices), options, CompactionInput(instant_time=PLAN_TIME))
    return stored_compaction_plan(proposal, options)


def golden_table(folder: Path) -> tuple[TableSnapshot, Instant]:
    """Rebuild the snapshot from the write stats of the delta commits, and return the requested compaction."""
    config = TableConfig(decode_properties((folder / "hoodie.properties").read_bytes()))
    layout = config.table_version.layout
    timeline = Timeline.of(Instant.from_file_name(f.name, layout) for f in (folder / "timeline").iterdir())
    slices: dict[FileGroupId, FileSlice] = {}
    for instant in timeline.completed_writes:
        content = (folder / "timeline" / instant.file_name(layout)).read_bytes()
        for stat in decode_commit_metadata(content).write_stats:
            group = FileGroupId(stat.partition_path, stat.file_id)
            slices[group] = with_file(slices.get(group), group, stat)
    by_path: dict[str, tuple[FileSlice, ...]] = {}
    for group, file_slice in slices.items():
        by_path[group.partition_path] = (*by_path.get(group.partition_path, ()), file_slice)
    (planned,) = (i for i in timeline.pending if i.action is Action.COMPACTION)
    return TableSnapshot(config=config, timeline=timeline, file_slices=by_path), planned


def with_file(known: FileSlice | None, group: FileGroupId, stat: WriteStat) -> FileSlice:
    name = stat.path.rpartition("/")[2]
    if known is not None:
        log = LogFile.from_file_name(name, stat.file_size_bytes)
        return replace(known, log_files=(*known.log_files, log))
    base = BaseFile.from_file_name(name, stat.file_size_bytes)
    return FileSlice(file_group_id=group, base_instant_time=base.instant_time, base_file=base)


@pytest.mark.parametrize("folder", TABLES, ids=["0.15.0", "1.2.0"])
def test_the_plan_equals_the_plan_of_real_hudi(folder: Path) -> None:
    snapshot, instant = golden_table(folder)
    assert instant.state is InstantState.REQUESTED
    content = (folder / "timeline" / f"{instant.requested_time}.compaction.requested").read_bytes()
    proposal = plan_compaction(snapshot, compaction(), CompactionInput(instant_time=instant.requested_time))
    assert len(proposal.operations) == 2
    assert stored_compaction_plan(proposal, compaction()) == decode_compaction_plan(content)


def test_an_operation_has_bare_names_in_log_order_and_the_metrics_of_hudi() -> None:
    base = a_slice("p", "f1", 10 * MIB + 5)
    written = [
        ("20260102000000001", 1, "0-1-0"),
        (LOG_TIME, 10, "0-1-0"),
        (LOG_TIME, 2, "3-1-0"),
        (LOG_TIME, 2, None),
    ]
    written += [(LOG_TIME, 2, "12-1-0")]
    logs = tuple(
        LogFile(file_id="f1", instant_time=time, version=version, write_token=token, size_bytes=MIB)
        for time, version, token in written
    )
    (operation,) = stored(replace(base, log_files=logs)).operations
    assert operation.base_instant_time == BASE_TIME
    assert operation.data_file_path == f"f1_0-1-0_{BASE_TIME}.parquet"
    assert operation.delta_file_paths == (
        f".f1_{LOG_TIME}.log.2",
        f".f1_{LOG_TIME}.log.2_12-1-0",
        f".f1_{LOG_TIME}.log.2_3-1-0",
        f".f1_{LOG_TIME}.log.10_0-1-0",
        ".f1_20260102000000001.log.1_0-1-0",
    )
    assert operation.metrics == {
        "TOTAL_LOG_FILES": 5.0,
        "TOTAL_LOG_FILES_SIZE": 5.0 * MIB,
        "TOTAL_IO_READ_MB": 15.0,
        "TOTAL_IO_WRITE_MB": 10.0,
        "TOTAL_IO_MB": 25.0,
    }


def test_a_slice_without_a_base_file_writes_a_file_of_the_maximum_size_in_the_metrics() -> None:
    (operation,) = stored(a_slice("", "f1", None, 3 * MIB - 1), new_base_file_bytes=64 * MIB).operations
    assert (operation.base_instant_time, operation.data_file_path) == (LOG_TIME, None)
    assert operation.metrics["TOTAL_IO_READ_MB"] == 2.0
    assert operation.metrics["TOTAL_IO_WRITE_MB"] == 64.0
    assert operation.metrics["TOTAL_IO_MB"] == 66.0


def test_a_plan_is_of_version_2_without_a_strategy_and_names_the_waiting_partitions() -> None:
    plan = stored(*(a_slice(path, path, 10 * MIB, MIB) for path in "abc"), target_io_mb=1)
    assert [o.partition_path for o in plan.operations] == ["a"]
    assert plan.missing_schedule_partitions == ("b", "c")
    assert (plan.version, plan.strategy, plan.preserve_hoodie_metadata) == (2, None, False)
    assert stored(a_slice("a", "f", MIB, 1), partition_pattern="b").missing_schedule_partitions == ()


def test_an_encoded_plan_is_decoded_to_the_same_plan() -> None:
    slices = [a_slice("p/ä b", "f1", 10, 5, 6), a_slice("", "f2", None, 7), a_slice("q", "f3", 10, 1)]
    for plan in (stored(*slices), stored(*slices, min_log_bytes=6), stored()):
        assert decode_compaction_plan(encode_compaction_plan(plan)) == plan
