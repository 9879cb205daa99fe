"""Which timestamps without time zone become timestamps, by version of the table, stored columns and request."""

import pytest

from hudi_table_services.contract.writing import TimestampsWithoutZone
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import (
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    Field,
    MapType,
    StructType,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.schema_evolution import evolve_schema
from hudi_table_services.planning.table.zoneless_timestamps import with_time_zones

UTC, SESSION, REFUSE = TimestampsWithoutZone.UTC, TimestampsWithoutZone.SESSION, TimestampsWithoutZone.REFUSE
V6, V8, V9 = TableVersion.V6, TableVersion.V8, TableVersion.V9


def columns(time: DataType) -> StructType:
    """Columns with this type at the top level, in a struct, in a list of structs and in a map."""
    inner = StructType((Field("at", time), Field("name", STRING)))
    return StructType(
        (
            Field("key", STRING),
            Field("at", time),
            Field("inner", inner),
            Field("items", ArrayType(inner)),
            Field("byName", MapType(time)),
            Field("zoned", TIMESTAMP),
        )
    )


PATHS = ("at", "inner.at", "items.at", "byName")


@pytest.mark.parametrize("choice", [UTC, SESSION])
@pytest.mark.parametrize("version", [V6, V8, V9])
def test_a_choice_applies_to_every_version_and_every_depth(
    version: TableVersion, choice: TimestampsWithoutZone
) -> None:
    found = with_time_zones(columns(TIMESTAMP_NTZ), None, version, choice)
    assert found.schema == columns(TIMESTAMP)
    assert found.paths == PATHS
    assert found.is_chosen


@pytest.mark.parametrize(
    ("version", "choice", "changes"),
    [(V6, None, True), (V8, None, False), (V9, None, False), (V6, REFUSE, False)],
)
def test_without_a_choice_timestamps_get_another_type_only_in_version_6(
    version: TableVersion, choice: TimestampsWithoutZone | None, changes: bool
) -> None:
    found = with_time_zones(columns(TIMESTAMP_NTZ), None, version, choice)
    assert found.schema == columns(TIMESTAMP if changes else TIMESTAMP_NTZ)
    assert found.paths == (PATHS if changes else ())
    assert not found.is_chosen


def test_columns_that_the_table_stores_without_time_zone_stay() -> None:
    stored = columns(TIMESTAMP_NTZ)
    assert with_time_zones(columns(TIMESTAMP_NTZ), stored, V9, UTC).paths == ()
    new = StructType((*columns(TIMESTAMP_NTZ).fields, Field("new", TIMESTAMP_NTZ)))
    assert with_time_zones(new, stored, V9, UTC).paths == ("new",)
    assert with_time_zones(new, columns(TIMESTAMP), V9, UTC).paths == (*PATHS, "new")


def test_columns_with_time_zone_stay() -> None:
    found = with_time_zones(columns(TIMESTAMP), None, V6, None)
    assert (found.schema, found.paths) == (columns(TIMESTAMP), ())


@pytest.mark.parametrize("version", [V6, V9])
def test_the_error_names_the_option(version: TableVersion) -> None:
    table = columns(TIMESTAMP) if version is V9 else None
    with pytest.raises(InvalidRequestError, match="'at'") as caught:
        evolve_schema(table, columns(TIMESTAMP_NTZ), table_version=version)
    assert "--timestamps-without-zone=utc" in caught.value.hint
