"""What a build of a metadata table writes: partitions, columns with statistics, numbers of file groups."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.model.schema import (
    INT,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    StructType,
    with_meta_columns,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.build_plan import (
    BUILD_ORDER,
    MetadataTableState,
    RecordIndexSize,
    default_partitions,
    dropped_with,
    plan_build,
)
from hudi_table_services.planning.metadata_table.index_choice import (
    column_stats_definition,
    record_index_definition,
)

VERSIONS = st.sampled_from([TableVersion.V6, TableVersion.V8, TableVersion.V9])
NAMES = st.sets(st.sampled_from(BUILD_ORDER))
OTHERS = st.sampled_from([(), ("secondary_index_x",)])
SCHEMA = StructType(
    (
        Field("a", INT),
        Field("tags", ArrayType(STRING)),
        Field("price", DecimalType(10, 2)),
        Field("inner", StructType((Field("x", INT),))),
        Field("b", STRING),
    )
)
META = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")


def state_of(*listed: str, version: TableVersion = TableVersion.V9, **fields: bool) -> MetadataTableState:
    return MetadataTableState(
        version=version, is_partitioned=fields.pop("is_partitioned", True), listed=listed, **fields
    )


@given(VERSIONS, st.booleans(), NAMES, OTHERS, st.booleans(), NAMES)
def test_a_plan_has_all_that_the_metadata_table_needs(
    version: TableVersion,
    is_partitioned: bool,
    listed: set[str],
    others: tuple[str, ...],
    can_grow: bool,
    wanted: set[str],
) -> None:
    table = state_of(
        *sorted(listed), *others, version=version, is_partitioned=is_partitioned, can_grow=can_grow
    )
    try:
        plan = plan_build(table, wanted)
    except HudiTableServiceError:
        return
    names = set(plan.partitions)
    assert plan.partitions == tuple(name for name in BUILD_ORDER if name in names)
    assert names >= wanted
    afterwards = names | (set() if plan.is_whole else {*listed, *others})
    assert FILES in afterwards
    assert COLUMN_STATS in afterwards or PARTITION_STATS not in afterwards
    assert (FILES in names) == plan.is_whole
    assert afterwards >= listed | set(others)
    assert can_grow or plan.is_whole
    if COLUMN_STATS in names:
        assert PARTITION_STATS in names or PARTITION_STATS not in listed
    if not wanted:
        assert names >= set(default_partitions(version, is_partitioned=is_partitioned))


CITY, NAMES_INDEX = "secondary_index_city", "secondary_index_names"


def with_definitions(*listed: str, **fields: bool) -> MetadataTableState:
    return replace(state_of(*listed, **fields), defined=(CITY, NAMES_INDEX))


def test_a_secondary_index_is_built_after_the_record_index_that_it_needs() -> None:
    plan = plan_build(with_definitions(FILES), [CITY])
    assert (plan.partitions, plan.is_whole) == ((RECORD_INDEX, CITY), False)
    plan = plan_build(with_definitions(FILES, RECORD_INDEX), [NAMES_INDEX, CITY])
    assert plan.partitions == (CITY, NAMES_INDEX)


def test_a_build_of_the_whole_table_builds_its_secondary_indexes() -> None:
    listed = (FILES, RECORD_INDEX, CITY)
    for plan in (
        plan_build(with_definitions(*listed)),
        plan_build(with_definitions(*listed, can_grow=False), [COLUMN_STATS]),
    ):
        assert plan.is_whole
        assert plan.partitions[-2:] == (RECORD_INDEX, CITY)


def test_an_index_without_a_definition_cannot_be_built() -> None:
    with pytest.raises(InvalidRequestError, match="does not define the index 'secondary_index_x'"):
        plan_build(with_definitions(FILES), ["secondary_index_x"])
    with pytest.raises(UnsupportedTableError, match="'secondary_index_x'"):
        plan_build(with_definitions(FILES, RECORD_INDEX, "secondary_index_x"))


def test_secondary_indexes_are_dropped_with_the_record_index() -> None:
    listed = (FILES, RECORD_INDEX, CITY, NAMES_INDEX)
    assert dropped_with([RECORD_INDEX], listed) == (RECORD_INDEX, CITY, NAMES_INDEX)
    assert dropped_with([CITY], listed) == (CITY,)


def test_the_defaults_are_those_of_hudi() -> None:
    assert default_partitions(TableVersion.V6, is_partitioned=True) == (FILES,)
    assert default_partitions(TableVersion.V9, is_partitioned=False) == (FILES, COLUMN_STATS)
    assert default_partitions(TableVersion.V9, is_partitioned=True) == (FILES, COLUMN_STATS, PARTITION_STATS)


@pytest.mark.parametrize(
    ("table", "wanted", "message"),
    [
        (state_of(), ("colum_stats",), "cannot build 'colum_stats'"),
        (state_of(version=TableVersion.V6), (PARTITION_STATS,), "version 6 have no partition_stats"),
        (state_of(is_partitioned=False), (PARTITION_STATS,), "no partition fields"),
    ],
)
def test_impossible_partitions_are_refused(
    table: MetadataTableState, wanted: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        plan_build(table, wanted)


def test_a_partition_that_this_release_cannot_build_again_is_never_lost() -> None:
    table = state_of(FILES, "expr_index_x")
    with pytest.raises(UnsupportedTableError, match="expr_index_x"):
        plan_build(table, (FILES,))
    assert plan_build(table, (BLOOM_FILTERS,)).partitions == (BLOOM_FILTERS,)


def test_partitions_that_depend_on_each_other_are_dropped_together() -> None:
    every = (COLUMN_STATS, FILES, PARTITION_STATS, RECORD_INDEX)
    assert dropped_with([COLUMN_STATS], every) == (COLUMN_STATS, PARTITION_STATS)
    assert dropped_with([COLUMN_STATS], (FILES, COLUMN_STATS)) == (COLUMN_STATS,)
    assert dropped_with([RECORD_INDEX], every) == (RECORD_INDEX,)
    assert dropped_with([FILES], every) == every


@pytest.mark.parametrize(
    ("keys", "expected"),
    [(0, 10), (100_000_000, 10), (200_000_000, 17), (10**9, 89), (10**13, 10_000)],
)
def test_the_number_of_file_groups_of_a_record_index_grows_with_the_number_of_keys(
    keys: int, expected: int
) -> None:
    assert RecordIndexSize().group_count(keys) == expected


def test_equal_bounds_fix_the_number_of_file_groups() -> None:
    assert RecordIndexSize(min_groups=3, max_groups=3).group_count(10**12) == 3


@pytest.mark.parametrize(
    ("version", "expected"),
    [(TableVersion.V8, ("a", "b")), (TableVersion.V9, ("a", "price", "b"))],
)
def test_the_first_columns_with_a_supported_type_have_statistics(
    version: TableVersion, expected: tuple[str, ...]
) -> None:
    found = column_stats_definition(with_meta_columns(SCHEMA), version)
    assert found is not None
    assert found.source_fields == (*META, *expected)
    assert found.version == ("V2" if version is TableVersion.V9 else None)
    limited = column_stats_definition(SCHEMA, version, max_columns=1)
    assert limited is not None
    assert limited.source_fields == (*META, "a")


def test_chosen_columns_may_be_members_and_are_not_limited() -> None:
    chosen = ("inner.x", "tags", META[0], "b")
    found = column_stats_definition(SCHEMA, TableVersion.V9, columns=chosen, max_columns=1)
    assert found is not None
    assert found.source_fields == (*META, "inner.x", "b")
    with pytest.raises(InvalidRequestError, match="no column 'z'"):
        column_stats_definition(SCHEMA, TableVersion.V9, columns=("z",))


def test_version_6_has_no_definitions() -> None:
    assert column_stats_definition(SCHEMA, TableVersion.V6) is None
    assert [
        record_index_definition(v) is None for v in (TableVersion.V6, TableVersion.V8, TableVersion.V9)
    ] == [
        True,
        True,
        False,
    ]
