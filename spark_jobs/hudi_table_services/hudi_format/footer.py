"""Key-value pairs of a base file's Parquet footer (HoodieAvroWriteSupport, Hudi 0.15 and 1.2)."""

from hudi_table_services.hudi_format.bloom_filter import SIMPLE, SimpleBloomFilter

AVRO_SCHEMA = "parquet.avro.schema"
WRITER_MODEL = "writer.model.name"
BLOOM_FILTER = "org.apache.hudi.bloomfilter"
BLOOM_TYPE_CODE = "hoodie_bloom_filter_type_code"
MIN_RECORD_KEY = "hoodie_min_record_key"
MAX_RECORD_KEY = "hoodie_max_record_key"


def base_file_footer(
    avro_schema_json: str, bloom: SimpleBloomFilter, min_key: str | None, max_key: str | None
) -> dict[str, str]:
    """What writers with a BLOOM index need to find keys in the file; upserts of Hudi fail without the filter.

    Args:
        avro_schema_json: schema of the rows, meta columns included.
        bloom: filter over the record keys of all rows.
        min_key: smallest record key; None, like `max_key`, only for a file without rows.
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
