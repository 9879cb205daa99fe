"""A catalog in memory, which behaves as a Hive Metastore: the reference for plans of a sync."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hudi_table_services.errors import CatalogError
from hudi_table_services.model.catalog.catalog_table import (
    CatalogPartition,
    CatalogState,
    CatalogTable,
)


@dataclass
class MemoryCatalog:
    """Tables and partitions by name.

    Attributes:
        changes: names of the methods that changed the catalog, in order.
        fails_at: number of the change that raises CatalogError instead of taking place, counted from 1; 0 means none.
    """

    databases: set[str] = field(default_factory=lambda: {"default"})
    tables: dict[tuple[str, str], CatalogTable] = field(default_factory=dict)
    partitions: dict[tuple[str, str], dict[tuple[str, ...], CatalogPartition]] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    fails_at: int = 0

    def read(self, database: str, table: str) -> CatalogState:
        found = self.tables.get((database, table))
        partitions = self.partitions.get((database, table), {})
        return CatalogState(
            has_database=database in self.databases,
            table=found,
            partitions=tuple(sorted(partitions.values())) if found is not None else (),
        )

    def create_database(self, name: str) -> None:
        self._change("create_database")
        self.databases.add(name)

    def create_table(self, table: CatalogTable) -> None:
        self._change("create_table")
        assert table.database in self.databases
        assert (table.database, table.name) not in self.tables
        # As a metastore does, store a property that the client did not set.
        properties = {**table.properties, "transient_lastDdlTime": "1"}
        self.tables[table.database, table.name] = replace(table, properties=properties)

    def update_table(self, table: CatalogTable, *, cascades: bool) -> None:
        self._change("update_table, cascade" if cascades else "update_table")
        assert (table.database, table.name) in self.tables
        self.tables[table.database, table.name] = table

    def add_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        self._change("add_partitions")
        for each in partitions:
            self._of(table).setdefault(each.values, each)

    def move_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        self._change("move_partitions")
        for each in partitions:
            assert each.values in self._of(table)
            self._of(table)[each.values] = each

    def drop_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        self._change("drop_partitions")
        for each in partitions:
            self._of(table).pop(each.values, None)

    def close(self) -> None:
        pass

    def _of(self, table: CatalogTable) -> dict[tuple[str, ...], CatalogPartition]:
        return self.partitions.setdefault((table.database, table.name), {})

    def _change(self, name: str) -> None:
        self.changes.append(name)
        if len(self.changes) == self.fails_at:
            raise CatalogError("The catalog does not answer.")
