"""Input and result of file sizing (UpsertPartitioner, WorkloadProfile, BucketInfo; Hudi 1.2).

*Inserts* are rows whose key is not in the table. *Updates*, including deletes, are rows whose key is in the table; they
are tagged to the file group that contains the key. Counts are numbers of rows. Sizes are in bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action

MAX_INDEX_BUCKETS = 100_000
"""Greatest supported number of buckets of a bucket index. File ids with a larger number are not recognized."""

BLOOM_FOOTER_BYTES_PER_RECORD = 7.19
"""Bytes of base64 text that a bloom filter needs per key at the default false-positive rate of 1e-9: 43.13 bits / 6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSizingOptions:
    """Limits of file sizing. A limit that exists in Hudi has Hudi's key and default.

    Attributes:
        max_file_size_bytes: `hoodie.parquet.max.file.size`; target size of a base file.
        small_file_limit_bytes: `hoodie.parquet.small.file.limit`; smaller files are padded; 0 means no padding.
        insert_split_size: `hoodie.copyonwrite.insert.split.size`; number of rows of a new file if auto split is off.
        insert_auto_split: `hoodie.copyonwrite.insert.auto.split`; whether the number of rows of a new file is
            derived from the record size.
        record_size_estimate_bytes: `hoodie.copyonwrite.record.size.estimate`; used if no size was measured.
        record_size_estimate_is_explicit: whether the user set the estimate. If so, the estimate takes precedence over
            the size measured on the batch.
        estimation_threshold: `hoodie.record.size.estimation.threshold`. Commits with fewer bytes than this fraction of
            the small-file limit are ignored. Parity only: without parity, each file is measured without its footer, so
            small commits do not distort the estimate.
        small_file_candidates_limit: `hoodie.merge.small.file.group.candidates.limit`; number of files to pad per
            partition of a merge-on-read table. Parity only.
        estimator_max_commits: `_hoodie.record.size.estimator.max.commits`; number of commits to consider. Parity only.
        estimator_metadata_bytes: `hoodie.record.size.estimator.average.metadata.size`; deducted once per
            commit. Parity only; otherwise the actual footer size of each file is deducted.
        parity: plan exactly as Hudi 1.x does.
        footer_bytes_per_record: growth of the footer per row, e.g. `BLOOM_FOOTER_BYTES_PER_RECORD`.
        footer_max_records: `hoodie.bloom.index.filter.dynamic.max.entries`; the footer does not grow with rows beyond
            this number.
        footer_base_bytes: bytes of a footer that do not depend on rows (schema, statistics).
        remainder_tolerance: a file may exceed the maximum size by this fraction of the maximum size. A small remainder
            of rows then does not need a separate file. 0 means that no file may exceed the maximum size.

    Raises:
        InvalidRequestError: a value is out of bounds, or the small-file limit is above the maximum file size.
    """

    max_file_size_bytes: int
    small_file_limit_bytes: int
    insert_split_size: int
    insert_auto_split: bool
    record_size_estimate_bytes: int
    record_size_estimate_is_explicit: bool = False
    estimation_threshold: float
    small_file_candidates_limit: int
    estimator_max_commits: int
    estimator_metadata_bytes: int
    parity: bool
    footer_bytes_per_record: float = 0.0
    footer_max_records: int
    footer_base_bytes: int = 0
    remainder_tolerance: float = 0.05

    def __post_init__(self) -> None:
        _require_at_least(1, "hoodie.parquet.max.file.size", self.max_file_size_bytes)
        _require_at_least(0, "hoodie.parquet.small.file.limit", self.small_file_limit_bytes)
        _require_at_least(1, "hoodie.copyonwrite.insert.split.size", self.insert_split_size)
        _require_at_least(1, "hoodie.copyonwrite.record.size.estimate", self.record_size_estimate_bytes)
        _require_at_least(0, "hoodie.record.size.estimation.threshold", self.estimation_threshold)
        _require_at_least(
            0, "hoodie.merge.small.file.group.candidates.limit", self.small_file_candidates_limit
        )
        _require_at_least(0, "_hoodie.record.size.estimator.max.commits", self.estimator_max_commits)
        _require_at_least(
            0, "hoodie.record.size.estimator.average.metadata.size", self.estimator_metadata_bytes
        )
        _require_at_least(0, "footer_bytes_per_record", self.footer_bytes_per_record)
        _require_at_least(0, "footer_max_records", self.footer_max_records)
        _require_at_least(0, "footer_base_bytes", self.footer_base_bytes)
        _require_at_least(0, "remainder_tolerance", self.remainder_tolerance)
        if self.small_file_limit_bytes > self.max_file_size_bytes:
            raise InvalidRequestError(
                f"hoodie.parquet.small.file.limit ({self.small_file_limit_bytes}) is above "
                f"hoodie.parquet.max.file.size ({self.max_file_size_bytes}): even a file of "
                "the maximum size would count as small.",
                hint="Lower the small-file limit, or raise the max file size.",
            )

    @property
    def pads_small_files(self) -> bool:
        return self.small_file_limit_bytes > 0


