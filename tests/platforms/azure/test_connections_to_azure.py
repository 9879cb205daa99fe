"""Airflow connections of the type ``wasb`` open a table on Azurite: with a key, a connection string or a SAS token."""

import base64
import hashlib
import hmac
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from azurite import ACCOUNT, KEY, Azurite

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.airflow.operator_process import OperatorProcess
from support.undone_tables import a_table

WAYS = ("key", "connection string", "SAS token")
RECOVERY = "airflow_hudi_provider.operators.recovery"


def connection(azure: Azurite, way: str) -> dict[str, Any]:
    """Return the fields of a connection; see Airflow's page of the connection type."""
    if way == "key":
        return {"conn_type": "wasb", "host": azure.endpoint, "login": ACCOUNT, "password": KEY}
    if way == "SAS token":
        return {"conn_type": "wasb", "host": azure.endpoint, "extra": {"sas_token": sas_token()}}
    text = (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={azure.endpoint};"
    )
    return {"conn_type": "wasb", "extra": {"connection_string": text}}


def sas_token() -> str:
    """Return a token for all operations on blobs, signed as Microsoft's page about account SAS tokens describes."""
    expiry = (datetime.now(timezone.utc) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    version, permissions, services, types = "2021-12-02", "rwdlac", "b", "sco"
    lines = [ACCOUNT, permissions, services, types, "", expiry, "", "", version, ""]
    text = "".join(f"{line}\n" for line in lines)
    signature = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    fields = {"sv": version, "ss": services, "srt": types, "sp": permissions, "se": expiry}
    return urlencode({**fields, "sig": base64.b64encode(signature).decode()})


@pytest.mark.parametrize("way", WAYS)
def test_an_operator_changes_a_table_through_a_wasb_connection(
    azure: Azurite, tmp_path: Path, way: str
) -> None:
    table = a_table(TableVersion.V9, storage=open_storage(azure.new_table(), azure.options))
    table.commit(FileGroupId("a", "f1"))
    fields = connection(azure, way)
    task = OperatorProcess(
        f"{RECOVERY}:SavepointOperator",
        {"base_path": table.storage.uri, "storage_conn_id": "store", "run_on": "worker"},
        {"store": fields, "spark_default": {"conn_type": "spark", "host": "local[2]"}},
        tmp_path / "task",
    )
    assert task.answer()["returned"]["outcome"] == "completed"
    assert [each.action.value for each in load_snapshot(table.storage).timeline.completed][-1] == "savepoint"
    secret = (KEY if way != "SAS token" else fields["extra"]["sas_token"]).encode()
    files = [path for path in (tmp_path / "task").rglob("*") if path.is_file()]
    assert [path for path in files if secret in path.read_bytes()] == []


def test_a_wrong_key_of_a_connection_raises_a_permission_error(azure: Azurite, tmp_path: Path) -> None:
    fields = {**connection(azure, "key"), "password": base64.b64encode(b"canary-secret").decode()}
    task = OperatorProcess(
        f"{RECOVERY}:SavepointOperator",
        {"base_path": azure.new_table(), "storage_conn_id": "store", "run_on": "worker"},
        {"store": fields},
        tmp_path / "task",
    )
    ended = task.wait()
    assert ended.exit_code != 0
    assert "permission denied" in ended.output + ended.log
    assert fields["password"] not in ended.output + ended.log
