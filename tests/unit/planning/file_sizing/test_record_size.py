"""Bytes per record: the sampled files, the atypical files that are ignored, and the fallbacks without samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.file_sizing import (
    FileSample,
    FileSizingOptions,
    PartitionWorkload,
    RecordSizeEstimate,
    RecordSizeSource,
    Workload,
)
from hudi_table_services.planning.file_sizing.record_size import estimate_record_sizes
from support.default_options import file_sizing_options

FOOTER = 437_000


def a_sample(width: float, records: int = 1_000, partition: str = "p", file_id: str = "f") -> FileSample:
    return FileSample(
        partition_path=partition,
        file_id=file_id,
        instant_time="20250101000000000",
        record_count=records,
        file_size_bytes=int(width * records) + FOOTER,
        footer_size_bytes=FOOTER,
    )


def estimate(
    samples: list[FileSample],
    *,
    batch: float | None = None,
    hint: int | None = None,
    options: FileSizingOptions | None = None,
) -> RecordSizeEstimate:
    partition = PartitionWorkload(partition_path="p", insert_count=10, insert_bytes_hint=hint)
    workload = Workload(partitions=(partition,), batch_record_size=batch)
    return estimate_record_sizes(workload, samples, options or file_sizing_options())["p"]


EXPLICIT = file_sizing_options(record_size_estimate_bytes=300, record_size_estimate_is_explicit=True)


def test_footers_do_not_count_as_record_bytes() -> None:
    expected = RecordSizeEstimate(
        bytes_per_record=50.0,
        source=RecordSizeSource.PARTITION_FILES,
        sampled_files=1,
        sampled_records=1_000,
    )
    assert estimate([a_sample(50)]) == expected


def test_files_of_the_partition_take_precedence_over_files_of_the_table() -> None:
    found = estimate([a_sample(50), a_sample(500, records=10**6, partition="other")])
    assert (found.bytes_per_record, found.source) == (50.0, RecordSizeSource.PARTITION_FILES)


def test_a_partition_without_files_uses_the_files_of_the_table() -> None:
    found = estimate([a_sample(500, partition="other")], batch=70.0, options=EXPLICIT)
    assert (found.bytes_per_record, found.source) == (500.0, RecordSizeSource.TABLE_FILES)


def test_an_atypical_file_does_not_change_the_estimate() -> None:
    usual = [a_sample(100, file_id=f"f{i}") for i in range(9)]
    found = estimate([*usual, a_sample(9_000, file_id="odd")])
    assert (found.bytes_per_record, found.sampled_files, found.odd_files) == (100.0, 9, 1)


def test_a_thousand_tiny_files_do_not_outweigh_one_large_file() -> None:
    tiny = [a_sample(900, records=5, file_id=f"tiny{i}") for i in range(1_000)]
    assert estimate([*tiny, a_sample(100, records=10**6, file_id="large")]).bytes_per_record == 100.0


def test_files_without_rows_or_data_are_ignored() -> None:
    empty = a_sample(0, records=0, file_id="empty")
    broken = a_sample(-100, file_id="broken")
    found = estimate([empty, broken, a_sample(80)])
    assert (found.bytes_per_record, found.sampled_files, found.odd_files) == (80.0, 1, 2)
    assert estimate([empty, broken]).source is RecordSizeSource.DEFAULT_OPTION


def test_files_of_few_records_count_only_as_a_last_resort() -> None:
    few = a_sample(700, records=10)
    assert estimate([few], batch=70.0).source is RecordSizeSource.BATCH
    assert estimate([few], options=EXPLICIT).source is RecordSizeSource.EXPLICIT_OPTION
    found = estimate([few])
    assert (found.bytes_per_record, found.source) == (700.0, RecordSizeSource.FEW_RECORDS)


def test_an_explicit_estimate_takes_precedence_over_the_size_of_the_batch() -> None:
    found = estimate([], batch=70.0, options=EXPLICIT)
    assert (found.bytes_per_record, found.source) == (300.0, RecordSizeSource.EXPLICIT_OPTION)


def test_the_size_of_the_batch_takes_precedence_over_the_default() -> None:
    assert estimate([], batch=70.0).bytes_per_record == 70.0
    assert estimate([], batch=70.0, hint=900).bytes_per_record == 90.0
    assert estimate([], batch=0.0).source is RecordSizeSource.DEFAULT_OPTION


def test_without_samples_and_batch_size_the_default_is_used() -> None:
    expected = RecordSizeEstimate(bytes_per_record=1024.0, source=RecordSizeSource.DEFAULT_OPTION)
    assert estimate([]) == expected


def test_the_estimate_names_its_source() -> None:
    assert str(estimate([])).startswith(
        "1024.0 bytes per record from the default of hoodie.copyonwrite.record.size.estimate"
    )
    usual = [a_sample(100, file_id=f"f{i}") for i in range(3)]
    assert str(estimate([*usual, a_sample(9_000, records=1, file_id="odd")])) == (
        "100.0 bytes per record from base files of the partition (files: 3, records: 3000, ignored atypical files: 1)"
    )


samples_of_any_size = st.builds(
    a_sample,
    st.floats(1, 10_000),
    records=st.integers(0, 10**7),
    partition=st.sampled_from(["p", "q"]),
    file_id=st.sampled_from(["a", "b", "c", "d"]),
)


@given(st.lists(samples_of_any_size, max_size=12), st.randoms(use_true_random=False))
def test_order_and_repetition_of_samples_do_not_matter(samples: list[FileSample], random: object) -> None:
    shuffled = [*samples, *samples]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert estimate(shuffled) == estimate(samples)


@given(st.lists(samples_of_any_size, max_size=12))
def test_the_estimate_is_between_the_smallest_and_largest_sample(samples: list[FileSample]) -> None:
    found = estimate(samples)
    widths = [
        s.data_size_bytes / s.record_count for s in samples if s.record_count > 0 and s.data_size_bytes > 0
    ]
    if found.sampled_files:
        assert min(widths) * 0.999 <= found.bytes_per_record <= max(widths) * 1.001
    else:
        assert found.bytes_per_record == 1024.0


@pytest.mark.parametrize("odd_share", [0.1, 0.3, 0.45])
def test_a_minority_of_atypical_rows_does_not_change_the_estimate(odd_share: float) -> None:
    odd = int(100_000 * odd_share)
    samples = [
        a_sample(100, records=100_000 - odd, file_id="usual"),
        a_sample(5_000, records=odd, file_id="odd"),
    ]
    assert estimate(samples).bytes_per_record == 100.0
