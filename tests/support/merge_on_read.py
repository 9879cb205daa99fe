"""Tables with log files, for tests of the planner of compactions. No file exists on storage."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hudi_table_services.model.compaction.compaction_settings import CompactionOptions
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.compaction.compaction_options import DEFAULT_COMPACTION

MIB = 1 << 20
BASE_TIME = "20260101000000000"
LOG_TIME = "20260102000000000"
PLAN_TIME = "20260103000000000"


def compaction(**changes: Any) -> CompactionOptions:
    """Return the default options of a compaction plan with some changes."""
    return replace(DEFAULT_COMPACTION, **changes)


def a_slice(
    path: str, file_id: str, base_bytes: int | None, *log_bytes: int, log_time: str = LOG_TIME
) -> FileSlice:
    """Return a slice with one log file per size. Without `base_bytes` it has only log files."""
    base = None
    if base_bytes is not None:
        base = BaseFile(file_id=file_id, write_token="0-1-0", instant_time=BASE_TIME, size_bytes=base_bytes)
    return FileSlice(
        file_group_id=FileGroupId(path, file_id),
        base_instant_time=BASE_TIME if base else log_time,
        base_file=base,
        log_files=tuple(
            LogFile(
                file_id=file_id, instant_time=log_time, version=v, write_token="0-1-0", size_bytes=size_bytes
            )
            for v, size_bytes in enumerate(log_bytes, start=1)
        ),
    )


def an_instant(
    time: str, action: Action, state: InstantState = InstantState.COMPLETED, completed: str | None = None
) -> Instant:
    return Instant(requested_time=time, action=action, state=state, completion_time=completed)


def a_table(
    slices: Iterable[FileSlice],
    *instants: Instant,
    version: int = 9,
    reserved: Mapping[FileGroupId, str] | None = None,
) -> TableSnapshot:
    by_path: dict[str, tuple[FileSlice, ...]] = {}
    for each in slices:
        path = each.file_group_id.partition_path
        by_path[path] = (*by_path.get(path, ()), each)
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.version": str(version),
        "hoodie.table.type": "MERGE_ON_READ",
    }
    return TableSnapshot(
        config=TableConfig(properties),
        timeline=Timeline.of(instants),
        file_slices=by_path,
        reserved_file_groups=reserved or {},
    )
