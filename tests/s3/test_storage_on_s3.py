"""Storage on an S3 server passes the tests that every storage must pass, and its lock works between processes."""

from pathlib import Path

import boto3
import pytest
from proxy import WithoutHeader, forwarding

from hudi_table_services.errors import InvalidRequestError, ObjectExistsError
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.locks.lock import table_lock
from hudi_table_services.storage.stores.conditional import ConditionalStorage
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from s3_server import S3
from support.stores.locked_counting import LOCK_OBJECT, count_in_processes
from unit.storage.stores.test_storage_contract import StorageContract


class TestS3(StorageContract):
    @pytest.fixture
    def storage(self, s3: S3) -> Storage:
        return open_storage(s3.new_table(), s3.options)


def test_put_if_replaces_only_the_version_that_was_read(s3: S3) -> None:
    storage = open_storage(s3.new_table(), s3.options)
    assert isinstance(storage, ConditionalStorage)
    storage.create("lock", b"one")
    _, version = storage.read_versioned("lock")
    newer = storage.put_if("lock", b"two", version)
    with pytest.raises(ObjectExistsError):
        storage.put_if("lock", b"three", version)
    assert storage.read("lock") == b"two"
    storage.put_if("lock", b"three", newer)
    with pytest.raises(ObjectExistsError):
        storage.create("lock", b"four")


def test_folder_markers_are_not_files(s3: S3) -> None:
    storage = open_storage(s3.new_table(), s3.options)
    for path in (".hoodie/.temp/20260101/p=1/a.parquet.marker.CREATE", ".hoodie/.heartbeat/20260101"):
        storage.create(path, b"")
    bucket, _, table = storage.uri.removeprefix("s3://").partition("/")
    client = boto3.client(
        "s3",
        endpoint_url=s3.endpoint,
        region_name=s3.options["aws_region"],
        aws_access_key_id=s3.options["aws_access_key_id"],
        aws_secret_access_key=s3.secret,
    )
    for folder in (
        "",
        ".hoodie/",
        ".hoodie/.temp/",
        ".hoodie/.temp/20260101/",
        ".hoodie/.temp/20260102/",
        "p=2/",
    ):
        client.put_object(Bucket=bucket, Key=f"{table}/{folder}", Body=b"")
    files = [".hoodie/.heartbeat/20260101", ".hoodie/.temp/20260101/p=1/a.parquet.marker.CREATE"]
    assert [each.path for each in storage.list_files()] == files
    assert list(storage.list_files(".hoodie/.temp/20260102")) == []
    assert [each.path for each in storage.list_files(".hoodie/.temp/20260101")] == files[1:]
    for folder, folders in (
        ("", (".hoodie", "p=2")),
        (".hoodie/.temp", ("20260101", "20260102")),
        ("p=2", ()),
    ):
        listing = storage.list_folder(folder)
        assert (listing.files, listing.folders) == ((), folders)


@pytest.mark.parametrize("header", ["If-None-Match", "If-Match"])
def test_a_server_that_ignores_a_condition_of_puts_is_refused(moto: S3, header: str) -> None:
    with forwarding(moto, WithoutHeader(header.lower().encode())) as deaf:
        storage = open_storage(moto.new_table(), deaf.options)
        with pytest.raises(InvalidRequestError, match=f"ignores the condition {header} of a put"):
            table_lock(storage, LockOptions()).__enter__()
        assert b'"expired":true' in storage.read(LOCK_OBJECT)


def test_only_one_process_at_a_time_holds_the_lock_of_the_table(s3: S3, tmp_path: Path) -> None:
    uri = s3.new_table()
    output = count_in_processes(uri, s3.options, tmp_path)
    assert "canary-secret" not in output
    storage = open_storage(uri, s3.options)
    assert storage.exists(LOCK_OBJECT), "object stores take Hudi's storage-based lock"


def test_the_error_about_an_unknown_setting_does_not_contain_its_value(s3: S3) -> None:
    for wrong in ({"aws_sekret": "canary-secret"}, {"allow_http": "canary-secret"}):
        with pytest.raises(InvalidRequestError, match="cannot be opened with the settings") as caught:
            open_storage(s3.new_table(), wrong)
        assert "canary-secret" not in str(caught.value)
    # The store accepts each option name with or without the prefix ``aws_``.
    prefixed = {f"aws_{key}" if key == "allow_http" else key: value for key, value in s3.options.items()}
    open_storage(s3.new_table(), prefixed).create("a", b"x")
