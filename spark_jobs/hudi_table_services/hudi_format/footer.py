"""Key-value pairs of a base file's Parquet footer (HoodieAvroWriteSupport, Hudi 0.15 and 1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.bloom_filter import (
    SIMPLE,
    BloomFilter,
    SimpleBloomFilter,
    decode_bloom_filter,
)

AVRO_SCHEMA = "parquet.avro.schema"
WRITER_MODEL = "writer.model.name"
BLOOM_FILTER = "org.apache.hudi.bloomfilter"
BLOOM_TYPE_CODE = "hoodie_bloom_filter_type_code"
MIN_RECORD_KEY = "hoodie_min_record_key"
MAX_RECORD_KEY = "hoodie_max_record_key"


def base_file_footer(
    avro_schema_json: str, bloom: SimpleBloomFilter, min_key: str | None, max_key: str | None
) -> dict[str, str]:
    """Return the footer pairs of a new base file.

    With a BLOOM index, Hudi's upserts fail on a file without a bloom filter.

    Args:
        avro_schema_json: schema of the rows, including the meta columns.
        bloom: filter over the record keys of all rows.
        min_key: smallest record key; `min_key` and `max_key` are None only for a file without rows.
        max_key: largest record key.
    """
    footer = {
        AVRO_SCHEMA: avro_schema_json,
        WRITER_MODEL: "avro",
        BLOOM_FILTER: bloom.to_base64(),
        BLOOM_TYPE_CODE: SIMPLE,
    }
    if min_key is not None and max_key is not None:
        footer[MIN_RECORD_KEY] = min_key
        footer[MAX_RECORD_KEY] = max_key
    return footer


@dataclass(frozen=True, slots=True)
class KeyFooter:
    """The part of a base file's footer that describes its record keys.

    Attributes:
        key_range: smallest and largest key; None if the footer does not contain both keys.
        bloom_text: the filter as it is stored; None if the footer contains no filter.
        bloom_type: type code of the filter.
    """

    key_range: tuple[str, str] | None
    bloom_text: str | None
    bloom_type: str

    def bloom_filter(self) -> BloomFilter | None:
        """Decode the filter, if there is one. Raises MalformedMetadataError if the filter is damaged."""
        return None if self.bloom_text is None else decode_bloom_filter(self.bloom_text, self.bloom_type)


def decode_key_footer(pairs: Mapping[bytes, bytes]) -> KeyFooter:
    """Decode the key-value pairs of a Parquet footer; any pair may be absent.

    Raises:
        MalformedMetadataError: a value is not UTF-8 text.
    """

    def text(key: str) -> str | None:
        value = pairs.get(key.encode())
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError as error:
            raise MalformedMetadataError(f"Footer of a base file: {key} is not UTF-8: {error}") from None

    low, high = text(MIN_RECORD_KEY), text(MAX_RECORD_KEY)
    return KeyFooter(
        key_range=None if low is None or high is None else (low, high),
        bloom_text=text(BLOOM_FILTER),
        bloom_type=text(BLOOM_TYPE_CODE) or SIMPLE,
    )
