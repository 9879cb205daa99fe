"""Fixtures of the tests of checks before a write: a source of one row, and a table of one commit."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checked_writes import committed

from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"id": [1], "city": ["a"], "price": [1.5]}), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    return committed(SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9))
