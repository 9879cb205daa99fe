"""All requests to Google Cloud Storage are requests of its XML API: a small server of this API executes them."""

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from google_account import Gcs, new_key, running_gcs, service_account
from xml_api import BUCKET, PAGE

from hudi_table_services.errors import ObjectExistsError, StoragePermissionError
from hudi_table_services.storage.stores.conditional import ConditionalStorage
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from support.stores.faults import Fault, OneFault, disturbing
from support.stores.locked_counting import LOCK_OBJECT, count_in_processes
from unit.storage.stores.test_storage_contract import StorageContract

CALLS = {
    "list": lambda storage: list(storage.list_files()),
    "read": lambda storage: storage.read("a"),
    "create": lambda storage: storage.create("a", b"x"),
}


@pytest.fixture
def storage(gcs: Gcs) -> Storage:
    return open_storage(gcs.new_table(), gcs.options)


class TestGcs(StorageContract):
    @pytest.fixture
    def storage(self, gcs: Gcs) -> Storage:
        return open_storage(gcs.new_table(), gcs.options)


def test_put_if_replaces_only_the_version_that_was_read(storage: Storage) -> None:
    assert isinstance(storage, ConditionalStorage)
    storage.create("lock", b"one")
    _, version = storage.read_versioned("lock")
    newer = storage.put_if("lock", b"two", version)
    # The generation changes although the content, and with it the ETag, may stay the same.
    with pytest.raises(ObjectExistsError):
        storage.put_if("lock", b"three", version)
    newest = storage.put_if("lock", b"two", newer)
    with pytest.raises(ObjectExistsError):
        storage.put_if("lock", b"three", newer)
    storage.delete("lock")
    with pytest.raises(ObjectExistsError):
        storage.put_if("lock", b"three", newest)
    assert not storage.exists("lock")


def test_only_one_process_at_a_time_holds_the_lock_of_the_table(gcs: Gcs, tmp_path: Path) -> None:
    uri = gcs.new_table()
    output = count_in_processes(uri, gcs.options, tmp_path)
    assert "PRIVATE KEY" not in output
    assert open_storage(uri, gcs.options).exists(LOCK_OBJECT)


def test_a_listing_of_several_pages_is_complete(gcs: Gcs, storage: Storage) -> None:
    count = 2 * PAGE + 1
    prefix = storage.uri.removeprefix(f"gs://{BUCKET}/")
    for number in range(count):
        gcs.server.bucket.put(f"{prefix}/{number % 3}/{number:05}", b"", None)
    assert len(list(storage.list_files())) == count
    assert storage.list_folder("").folders == ("0", "1", "2")
    storage.delete_folder("")
    assert list(storage.list_files()) == []


def test_a_large_file_is_uploaded_in_parts(gcs: Gcs, storage: Storage) -> None:
    data = bytes(range(256)) * (100 * 1024)
    with storage.open_writer("large") as writer:
        writer.write(data)
        assert not storage.exists("large")
        assert gcs.server.bucket.uploads, "the client uploads no parts"
    assert storage.read("large") == data
    assert not gcs.server.bucket.uploads


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_key_raises_a_permission_error(gcs: Gcs, call: str) -> None:
    wrong = {**gcs.options, "google_service_account_key": service_account(new_key(), gcs.endpoint)}
    with pytest.raises(StoragePermissionError, match="permission denied"):
        CALLS[call](open_storage(gcs.new_table(), wrong))


# The client sends a token with every put, so anonymous access can only read.
@pytest.mark.parametrize("call", ["list", "read"])
def test_anonymous_requests_carry_no_token(call: str) -> None:
    with running_gcs() as gcs:
        storage = open_storage(gcs.new_table(), gcs.options)
        storage.create("a", b"x")
        anonymous = open_storage(storage.uri, {**gcs.options, "google_skip_signature": "true"})
        with pytest.raises(StoragePermissionError):
            CALLS[call](anonymous)
        refused = gcs.server.anonymous
        gcs.server.is_public = True
        CALLS[call](anonymous)
        assert gcs.server.anonymous > refused > 0


def test_a_folder_is_deleted_although_the_answer_to_a_deletion_is_lost(gcs: Gcs, storage: Storage) -> None:
    storage.create("kept", b"")
    for number in (1, 2, 3):
        for name in "abc":
            storage.create(f"gone/{name}", b"")
        plan = OneFault(Fault.LOST, number, method="DELETE")
        with disturbing(gcs.endpoint, plan) as endpoint:
            open_storage(storage.uri, gcs.options_at(endpoint)).delete_folder("gone")
        assert plan.disturbed
        assert [each.path for each in storage.list_files()] == ["kept"]


@pytest.mark.parametrize("header", ["If-None-Match", "x-amz-meta-a"])
def test_the_server_refuses_what_the_reference_does_not_document(header: str) -> None:
    with running_gcs() as gcs:
        request = urllib.request.Request(
            f"{gcs.endpoint}/{BUCKET}/a", data=b"x", method="PUT", headers={header: "*"}
        )
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(request, timeout=10)
        assert [each.lower() for each in gcs.server.undocumented] == [f"put {header.lower()}"]
