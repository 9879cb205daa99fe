"""The settings of a write, derived from request, options and table."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.writing.table_access import check_table
from hudi_table_services.jobs.writing.write_opening import open_write
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.schema import (
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    Field,
    StructType,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import create_table
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, table_properties

SCHEMA = """{"type": "record", "name": "trips", "fields": [
    {"name": "id", "type": "string"},
    {"name": "city", "type": ["null", "string"], "default": null},
    {"name": "n", "type": ["null", "long"], "default": null}]}"""


def settings_for(folder: Path, incoming: DataType, *added: Field, **given: str) -> WriteSettings:
    table = SmallTable(LocalStorage(str(folder / "t")), TableVersion.V9)
    table.commit(schema=SCHEMA)
    batch = StructType((Field("id", STRING, False), Field("city", STRING), Field("n", incoming), *added))
    options = resolve_options(UpsertRequest(base_path=str(folder / "t"), options=given))
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
    (permanent,) = settings_for(tmp_path, LONG, Field("weight", LONG)).warnings
    assert "'weight' (long)" in permanent


@pytest.mark.parametrize(("version", "warns"), [("6", True), ("9", False)])
def test_a_version_that_the_existing_table_does_not_have_causes_a_warning(
    tmp_path: Path, version: str, warns: bool
) -> None:
    found = settings_for(tmp_path, LONG, **{"hoodie.write.table.version": version}).warnings
    assert [each.partition(",")[0] for each in found] == (
        ["hoodie.write.table.version=6 has no effect"] if warns else []
    )


NEW = {"hoodie.table.type": "MERGE_ON_READ"}
TIMES = StructType(
    (
        Field("id", STRING),
        Field("created_at", TIMESTAMP_NTZ),
        Field("seen", StructType((Field("at", ArrayType(TIMESTAMP_NTZ, False)),))),
    )
)


def new_table_warnings(
    folder: Path, zone: str = "", options: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, ...]:
    request = UpsertRequest(
        base_path=str(folder / "new"),
        table_name="trips",
        record_key=("id",),
        timestamps_without_zone=zone,
        options=options,
    )
    resolved = resolve_options(request)
    return open_write(LocalStorage(str(folder / "new")), resolved, None, TIMES)[0].warnings


def test_the_first_write_names_the_columns_that_hudi_rs_cannot_read(tmp_path: Path) -> None:
    (warning,) = new_table_warnings(tmp_path, options=NEW)
    assert (
        "hudi-rs 0.5, and so pandas and DuckDB through it, cannot read the columns created_at, seen.at"
        in warning
    )
    assert "--timestamps-without-zone" in warning


@pytest.mark.parametrize("zone", ["utc", "refuse"])
def test_there_is_no_warning_about_readers_if_the_request_chooses_how_to_store_times(
    tmp_path: Path, zone: str
) -> None:
    assert new_table_warnings(tmp_path, zone, NEW) == ()


def test_a_table_of_version_6_stores_times_that_hudi_rs_reads(tmp_path: Path) -> None:
    (warning,) = new_table_warnings(tmp_path)
    assert "stored as times in UTC" in warning


@pytest.mark.parametrize("key", ["hoodie.table.type", "hoodie.datasource.write.table.type"])
def test_the_error_about_another_table_type_names_the_key_of_the_request(tmp_path: Path, key: str) -> None:
    config = create_table(LocalStorage(str(tmp_path / "t")), table_properties(TableVersion.V9), FixedClock())
    request = UpsertRequest(base_path=str(tmp_path / "t"), options={key: "MERGE_ON_READ"})
    with pytest.raises(InvalidRequestError, match=f"the request sets {key}=MERGE_ON_READ") as refused:
        check_table(request, resolve_options(request), config)
    assert refused.value.hint.startswith(f"Remove {key},")
