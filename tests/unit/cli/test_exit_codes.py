"""The class of an error determines the exit code of the job; the result document contains the same error in words."""

from pathlib import Path
from typing import NoReturn

import pytest

from hudi_table_services import cli, errors
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.services.registry import read_result
from hudi_table_services.services.writing import UPSERT

EXIT_CODES = {
    "InvalidRequestError": 64,
    "InvalidDataError": 65,
    "TableNotFoundError": 66,
    "UnsupportedTableError": 69,
    "CorruptTableError": 65,
    "MalformedFileNameError": 65,
    "MalformedMetadataError": 65,
    "TimelineInvariantError": 65,
    "CommitConflictError": 75,
    "InstantExistsError": 75,
    "SharedInstantTimeError": 75,
    "TableExistsError": 75,
    "FileGroupConflictError": 75,
    "LockNotAcquiredError": 75,
    "InstantHeldError": 75,
    "InstantVanishedError": 75,
    "PendingPlanError": 75,
    "CommitStateUnknownError": 75,
    "StorageError": 74,
    "ObjectNotFoundError": 74,
    "ObjectExistsError": 74,
    "StoragePermissionError": 77,
    "CatalogError": 74,
    "CatalogPermissionError": 77,
    "ExecutionFailedError": 70,
    "UnhealthyTableError": 76,
    "UnsafeConfigError": 78,
}


def end_with(
    error: BaseException, result_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, JobResult]:
    """Run a job in which the start of the Spark session raises this error; return exit code and result."""

    def raising(settings: object) -> NoReturn:
        raise error

    monkeypatch.setattr(cli, "start_session", raising)
    flags = [
        "--base-path=/t",
        "--source-path=/s",
        "--no-source-check",
        "--request-id=r",
        f"--result-path={result_path}",
    ]
    exit_code = cli.main(UPSERT, flags)
    return exit_code, read_result(result_path.read_text(encoding="utf-8"))


def test_every_error_class_has_an_expected_exit_code() -> None:
    classes = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert classes - {"HudiTableServiceError"} == EXIT_CODES.keys()


@pytest.mark.parametrize("kind", EXIT_CODES)
def test_an_error_gives_its_exit_code_and_a_result_document(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error: HudiTableServiceError = getattr(errors, kind)("It went wrong.", hint="Mend it.")
    exit_code, result = end_with(error, tmp_path / "r.json", monkeypatch)
    assert exit_code == EXIT_CODES[kind]
    assert (result.outcome, result.request_id) == (Outcome.FAILED, "r")
    assert result.error is not None
    assert (result.error.kind, result.error.message, result.error.hint) == (
        kind,
        "It went wrong.",
        "Mend it.",
    )
    assert result.error.retryable == error.retryable
    captured = capsys.readouterr()
    assert f"{kind}: It went wrong. Mend it." in captured.err
    assert captured.out == ""


def test_an_unexpected_error_gives_exit_code_70_and_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    exit_code, result = end_with(ZeroDivisionError("by zero"), tmp_path / "r.json", monkeypatch)
    assert exit_code == 70
    assert result.error is not None
    assert (result.error.kind, result.error.retryable) == ("unexpected", False)
    assert result.error.message == "ZeroDivisionError: by zero"
    assert "Traceback" in caplog.text
