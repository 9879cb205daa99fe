"""Keys of base files: encoding, row groups and bloom filters (HoodieStorageConfig, HoodieIndexConfig)."""

from hudi_table_services.options.kinds import Number, OrNone, WholeNumber, Word
from hudi_table_services.options.option import FILE_SERVICES, option

CODECS = {
    "zstd": "zstd",
    "gzip": "gzip",
    "snappy": "snappy",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "uncompressed": "none",
    "none": "none",
}
"""Maps the name of each codec in the option to its name in Arrow."""

BLOCK_SIZE = option(
    "hoodie.parquet.block.size",
    120 << 20,
    "maximum size of a row group, in bytes",
    WholeNumber(least=1024, is_size=True),
    services=FILE_SERVICES,
)
CODEC = option(
    "hoodie.parquet.compression.codec",
    "zstd",
    "compression of base files: zstd, gzip, snappy, lz4 or uncompressed [Hudi: gzip]",
    Word(tuple(CODECS)),
    services=FILE_SERVICES,
)
CODEC_LEVEL = option(
    "hoodie.airflow.parquet.compression.level",
    "",
    "ours: compression level of zstd (1-22) or gzip (1-9)",
    OrNone(WholeNumber(least=1)),
    services=FILE_SERVICES,
)
SMALL_ROW_GROUP = option(
    "hoodie.airflow.parquet.small.row.group.bytes",
    2 << 20,
    "ours: a write copies each row group in which it changes no row, without decoding it. A row group with fewer bytes "
    "than this before compression is decoded, and joined with other rows, if the write encodes at least as many other "
    "rows. 0: no row group is copied",
    WholeNumber(least=0, is_size=True),
)
BLOOM_FPP = option(
    "hoodie.index.bloom.fpp",
    "0.000000001",
    "false-positive rate of bloom filters",
    Number(above=0, below=1),
    services=FILE_SERVICES,
)
BLOOM_MAX_ENTRIES = option(
    "hoodie.bloom.index.filter.dynamic.max.entries",
    100_000,
    "maximum number of keys for which a bloom filter is sized; with more keys, the filter keeps this size",
    WholeNumber(least=1),
    services=FILE_SERVICES,
)
