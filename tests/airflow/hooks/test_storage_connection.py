"""Connections of Airflow become settings that obstore accepts."""

import base64
import json
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import Connection

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.tables.storage_connection import storage_options
from hudi_table_services.storage.stores.factory import open_storage

KEY = base64.b64encode(b"canary").decode()
TEMPORARY = {"aws_access_key_id": "key", "aws_secret_access_key": "s", "aws_session_token": "token"}
CONNECTION_STRING = (
    f"DefaultEndpointsProtocol=https;AccountName=lake;AccountKey={KEY};EndpointSuffix=core.windows.net"
)


def options_of(extra: dict[str, Any] | None = None, **fields: Any) -> dict[str, str]:
    return storage_options(Connection(conn_id="lake", extra=json.dumps(extra or {}), **fields))


@pytest.mark.parametrize(
    ("fields", "extra", "expected"),
    [
        (
            {"login": "key", "password": "secret"},
            {"endpoint_url": "http://127.0.0.1:9000", "region_name": "eu-central-1"},
            {
                "aws_access_key_id": "key",
                "aws_secret_access_key": "secret",
                "aws_endpoint": "http://127.0.0.1:9000",
                "aws_region": "eu-central-1",
                "allow_http": "true",
            },
        ),
        (
            {},
            {**TEMPORARY, "timeout": "30 s", "other": "x"},
            {**TEMPORARY, "timeout": "30 s"},
        ),
        ({}, {"aws_skip_signature": "true"}, {"aws_skip_signature": "true"}),
        ({}, {}, {}),
    ],
    ids=["keys", "extra", "anonymous", "environment"],
)
def test_fields_of_aws_connections_become_settings(
    fields: dict[str, str], extra: dict[str, str], expected: dict[str, str]
) -> None:
    found = options_of(extra, conn_type="aws", **fields)
    assert found == expected
    open_storage("s3://lake/t", found)


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"key_path": "/keys/lake.json"}, {"google_service_account": "/keys/lake.json"}),
        (
            {"extra__google_cloud_platform__keyfile_dict": '{"type": "service_account"}'},
            {"google_service_account_key": '{"type": "service_account"}'},
        ),
        ({"keyfile_dict": {"type": "x"}}, {"google_service_account_key": '{"type": "x"}'}),
        ({"is_anonymous": True, "project": "p"}, {"google_skip_signature": "true"}),
        ({"project": "p", "is_anonymous": False}, {}),
    ],
    ids=["path", "text", "document", "anonymous", "environment"],
)
def test_fields_of_google_connections_become_settings(
    extra: dict[str, Any], expected: dict[str, str]
) -> None:
    assert options_of(extra, conn_type="google_cloud_platform") == expected


def test_obstore_accepts_the_settings_of_an_anonymous_google_connection() -> None:
    open_storage("gs://lake/t", options_of({"is_anonymous": True}, conn_type="google_cloud_platform"))


@pytest.mark.parametrize(
    ("fields", "extra", "expected"),
    [
        (
            {"conn_type": "wasb", "login": "lake", "password": KEY},
            {},
            {"azure_storage_account_name": "lake", "azure_storage_account_key": KEY},
        ),
        (
            {"conn_type": "wasb"},
            {"connection_string": CONNECTION_STRING},
            {"azure_storage_account_name": "lake", "azure_storage_account_key": KEY},
        ),
        (
            {"conn_type": "wasb"},
            {"connection_string": f"AccountName=lake;AccountKey={KEY};EndpointSuffix=core.chinacloudapi.cn"},
            {
                "azure_storage_account_name": "lake",
                "azure_storage_account_key": KEY,
                "azure_endpoint": "https://lake.blob.core.chinacloudapi.cn",
            },
        ),
        (
            {"conn_type": "wasb", "host": "https://lake.blob.core.windows.net"},
            {"sas_token": "?sv=2024&sig=x"},
            {"azure_storage_account_name": "lake", "azure_storage_sas_key": "sv=2024&sig=x"},
        ),
        (
            {"conn_type": "adls", "host": "lake", "login": "app", "password": "secret"},
            {"tenant_id": "tenant"},
            {
                "azure_storage_account_name": "lake",
                "azure_storage_tenant_id": "tenant",
                "azure_storage_client_id": "app",
                "azure_storage_client_secret": "secret",
            },
        ),
        (
            {"conn_type": "adls", "host": "lake", "password": KEY},
            {},
            {"azure_storage_account_name": "lake", "azure_storage_account_key": KEY},
        ),
        (
            {"conn_type": "wasb", "host": "http://127.0.0.1:10000/devstoreaccount1", "password": KEY},
            {},
            {
                "azure_storage_account_name": "devstoreaccount1",
                "azure_storage_account_key": KEY,
                "azure_endpoint": "http://127.0.0.1:10000/devstoreaccount1",
                "allow_http": "true",
            },
        ),
    ],
    ids=["key", "connection string", "other cloud", "sas", "application", "adls key", "endpoint"],
)
def test_fields_of_azure_connections_become_settings(
    fields: dict[str, str], extra: dict[str, str], expected: dict[str, str]
) -> None:
    found = options_of(extra, **fields)
    assert found == expected
    open_storage("az://lake/t", found)


@pytest.mark.parametrize(
    ("conn_type", "field"),
    [
        ("aws", "role_arn"),
        ("google_cloud_platform", "impersonation_chain"),
        ("wasb", "managed_identity_client_id"),
    ],
)
def test_other_ways_of_signing_in_are_refused(conn_type: str, field: str) -> None:
    with pytest.raises(HudiTaskRefusedError, match=f"Connection 'lake' .* has the field '{field}'"):
        options_of({field: "arn:aws:iam::1:role/lake"}, conn_type=conn_type)


def test_the_extra_of_another_connection_contains_the_settings() -> None:
    found = options_of({"dfs.nameservices": "lake", "empty": "", "none": None}, conn_type="generic")
    assert found == {"dfs.nameservices": "lake"}
