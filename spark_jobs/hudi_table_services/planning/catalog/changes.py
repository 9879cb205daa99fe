"""Compare a catalog with the wanted table, and plan the changes. The comparison refuses tables of other programs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.catalog.catalog_settings import CatalogSettings
from hudi_table_services.model.catalog.catalog_table import (
    LAST_COMMIT,
    LAST_COMPLETION,
    CatalogColumn,
    CatalogPartition,
    CatalogPlan,
    CatalogState,
    CatalogTable,
)
from hudi_table_services.options.keys.catalog import CREATE_DATABASE, TABLE
from hudi_table_services.planning.catalog.column_types import (
    are_equal_types,
    can_replace,
    differ_only_in_timestamps,
)
from hudi_table_services.planning.catalog.locations import are_equal_locations, is_below
from hudi_table_services.planning.catalog.wanted_table import PROVIDER, SPARK_SCHEMA

_HUDI_PACKAGES = ("org.apache.hudi.", "com.uber.hoodie.")
_TABLES = ("EXTERNAL_TABLE", "MANAGED_TABLE")
_TIMES = frozenset({LAST_COMMIT, LAST_COMPLETION})


def plan_catalog_sync(
    wanted: CatalogTable,
    partitions: tuple[CatalogPartition, ...],
    state: CatalogState,
    settings: CatalogSettings,
    *,
    free_partition_types: frozenset[str] = frozenset(),
) -> CatalogPlan:
    """Plan the changes of one table of a catalog. After the plan is carried out, a new plan contains no changes.

    Args:
        wanted: definition that the table should have.
        partitions: partitions that the table should have.
        free_partition_types: partition columns whose values are formatted times. An existing table may give these
            columns any type.

    Raises:
        InvalidRequestError: the database is missing and must not be created; or the table of the same name in the
            catalog belongs to another program, or has columns that cannot become the wanted columns.
    """
    if not state.has_database and not settings.creates_database:
        raise InvalidRequestError(
            f"The catalog has no database {wanted.database!r}.",
            hint=f"Create the database, or leave {CREATE_DATABASE} out.",
        )
    if state.table is None:
        return CatalogPlan(
            table=wanted,
            creates_database=not state.has_database,
            creates_table=True,
            added_columns=tuple(f"{column.name} {column.type}" for column in wanted.columns),
            added_partitions=partitions,
        )
    refuse_foreign_table(state.table, wanted)
    table = _merged(state.table, wanted, free_partition_types, settings)
    return _changes(state.table, table, partitions, state.partitions, settings)


def refuse_foreign_table(existing: CatalogTable, wanted: CatalogTable) -> None:
    """Raise InvalidRequestError if a table of the catalog does not belong to the Hudi table at the wanted location."""
    what = ""
    if existing.table_type not in _TABLES:
        what = f"is a {existing.table_type}"
    elif not are_equal_locations(existing.location, wanted.location):
        what = f"has the location {existing.location}, not {wanted.location}"
    elif not existing.input_format.startswith(_HUDI_PACKAGES) and (
        existing.properties.get(PROVIDER, "").lower() != "hudi"
    ):
        what = f"is not a Hudi table: its input format is {existing.input_format or '(none)'}"
    if what:
        raise InvalidRequestError(
            f"The catalog already has {existing.full_name}, but it {what}.",
            hint=f"Choose another name with {TABLE}, or drop the table in the catalog after you have made sure that "
            "no program uses it.",
        )


def _merged(
    existing: CatalogTable, wanted: CatalogTable, free_types: frozenset[str], settings: CatalogSettings
) -> CatalogTable:
    """Return the wanted table, but with the parts of the existing table that the sync must not change.

    The sync keeps the table type, the comments of columns, and all properties that it does not set. The sync also keeps
    an existing value that differs from the wanted value only in its form.
    """
    wanted_properties = dict(wanted.properties)
    if existing.table_type == "MANAGED_TABLE":
        del wanted_properties["EXTERNAL"]  # this property would make the managed table external
    kept = {
        key: value
        for key, value in existing.properties.items()
        if not (settings.is_spark_table and (key == SPARK_SCHEMA or key.startswith(f"{SPARK_SCHEMA}.")))
    }
    return replace(
        wanted,
        table_type=existing.table_type,
        columns=_with_comments(existing.columns, _with_known_types(existing, wanted, settings), settings),
        partition_columns=_partition_columns(existing, wanted, free_types, settings),
        properties={**kept, **wanted_properties, **_equal_spark_schema(existing, wanted)},
        serde_properties={
            **existing.serde_properties,
            **wanted.serde_properties,
            **_equal_path(existing, wanted),
        },
    )


def _with_known_types(
    existing: CatalogTable, wanted: CatalogTable, settings: CatalogSettings
) -> tuple[CatalogColumn, ...]:
    """Return the wanted columns. Unless the settings choose the type of timestamps, timestamps keep the catalog's type.

    Hudi's sync stores timestamps as ``bigint`` by default, and a Hive Metastore refuses to change this type.
    """
    if settings.supports_timestamp is not None:
        return wanted.columns
    known = {column.name.lower(): column.type for column in existing.columns}
    return tuple(
        replace(column, type=known[column.name])
        if differ_only_in_timestamps(known.get(column.name, ""), column.type)
        else column
        for column in wanted.columns
    )


def _equal_spark_schema(existing: CatalogTable, wanted: CatalogTable) -> dict[str, str]:
    """Return the existing properties with the Spark schema if they contain the same schema as the wanted properties.

    The JSON texts can differ in their form, for example in blanks. If the schemas differ, return no property.
    """
    before, after = (
        {key: value for key, value in each.properties.items() if key.startswith(f"{SPARK_SCHEMA}.")}
        for each in (existing, wanted)
    )
    is_equal = (
        before.keys() == after.keys()
        and bool(before)
        and _spark_schema(before) == _spark_schema(after)
        and all(before[key] == after[key] for key in before if ".part." not in key)
    )
    return before if is_equal else {}


def _spark_schema(properties: Mapping[str, str]) -> object:
    parts = sorted(
        (int(key.rpartition(".")[2]), value) for key, value in properties.items() if ".part." in key
    )
    try:
        return json.loads("".join(value for _, value in parts))
    except ValueError:
        return None


def _equal_path(existing: CatalogTable, wanted: CatalogTable) -> dict[str, str]:
    """Return the existing SerDe property ``path`` if it is the wanted location in another form, else no property."""
    before, after = (each.serde_properties.get("path", "") for each in (existing, wanted))
    return {"path": before} if before and after and are_equal_locations(before, after) else {}


def _with_comments(
    existing: tuple[CatalogColumn, ...], wanted: tuple[CatalogColumn, ...], settings: CatalogSettings
) -> tuple[CatalogColumn, ...]:
    if settings.syncs_comments:
        return wanted
    comments = {column.name.lower(): column.comment for column in existing}
    return tuple(replace(column, comment=comments.get(column.name, "")) for column in wanted)


def _partition_columns(
    existing: CatalogTable, wanted: CatalogTable, free_types: frozenset[str], settings: CatalogSettings
) -> tuple[CatalogColumn, ...]:
    before, after = existing.partition_columns, wanted.partition_columns
    fits = len(before) == len(after) and all(
        old.name.lower() == new.name and (new.name in free_types or are_equal_types(old.type, new.type))
        for old, new in zip(before, after, strict=True)
    )
    if not fits:
        raise InvalidRequestError(
            f"{existing.full_name} is partitioned by {_text(before)} in the catalog, but the table needs "
            f"{_text(after)}. A catalog cannot change partition columns.",
            hint="Drop the table in the catalog, which deletes no data of an external table, and run the sync again.",
        )
    kept = tuple(replace(new, type=old.type) for old, new in zip(before, after, strict=True))
    return _with_comments(before, kept, settings)


def _text(columns: tuple[CatalogColumn, ...]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns) or "no column"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ColumnChanges:
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    are_comments_changed: bool

    @property
    def are_types_changed(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def _changes(
    existing: CatalogTable,
    table: CatalogTable,
    wanted: tuple[CatalogPartition, ...],
    current: tuple[CatalogPartition, ...],
    settings: CatalogSettings,
) -> CatalogPlan:
    columns = _column_changes(existing, table)
    properties = {
        *_changed_names(existing.properties, table.properties),
        *_changed_names(existing.serde_properties, table.serde_properties),
    }
    known = {each.values: each.location for each in current}
    unwanted = set(known) - {each.values for each in wanted}
    plan = CatalogPlan(
        table=table,
        cascades=columns.are_types_changed and bool(table.partition_columns),
        added_columns=columns.added,
        changed_columns=columns.changed,
        removed_columns=columns.removed,
        added_partitions=tuple(each for each in wanted if each.values not in known),
        moved_partitions=tuple(
            each
            for each in wanted
            if each.values in known and not are_equal_locations(each.location, known[each.values])
        ),
        dropped_partitions=_partitions_with(current, unwanted, table, is_inside=True),
        foreign_partitions=_partitions_with(current, unwanted, table, is_inside=False),
    )
    is_changed = columns.are_types_changed or columns.are_comments_changed or _formats_differ(existing, table)
    if settings.only_if_changed and properties <= _TIMES and not (is_changed or plan.changes_partitions):
        return plan
    return replace(
        plan, updates_table=is_changed or bool(properties), changed_properties=tuple(sorted(properties))
    )


def _formats_differ(existing: CatalogTable, table: CatalogTable) -> bool:
    one, other = ((each.input_format, each.output_format, each.serde) for each in (existing, table))
    return one != other


def _partitions_with(
    current: tuple[CatalogPartition, ...],
    unwanted: set[tuple[str, ...]],
    table: CatalogTable,
    *,
    is_inside: bool,
) -> tuple[CatalogPartition, ...]:
    return tuple(
        each
        for each in current
        if each.values in unwanted and is_below(each.location, table.location) is is_inside
    )


def _column_changes(existing: CatalogTable, table: CatalogTable) -> _ColumnChanges:
    """Compare columns by name. Their order has no effect on readers of Parquet files, so it is not compared."""
    before = {column.name.lower(): column for column in existing.columns}
    after = {column.name: column for column in table.columns}
    changed = []
    for name in [name for name in after if name in before]:
        old, new = before[name].type, after[name].type
        if are_equal_types(old, new):
            continue
        if not can_replace(old, new):
            raise InvalidRequestError(
                f"Column {name!r} of {existing.full_name} is {old} in the catalog and {new} in the table; a catalog "
                "cannot change this type.",
                hint="Drop the table in the catalog, which deletes no data of an external table, and run the sync "
                "again.",
            )
        changed.append(f"{name} {old} → {new}")
    comments = [
        (old.comment, new.comment)
        for columns in (
            (existing.columns, table.columns),
            (existing.partition_columns, table.partition_columns),
        )
        for old, new in _pairs(*columns)
    ]
    return _ColumnChanges(
        added=tuple(f"{name} {column.type}" for name, column in after.items() if name not in before),
        changed=tuple(changed),
        removed=tuple(f"{name} {column.type}" for name, column in before.items() if name not in after),
        are_comments_changed=any(old != new for old, new in comments),
    )


def _pairs(
    before: tuple[CatalogColumn, ...], after: tuple[CatalogColumn, ...]
) -> list[tuple[CatalogColumn, CatalogColumn]]:
    known = {column.name.lower(): column for column in before}
    return [(known[column.name], column) for column in after if column.name in known]


def _changed_names(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
