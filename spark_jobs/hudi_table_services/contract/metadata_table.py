"""Request and report of the job that rebuilds the metadata table, and the state of this table in a health report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Report, Section, outcome_line
from hudi_table_services.contract.request import JobRequest, refuse_text_for_lists
from hudi_table_services.contract.text import human_bytes
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

METADATA_TABLE = "metadata_table"
"""Name of the service."""

ALL = "all"
"""Value of `drop` that drops the whole metadata table."""

_HEALTH_LISTS = (
    "being_built",
    "pending",
    "missing_instants",
    "unexplained_instants",
    "difference_examples",
    "wrong_statistics_examples",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildMetadataTableRequest(JobRequest):
    """Build partitions of the metadata table from the files of the table, or drop partitions.

    Attributes:
        partitions: partitions to build, for example ``column_stats``. If both `partitions` and `drop` are empty, the
            job builds the partitions that Hudi builds by default and the partitions that the table has.
        drop: partitions to drop first, or ``all``.
        preview: report what would be dropped and built, and write nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = METADATA_TABLE

    partitions: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        refuse_text_for_lists(partitions=self.partitions, drop=self.drop)
        if ALL in self.drop and len(self.drop) > 1:
            raise InvalidRequestError(f"drop contains {ALL!r} and other names.", hint=f"Give only {ALL!r}.")
        if any(not name or "/" in name or name.startswith(".") for name in (*self.partitions, *self.drop)):
            raise InvalidRequestError("A name in partitions or drop is not the name of a partition.")

    @property
    def work(self) -> str:
        return "rebuild_metadata_table"

    @property
    def builds(self) -> bool:
        """Whether the job builds partitions: always, unless the request only names partitions to drop."""
        return bool(self.partitions) or not self.drop


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPartitionReport:
    """One partition of the metadata table that the job built; in a preview, a partition that the job would build.

    Attributes:
        name: name of the partition.
        file_groups: number of its file groups.
        records: number of its records; in a preview of statistics and bloom filters, the greatest possible number.
        size_bytes: size of its base files; in a preview, an estimate.
    """

    name: str
    file_groups: int = 0
    records: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTableReport(Report):
    """Result of a rebuild of the metadata table; in a preview, the expected result.

    Attributes:
        partitions_before: partitions that the properties of the table listed before the job.
        dropped: partitions that the job dropped.
        is_whole: whether the job replaced the whole metadata table.
        built: partitions that the job built, in the order in which it built them.
        data_files: number of data files of the table that the new partitions describe.
        data_partitions: number of partition paths of the table.
    """

    service: ClassVar[str] = METADATA_TABLE

    partitions_before: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    is_whole: bool = False
    built: tuple[MetadataPartitionReport, ...] = ()
    data_files: int = 0
    data_partitions: int = 0

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "MetadataTableReport":
        fields = dict(values)
        for name in ("partitions_before", "dropped"):
            fields[name] = tuple(fields[name])
        fields["built"] = tuple(MetadataPartitionReport(**each) for each in fields["built"])
        return cls(**fields)

    def summary(self, result: "JobResult") -> str:
        parts = [f"dropped {', '.join(self.dropped)}"] if self.dropped else []
        parts += [f"built {', '.join(each.name for each in self.built)}"] if self.built else []
        return outcome_line(result, "; ".join(parts))

    def sections(self, result: "JobResult") -> list[Section]:
        facts = [f"{self.data_files} data files in {self.data_partitions} partitions"] if self.built else []
        if self.built:
            facts.append("all partitions are new" if self.is_whole else "the other partitions stay")
        return [
            ("Metadata table", facts),
            ("Partitions before", list(self.partitions_before)),
            ("Dropped", list(self.dropped)),
            ("Built", [_line(each, is_estimate=result.is_preview) for each in self.built]),
        ]


def _line(built: MetadataPartitionReport, *, is_estimate: bool) -> str:
    about = "about " if is_estimate else ""
    groups = f"{built.file_groups} file groups"
    return f"{built.name}: {groups}, {about}{built.records} records, {about}{human_bytes(built.size_bytes)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTableHealth:
    """State of a metadata table. All fields are empty if the table has no metadata table.

    Attributes:
        being_built: partitions that a writer is building, according to the properties of the table.
        unusable: why jobs cannot list the files of the table from its metadata table; empty if they can.
        problem: details of `unusable`, or damage in a partition other than `files`; may be empty.
        path: the file or folder that is the cause of `problem`, relative to the base path; may be empty.
        refusal: why jobs of this project refuse to change the table because of its metadata table; empty if they do
            not refuse.
        last_compaction: requested time of the newest completed compaction; empty if there is none on the active
            timeline of the metadata table.
        pending: pending instants of the metadata table, each as action and requested time.
        missing_instants: requested times of some completed instants of the table that the metadata table lacks.
        unexplained_instants: requested times of some delta commits whose instants the table does not have.
        difference_examples: some paths of files that the metadata table and the folders describe differently, each
            with the difference.
        wrong_statistics_examples: some records of `column_stats` and `partition_stats` with which readers would skip
            rows, each as a string. Only a deep check compares these records.
        not_compared: why the metadata table was not compared with the table; empty if it was compared.
    """

    being_built: tuple[str, ...] = ()
    unusable: str = ""
    problem: str = ""
    path: str = ""
    refusal: str = ""
    last_compaction: str = ""
    pending: tuple[str, ...] = ()
    missing_instants: tuple[str, ...] = ()
    unexplained_instants: tuple[str, ...] = ()
    difference_examples: tuple[str, ...] = ()
    wrong_statistics_examples: tuple[str, ...] = ()
    not_compared: str = ""

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "MetadataTableHealth":
        """Build the values from a part of a result document. Raises TypeError for an unknown field."""
        fields: dict[str, Any] = {
            name: tuple(v) if name in _HEALTH_LISTS else v for name, v in values.items()
        }
        return cls(**fields)
