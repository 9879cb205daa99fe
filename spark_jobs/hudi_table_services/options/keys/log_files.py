"""Keys of the table type and of log files in merge-on-read tables (HoodieStorageConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.model.table_version import TableType
from hudi_table_services.options.kinds import Member, OrNone, WholeNumber, Word
from hudi_table_services.options.option import option

TABLE_TYPE = option(
    "hoodie.datasource.write.table.type",
    "",
    "type of a new table: COPY_ON_WRITE (the default) or MERGE_ON_READ, which writes updates and deletes into log "
    "files; an existing table keeps its type, and a job refuses another type",
    OrNone(Member(TableType)),
    "hoodie.table.type",
    "hoodie.datasource.write.storage.type",
)
LOG_BLOCK_FORMAT = option(
    "hoodie.logfile.data.block.format",
    "avro",
    "merge-on-read tables: encoding of the rows in log files, avro or parquet; every reader of log files reads avro, "
    "and parquet costs less to write and to merge",
    Word(("avro", "parquet")),
)
LOG_BLOCK_SIZE = option(
    "hoodie.logfile.data.block.max.size",
    256 << 20,
    "merge-on-read tables: size of a block of rows in a log file, in bytes of the rows in memory; when a block has "
    "this size, the next rows begin a new block",
    WholeNumber(least=1024),
)
