"""How base files are written, whatever writes them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileOptions:
    """Encoding and footer of base files.

    Attributes:
        codec: zstd; Hudi's own default is gzip.
        codec_level: None: the codec's default.
        block_size_bytes: upper bound of a row group.
        bloom_fpp: false-positive rate of the footer's bloom filter.
        bloom_max_entries: keys beyond it do not enlarge the bloom filter.
    """

    codec: str = "zstd"
    codec_level: int | None = None
    block_size_bytes: int = 125829120
    bloom_fpp: float = 1e-9
    bloom_max_entries: int = 100_000
