"""Typed options of a write."""
from dataclasses import dataclass, field
from enum import Enum
from hudi_table_services.model.file_sizing import FileSizingOptions
from hudi_table_services.model.table_config import RecordMergeMode
from hudi_table_services.model.table_version import TableType, TableVersion
from hudi_table_services.model.write_stat import WriteOperation

class IndexType(str, Enum):
    SIMPLE = "SIMPLE"; BLOOM = "BLOOM"; GLOBAL_SIMPLE = "GLOBAL_SIMPLE"; GLOBAL_BLOOM = "GLOBAL_BLOOM"
class InsertDupPolicy(str, Enum):
    NONE = "none"; DROP = "drop"; FAIL = "fail"
class FailedWritesPolicy(str, Enum):
    EAGER = "EAGER"; LAZY = "LAZY"; NEVER = "NEVER"
@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    operation: WriteOperation
    ordering_fields: tuple[str, ...] = ()
    table_version: TableVersion | None = None
    table_type: TableType = TableType.COPY_ON_WRITE
    database_name: str = ""
    file_sizing: FileSizingOptions = field(default_factory=FileSizingOptions)
    index_type: IndexType = IndexType.SIMPLE
    update_partition_path: bool = True
    combine_before_insert: bool = False
    combine_before_upsert: bool = True
    combine_before_delete: bool = True
    insert_dup_policy: InsertDupPolicy = InsertDupPolicy.NONE
    record_merge_mode: RecordMergeMode | None = None
    parquet_codec: str = "zstd"
    parquet_codec_level: int | None = None
    parquet_block_size_bytes: int = 125829120
    bloom_fpp: float = 1e-9
    bloom_max_entries: int = 100000
    metadata_enable: bool | None = None
    failed_writes_policy: FailedWritesPolicy = FailedWritesPolicy.EAGER
    partitions_to_delete: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    hoodie_options: dict = field(default_factory=dict)
    extra_metadata: dict = field(default_factory=dict)