def _require_at_least(bound: float, name: str, value: float) -> None:
    # `not >=` instead of `<`, so that NaN is also an error.
    if not value >= bound:
        raise InvalidRequestError(f"{name} is {value}, but must be at least {bound}.")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FileSample:
    """Rows and bytes of one base file, used to estimate the record size. Sources: its Parquet footer and the storage.

    Attributes:
        instant_time: requested time of the instant that wrote the file.
        footer_size_bytes: bytes of the Parquet footer, with bloom filter and schema, without data pages.
    """

    partition_path: str
    file_id: str
    instant_time: str
    record_count: int
    file_size_bytes: int
    footer_size_bytes: int

    @property
    def data_size_bytes(self) -> int:
        """Return the number of bytes that contain rows. If 0 or less, the file is not usable for the estimate."""
        return self.file_size_bytes - self.footer_size_bytes


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class CommitTotals:
    """Bytes and rows that one completed instant wrote. Hudi estimates the record size from these totals. Parity only.

    There is one `CommitTotals` for each base file of a deltacommit, and one for each instant of another action.
    """

    requested_time: str
    action: Action
    bytes_written: int
    records_written: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class UpdateWorkload:
    """Rows of the batch that update one existing file group, because the file group contains their key.

    Attributes:
        update_count: total number of updates, deletes and moved rows that are tagged to the file group.
        inserted_by_move: number of these rows that move to this file group from another partition; each row adds a
            whole record.
        delete_count: number of these rows that are deletes; deletes do not increase the size of the file.
    """

    file_id: str
    update_count: int
    inserted_by_move: int = 0
    delete_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionWorkload:
    """Rows of the batch for one partition path.

    Attributes:
        insert_count: number of rows that file sizing places, at least 0.
        insert_bytes_hint: encoded size of these inserts; None if not measured.
        index_buckets: with a bucket index, maps the number of each index bucket to the count of its inserts.
    """

    partition_path: str
    insert_count: int
    insert_bytes_hint: int | None = None
    updates: tuple[UpdateWorkload, ...] = ()
    index_buckets: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Row counts of a batch.

    Attributes:
        partitions: one value per partition path of the batch.
        batch_record_size: bytes per row without footer, measured by encoding a sample of the batch; None if not
            measured.
        commit_totals: input of Hudi's own estimate, in any order. Parity only.
    """

    partitions: tuple[PartitionWorkload, ...]
    batch_record_size: float | None = None
    commit_totals: tuple[CommitTotals, ...] = ()


class BucketKind(str, Enum):
    """Whether a write bucket rewrites an existing file group or creates a new one (BucketType)."""

    UPDATE = "UPDATE"
    INSERT = "INSERT"


class RecordSizeSource(str, Enum):
    """Source of the bytes per record, most reliable source first."""

    PARTITION_FILES = "base files of the partition"
    TABLE_FILES = "base files of the whole table"
    EXPLICIT_OPTION = "the given hoodie.copyonwrite.record.size.estimate"
    BATCH = "a sample of the incoming batch"
    FEW_RECORDS = "base files of the whole table, which has few records"
    DEFAULT_OPTION = "the default of hoodie.copyonwrite.record.size.estimate"
    COMMIT_HISTORY = "bytes and records of the latest commits"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSizeEstimate:
    """Bytes of one row in a base file, and the source of this estimate.

    Attributes:
        bytes_per_record: estimated bytes per row, above 0.
        sampled_files: number of base files that the estimate is based on; with COMMIT_HISTORY, number of commits.
        sampled_records: number of rows in these files.
        odd_files: number of sampled base files that the estimate ignores, because they have no rows or rows of unusual
            size.
    """

    bytes_per_record: float
    source: RecordSizeSource
    sampled_files: int = 0
    sampled_records: int = 0
    odd_files: int = 0

    def __str__(self) -> str:
        text = f"{self.bytes_per_record:.1f} bytes per record from {self.source.value}"
        if not self.sampled_files:
            return text
        sampled = "commits" if self.source is RecordSizeSource.COMMIT_HISTORY else "files"
        odd = f", ignored atypical files: {self.odd_files}" if self.odd_files else ""
        return f"{text} ({sampled}: {self.sampled_files}, records: {self.sampled_records}{odd})"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBucket:
    """One target of incoming rows (BucketInfo). Each bucket has its own write task.

    Attributes:
        file_id: the file group to rewrite. None for INSERT, because the writer generates the file id.
        update_count: number of rows tagged to the file group.
        insert_count: number of inserts placed in this bucket. With parity, this number is an expected value.
        current_size_bytes: size of the base file to be rewritten; 0 for INSERT.
        expected_size_bytes: estimated size of the file that will be written.
        index_bucket: number of the index bucket whose inserts this write bucket gets; None if the table has no bucket
            index.
    """

    kind: BucketKind
    partition_path: str
    file_id: str | None
    update_count: int
    insert_count: int
    current_size_bytes: int
    expected_size_bytes: int
    index_bucket: int | None = None

    @property
    def is_padded(self) -> bool:
        """Whether the bucket adds inserts to an existing file group."""
        return self.kind is BucketKind.UPDATE and self.insert_count > 0


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SkippedFileGroup:
    """A file group that was considered for padding but receives no inserts, with the reason."""

    file_group_id: FileGroupId
    size_bytes: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSizing:
    """Write buckets of one partition path.

    Attributes:
        buckets: first the UPDATE buckets, ordered by file id; then the INSERT buckets, largest first. No bucket is
            empty.
        skipped: file groups that were considered for padding but receive no inserts, ordered by file id. Empty if the
            batch has no inserts for the partition path.
        record_size: the estimate used for this partition path.
        records_per_new_file: number of rows of a full new file.
    """

    partition_path: str
    buckets: tuple[WriteBucket, ...]
    skipped: tuple[SkippedFileGroup, ...]
    record_size: RecordSizeEstimate
    records_per_new_file: int

    @property
    def padded_buckets(self) -> tuple[WriteBucket, ...]:
        return tuple(b for b in self.buckets if b.is_padded)

    @property
    def new_buckets(self) -> tuple[WriteBucket, ...]:
        return tuple(b for b in self.buckets if b.kind is BucketKind.INSERT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSizingPlan:
    """Placement of every row of the batch. The partitions are ordered by their path."""

    partitions: tuple[PartitionSizing, ...]

    @property
    def buckets(self) -> tuple[WriteBucket, ...]:
        return tuple(b for p in self.partitions for b in p.buckets)

    @property
    def skipped(self) -> tuple[SkippedFileGroup, ...]:
        return tuple(s for p in self.partitions for s in p.skipped)

    @property
    def padded_buckets(self) -> tuple[WriteBucket, ...]:
        return tuple(b for b in self.buckets if b.is_padded)

    @property
    def new_buckets(self) -> tuple[WriteBucket, ...]:
        return tuple(b for b in self.buckets if b.kind is BucketKind.INSERT)

    @property
    def insert_count(self) -> int:
        return sum(b.insert_count for b in self.buckets)

    @property
    def update_count(self) -> int:
        return sum(b.update_count for b in self.buckets)

    @property
    def is_empty(self) -> bool:
        """Whether the batch has no rows to write."""
        return not self.buckets
