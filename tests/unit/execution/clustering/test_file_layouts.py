"""The layout in the footer of a clustered file, including values that this project does not write."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.execution.clustering.file_layouts import (
    LAYOUT_COLUMNS,
    LAYOUT_STRATEGY,
    TARGET_BYTES,
    read_layouts,
)
from hudi_table_services.storage.stores.local import LocalStorage


@pytest.mark.parametrize(
    ("target", "expected"),
    [("1048576", 1048576), ("", None), ("\u00b2", None), ("9" * 5000, None), ("-1", None)],
)
def test_a_target_that_is_not_a_number_of_bytes_is_ignored(
    tmp_path: Path, target: str, expected: int | None
) -> None:
    pairs = {LAYOUT_STRATEGY: "LINEAR", LAYOUT_COLUMNS: "a,b", TARGET_BYTES: target}
    table = pa.table({"a": [1]}).replace_schema_metadata(pairs)
    pq.write_table(table, tmp_path / "x.parquet")
    (settled,) = read_layouts(LocalStorage(str(tmp_path)), ["x.parquet"]).values()
    assert settled.layout.columns == ("a", "b")
    assert settled.target_file_max_bytes == expected
