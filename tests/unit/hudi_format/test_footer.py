"""The footer's key-value pairs, with which an upsert of Hudi finds keys."""

import numpy as np

from hudi_table_services.hudi_format.bloom_filter import SimpleBloomFilter, decode_bloom_filter
from hudi_table_services.hudi_format.footer import base_file_footer


def test_the_footer_names_schema_filter_type_and_key_range() -> None:
    bloom = SimpleBloomFilter.sized_for(1, 1e-9, 10)
    bloom.add_keys(np.array([0, 1]), np.frombuffer(b"a", dtype=np.uint8))
    footer = base_file_footer("{}", bloom, "a", "a")
    assert {key: value for key, value in footer.items() if "bloomfilter" not in key} == {
        "parquet.avro.schema": "{}",
        "writer.model.name": "avro",
        "hoodie_bloom_filter_type_code": "SIMPLE",
        "hoodie_min_record_key": "a",
        "hoodie_max_record_key": "a",
    }
    decoded = decode_bloom_filter(
        footer["org.apache.hudi.bloomfilter"], footer["hoodie_bloom_filter_type_code"]
    )
    assert decoded.contains(np.array([0, 1]), np.frombuffer(b"a", dtype=np.uint8)).all()


def test_a_file_without_rows_has_a_filter_and_no_key_range() -> None:
    footer = base_file_footer("{}", SimpleBloomFilter.sized_for(0, 1e-9, 10), None, None)
    assert "org.apache.hudi.bloomfilter" in footer
    assert not [key for key in footer if key.endswith("record_key")]
