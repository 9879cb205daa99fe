"""Tables and partitions of a catalog, and the changes of a sync (HiveSyncTool, Hudi 1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LAST_COMMIT = "last_commit_time_sync"
"""Property with the requested time of the newest write that the catalog shows."""
LAST_COMPLETION = "last_commit_completion_time_sync"
"""Property with the latest completion time of a write that the catalog shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogColumn:
    """A column of a catalog's table: name in lower case, and type in Hive's syntax, such as ``decimal(10,2)``."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTable:
    """A table of a catalog.

    Attributes:
        columns: columns without the partition columns.
        location: base path.
        properties, serde_properties: properties of the table and of its SerDe.
        table_type: ``EXTERNAL_TABLE``, ``MANAGED_TABLE`` or ``VIRTUAL_VIEW``.
    """

    database: str
    name: str
    columns: tuple[CatalogColumn, ...]
    partition_columns: tuple[CatalogColumn, ...]
    location: str
    input_format: str
    output_format: str
    serde: str
    properties: Mapping[str, str] = field(default_factory=dict)
    serde_properties: Mapping[str, str] = field(default_factory=dict)
    table_type: str = "EXTERNAL_TABLE"

    @property
    def full_name(self) -> str:
        return f"{self.database}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class CatalogPartition:
    """A partition of a catalog's table. `values` are in the order of the partition columns."""

    values: tuple[str, ...]
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogState:
    """Current state of one table in a catalog.

    Attributes:
        has_database: whether the database exists.
        table: the table; None if it does not exist.
        partitions: all partitions of the table.
    """

    has_database: bool
    table: CatalogTable | None = None
    partitions: tuple[CatalogPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlan:
    """Changes that make one table of a catalog equal to the wanted table.

    Attributes:
        table: the wanted table. If the catalog already has the table, `properties` also contains the properties that
            other programs have set in the catalog.
        creates_database, creates_table: whether the database or the table is created.
        updates_table: whether the definition of the existing table is changed.
        cascades: whether the columns of existing partitions are changed, too.
        added_columns, changed_columns, removed_columns: changes of columns, in words.
        changed_properties: names of the properties that are added, changed or removed.
        added_partitions, moved_partitions: partitions to add, and partitions whose location is changed.
        dropped_partitions: partitions that the table no longer has. Dropping them deletes no data.
        foreign_partitions: partitions of the catalog whose location is outside of the table. The sync keeps them.
    """

    table: CatalogTable
    creates_database: bool = False
    creates_table: bool = False
    updates_table: bool = False
    cascades: bool = False
    added_columns: tuple[str, ...] = ()
    changed_columns: tuple[str, ...] = ()
    removed_columns: tuple[str, ...] = ()
    changed_properties: tuple[str, ...] = ()
    added_partitions: tuple[CatalogPartition, ...] = ()
    moved_partitions: tuple[CatalogPartition, ...] = ()
    dropped_partitions: tuple[CatalogPartition, ...] = ()
    foreign_partitions: tuple[CatalogPartition, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the catalog already has the wanted state."""
        return not (
            self.creates_database or self.creates_table or self.updates_table or self.changes_partitions
        )

    @property
    def changes_partitions(self) -> bool:
        return bool(self.added_partitions or self.moved_partitions or self.dropped_partitions)
