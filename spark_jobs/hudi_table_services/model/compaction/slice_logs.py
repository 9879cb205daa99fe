"""The log files of a slice, and of a whole table, that no compaction has merged yet. Times are instant times."""

import math
from dataclasses import dataclass

from hudi_table_services.model.file_group import FileSlice


@dataclass(frozen=True, slots=True)
class SliceLogs:
    """The log files of one slice that no compaction has merged: the read amplification of the slice.

    Attributes:
        base_bytes: size of the base file in bytes; 0 if the slice has no base file.
        log_bytes: total size of the log files in bytes.
        oldest_log: requested time of the delta commit that wrote the oldest log file. In table version 6, the names of
            log files do not contain this time, so this attribute is the earliest possible time.
    """

    file_slice: FileSlice
    base_bytes: int
    log_bytes: int
    oldest_log: str

    @property
    def log_files(self) -> int:
        return len(self.file_slice.log_files)

    @property
    def log_ratio(self) -> float:
        """Return the number of log bytes per byte of the base file; infinite without a base file."""
        return self.log_bytes / self.base_bytes if self.base_bytes > 0 else math.inf

    @property
    def rewrite_bytes(self) -> int:
        """Return the bytes that a compaction of the slice reads and writes, if the new file is as large as its input.

        If the slice has no base file, the new file is assumed to be as large as the log files.
        """
        return self.base_bytes + self.log_bytes + (self.base_bytes or self.log_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAmplification:
    """What a snapshot query reads in addition to base files.

    Attributes:
        slices: the slices with log files, by partition path, then by file id.
        slices_total: number of all slices.
        base_bytes_total: total size of the base files of all slices in bytes.
    """

    slices: tuple[SliceLogs, ...] = ()
    slices_total: int = 0
    base_bytes_total: int = 0

    @property
    def log_files(self) -> int:
        return sum(s.log_files for s in self.slices)

    @property
    def log_bytes(self) -> int:
        return sum(s.log_bytes for s in self.slices)

    @property
    def oldest_log(self) -> str | None:
        """Return the requested time of the oldest unmerged log file; None if there are no log files."""
        return min((s.oldest_log for s in self.slices), default=None)

    @property
    def log_ratio(self) -> float:
        """Return the log bytes per byte of all base files; infinite if the table has only log files."""
        if not self.log_bytes:
            return 0.0
        return self.log_bytes / self.base_bytes_total if self.base_bytes_total > 0 else math.inf
