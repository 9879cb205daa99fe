"""Convert base file options into the settings of the base file writer."""

from hudi_table_services.execution.base_file_writer import BloomSettings
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.options.base_files import BaseFileOptions

MAX_ROW_GROUP_BYTES = 64 << 20
"""Largest number of Arrow bytes that a writer buffers, however large ``hoodie.parquet.block.size`` is."""


def parquet_format(options: BaseFileOptions) -> ParquetFormat:
    """Settings for encoding the rows in Parquet."""
    return ParquetFormat(
        codec=options.codec,
        codec_level=options.codec_level,
        row_group_bytes=min(options.block_size_bytes, MAX_ROW_GROUP_BYTES),
    )


def bloom_settings(options: BaseFileOptions) -> BloomSettings:
    """Settings of the Bloom filter in the footer."""
    return BloomSettings(false_positive_rate=options.bloom_fpp, max_entries=options.bloom_max_entries)
