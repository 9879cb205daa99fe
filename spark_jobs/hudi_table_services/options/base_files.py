"""Options of the base files that writes and clusterings produce."""

from dataclasses import dataclass

from hudi_table_services.options.keys.base_files import (
    BLOCK_SIZE,
    BLOOM_FPP,
    BLOOM_MAX_ENTRIES,
    CODEC,
    CODEC_LEVEL,
    CODECS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileOptions:
    """Encoding and footer of base files.

    Attributes:
        codec: compression codec, under its name in Arrow. The default is zstd; Hudi's default is gzip.
        codec_level: compression level; None means the default of the codec.
        block_size_bytes: maximum size of a row group.
        bloom_fpp: false-positive rate of the bloom filter in the footer.
        bloom_max_entries: maximum number of keys for which the bloom filter is sized. With more keys, the filter keeps
            this size.
    """

    codec: str = CODECS[CODEC.default_value]
    codec_level: int | None = CODEC_LEVEL.default_value
    block_size_bytes: int = BLOCK_SIZE.default_value
    bloom_fpp: float = BLOOM_FPP.default_value
    bloom_max_entries: int = BLOOM_MAX_ENTRIES.default_value
