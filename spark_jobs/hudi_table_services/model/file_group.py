"""File groups and file slices (HoodieFileGroup, FileSlice; Hudi 1.2)."""

from dataclasses import dataclass

from hudi_table_services.model.data_file import BaseFile, LogFile


@dataclass(frozen=True, slots=True, order=True)
class FileGroupId:
    """Identity of a file group: its file id and its partition path. The path is ``""`` in tables without partitions."""

    partition_path: str
    file_id: str

    def __str__(self) -> str:
        return f"{self.partition_path or '.'}/{self.file_id}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FileSlice:
    """One version of a file group: at most one base file, and the log files written after it.

    Table version 6: a log file belongs to the slice whose base instant is in the name of the log file.
    Table version 8 and later: a log file belongs to the slice that was current when its delta commit completed.
    """

    file_group_id: FileGroupId
    base_instant_time: str
    base_file: BaseFile | None = None
    log_files: tuple[LogFile, ...] = ()

    @property
    def base_file_path(self) -> str | None:
        """Return the path of the base file, relative to the base path; None if the slice has only log files."""
        if self.base_file is None:
            return None
        partition = self.file_group_id.partition_path
        name = self.base_file.file_name
        return f"{partition}/{name}" if partition else name

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of base file and log files, relative to the base path."""
        partition = self.file_group_id.partition_path
        names = [log.file_name for log in self.log_files]
        if self.base_file is not None:
            names.insert(0, self.base_file.file_name)
        return tuple(f"{partition}/{name}" if partition else name for name in names)

    @property
    def size_bytes(self) -> int:
        """Return the total size of base file and log files in bytes."""
        base = self.base_file.size_bytes if self.base_file else 0
        return base + sum(log.size_bytes for log in self.log_files)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTarget:
    """The new log file of a file slice: the parts of its name, and what its write stat says about the slice.

    Attributes:
        instant_time: time in the name of the log file, see `LogFile`.
        version: number of the log file in the slice.
        previous_commit: ``prevCommit`` of the write stat.
        base_file_name: name of the base file of the slice; empty if the write stat names none.
        earlier_logs: names of the log files of the slice that the write stat lists before the new one.
    """

    instant_time: str
    version: int
    previous_commit: str
    base_file_name: str = ""
    earlier_logs: tuple[str, ...] = ()
