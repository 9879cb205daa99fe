"""Message, exit code and result document of commands that end before Spark starts."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_table_services import cli
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.health import TABLE_HEALTH
from hudi_table_services.services.registry import read_result
from hudi_table_services.services.writing import UPSERT
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_print_request_refuses_the_same_options_as_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(UPSERT, ["--base-path=/t", "--option", "hoodie.parquet.max.filesize=1", "--print-request"])
        == 64
    )
    assert "Did you mean" in capsys.readouterr().err


def test_print_request_prints_the_request_of_the_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(UPSERT, ["--base-path=/t", "--request-id=r", "--dry-run", "--print-request"]) == 0
    printed = UpsertRequest.from_json(capsys.readouterr().out)
    assert printed == UpsertRequest(base_path="/t", request_id="r", dry_run=True)


@pytest.mark.parametrize("spelling", ["{path}", "file://{uri}"])
def test_a_printed_request_can_be_used_as_a_request_document(
    spelling: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "100 % ü.json"
    document.write_text(UpsertRequest(base_path="/t", request_id="r").to_json(), encoding="utf-8")
    uri = spelling.format(path=document, uri=document.as_uri().removeprefix("file://"))
    assert cli.main(UPSERT, [f"--request={uri}", "--print-request"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(document.read_text(encoding="utf-8"))


def test_the_name_of_a_request_document_is_relative_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.json").write_text(UpsertRequest(base_path="/t", request_id="r").to_json(), encoding="utf-8")
    assert cli.main(UPSERT, ["--request=r.json", "--print-request"]) == 0
    assert '"request_id": "r"' in capsys.readouterr().out


def test_a_bad_flag_gives_one_message_and_exit_code_64(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(UPSERT, ["--basepath=/t"]) == 64
    captured = capsys.readouterr()
    assert (
        captured.err
        == "InvalidRequestError: Unrecognized arguments: --basepath=/t. Did you mean --base-path?\n"
    )
    assert captured.out == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "There is no request document at"),
        (b"\xff", "is not UTF-8 text"),
        (b"{}", 'Add "contract_version": 2'),
    ],
)
def test_a_bad_request_document_gives_a_message_and_exit_code_64(
    content: bytes | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "request.json"
    if content is not None:
        document.write_bytes(content)
    assert cli.main(UPSERT, [f"--request={document}"]) == 64
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--source-path=/s", "--option=hoodie.index.typ=BLOOM"], "Did you mean hoodie.index.type?"),
        ([], "Operation upsert needs rows."),
    ],
)
def test_the_error_of_a_refused_request_is_also_in_the_result_document(
    flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result_path = tmp_path / "results" / "r.json"
    always = [f"--base-path={tmp_path / 't'}", "--request-id=r", f"--result-path={result_path}"]
    assert cli.main(UPSERT, [*always, *flags]) == 64
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    result = read_result(result_path.read_text(encoding="utf-8"))
    assert (result.outcome, result.request_id) == (Outcome.FAILED, "r")
    assert result.error is not None
    assert result.error.kind == "InvalidRequestError"
    assert not (tmp_path / "t").exists()


def test_a_result_path_that_is_a_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(UPSERT, ["--base-path=/t", "--source-path=/s", "--result-path=/results/"]) == 64
    assert "'/results/' is a folder, not a file" in capsys.readouterr().err


def test_the_result_of_an_earlier_run_is_deleted_at_the_start(tmp_path: Path) -> None:
    result_path = tmp_path / "r.json"
    request = UpsertRequest(base_path="/t", result_path=str(result_path))
    result_path.write_text(JobResult.of(request, Outcome.FAILED).to_json(), encoding="utf-8")
    cli._result_document(request)
    assert not result_path.exists()


def test_a_completed_job_fails_if_its_result_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    document = cli._document(str(tmp_path / "file" / "r.json"))
    done = JobResult(request_id="r", outcome=Outcome.COMPLETED)
    assert cli._report(document, done, 0, cli.Presentation()) == 74
    captured = capsys.readouterr()
    assert read_result(captured.out) == done
    assert "'r.json'" in captured.err


def test_the_result_is_printed_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log of an Airflow task contains the output of the job, so a printed result must not fill the log."""
    SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    document = tmp_path / "r.json"
    assert cli.main(TABLE_HEALTH, [f"--base-path={tmp_path}/t", f"--result-path={document}"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert json.loads(printed) == json.loads(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("error", "path", "is_shown"),
    [
        (KeyboardInterrupt(), "/venv/site-packages/py4j/java_gateway.py", False),
        (OSError(), "/venv/site-packages/py4j/java_gateway.py", True),
        (KeyboardInterrupt(), "/venv/site-packages/hudi_table_services/cli.py", True),
    ],
)
def test_only_tracebacks_of_calls_that_ctrl_c_ended_are_left_out(
    error: BaseException, path: str, is_shown: bool
) -> None:
    record = logging.LogRecord(
        "root", logging.ERROR, path, 1, "while sending command", (), (type(error), error, None)
    )
    assert cli.is_no_interrupted_call(record) is is_shown
