"""The result document: it is complete, survives encoding and decoding, and invalid documents are refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.contract.clustering import (
    ClusteringGroupReport,
    ClusteringPlanReport,
    ClusteringReport,
    ColumnSkipping,
)
from hudi_table_services.contract.result import (
    FileGroupChange,
    FileStats,
    JobError,
    JobResult,
    Outcome,
    PartitionReport,
    RowCounts,
)
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import CommitConflictError, HudiTableServiceError, InvalidRequestError
from hudi_table_services.services.registry import read_result

COUNTS = st.integers(0, 2**53)
SECONDS = st.floats(0, 1e6)
TEXTS = st.text(max_size=8)
FILES = st.lists(st.integers(0, 2**33), max_size=4).map(FileStats.of)
CHANGES = st.lists(st.builds(FileGroupChange), max_size=2).map(tuple)
PARTITIONS = st.builds(
    PartitionReport,
    partition_path=TEXTS,
    padded=CHANGES,
    opened=CHANGES,
    rewritten=CHANGES,
    skipped=st.lists(TEXTS, max_size=2).map(tuple),
    record_size=TEXTS,
    record_size_bytes=SECONDS,
    measured_record_size_bytes=st.one_of(st.none(), SECONDS),
    files_before=FILES,
    files_after=FILES,
)
PLANS = st.builds(
    ClusteringPlanReport,
    instant_time=TEXTS,
    state=TEXTS,
    completion_time=st.one_of(st.none(), TEXTS),
    groups=st.lists(st.builds(ClusteringGroupReport), max_size=2).map(tuple),
    skipping=st.lists(st.builds(ColumnSkipping, before=SECONDS, after=SECONDS), max_size=2).map(tuple),
)
CLUSTERINGS = st.builds(
    ClusteringReport,
    plans=st.lists(PLANS, max_size=2).map(tuple),
    skipped=st.lists(TEXTS, max_size=2).map(tuple),
)
RESULTS = st.builds(
    JobResult,
    request_id=TEXTS,
    outcome=st.sampled_from(Outcome),
    operation=TEXTS,
    table_name=TEXTS,
    base_path=TEXTS,
    reused=st.booleans(),
    reason=TEXTS,
    action=st.one_of(st.none(), TEXTS),
    instant_time=st.one_of(st.none(), TEXTS),
    completion_time=st.one_of(st.none(), TEXTS),
    rows=st.builds(
        RowCounts, read=COUNTS, inserted=COUNTS, updated=COUNTS, deleted=COUNTS, replaced=st.none() | COUNTS
    ),
    files_before=FILES,
    files_after=FILES,
    partitions=st.lists(PARTITIONS, max_size=2).map(tuple),
    replaced_file_groups=COUNTS,
    service=st.just("clustering"),
    report=st.one_of(st.none(), CLUSTERINGS),
    timings_s=st.dictionaries(TEXTS, SECONDS, max_size=2),
    spark_application_id=st.one_of(st.none(), TEXTS),
    warnings=st.lists(TEXTS, max_size=2).map(tuple),
    error=st.one_of(st.none(), st.builds(JobError, kind=TEXTS, message=TEXTS, hint=TEXTS)),
)
REQUEST = UpsertRequest(base_path="/t", request_id="r", table_name="flights")
DONE = JobResult(request_id="r", outcome=Outcome.COMPLETED)


@given(RESULTS)
def test_a_result_survives_encoding_and_decoding(result: JobResult) -> None:
    assert read_result(result.to_json()) == result


def test_the_document_contains_its_version_and_the_outcome_as_a_word() -> None:
    document = json.loads(DONE.to_json())
    assert (document["contract_version"], document["outcome"]) == (2, "completed")


def changed(**fields: object) -> str:
    return json.dumps({**json.loads(DONE.to_json()), **fields})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The result is not JSON"),
        ("[]", "The result must be a JSON object"),
        (changed(contract_version=3), "contract_version 3; this release reads 1 and 2"),
        (changed(outcome="finished"), "'finished' is not a valid Outcome"),
        (changed(partitions=None), "cannot be read"),
        (changed(rows={"lost": 1}), "lost"),
        (changed(verdict="good"), "verdict"),
        ('{"contract_version": 2}', "outcome"),
    ],
)
def test_an_invalid_document_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        read_result(text)
    assert message in str(refused.value)


def test_a_result_contains_the_kind_the_hint_and_the_retryability_of_an_error() -> None:
    failed = JobResult.failed(REQUEST, CommitConflictError("Another writer was first.", hint="Run it again."))
    assert failed.error == JobError(
        kind="CommitConflictError", message="Another writer was first.", retryable=True, hint="Run it again."
    )
    assert (failed.outcome, failed.request_id, failed.table_name) == (Outcome.FAILED, "r", "flights")


def test_any_other_error_is_unexpected() -> None:
    assert JobResult.failed(REQUEST, KeyError("x")).error == JobError(
        kind="unexpected", message="KeyError: 'x'", retryable=False
    )


def errors(root: type[HudiTableServiceError]) -> list[type[HudiTableServiceError]]:
    return [root, *(error for child in root.__subclasses__() for error in errors(child))]


@pytest.mark.parametrize("error", errors(HudiTableServiceError))
def test_every_error_class_has_an_exit_code_between_64_and_78(error: type[HudiTableServiceError]) -> None:
    assert 64 <= error.exit_code <= 78
    assert JobError.of(error("m")).kind == error.__name__


def test_files_are_counted_by_size() -> None:
    mib = 1 << 20
    stats = FileStats.of([0, mib - 1, mib, 120 * mib, 5000 * mib])
    assert stats.file_count == 5
    assert stats.size_bytes == mib - 1 + 5121 * mib
    assert stats.histogram == {"0-1 MiB": 2, "1-4 MiB": 1, "120-256 MiB": 1, "1024 MiB and more": 1}


@pytest.mark.parametrize(
    ("timings", "text"),
    [
        ({}, ""),
        ({"read table": 1.25}, "the work took 1.2 s."),
        (
            {"spark_start": 7.0, "find rows": 1.0, "commit": 2.5, "lock_wait": 2.0},
            "Spark started in 7.0 s; the work took 3.5 s.",
        ),
    ],
)
def test_the_start_of_spark_and_the_wait_for_the_lock_do_not_count_as_work(
    timings: dict[str, float], text: str
) -> None:
    result = JobResult(request_id="r", outcome=Outcome.COMPLETED, timings_s=timings)
    assert result.durations() == text


def test_the_files_of_a_table_without_partitions_have_a_name() -> None:
    after = FileStats.of([1])
    partition = PartitionReport(partition_path="", files_after=after)
    result = JobResult(request_id="r", outcome=Outcome.COMPLETED, partitions=(partition,), files_after=after)
    (_, lines) = dict(result.sections()).items()
    header, line, *_ = lines[1]
    assert line.startswith("(not partitioned) ")
    assert header.index("files") < line.index("→") < header.index("files") + len("files")
    second = line.index("→", line.index("→") + 1)
    assert header.index("bytes") < second < header.index("bytes") + len("bytes")
