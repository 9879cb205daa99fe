"""The settings of a write, derived from request, options and table."""

from pathlib import Path

import pytest

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.writing.write_opening import open_write
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.schema import DOUBLE, INT, LONG, STRING, DataType, Field, StructType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable

SCHEMA = """{"type": "record", "name": "trips", "fields": [
    {"name": "id", "type": "string"},
    {"name": "city", "type": ["null", "string"], "default": null},
    {"name": "n", "type": ["null", "long"], "default": null}]}"""


def settings_for(folder: Path, incoming: DataType, *added: Field) -> WriteSettings:
    table = SmallTable(LocalStorage(str(folder / "t")), TableVersion.V9)
    table.commit(schema=SCHEMA)
    batch = StructType((Field("id", STRING, False), Field("city", STRING), Field("n", incoming), *added))
    options = resolve_options(UpsertRequest(base_path=str(folder / "t")))
    return open_write(table.storage, options, table.config, batch)[0]


@pytest.mark.parametrize("incoming", [STRING, DOUBLE])
def test_the_warning_about_a_column_that_gets_another_type_says_that_the_change_is_permanent(
    tmp_path: Path, incoming: DataType
) -> None:
    assert settings_for(tmp_path, incoming).warnings == (
        f"Column 'n' changes from long to {incoming}, because of the type in the rows. The change is permanent: later "
        f"writes also store this column as {incoming}, unless this write is rolled back.",
    )


@pytest.mark.parametrize("incoming", [LONG, INT])
def test_there_is_no_warning_if_the_column_keeps_its_type(tmp_path: Path, incoming: DataType) -> None:
    assert settings_for(tmp_path, incoming).warnings == ()


def test_the_warnings_of_a_write_name_the_columns_that_it_adds(tmp_path: Path) -> None:
    added = Field("__index_level_0__", LONG)
    index, permanent = settings_for(tmp_path, LONG, added).warnings
    assert "to_parquet(path, index=False)" in index
    assert "'__index_level_0__' (long)" in permanent
