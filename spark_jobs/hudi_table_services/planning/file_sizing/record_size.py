"""Estimate the bytes of one row in a base file.

Hudi divides the bytes of whole commits, including footers, by their rows, and uses one figure for the whole table
(AverageRecordSizeEstimator, Hudi 1.2; see `file_sizing.hudi_parity`). In this module every base file is one sample: its
bytes without the footer, divided by its rows. Samples are weighted by rows, so large files dominate the estimate.
Files with unusual row sizes are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hudi_table_services.model.file_sizing import (
    FileSample,
    FileSizingOptions,
    PartitionWorkload,
    RecordSizeEstimate,
    RecordSizeSource,
    Workload,
)

MINIMUM_RECORDS = 100
"""Samples that together have fewer rows are used only as a last resort, because page headers and dictionaries dominate
the sizes of their files."""

ODD_FACTOR = 2.0
"""Files whose mean row is larger or smaller than the median by more than this factor are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """Bytes per row measured on a set of base files; `bytes_per_record` is meaningless if `records` is 0."""

    bytes_per_record: float = 0.0
    files: int = 0
    records: int = 0
    odd_files: int = 0


def estimate_record_sizes(
    workload: Workload, samples: Iterable[FileSample], options: FileSizingOptions
) -> Mapping[str, RecordSizeEstimate]:
    """Map every partition path of the workload to its estimate of bytes per record.

    The function uses the first available source in this order: base files of the partition; base files of the whole
    table (both with at least `MINIMUM_RECORDS` rows); the estimate from the options; the size measured on the batch;
    base files with fewer rows; the default. Repeated samples count once. The order of samples does not matter.
    """
    distinct = sorted(set(samples))
    by_partition: dict[str, list[FileSample]] = {p.partition_path: [] for p in workload.partitions}
    for sample in distinct:
        if sample.partition_path in by_partition:
            by_partition[sample.partition_path].append(sample)
    table = _size_near_median(distinct)
    return {
        partition.partition_path: _choose(
            _size_near_median(by_partition[partition.partition_path]),
            table,
            incoming_record_size(partition, workload.batch_record_size),
            options,
        )
        for partition in workload.partitions
    }


def incoming_record_size(partition: PartitionWorkload, batch_record_size: float | None) -> float | None:
    """Return the bytes per row of the batch in this partition; None if the size was not measured."""
    hint = partition.insert_bytes_hint
    if hint is not None and hint > 0 and partition.insert_count > 0:
        return hint / partition.insert_count
    if batch_record_size is not None and batch_record_size > 0:
        return batch_record_size
    return None


def _choose(
    partition: _Evidence, table: _Evidence, incoming: float | None, options: FileSizingOptions
) -> RecordSizeEstimate:
    if partition.records >= MINIMUM_RECORDS:
        return _from_files(partition, RecordSizeSource.PARTITION_FILES)
    if table.records >= MINIMUM_RECORDS:
        return _from_files(table, RecordSizeSource.TABLE_FILES)
    if options.record_size_estimate_is_explicit:
        return _from_option(options, RecordSizeSource.EXPLICIT_OPTION)
    if incoming is not None:
        return RecordSizeEstimate(bytes_per_record=incoming, source=RecordSizeSource.BATCH)
    if table.records > 0:
        return _from_files(table, RecordSizeSource.FEW_RECORDS)
    return _from_option(options, RecordSizeSource.DEFAULT_OPTION)


def _from_option(options: FileSizingOptions, source: RecordSizeSource) -> RecordSizeEstimate:
    return RecordSizeEstimate(bytes_per_record=float(options.record_size_estimate_bytes), source=source)


def _from_files(evidence: _Evidence, source: RecordSizeSource) -> RecordSizeEstimate:
    return RecordSizeEstimate(
        bytes_per_record=evidence.bytes_per_record,
        source=source,
        sampled_files=evidence.files,
        sampled_records=evidence.records,
        odd_files=evidence.odd_files,
    )


def _size_near_median(samples: Sequence[FileSample]) -> _Evidence:
    """Return the bytes per record of the files near the median. The median is weighted by rows."""
    usable = [s for s in samples if s.record_count > 0 and s.data_size_bytes > 0]
    if not usable:
        return _Evidence(odd_files=len(samples))
    median = _median_record_size(usable)
    typical = [
        s for s in usable if median / ODD_FACTOR <= s.data_size_bytes / s.record_count <= median * ODD_FACTOR
    ]
    records = sum(s.record_count for s in typical)
    return _Evidence(
        bytes_per_record=sum(s.data_size_bytes for s in typical) / records,
        files=len(typical),
        records=records,
        odd_files=len(samples) - len(typical),
    )


def _median_record_size(usable: Sequence[FileSample]) -> float:
    weighted = sorted((s.data_size_bytes / s.record_count, s.record_count) for s in usable)
    half = sum(records for _, records in weighted) / 2
    seen = 0
    for size, records in weighted:
        seen += records
        if seen >= half:
            return size
    return weighted[-1][0]
