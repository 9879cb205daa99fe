"""Requests and reports of the recovery jobs: flags, documents, encoding and decoding."""

import pytest

from hudi_table_services.contract.recovery import (
    OrphanFile,
    OrphanReport,
    RecoveryReport,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
    UndoneInstant,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.services.orphans import REPAIR_ORPHAN_FILES
from hudi_table_services.services.recovery import RESTORE, ROLLBACK
from hudi_table_services.services.registry import read_result

TIME = "20260102030405006"


def test_flags_become_requests() -> None:
    common = ["--base-path=/t", "--request-id=r"]
    requests: list[tuple[JobRequest | None, JobRequest]] = [
        (
            ROLLBACK.parse([*common, "--instant", TIME, "--preview"]).request,
            RollbackRequest(base_path="/t", request_id="r", instants=(TIME,), preview=True),
        ),
        (
            ROLLBACK.parse([*common, "--all-failed"]).request,
            RollbackRequest(base_path="/t", request_id="r", all_failed=True),
        ),
        (
            RESTORE.parse([*common, "--savepoint", TIME]).request,
            RestoreRequest(base_path="/t", request_id="r", savepoint=TIME),
        ),
        (
            REPAIR_ORPHAN_FILES.parse(
                [*common, "--execute", "--older-than-hours=2", "--max-files=3", "--backup-path=/b"]
            ).request,
            RepairOrphansRequest(
                base_path="/t",
                request_id="r",
                execute=True,
                older_than_hours=2,
                max_files=3,
                backup_path="/b",
            ),
        ),
    ]
    for parsed, expected in requests:
        assert parsed == expected
        assert type(expected).from_json(expected.to_json()) == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {},
            "The request names neither instants nor all failed writes. Give --instant or --all-failed, in Airflow",
        ),
        ({"instants": (TIME,), "all_failed": True}, "^instants and all_failed are both given."),
        ({"instants": ("x",)}, "'x' is not an instant time"),
    ],
    ids=str,
)
def test_a_rollback_needs_either_instants_or_all_failed(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        RollbackRequest(base_path="/t", **fields)  # type: ignore[arg-type]


def test_impossible_values_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="No savepoint"):
        RestoreRequest(base_path="/t")
    with pytest.raises(InvalidRequestError, match="max_files is 0"):
        RepairOrphansRequest(base_path="/t", max_files=0)
    with pytest.raises(InvalidRequestError, match="older_than_hours is -1"):
        RepairOrphansRequest(base_path="/t", older_than_hours=-1)


def test_reports_survive_encoding_and_decoding() -> None:
    undone = UndoneInstant(
        instant_time=TIME,
        action="commit",
        state="completed",
        file_count=2,
        row_count=3,
        file_names=("a", "b"),
    )
    recovery = RecoveryReport(savepoint=TIME, undone=(undone,), finished=(TIME,), left_alone=("x",))
    orphans = OrphanReport(
        file_count=1,
        by_reason={"r": 1},
        files=(OrphanFile(path="p", size_bytes=1, reason="r"),),
        folders=("f",),
        spared=("s",),
    )
    for report in (recovery, orphans):
        result = JobResult(request_id="r", outcome=Outcome.COMPLETED, service=report.service, report=report)
        assert read_result(result.to_json()) == result
    assert (recovery.file_count, recovery.row_count) == (2, 3)
