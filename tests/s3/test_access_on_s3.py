"""Requests with a wrong key or without a key."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import StoragePermissionError
from hudi_table_services.jobs.change_source import check_load
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from s3_server import S3
from support.jobs_on_tables import JOBS, later, read_state
from support.stores.faults import Fault, disturbing
from support.undone_tables import a_table

WRONG = "canary-of-a-wrong-key"
CALLS: dict[str, Callable[[Storage], object]] = {
    "list files": lambda storage: list(storage.list_files()),
    "list folder": lambda storage: storage.list_folder(),
    "read": lambda storage: storage.read("a"),
    "size": lambda storage: storage.size("a"),
    "create": lambda storage: storage.create("a", b"x"),
    "delete": lambda storage: storage.delete("a"),
}


def anonymous(s3: S3) -> dict[str, str]:
    kept = {key: value for key, value in s3.options.items() if "access_key" not in key}
    return {**kept, "aws_skip_signature": "true"}


@pytest.mark.thorough
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("is_anonymous", [False, True], ids=["wrong key", "no key"])
def test_a_refused_request_raises_a_permission_error_with_a_remedy(
    versitygw: S3, call: str, is_anonymous: bool
) -> None:
    wrong = anonymous(versitygw) if is_anonymous else replace(versitygw, secret=WRONG).options
    with pytest.raises(StoragePermissionError, match="permission denied") as refused:
        CALLS[call](open_storage(versitygw.new_table(), wrong))
    assert (
        "read, write and delete access below" in refused.value.hint or "read access to" in refused.value.hint
    )
    assert "If the job has no credentials" in refused.value.hint
    assert WRONG not in str(refused.value)


@pytest.mark.thorough
def test_a_job_with_a_wrong_key_fails_with_a_permission_error(versitygw: S3) -> None:
    table = a_table(TableVersion.V9, storage=open_storage(versitygw.new_table(), versitygw.options))
    wrong = replace(versitygw, secret=WRONG).options
    with pytest.raises(StoragePermissionError) as refused:
        table_health(HealthRequest(base_path=table.storage.uri, storage_options=wrong))
    assert refused.value.hint
    assert not refused.value.retryable


# moto checks no signature, but it lets a request read an object only if the request has this header.
SIGNATURE = {"Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request"}


class Signed:
    """Counts the requests that have a signature, and all requests."""

    def __init__(self) -> None:
        self.signed, self.count = 0, 0

    def fault_of(self, request: str, headers: Mapping[str, str]) -> Fault | None:
        self.signed += "Authorization" in headers
        self.count += 1
        return None


@pytest.mark.parametrize("is_anonymous", [False, True], ids=["with a key", "no key"])
def test_a_job_without_a_key_sends_no_signatures(moto: S3, is_anonymous: bool) -> None:
    seen = Signed()
    with disturbing(moto.endpoint, seen, SIGNATURE) as endpoint:
        server = moto.at(endpoint)
        table = a_table(TableVersion.V9, storage=open_storage(moto.new_table(), moto.options))
        act = JOBS["clean"](table)
        before = read_state(table)
        options = anonymous(server) if is_anonymous else server.options
        act(open_storage(table.storage.uri, options), later(1))
    assert read_state(table) != before
    assert seen.signed == (0 if is_anonymous else seen.count)
    assert seen.count > 10


def test_the_source_of_a_load_can_have_settings_of_its_own(moto: S3, tmp_path: Path) -> None:
    seen = Signed()
    source = a_table(TableVersion.V9, storage=open_storage(moto.new_table(), moto.options))
    source.commit(FileGroupId("a", "f1"))
    with disturbing(moto.endpoint, seen, SIGNATURE) as endpoint:

        def check(own: Mapping[str, str] | None) -> None:
            spec = SourceSpec(table=source.storage.uri, storage_options=own)
            request = UpsertRequest(
                base_path=str(tmp_path / "target"),
                table_name="t",
                record_key=("k",),
                source=spec,
                storage_options=moto.at(endpoint).options,
            )
            assert check_load(request, spec) is None

        check(moto.options)
        assert seen.count == 0
        check(None)
        assert seen.count > 0
