"""AWS Glue Data Catalog, through boto3 (AWSGlueCatalogSyncClient, Hudi 1.2)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from hudi_table_services.errors import CatalogError, CatalogPermissionError
from hudi_table_services.model.catalog.catalog_settings import CatalogSettings
from hudi_table_services.model.catalog.catalog_table import (
    CatalogColumn,
    CatalogPartition,
    CatalogState,
    CatalogTable,
)
from hudi_table_services.options.keys.catalog import GLUE_REGION

_CHANGED_AT_ONCE, _DELETED_AT_ONCE = 100, 25
_MISSING, _EXISTS = "EntityNotFoundException", "AlreadyExistsException"
_DENIED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredTokenException",
        "InvalidSignatureException",
        "UnrecognizedClientException",
    }
)
# Glue returns more fields of a table than it accepts in a request to change the table. It accepts only the following
# fields.
_KEPT = frozenset(
    {
        "Description",
        "LastAccessTime",
        "LastAnalyzedTime",
        "Name",
        "Owner",
        "Parameters",
        "PartitionKeys",
        "Retention",
        "StorageDescriptor",
        "TableType",
        "ViewExpandedText",
        "ViewOriginalText",
    }
)
_CREDENTIALS = {
    "access_key_id": "aws_access_key_id",
    "secret_access_key": "aws_secret_access_key",
    "session_token": "aws_session_token",
    "token": "aws_session_token",
}

_ItemT = TypeVar("_ItemT")


class GlueCatalog:
    """A Glue Data Catalog of one AWS account and region."""

    def __init__(self, client: Any, settings: CatalogSettings) -> None:
        self._client = client
        self._skips_archive = settings.skip_glue_archive
        self._account = {"CatalogId": settings.glue_catalog_id} if settings.glue_catalog_id else {}

    @classmethod
    def open(cls, settings: CatalogSettings, storage_options: Mapping[str, str]) -> "GlueCatalog":
        """Create the client; no request is sent yet.

        Args:
            storage_options: settings of the object store. The client uses the access key in these settings, if there is
                one; otherwise boto3 searches for credentials.

        Raises:
            CatalogError: the region is missing or the address is invalid.
        """
        credentials = {
            _CREDENTIALS[name]: value
            for key, value in storage_options.items()
            if (name := key.lower().removeprefix("aws_")) in _CREDENTIALS
        }
        try:
            client = boto3.client(
                "glue",
                region_name=settings.glue_region or None,
                endpoint_url=settings.glue_endpoint or None,
                **credentials,
            )
        except (BotoCoreError, ValueError) as error:
            raise CatalogError(
                f"AWS Glue cannot be opened: {error}",
                hint=f"Set {GLUE_REGION}, or aws_region in the storage options.",
            ) from error
        return cls(client, settings)

    def close(self) -> None:
        self._client.close()

    def read(self, database: str, table: str) -> CatalogState:
        with _translated(f"read {database}.{table}"):
            if self._found(self._client.get_database, Name=database) is None:
                return CatalogState(has_database=False)
            found = self._table(database, table)
            if found is None:
                return CatalogState(has_database=True)
            partitions = self._partitions(database, table) if found.get("PartitionKeys") else ()
        return CatalogState(has_database=True, table=_catalog_table(database, found), partitions=partitions)

    def create_database(self, name: str) -> None:
        description = {"Name": name, "Description": "created by airflow-provider-hudi"}
        with _translated(f"create the database {name}"):
            try:
                self._client.create_database(DatabaseInput=description, **self._account)
            except ClientError as error:
                if _code(error) != _EXISTS:
                    raise

    def create_table(self, table: CatalogTable) -> None:
        created = {
            "Name": table.name,
            "TableType": table.table_type,
            "Parameters": dict(table.properties),
            "PartitionKeys": _columns(table.partition_columns),
            "StorageDescriptor": {**_storage(table), "Location": table.location},
        }
        with _translated(f"create {table.full_name}"):
            self._client.create_table(DatabaseName=table.database, TableInput=created, **self._account)

    def update_table(self, table: CatalogTable, *, cascades: bool) -> None:
        with _translated(f"change {table.full_name}"):
            found = self._table(table.database, table.name)
            if found is None:
                raise CatalogError(
                    f"Another program has dropped {table.full_name}.", hint="Run the sync again."
                )
            # Glue has no cascade, so the partitions are changed first. If the job dies before it changes the table, the
            # next sync finds the old definition of the table and repeats both changes.
            if cascades:
                self.move_partitions(table, self._partitions(table.database, table.name))
            changed = {
                **{key: value for key, value in found.items() if key in _KEPT},
                "Parameters": dict(table.properties),
                "PartitionKeys": _columns(table.partition_columns),
                "StorageDescriptor": {**found["StorageDescriptor"], **_storage(table)},
            }
            self._client.update_table(
                DatabaseName=table.database,
                TableInput=changed,
                SkipArchive=self._skips_archive,
                **self._account,
            )

    def add_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        with _translated(f"add partitions to {table.full_name}"):
            for batch in _batches(partitions, _CHANGED_AT_ONCE):
                answer = self._client.batch_create_partition(
                    **self._names(table), PartitionInputList=[_partition(table, each) for each in batch]
                )
                _check(answer, table, ignored=_EXISTS)

    def move_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        with _translated(f"change partitions of {table.full_name}"):
            for batch in _batches(partitions, _CHANGED_AT_ONCE):
                entries = [
                    {"PartitionValueList": list(each.values), "PartitionInput": _partition(table, each)}
                    for each in batch
                ]
                _check(self._client.batch_update_partition(**self._names(table), Entries=entries), table)

    def drop_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        with _translated(f"drop partitions of {table.full_name}"):
            for batch in _batches(partitions, _DELETED_AT_ONCE):
                dropped = [{"Values": list(each.values)} for each in batch]
                answer = self._client.batch_delete_partition(**self._names(table), PartitionsToDelete=dropped)
                _check(answer, table, ignored=_MISSING)

    def _names(self, table: CatalogTable) -> dict[str, str]:
        return {"DatabaseName": table.database, "TableName": table.name, **self._account}

    def _table(self, database: str, table: str) -> dict[str, Any] | None:
        answer = self._found(self._client.get_table, DatabaseName=database, Name=table)
        return None if answer is None else answer["Table"]

    def _found(self, method: Callable[..., dict[str, Any]], **arguments: str) -> dict[str, Any] | None:
        try:
            return method(**arguments, **self._account)
        except ClientError as error:
            if _code(error) == _MISSING:
                return None
            raise

    def _partitions(self, database: str, table: str) -> tuple[CatalogPartition, ...]:
        pages = self._client.get_paginator("get_partitions").paginate(
            DatabaseName=database, TableName=table, ExcludeColumnSchema=True, **self._account
        )
        found = [
            CatalogPartition(values=tuple(each["Values"]), location=each["StorageDescriptor"]["Location"])
            for page in pages
            for each in page["Partitions"]
        ]
        return tuple(sorted(found))


def _catalog_table(database: str, found: Mapping[str, Any]) -> CatalogTable:
    storage = found.get("StorageDescriptor", {})
    serde = storage.get("SerdeInfo", {})
    return CatalogTable(
        database=database,
        name=found["Name"],
        columns=tuple(map(_column, storage.get("Columns", ()))),
        partition_columns=tuple(map(_column, found.get("PartitionKeys", ()))),
        location=storage.get("Location", ""),
        input_format=storage.get("InputFormat", ""),
        output_format=storage.get("OutputFormat", ""),
        serde=serde.get("SerializationLibrary", ""),
        properties=dict(found.get("Parameters", {})),
        serde_properties=dict(serde.get("Parameters", {})),
        table_type=found.get("TableType", ""),
    )


def _column(found: Mapping[str, str]) -> CatalogColumn:
    return CatalogColumn(name=found["Name"], type=found.get("Type", ""), comment=found.get("Comment") or "")


def _columns(columns: Sequence[CatalogColumn]) -> list[dict[str, str]]:
    return [{"Name": each.name, "Type": each.type, "Comment": each.comment} for each in columns]


def _storage(table: CatalogTable) -> dict[str, Any]:
    """Return the storage descriptor without a location."""
    return {
        "Columns": _columns(table.columns),
        "InputFormat": table.input_format,
        "OutputFormat": table.output_format,
        "SerdeInfo": {
            "SerializationLibrary": table.serde,
            "Parameters": dict(table.serde_properties),
        },
    }


def _partition(table: CatalogTable, partition: CatalogPartition) -> dict[str, Any]:
    storage = {**_storage(table), "Location": partition.location}
    return {"Values": list(partition.values), "StorageDescriptor": storage}


def _check(answer: Mapping[str, Any], table: CatalogTable, *, ignored: str = "") -> None:
    """Raise CatalogError if Glue refused a part of a batch."""
    details = [each.get("ErrorDetail", {}) for each in answer.get("Errors", ())]
    failed = [each for each in details if each.get("ErrorCode") != ignored]
    if failed:
        reason = f"{failed[0].get('ErrorCode')}: {failed[0].get('ErrorMessage')}"
        raise CatalogError(
            f"AWS Glue refused {len(failed)} partitions of {table.full_name}, the first partition because of {reason}",
            hint="Run the sync again: it continues with the remaining partitions.",
        )


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def _translated(action: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        message = f"AWS Glue refused to {action}: {error}"
        if _code(error) in _DENIED:
            raise CatalogPermissionError(message, hint="Check the credentials and their policies.") from error
        raise CatalogError(message) from error
    except BotoCoreError as error:
        raise CatalogError(
            f"AWS Glue did not answer the request to {action}: {error}",
            hint="Check the region, the address and the credentials.",
        ) from error


def _batches(items: Sequence[_ItemT], size: int) -> Iterator[list[_ItemT]]:
    for begin in range(0, len(items), size):
        yield list(items[begin : begin + size])
