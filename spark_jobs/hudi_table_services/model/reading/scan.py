"""What a read opens, what it leaves out, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.metadata_table import FileColumnRange

ColumnRanges = Mapping[str, Mapping[str, FileColumnRange]]
"""Maps the path of a file, or of a partition, to the ranges of its columns by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippingFacts:
    """What the indexes of a metadata table say about the files of a read.

    Attributes:
        file_ranges: ranges of columns in data files, by path. Files without statistics are missing.
        partition_ranges: ranges of columns in partitions, by partition path.
        located: the file groups that contain the wanted record keys; None if the record index was not searched.
        notes: sentences that say which index was not used, and why.
    """

    file_ranges: ColumnRanges = field(default_factory=dict)
    partition_ranges: ColumnRanges = field(default_factory=dict)
    located: frozenset[FileGroupId] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedSlices:
    """File slices that a read leaves out for one reason.

    Attributes:
        reason: words that follow "skipped because", such as ``partition path: p = 'a'``.
        size_bytes: size of the base files and log files.
    """

    reason: str
    slice_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """The file slices that a read opens.

    Attributes:
        slices: sorted by partition path and file id.
        skipped: the file slices that the read leaves out, in the order in which the reasons were checked.
        notes: further sentences for the user.
    """

    slices: tuple[FileSlice, ...]
    skipped: tuple[SkippedSlices, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.slices)
