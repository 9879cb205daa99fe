"""The commits of a generated table: their times, and their metadata without encoding each commit anew."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.write_stat import (
    NEW_FILE_GROUP,
    REQUEST_ID_KEY,
    SCHEMA_KEY,
    CommitMetadata,
    WriteOperation,
    WriteStat,
)
from scale.base_files import SCHEMA_JSON
from scale.shapes import BYTES_OF_A_ROW, LOG_BYTES, TableKind, TableShape

WRITE_TOKEN = "0-1-0"
CHANGED_ROWS = 5_000
"""Number of rows that a commit changes in a file group."""

INTERVAL, DURATION = timedelta(minutes=10), timedelta(minutes=5)
_OWN_TIME, _EARLIER_TIME, _REQUEST = "1" * 17, "2" * 17, "load-XXXXXXXX"


@dataclass(frozen=True)
class Commits:
    """The commits of a table.

    Attributes:
        begin: requested time of commit 0, in UTC.
    """

    shape: TableShape
    begin: datetime
    _contents: dict[tuple[int, bool, bool], bytes] = field(default_factory=dict)

    @property
    def action(self) -> Action:
        return Action.DELTA_COMMIT if self.shape.kind.has_logs else Action.COMMIT

    def moment(self, commit: int) -> datetime:
        return self.begin + commit * INTERVAL

    def time(self, commit: int) -> str:
        """Requested time of a commit."""
        return instant_text(self.moment(commit))

    def instants(self, commit: int) -> tuple[Instant, Instant, Instant]:
        """The requested, inflight and completed instant of a commit."""
        timed = self.shape.kind.version.layout.has_completion_time_in_names
        completed = instant_text(self.moment(commit) + DURATION) if timed else None
        requested, inflight, done = (
            Instant(
                requested_time=self.time(commit),
                action=self.action,
                state=state,
                completion_time=completed if state is InstantState.COMPLETED else None,
            )
            for state in InstantState
        )
        return requested, inflight, done

    def writes_logs(self, commit: int) -> bool:
        """Whether a commit writes log files: the active commits of a merge-on-read table do."""
        return self.shape.kind.has_logs and commit >= self.shape.archived_commits

    def metadata(self, commit: int) -> bytes:
        """Content of the completed file of a commit.

        Commits that write the same file groups differ only in times and request ids of fixed lengths. So one of them is
        encoded, and the strings are replaced in the bytes.
        """
        shape = self.shape
        is_first, logs = commit < shape.period, self.writes_logs(commit)
        key = (commit % shape.period, is_first, logs)
        if key not in self._contents:
            found = commit_metadata(
                shape, commit, _OWN_TIME, NEW_FILE_GROUP if is_first else _EARLIER_TIME, logs=logs
            )
            self._contents[key] = encode_commit_metadata(found, shape.kind.version)
        content = self._contents[key].replace(_OWN_TIME.encode(), self.time(commit).encode())
        content = content.replace(_REQUEST.encode(), f"load-{commit:08d}".encode())
        if not is_first:
            content = content.replace(_EARLIER_TIME.encode(), self.time(commit - shape.period).encode())
        return content


def commit_metadata(
    shape: TableShape,
    commit: int,
    own_time: str,
    earlier_time: str,
    *,
    logs: bool,
    request_id: str = _REQUEST,
) -> CommitMetadata:
    """Return the metadata of a commit that changes some rows of each of its file groups.

    Args:
        earlier_time: requested time of the commit that wrote the file groups before.
        logs: whether the commit writes log files instead of base files.
    """
    stats: dict[str, tuple[WriteStat, ...]] = {}
    for group in shape.groups_of(commit):
        path = shape.group_id(group).partition_path
        stats[path] = (*stats.get(path, ()), _stat(shape, group, own_time, earlier_time, logs=logs))
    return CommitMetadata(
        operation_type=WriteOperation.UPSERT,
        partition_to_write_stats=stats,
        extra_metadata={SCHEMA_KEY: SCHEMA_JSON, REQUEST_ID_KEY: request_id},
    )


def _stat(shape: TableShape, group: int, own_time: str, earlier_time: str, *, logs: bool) -> WriteStat:
    place, size = shape.group_id(group), shape.size_of(group)
    name = log_file_name(place.file_id, own_time) if logs else base_file_name(place.file_id, own_time)
    is_new = earlier_time == NEW_FILE_GROUP
    return WriteStat(
        file_id=place.file_id,
        partition_path=place.partition_path,
        path=f"{place.partition_path}/{name}",
        prev_commit=own_time if logs else earlier_time,
        num_writes=CHANGED_ROWS if logs else size // BYTES_OF_A_ROW,
        num_inserts=size // BYTES_OF_A_ROW if is_new else 0,
        num_update_writes=0 if is_new else CHANGED_ROWS,
        file_size_bytes=LOG_BYTES if logs else size,
        prev_base_file=None if is_new or logs else base_file_name(place.file_id, earlier_time),
    )


def base_file_name(file_id: str, time: str) -> str:
    return BaseFile(file_id=file_id, write_token=WRITE_TOKEN, instant_time=time).file_name


def log_file_name(file_id: str, time: str) -> str:
    """Name of a log file of table version 9."""
    return LogFile(file_id=file_id, instant_time=time, version=1, write_token=WRITE_TOKEN).file_name


def instant_text(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03d}"


def table_properties(kind: TableKind) -> dict[str, str]:
    """Properties of a generated table."""
    merge_on_read = {
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
    }
    return {
        "hoodie.table.name": "scale",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": str(int(kind.version)),
        "hoodie.timeline.layout.version": str(int(kind.version.layout)),
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.partition.fields": "day",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.table.create.schema": SCHEMA_JSON,
        **(merge_on_read if kind.has_logs else {}),
    }
