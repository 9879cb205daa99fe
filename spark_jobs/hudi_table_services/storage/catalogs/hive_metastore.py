"""A Hive Metastore, through its Thrift service (HMSDDLExecutor and HoodieHiveSyncClient, Hudi 1.2)."""

import getpass
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from thriftpy2.protocol import TBinaryProtocolFactory
from thriftpy2.thrift import TClient, TException
from thriftpy2.transport import TBufferedTransportFactory, TSocket, TTransportException

from hudi_table_services.errors import CatalogError
from hudi_table_services.model.catalog.catalog_settings import CatalogSettings
from hudi_table_services.model.catalog.catalog_table import (
    CatalogColumn,
    CatalogPartition,
    CatalogState,
    CatalogTable,
)
from hudi_table_services.options.keys.catalog import METASTORE_URIS
from hudi_table_services.storage.catalogs.metastore_interface import metastore_interface

_LOG = logging.getLogger(__name__)
_CONNECT_MS, _ANSWER_MS = 10_000, 300_000
_ESCAPED = re.compile(r"[\x01-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
_ALL = -1

_ItemT = TypeVar("_ItemT")


class HiveMetastore:
    """One connection to a Hive Metastore, without Kerberos and TLS. It is not thread-safe."""

    def __init__(self, client: Any, uri: str, batch_size: int) -> None:
        self._client = client
        self._uri = uri
        self._batch_size = batch_size
        self._api = metastore_interface()

    @classmethod
    def open(cls, settings: CatalogSettings) -> "HiveMetastore":
        """Connect to the first metastore that answers.

        Raises:
            CatalogError: none of the addresses answers.
        """
        failures = []
        for uri in settings.metastore_uris:
            try:
                client = _connected(uri)
            except (OSError, TException) as error:
                _LOG.info("The Hive Metastore at %s does not answer: %s", uri, error)
                failures.append(f"{uri}: {error}")
                continue
            return cls(client, uri, settings.batch_size)
        if not settings.names_metastore:
            raise CatalogError(
                f"The request names no Hive Metastore, and none answers at the default address: {'; '.join(failures)}.",
                hint=f"Set {METASTORE_URIS.flag} ({METASTORE_URIS.key}) to the addresses of the metastore, such as "
                "thrift://metastore:9083. For AWS Glue, set --catalog glue.",
            )
        raise CatalogError(
            f"No Hive Metastore answers: {'; '.join(failures)}.",
            hint=f"Check the addresses of the metastore, {METASTORE_URIS.flag} ({METASTORE_URIS.key}), and that this "
            "machine may connect to them.",
        )

    def close(self) -> None:
        with suppress(OSError, TException):
            self._client.close()

    def read(self, database: str, table: str) -> CatalogState:
        with self._translated(f"read {database}.{table}"):
            try:
                self._client.get_database(database)
            except self._api.NoSuchObjectException:
                return CatalogState(has_database=False)
            found = self._table(database, table)
            if found is None:
                return CatalogState(has_database=True)
            partitions = self._partitions(database, table) if found.partitionKeys else ()
        return CatalogState(has_database=True, table=_catalog_table(found), partitions=partitions)

    def create_database(self, name: str) -> None:
        with self._translated(f"create the database {name}"), suppress(self._api.AlreadyExistsException):
            self._client.create_database(
                self._api.Database(name=name, description="created by airflow-provider-hudi", parameters={})
            )

    def create_table(self, table: CatalogTable) -> None:
        created = self._api.Table(
            dbName=table.database,
            tableName=table.name,
            owner=_user(),
            sd=self._storage(table),
            partitionKeys=self._columns(table.partition_columns),
            parameters=dict(table.properties),
            tableType=table.table_type,
        )
        with self._translated(f"create {table.full_name}"):
            self._client.create_table(created)

    def update_table(self, table: CatalogTable, *, cascades: bool) -> None:
        context = self._api.EnvironmentContext(properties={"CASCADE": "true"} if cascades else {})
        with self._translated(f"change {table.full_name}"):
            found = self._table(table.database, table.name)
            if found is None:
                raise CatalogError(
                    f"Another program has dropped {table.full_name}.", hint="Run the sync again."
                )
            self._set_storage(found.sd, table)
            found.partitionKeys = self._columns(table.partition_columns)
            found.parameters = dict(table.properties)
            self._client.alter_table_with_environment_context(table.database, table.name, found, context)

    def add_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        with self._translated(f"add partitions to {table.full_name}"):
            for batch in _batches(partitions, self._batch_size):
                self._client.add_partitions_req(
                    self._api.AddPartitionsRequest(
                        dbName=table.database,
                        tblName=table.name,
                        parts=[self._partition(table, each) for each in batch],
                        ifNotExists=True,
                        needResult=False,
                    )
                )

    def move_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        context = self._api.EnvironmentContext(properties={})
        with self._translated(f"change partitions of {table.full_name}"):
            for batch in _batches(partitions, self._batch_size):
                changed = [self._partition(table, each) for each in batch]
                self._client.alter_partitions_with_environment_context(
                    table.database, table.name, changed, context
                )

    def drop_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        names = [column.name for column in table.partition_columns]
        with self._translated(f"drop partitions of {table.full_name}"):
            for batch in _batches(partitions, self._batch_size):
                self._client.drop_partitions_req(
                    self._api.DropPartitionsRequest(
                        dbName=table.database,
                        tblName=table.name,
                        parts=self._api.RequestPartsSpec(
                            names=[partition_name(names, each.values) for each in batch]
                        ),
                        deleteData=False,
                        ifExists=True,
                        needResult=False,
                    )
                )

    def _table(self, database: str, table: str) -> Any | None:
        try:
            request = self._api.GetTableRequest(dbName=database, tblName=table)
            return self._client.get_table_req(request).table
        except self._api.NoSuchObjectException:
            return None

    def _partitions(self, database: str, table: str) -> tuple[CatalogPartition, ...]:
        names = self._client.get_partition_names(database, table, _ALL)
        found = [
            CatalogPartition(values=tuple(each.values), location=each.sd.location)
            for batch in _batches(names, self._batch_size)
            for each in self._client.get_partitions_by_names(database, table, batch)
        ]
        return tuple(sorted(found))

    def _partition(self, table: CatalogTable, partition: CatalogPartition) -> Any:
        storage = self._storage(table)
        storage.location = partition.location
        return self._api.Partition(
            values=list(partition.values),
            dbName=table.database,
            tableName=table.name,
            createTime=0,
            lastAccessTime=0,
            sd=storage,
            parameters={},
        )

    def _storage(self, table: CatalogTable) -> Any:
        storage = self._api.StorageDescriptor(
            location=table.location,
            compressed=False,
            numBuckets=0,
            bucketCols=[],
            sortCols=[],
            parameters={},
        )
        self._set_storage(storage, table)
        return storage

    def _set_storage(self, storage: Any, table: CatalogTable) -> None:
        storage.cols = self._columns(table.columns)
        storage.inputFormat = table.input_format
        storage.outputFormat = table.output_format
        serde = storage.serdeInfo or self._api.SerDeInfo()
        serde.serializationLib = table.serde
        serde.parameters = dict(table.serde_properties)
        storage.serdeInfo = serde

    def _columns(self, columns: Sequence[CatalogColumn]) -> list[Any]:
        return [
            self._api.FieldSchema(name=each.name, type=each.type, comment=each.comment) for each in columns
        ]

    @contextmanager
    def _translated(self, action: str) -> Iterator[None]:
        try:
            yield
        except (TTransportException, OSError) as error:
            raise CatalogError(
                f"The Hive Metastore at {self._uri} did not answer the request to {action}: {error}.",
                hint="Run the sync again when the metastore is available.",
            ) from error
        except TException as error:
            raise CatalogError(
                f"The Hive Metastore at {self._uri} refused to {action}: {_reason(error)}.",
                hint="The log of the metastore contains the details.",
            ) from error


def _connected(uri: str) -> TClient:
    host, _, port = uri.removeprefix("thrift://").rpartition(":")
    socket = TSocket(host, int(port), socket_timeout=_ANSWER_MS, connect_timeout=_CONNECT_MS)
    transport = TBufferedTransportFactory().get_transport(socket)
    transport.open()
    protocol = TBinaryProtocolFactory().get_protocol(transport)
    return TClient(metastore_interface().ThriftHiveMetastore, protocol)


def partition_name(columns: Sequence[str], values: Sequence[str]) -> str:
    """Return the name of a partition, such as ``year=2026/city=a%2Fb`` (FileUtils.makePartName of Hive)."""
    pairs = zip(columns, values, strict=True)
    return "/".join(f"{_escaped(column)}={_escaped(value)}" for column, value in pairs)


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _catalog_table(found: Any) -> CatalogTable:
    storage = found.sd
    serde = storage.serdeInfo
    return CatalogTable(
        database=found.dbName,
        name=found.tableName,
        columns=tuple(map(_column, storage.cols or ())),
        partition_columns=tuple(map(_column, found.partitionKeys or ())),
        location=storage.location or "",
        input_format=storage.inputFormat or "",
        output_format=storage.outputFormat or "",
        serde=(serde.serializationLib if serde is not None else "") or "",
        properties=_without_nulls(found.parameters),
        serde_properties=_without_nulls(serde.parameters if serde is not None else None),
        table_type=found.tableType or "",
    )


def _column(field: Any) -> CatalogColumn:
    return CatalogColumn(name=field.name, type=field.type, comment=field.comment or "")


def _without_nulls(pairs: Mapping[str, str | None] | None) -> dict[str, str]:
    return {key: value for key, value in (pairs or {}).items() if value is not None}


def _reason(error: TException) -> str:
    return " ".join(str(getattr(error, "message", None) or error).split()).rstrip(".")


def _user() -> str:
    """Return the name of this process's user, the owner of new tables; empty if the user has no name."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""


def _batches(items: Sequence[_ItemT], size: int) -> Iterator[list[_ItemT]]:
    for begin in range(0, len(items), size):
        yield list(items[begin : begin + size])
