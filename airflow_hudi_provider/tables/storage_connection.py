"""Read the settings of an object store from a connection of Airflow.

Connections of the types ``aws``, ``google_cloud_platform``, ``wasb`` and ``adls`` have the fields that Airflow's own
hooks read. Their extra may contain further settings under the names of obstore. The extra of any other connection must
contain all settings under these names or, for tables on HDFS, under the names of Hadoop's configuration.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import Connection

from airflow_hudi_provider.exceptions import HudiTaskRefusedError

_OWN_NAMES = ("aws_", "azure_", "google_", "allow_http", "connect_timeout", "proxy_url", "timeout")
"""Prefixes of the settings under the names of obstore."""

_AWS_REFUSED = ("role_arn", "profile_name")
_GOOGLE_REFUSED = ("key_secret_name", "credential_config_file", "impersonation_chain")
_AZURE_REFUSED = ("managed_identity_client_id", "workload_identity_tenant_id", "client_secret_auth_config")
_GOOGLE_PREFIX = "extra__google_cloud_platform__"
_AZURE_DOMAIN = ".core.windows.net"


def storage_options(connection: Connection) -> dict[str, str]:
    """Return the settings of the object store.

    If the connection has no credentials, the process uses the credentials of its environment.

    Raises:
        HudiTaskRefusedError: the connection needs a method of authentication that obstore does not support.
    """
    extra = connection.extra_dejson
    read = _READERS.get(connection.conn_type or "")
    if read is None:
        return _filled(extra)
    own = {key: value for key, value in extra.items() if key.startswith(_OWN_NAMES)}
    found = {**_filled(own), **_filled(read(connection, extra))}
    if any(name.endswith("endpoint") and value.startswith("http:") for name, value in found.items()):
        found["allow_http"] = "true"
    return found


def _aws(connection: Connection, extra: Mapping[str, Any]) -> dict[str, Any]:
    _refuse(
        connection,
        extra,
        _AWS_REFUSED,
        "run the job with an instance role or a web identity that has the permissions",
    )
    return {
        "aws_access_key_id": connection.login,
        "aws_secret_access_key": connection.password,
        "aws_region": extra.get("region_name"),
        "aws_endpoint": extra.get("endpoint_url"),
    }


def _google(connection: Connection, extra: Mapping[str, Any]) -> dict[str, Any]:
    fields = {key.removeprefix(_GOOGLE_PREFIX): value for key, value in extra.items()}
    _refuse(
        connection,
        fields,
        _GOOGLE_REFUSED,
        "give the key of a service account, or use the service account of the machine",
    )
    key = fields.get("keyfile_dict")
    return {
        "google_service_account": fields.get("key_path"),
        "google_service_account_key": json.dumps(key) if isinstance(key, dict) else key,
        "google_skip_signature": "true" if str(fields.get("is_anonymous")).lower() == "true" else None,
    }


def _azure(connection: Connection, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Read a connection of type ``wasb`` or ``adls``.

    If the connection has a tenant, login and password are the id and the secret of an application.
    """
    _refuse(connection, extra, _AZURE_REFUSED, "give a key, a SAS token, or an application with tenant_id")
    if text := extra.get("connection_string"):
        return _azure_string(str(text))
    account, endpoint = _account_of(connection.host or "")
    sas_token = str(extra.get("sas_token") or "").removeprefix("?")
    if tenant := extra.get("tenant_id"):
        return {
            "azure_storage_account_name": account,
            "azure_endpoint": endpoint,
            "azure_storage_tenant_id": tenant,
            "azure_storage_client_id": connection.login,
            "azure_storage_client_secret": connection.password,
        }
    name = connection.login if connection.conn_type == "wasb" else None
    return {
        "azure_storage_account_name": name or account,
        "azure_endpoint": endpoint,
        "azure_storage_account_key": None
        if sas_token
        else connection.password or extra.get("shared_access_key"),
        "azure_storage_sas_key": sas_token,
    }


def _azure_string(text: str) -> dict[str, Any]:
    """Read a connection string of Azure."""
    parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
    account, suffix = parts.get("AccountName", ""), parts.get("EndpointSuffix", _AZURE_DOMAIN[1:])
    other_cloud = "" if suffix == _AZURE_DOMAIN[1:] else f"https://{account}.blob.{suffix}"
    return {
        "azure_storage_account_name": account,
        "azure_storage_account_key": parts.get("AccountKey"),
        "azure_storage_sas_key": parts.get("SharedAccessSignature", "").removeprefix("?"),
        "azure_endpoint": parts.get("BlobEndpoint") or other_cloud,
    }


def _account_of(host: str) -> tuple[str, str]:
    """Return the account and the endpoint. The host is the name of the account, or the address of its blobs.

    The endpoint is empty if the account alone determines it.
    """
    if "." not in host and "/" not in host:
        return host, ""
    parts = urlsplit(host if "://" in host else f"https://{host}")
    name = (parts.hostname or "").partition(".")[0]
    if (parts.hostname or "").endswith(_AZURE_DOMAIN):
        return name, ""
    return parts.path.strip("/") or name, parts.geturl()


def _refuse(
    connection: Connection, fields: Mapping[str, Any], refused: tuple[str, ...], instead: str
) -> None:
    for name in refused:
        if fields.get(name):
            raise HudiTaskRefusedError(
                f"Connection {connection.conn_id!r} (storage_conn_id) has the field {name!r}, which the client of the "
                f"object store does not support. Remove the field, and {instead}."
            )


def _filled(settings: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in settings.items() if value not in (None, "")}


_READERS: Mapping[str, Callable[[Connection, Mapping[str, Any]], dict[str, Any]]] = {
    "aws": _aws,
    "google_cloud_platform": _google,
    "wasb": _azure,
    "adls": _azure,
}
"""Maps the type of a connection to the function that reads its fields."""
