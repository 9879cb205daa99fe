"""Describe the differences between the schemas of consecutive writes: added, removed and changed columns."""

from collections.abc import Iterable

from hudi_table_services.model.overview.table_overview import SchemaColumn, SchemaVersion


def schema_versions(schemas: Iterable[SchemaVersion]) -> tuple[SchemaVersion, ...]:
    """Return the schemas that differ from the preceding schema, each with its differences.

    Args:
        schemas: schemas in the order of their writes; their differences are not computed yet.
    """
    found: list[SchemaVersion] = []
    for schema in schemas:
        if not found:
            found.append(schema)
        elif schema.columns != found[-1].columns:
            found.append(_compared(found[-1].columns, schema))
    return tuple(found)


def _compared(before: tuple[SchemaColumn, ...], schema: SchemaVersion) -> SchemaVersion:
    old = {column.name: column for column in before}
    new = {column.name: column for column in schema.columns}
    changes = (change for name in new if name in old for change in _changes(old[name], new[name]))
    is_reordered = list(old) != list(new) and old.keys() == new.keys()
    return SchemaVersion(
        instant_time=schema.instant_time,
        operation=schema.operation,
        columns=schema.columns,
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        changed=(*changes, *(("the order of the columns changed",) if is_reordered else ())),
    )


def _changes(old: SchemaColumn, new: SchemaColumn) -> Iterable[str]:
    if old.type != new.type:
        yield f"{new.name}: {old.type} became {new.type}"
    if old.nullable != new.nullable:
        yield f"{new.name} {'may now be' if new.nullable else 'may no longer be'} null"
    if old.comment != new.comment:
        yield f"{new.name}: the comment changed"
