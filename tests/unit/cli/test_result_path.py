"""A job refuses a result path that would delete or replace a foreign file, before it begins anything."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_table_services import cli
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.services.flags import CommandLine
from hudi_table_services.services.health import TABLE_HEALTH
from hudi_table_services.services.registry import SERVICES, read_result
from hudi_table_services.services.service import Script
from hudi_table_services.services.writing import UPSERT
from hudi_table_services.storage.result_documents import check_result_location
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from support.small_tables import SmallTable

SCRIPTS = [each for service in SERVICES for each in service.scripts]
TIME = "20260102030405678"
ONE_INSTANT = [f"--instant={TIME}"]
FLAGS = {
    "upsert_with_sizing.py": ["--source-path=/missing"],
    "restore.py": [f"--savepoint={TIME}"],
    "create_savepoint.py": ONE_INSTANT,
    "delete_savepoint.py": ONE_INSTANT,
    "rollback.py": ONE_INSTANT,
    "cancel_clustering.py": ONE_INSTANT,
    "cancel_compaction.py": ONE_INSTANT,
}


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


def flags_of(script: Script[JobRequest], base_path: str, result_path: str) -> list[str]:
    return [f"--base-path={base_path}", f"--result-path={result_path}", *FLAGS.get(script.file_name, [])]


class Lake:
    """A folder or a storage in memory with a table in the folder `t`, and a foreign file in the folder `in`."""

    def __init__(self, base: str) -> None:
        self.base = base
        SmallTable(self.at("t"))
        self.at("in").write("rows.json", b'{"id": 1}')

    def at(self, folder: str) -> Storage:
        return open_storage(f"{self.base}/{folder}")

    def content(self) -> dict[str, bytes]:
        return {
            f"{folder}/{each.path}": self.at(folder).read(each.path)
            for folder in ("t", "in", "t/.hoodie", "results")
            for each in self.at(folder).list_files()
        }


@pytest.fixture(params=["{}", "memory://{}"], ids=["local", "memory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return Lake(request.param.format(tmp_path))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda each: each.file_name)
@pytest.mark.parametrize(
    "result", ["t/.hoodie/hoodie.properties", "t/new.json", "t", "in/rows.json", "in/rows.json/"]
)
def test_every_script_leaves_foreign_files_alone(
    script: Script[JobRequest], result: str, lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    before = lake.content()
    flags = flags_of(script, f"{lake.base}/t", f"{lake.base}/{result}")
    assert cli.main(script, flags) == 64
    message = capsys.readouterr().err
    assert "The result" in message or "is a folder, not a file" in message
    assert lake.content() == before


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("in/rows.json", "in/rows.json"),
        ("in", "in/result.json"),
        ("in/*.json", "in/new.json"),
        ("{in,out}/2026-*", "out/2026-01/r.json"),
        ("in/link", "elsewhere/r.json"),
    ],
)
def test_a_result_path_in_the_source_is_refused(source: str, result: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidRequestError, match="inside the source"):
        check_result_location(f"{tmp_path}/{result}", f"{tmp_path}/t", f"{tmp_path}/{source}")


@pytest.mark.parametrize(
    ("result", "base_path", "source"),
    [
        ("s3://lake/results/t.json", "s3://lake/t", "s3://lake/in"),
        ("s3://lake/t.json", "s3://lake/t", "s3://lake/in"),
        ("s3://results/t/r.json", "s3://lake/t", "s3://lake/*/r.json"),
        ("/lake/results/r.json", "/lake/t", "/lake/*/r.csv"),
        ("r.json", "", ""),
    ],
)
def test_other_result_paths_are_accepted(result: str, base_path: str, source: str) -> None:
    check_result_location(result, base_path, source)


@pytest.mark.parametrize(
    ("result", "base_path"),
    [
        ("s3a://lake/t/r.json", "s3://lake/t/"),
        ("s3://lake//t/r.json", "s3://lake/t"),
        ("s3://lake/a", "s3://lake/a/t"),
        ("file:///lake/a%20b/r.json", "/lake/a b"),
        ("/lake/x/../t/r.json", "file:/lake/t"),
        ("s3://lake/other/.hoodie/r.json", "s3://lake/t"),
    ],
)
def test_other_spellings_of_the_table_are_recognized(result: str, base_path: str) -> None:
    with pytest.raises(InvalidRequestError, match="result path"):
        check_result_location(result, base_path)


def test_links_to_the_table_are_followed(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "t")
    with pytest.raises(InvalidRequestError, match="outside of the table"):
        check_result_location(f"{tmp_path}/link/r.json", f"{tmp_path}/t")


def test_the_result_document_of_an_earlier_run_is_replaced(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [f"--base-path={lake.base}/t", f"--result-path={lake.base}/results/r.json"]
    for request_id in ("first", "second"):
        assert cli.main(TABLE_HEALTH, [*flags, f"--request-id={request_id}"]) == 0
        result = read_result(lake.at("results").read("r.json").decode())
        assert (result.outcome, result.request_id) == (Outcome.COMPLETED, request_id)
    assert [each.path for each in lake.at("results").list_files()] == ["r.json"]


def test_a_foreign_file_with_the_name_of_the_progress_document_is_left_alone(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.at("in").write("r.progress.json", b"{}")
    flags = [f"--base-path={lake.base}/t", f"--result-path={lake.base}/in/r.json"]
    assert cli.main(TABLE_HEALTH, flags) == 64
    assert "r.progress.json" in capsys.readouterr().err
    assert lake.at("in").read("r.progress.json") == b"{}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda each: each.file_name)
@pytest.mark.parametrize("below", ["", "/t"])
def test_every_script_refuses_a_file_as_table(
    script: Script[JobRequest], below: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.parquet"
    file.write_bytes(b"PAR1")
    if script is UPSERT:
        with pytest.raises(InvalidRequestError, match="a file"):
            UPSERT.start_without_spark(
                UpsertRequest(base_path=f"{file}{below}", source=SourceSpec(path="/s"))
            )
        return
    assert cli.main(script, flags_of(script, f"{file}{below}", f"{tmp_path}/r.json")) == 64
    assert "a table is a folder" in capsys.readouterr().err
    assert file.read_bytes() == b"PAR1"


@pytest.mark.parametrize("name", ["file/r.json", "link/r.json", "/proc/x/r.json"])
def test_a_result_path_whose_folder_cannot_be_created_is_refused_before_the_job_begins(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("keep", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "missing" / "folder")
    assert cli.main(TABLE_HEALTH, [f"--base-path={tmp_path}/t", f"--result-path={tmp_path / name}"]) == 64
    captured = capsys.readouterr()
    assert "The result document cannot be written to" in captured.err
    assert "exists already" not in captured.err
    assert "runs table_health" not in captured.err


def test_a_device_is_refused() -> None:
    request = TABLE_HEALTH.request_type(base_path="/t", result_path="/dev/null")
    with pytest.raises(InvalidRequestError, match="a folder or a device"):
        cli._result_document(request)


def test_a_job_refuses_its_request_document_as_result_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "request.json"
    document.write_text(
        TABLE_HEALTH.request_type(base_path="/t", result_path=str(document)).to_json(), encoding="utf-8"
    )
    before = document.read_bytes()
    assert cli.main(TABLE_HEALTH, [f"--request={document}"]) == 64
    assert document.read_bytes() == before


def test_the_result_path_in_the_request_of_an_operator_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "rows.parquet"
    source.write_bytes(b"PAR1")
    request = UPSERT.parse([f"--base-path={tmp_path}/t", f"--source-path={source}"]).request
    assert request is not None
    document = CommandLine(request_uri=str(tmp_path / "request.json"))
    (tmp_path / "request.json").write_text(
        request.to_json().replace('"result_path": ""', f'"result_path": "{source}"'), encoding="utf-8"
    )
    assert cli.run_script(UPSERT, lambda: document, cli.Presentation()) == 64
    assert source.read_bytes() == b"PAR1"
