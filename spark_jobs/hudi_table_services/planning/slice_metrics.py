"""Compute the metrics of slices in clustering and compaction plans (FileSliceMetricUtils; Hudi 0.15.0 and 1.2.0)."""

from collections.abc import Iterable
from typing import NamedTuple

from hudi_table_services.model.file_group import FileSlice

_MIB = 1 << 20


class IoMib(NamedTuple):
    """Expected input and output in whole mebibytes, rounded down."""

    read: int
    written: int

    @property
    def total(self) -> int:
        return self.read + self.written


def io_mib(base_bytes: int, log_bytes: int, new_base_file_bytes: int) -> IoMib:
    """Return the expected input and output of the rewrite of one slice.

    Args:
        base_bytes: size of the base file; 0 if the slice has no base file.
        new_base_file_bytes: assumed size of the new base file if the slice has no base file.
    """
    return IoMib((base_bytes + log_bytes) // _MIB, (base_bytes or new_base_file_bytes) // _MIB)


def slice_metrics(file_slices: Iterable[FileSlice], new_base_file_bytes: int) -> dict[str, float]:
    """Return the metrics of slices that are rewritten together. Unknown file sizes count as 0.

    Args:
        new_base_file_bytes: assumed size of the new base file of a slice without a base file.
    """
    logs = written = read = log_bytes = 0
    for file_slice in file_slices:
        base = max(file_slice.base_file.size_bytes, 0) if file_slice.base_file else 0
        logs += len(file_slice.log_files)
        log_bytes += sum(max(log.size_bytes, 0) for log in file_slice.log_files)
        read += base
        written += base or new_base_file_bytes
    io = IoMib((read + log_bytes) // _MIB, written // _MIB)
    return {
        "TOTAL_LOG_FILES": float(logs),
        "TOTAL_IO_MB": float(io.total),
        "TOTAL_IO_READ_MB": float(io.read),
        "TOTAL_LOG_FILES_SIZE": float(log_bytes),
        "TOTAL_IO_WRITE_MB": float(io.written),
    }
