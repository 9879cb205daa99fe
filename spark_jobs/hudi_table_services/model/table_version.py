"""Table versions and the differences between them (HoodieTableVersion, TimelineLayoutVersion; Hudi 1.2)."""

from enum import Enum, IntEnum

from hudi_table_services.errors import UnsupportedTableError


class TableType(str, Enum):
    """Where updates are stored: in rewritten base files, or in log files that readers merge."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class TimelineLayout(IntEnum):
    """Layout 1: instants in ``.hoodie``. Layout 2: instants in ``.hoodie/timeline``, with completion times in names."""

    V1 = 1
    V2 = 2

    @property
    def timeline_folder(self) -> str:
        """Return the folder of the active timeline, relative to the base path."""
        return ".hoodie" if self is TimelineLayout.V1 else ".hoodie/timeline"

    @property
    def has_completion_time_in_names(self) -> bool:
        return self is TimelineLayout.V2


class TableVersion(IntEnum):
    """Version of the on-disk format, ``hoodie.table.version``.

    This release reads 4 and 5, and reads and writes 6, 8 and 9. Version 7 was never released.
    """

    V4 = 4
    V5 = 5
    V6 = 6
    V8 = 8
    V9 = 9

    @classmethod
    def parse(cls, text: str) -> "TableVersion":
        """Parse a version number. Raises UnsupportedTableError for a version that is not supported."""
        try:
            return cls(int(text))
        except ValueError:
            is_later = text.isdecimal() and int(text) > max(cls)
            cure = (
                "A later release of Hudi created or upgraded the table. Install a later release of "
                "airflow-provider-hudi, or downgrade the table with Hudi. "
                if is_later
                else ""
            )
            raise UnsupportedTableError(
                f"Table version {text!r} is not supported.",
                hint=f"{cure}Supported for reading: 4, 5, 6, 8, 9; for writing: 6, 8, 9.",
            ) from None

    @property
    def layout(self) -> TimelineLayout:
        return TimelineLayout.V2 if self >= TableVersion.V8 else TimelineLayout.V1

    @property
    def is_writable(self) -> bool:
        return self >= TableVersion.V6

    @property
    def stores_commit_metadata_as_avro(self) -> bool:
        """Whether commit metadata is stored in Avro container files (versions 8 and 9). Older versions use JSON."""
        return self >= TableVersion.V8

    @property
    def has_own_log_instants(self) -> bool:
        """Whether the name of a log file contains the time of the delta commit that wrote it (from version 8 on)."""
        return self >= TableVersion.V8

    @property
    def has_merge_mode(self) -> bool:
        """Whether ``hoodie.record.merge.mode`` exists (from version 8 on). Version 6 names a payload class instead."""
        return self >= TableVersion.V8

    @property
    def names_ordering_fields(self) -> bool:
        """Whether ``hoodie.table.ordering.fields`` replaces ``hoodie.table.precombine.field`` (from version 9 on)."""
        return self >= TableVersion.V9
