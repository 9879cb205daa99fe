"""The part of the Hive Metastore's Thrift interface that the sync uses (hive_metastore.thrift of Hive 3.1).

The sync reads some structures and writes them back. These structures declare every field that a metastore stores. If a
field were not declared, the sync would delete its value in the metastore. Enumerations are declared as ``i32``,
which is their wire format.
"""

import io
from functools import cache
from typing import Any

import thriftpy2

_INTERFACE = """
struct FieldSchema { 1: string name, 2: string type, 3: string comment }

struct Database {
  1: string name, 2: string description, 3: string locationUri, 4: map<string, string> parameters,
  6: optional string ownerName, 7: optional i32 ownerType, 8: optional string catalogName
}

struct SerDeInfo {
  1: string name, 2: string serializationLib, 3: map<string, string> parameters, 4: optional string description,
  5: optional string serializerClass, 6: optional string deserializerClass, 7: optional i32 serdeType
}

struct Order { 1: string col, 2: i32 order }

struct SkewedInfo {
  1: list<string> skewedColNames, 2: list<list<string>> skewedColValues
}

struct StorageDescriptor {
  1: list<FieldSchema> cols, 2: string location, 3: string inputFormat, 4: string outputFormat, 5: bool compressed,
  6: i32 numBuckets, 7: SerDeInfo serdeInfo, 8: list<string> bucketCols, 9: list<Order> sortCols,
  10: map<string, string> parameters, 11: optional SkewedInfo skewedInfo, 12: optional bool storedAsSubDirectories
}

struct Table {
  1: string tableName, 2: string dbName, 3: string owner, 4: i32 createTime, 5: i32 lastAccessTime, 6: i32 retention,
  7: StorageDescriptor sd, 8: list<FieldSchema> partitionKeys, 9: map<string, string> parameters,
  10: string viewOriginalText, 11: string viewExpandedText, 12: string tableType, 14: optional bool temporary,
  15: optional bool rewriteEnabled, 17: optional string catName, 18: optional i32 ownerType, 19: optional i64 writeId,
  23: optional byte accessType, 24: optional list<string> requiredReadCapabilities,
  25: optional list<string> requiredWriteCapabilities
}

struct Partition {
  1: list<string> values, 2: string dbName, 3: string tableName, 4: i32 createTime, 5: i32 lastAccessTime,
  6: StorageDescriptor sd, 7: map<string, string> parameters, 9: optional string catName, 10: optional i64 writeId
}

struct EnvironmentContext { 1: map<string, string> properties }

struct GetTableRequest { 1: required string dbName, 2: required string tblName }
struct GetTableResult { 1: required Table table }

struct AddPartitionsRequest {
  1: required string dbName, 2: required string tblName, 3: required list<Partition> parts,
  4: required bool ifNotExists, 5: optional bool needResult
}
struct AddPartitionsResult { 1: optional list<Partition> partitions }

struct RequestPartsSpec { 1: optional list<string> names }
struct DropPartitionsRequest {
  1: required string dbName, 2: required string tblName, 3: required RequestPartsSpec parts,
  4: optional bool deleteData, 5: optional bool ifExists, 8: optional bool needResult
}
struct DropPartitionsResult { 1: optional list<Partition> partitions }

exception MetaException { 1: string message }
exception UnknownDBException { 1: string message }
exception AlreadyExistsException { 1: string message }
exception InvalidObjectException { 1: string message }
exception NoSuchObjectException { 1: string message }
exception InvalidOperationException { 1: string message }
exception InvalidInputException { 1: string message }

service ThriftHiveMetastore {
  Database get_database(1: string name) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void create_database(1: Database database)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  GetTableResult get_table_req(1: GetTableRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void create_table(1: Table tbl)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3,
            4: NoSuchObjectException o4)
  void alter_table_with_environment_context(
    1: string dbname, 2: string tbl_name, 3: Table new_tbl, 4: EnvironmentContext environment_context)
    throws (1: InvalidOperationException o1, 2: MetaException o2)
  list<string> get_partition_names(1: string db_name, 2: string tbl_name, 3: i16 max_parts)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<Partition> get_partitions_by_names(1: string db_name, 2: string tbl_name, 3: list<string> names)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  AddPartitionsResult add_partitions_req(1: AddPartitionsRequest request)
    throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void alter_partitions_with_environment_context(
    1: string db_name, 2: string tbl_name, 3: list<Partition> new_parts, 4: EnvironmentContext environment_context)
    throws (1: InvalidOperationException o1, 2: MetaException o2)
  DropPartitionsResult drop_partitions_req(1: DropPartitionsRequest req)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
}
"""


@cache
def metastore_interface() -> Any:
    """Return the module with the structures, the exceptions and the service of the interface."""
    return thriftpy2.load_fp(io.StringIO(_INTERFACE), module_name="hudi_hive_metastore_thrift")
