"""A small server that speaks the Thrift protocol of a Hive Metastore. It stores what it receives, for one table."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thriftpy2.rpc import make_server

from hudi_table_services.storage.catalogs.hive_metastore import partition_name
from hudi_table_services.storage.catalogs.metastore_interface import metastore_interface

API = metastore_interface()


class SmallMetastore:
    """The calls of the service.

    Attributes:
        uri: address of the running server.
        table, partitions: the stored table, and its partitions by name.
        calls: numbers of partitions in each call.
        context: settings of the last change of the table.
        is_ended: whether the server closes each connection.
    """

    def __init__(self) -> None:
        self.databases: dict[str, Any] = {}
        self.table: Any = None
        self.partitions: dict[str, Any] = {}
        self.calls: list[str] = []
        self.context: Any = None
        self.uri = ""
        self.is_ended = False

    def get_database(self, name: str) -> Any:
        if self.is_ended:
            raise RuntimeError("the server closes the connection")
        if name not in self.databases:
            raise API.NoSuchObjectException(message=name)
        return self.databases[name]

    def create_database(self, database: Any) -> None:
        if database.name in self.databases:
            raise API.AlreadyExistsException(message=database.name)
        self.databases[database.name] = database

    def get_table_req(self, req: Any) -> Any:
        if self.table is None:
            raise API.NoSuchObjectException(message=req.tblName)
        return API.GetTableResult(table=self.table)

    def create_table(self, tbl: Any) -> None:
        self.table = tbl

    def alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: Any, environment_context: Any
    ) -> None:
        if new_tbl.sd.cols[0].type == "refused":
            raise API.InvalidOperationException(message="The following columns have types\nincompatible")
        self.table, self.context = new_tbl, environment_context

    def get_partition_names(self, db_name: str, tbl_name: str, max_parts: int) -> list[str]:
        assert max_parts == -1
        return sorted(self.partitions)

    def get_partitions_by_names(self, db_name: str, tbl_name: str, names: list[str]) -> list[Any]:
        self.calls.append(f"get {len(names)}")
        return [self.partitions[name] for name in names]

    def add_partitions_req(self, request: Any) -> Any:
        self.calls.append(f"add {len(request.parts)}")
        assert request.ifNotExists
        for part in request.parts:
            self.partitions.setdefault(partition_name(["city"], part.values), part)
        return API.AddPartitionsResult()

    def alter_partitions_with_environment_context(
        self, db_name: str, tbl_name: str, new_parts: list[Any], environment_context: Any
    ) -> None:
        for part in new_parts:
            self.partitions[partition_name(["city"], part.values)] = part

    def drop_partitions_req(self, req: Any) -> Any:
        self.calls.append(f"drop {len(req.parts.names)}")
        assert req.deleteData is False
        for name in req.parts.names:
            del self.partitions[name]
        return API.DropPartitionsResult()


@contextmanager
def running_metastore() -> Iterator[SmallMetastore]:
    """Run a server in a thread of this process."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    metastore = SmallMetastore()
    metastore.uri = f"thrift://127.0.0.1:{port}"
    server = make_server(API.ThriftHiveMetastore, metastore, "127.0.0.1", port, client_timeout=None)
    server.trans.listen()  # before the thread starts, so that a client finds the port open
    server.trans.listen = lambda: None
    threading.Thread(target=server.serve, daemon=True).start()
    yield metastore
    server.close()
