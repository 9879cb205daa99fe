"""Tables with a small metadata table, one for each of several table versions."""

import pytest
from small_listings import V6, V8, V9, written

from support.metadata_table.small_metadata_tables import SmallMetadataTable


@pytest.fixture(params=[V6, V8, V9], ids=lambda version: f"v{version.value}")
def table(request: pytest.FixtureRequest) -> SmallMetadataTable:
    """Two writes after an empty base file, as in a table that was created with a metadata table."""
    return written(SmallMetadataTable(request.param))


@pytest.fixture(params=[V8, V9], ids=lambda version: f"v{version.value}")
def newer(request: pytest.FixtureRequest) -> SmallMetadataTable:
    return written(SmallMetadataTable(request.param))


@pytest.fixture
def older() -> SmallMetadataTable:
    return written(SmallMetadataTable(V6))
