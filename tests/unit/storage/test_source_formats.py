"""The formats that the names of source files state."""

import pytest

from hudi_table_services.storage.source_formats import other_format


@pytest.mark.parametrize(
    ("name", "source_format", "other"),
    [
        ("a.parquet", "parquet", ""),
        ("a.snappy.parquet", "Parquet", ""),
        ("part-0", "parquet", ""),
        ("a.2026-01-01", "parquet", ""),
        (".csv", "parquet", ""),
        ("a.csv", "parquet", "csv"),
        ("a.CSV.gz", "parquet", "csv"),
        ("a.orc", "csv", "orc"),
        ("a.json", "csv", ""),
        ("a.tsv.gz", "csv", ""),
        ("a.parquet", "json", "parquet"),
        ("a.parquet", "delta", ""),
    ],
)
def test_a_name_may_state_another_format(name: str, source_format: str, other: str) -> None:
    assert other_format(name, source_format) == other
