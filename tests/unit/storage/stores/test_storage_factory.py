"""The scheme of a base path determines its storage; invalid base paths and settings are refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.hdfs import HdfsStorage
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.object_store import ObjectStoreStorage


@pytest.mark.parametrize("name", ["plain", "with space", "50%", "a%20b", "#x?y", "ü"])
def test_a_plain_path_and_its_uri_open_the_same_folder(tmp_path: Path, name: str) -> None:
    plain = open_storage(str(tmp_path / name))
    assert open_storage(plain.uri) == plain == LocalStorage(str(tmp_path / name))
    plain.create("a", b"")
    assert (tmp_path / name / "a").exists()


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_storage("some/trips/") == LocalStorage(str(tmp_path / "some" / "trips"))


def test_the_scheme_determines_the_storage() -> None:
    assert open_storage("memory://x") == MemoryStorage("x")
    assert isinstance(open_storage("s3a://bucket/x", {"aws_region": "eu-west-1"}), ObjectStoreStorage)
    assert isinstance(open_storage("hdfs://host/x", {"dfs.nameservices": "lake"}), HdfsStorage)


@pytest.mark.parametrize("uri", ["", "file://host/x", "file:/x#y", "webhdfs://host/x", "ftp://x"])
def test_other_uris_are_refused(uri: str) -> None:
    with pytest.raises(InvalidRequestError):
        open_storage(uri)


def test_the_error_names_a_refused_setting_without_its_value() -> None:
    with pytest.raises(InvalidRequestError, match="aws_sekret") as caught:
        open_storage("s3://bucket/x", {"aws_sekret": "hunter2"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("option", ["kerberos_keytab", "kerberos_cache"])
def test_credentials_of_kerberos_need_their_principal(option: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"The storage option {option} needs kerberos_principal"):
        open_storage("hdfs://host/x", {option: "/etc/etl"})


def test_local_storage_needs_no_object_store_library() -> None:
    code = """
import sys
sys.modules["obstore"] = None
from hudi_table_services.storage.stores.factory import open_storage
open_storage("x")
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "host:9000",
        "http://",
        "http://user:hunter2@host",
        "http://a b",
        "http://host/\n",
        "ftp://h",
        "http://[x",
    ],
)
def test_the_error_for_an_invalid_endpoint_does_not_contain_the_endpoint(url: str) -> None:
    """With some of these URLs, obstore would end the process or print the password in an error."""
    with pytest.raises(InvalidRequestError, match="aws_endpoint is not a plain URL") as caught:
        open_storage("s3://bucket/x", {"aws_endpoint": url})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9000", "https://s3.example.com/path", "http://[::1]:9000/"]
)
def test_endpoints_may_have_a_port_and_a_path(url: str) -> None:
    assert (
        open_storage("s3://bucket/x", {"aws_endpoint_url": url, "allow_http": "true"}).uri == "s3://bucket/x"
    )
    fabric = {"azure_use_fabric_endpoint": "true", "azure_storage_account_name": "a"}
    assert open_storage("az://container/x", fabric).uri == "az://container/x"
