"""Storage on Azurite passes the tests that every storage must pass; a wrong key raises a permission error."""

import base64
from collections.abc import Sequence
from typing import ClassVar

import pytest
from azurite import Azurite

from hudi_table_services.errors import InvalidRequestError, ObjectExistsError, StoragePermissionError
from hudi_table_services.storage.stores.conditional import ConditionalStorage
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from unit.storage.stores.test_storage_contract import UNUSUAL_NAMES, StorageContract


class TestAzure(StorageContract):
    # Azure treats a backslash in a name as a slash.
    unusual_names: ClassVar[Sequence[str]] = [name for name in UNUSUAL_NAMES if "\\" not in name]

    @pytest.fixture
    def storage(self, azure: Azurite) -> Storage:
        return open_storage(azure.new_table(), azure.options)


@pytest.mark.parametrize("scheme", ["az", "abfs"])
def test_put_if_replaces_only_the_version_that_was_read(azure: Azurite, scheme: str) -> None:
    storage = open_storage(azure.new_table(scheme), azure.options)
    assert isinstance(storage, ConditionalStorage)
    storage.create("lock", b"one")
    _, version = storage.read_versioned("lock")
    newer = storage.put_if("lock", b"two", version)
    with pytest.raises(ObjectExistsError):
        storage.put_if("lock", b"three", version)
    storage.put_if("lock", b"three", newer)
    assert storage.read("lock") == b"three"


def test_a_name_that_azure_would_change_is_refused(azure: Azurite) -> None:
    storage = open_storage(azure.new_table(), azure.options)
    for write in (storage.create, storage.write):
        with pytest.raises(InvalidRequestError, match="instead of each backslash"):
            write("a\\b", b"x")
    with pytest.raises(InvalidRequestError, match="instead of each backslash"):
        storage.open_writer("a\\b")
    assert list(storage.list_files()) == []


@pytest.mark.parametrize("call", ["list", "read", "create"])
def test_a_wrong_key_raises_a_permission_error(azure: Azurite, call: str) -> None:
    wrong = {**azure.options, "azure_storage_account_key": base64.b64encode(b"canary-secret").decode()}
    storage = open_storage(azure.new_table(), wrong)
    calls = {
        "list": lambda: list(storage.list_files()),
        "read": lambda: storage.read("a"),
        "create": lambda: storage.create("a", b"x"),
    }
    with pytest.raises(StoragePermissionError, match="permission denied") as refused:
        calls[call]()
    assert wrong["azure_storage_account_key"] not in str(refused.value)
