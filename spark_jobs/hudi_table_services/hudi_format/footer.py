"""Key-value pairs of a base file's Parquet footer (HoodieAvroWriteSupport, Hudi 1.2)."""

from hudi_table_services.hudi_format.bloom_filter import SimpleBloomFilter


def base_file_footer(
    avro_schema_json: str, bloom: SimpleBloomFilter, min_key: str | None, max_key: str | None
) -> dict[str, str]:
    footer = {
        "parquet.avro.schema": avro_schema_json,
        "writer.model.name": "avro",
        "org.apache.hudi.bloomfilter": bloom.to_base64(),
        "hoodie_bloom_filter_type_code": "SIMPLE",
    }
    if min_key is not None and max_key is not None:
        footer["hoodie_min_record_key"] = min_key
        footer["hoodie_max_record_key"] = max_key
    return footer
