"""Request and report of the catalog sync."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Report, Section, outcome_line
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.text import counted, did_you_mean
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

CATALOG = "catalog"
"""Name of the service."""

EXAMPLES = 20
"""Largest number of partitions that a report names."""

CATALOGS = ("hms", "glue")
"""Kinds of catalogs."""

_TUPLES = (
    "columns_added",
    "columns_changed",
    "columns_removed",
    "properties_changed",
    "partition_examples",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncCatalogRequest(JobRequest):
    """Update a table of a Hive Metastore or of AWS Glue to the current columns and partitions of a Hudi table.

    Attributes:
        catalog: ``hoodie.datasource.hive_sync.mode``: ``hms`` or ``glue``. Empty means the value in the options.
        database, catalog_table: name of the catalog's table. Empty means the value in the options, else the names that
            the properties of the Hudi table contain.
        metastore_uris: addresses of the Hive Metastore, separated by commas. Empty means the value in the options.
        preview: report what would be changed, and change nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = CATALOG

    catalog: str = ""
    database: str = ""
    catalog_table: str = ""
    metastore_uris: str = ""
    preview: bool = False

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if self.catalog not in ("", *CATALOGS):
            raise InvalidRequestError(
                f"catalog is {self.catalog!r}, which is not a known value.",
                hint=f"{did_you_mean(self.catalog, CATALOGS)} Valid values: {', '.join(CATALOGS)}.".strip(),
            )

    @property
    def work(self) -> str:
        return "sync_catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedTable:
    """Changes of one table of the catalog.

    Attributes:
        table: name of the table, as ``database.table``.
        created: whether the table was created.
        columns_added, columns_changed, columns_removed: columns with their types.
        properties_changed: names of properties that were added, changed or removed.
        partitions_added, partitions_moved, partitions_dropped: numbers of partitions. A moved partition has a new
            location. No data of a dropped partition is deleted.
        partition_examples: locations of at most 20 of these partitions, each with its change.
    """

    table: str
    created: bool = False
    columns_added: tuple[str, ...] = ()
    columns_changed: tuple[str, ...] = ()
    columns_removed: tuple[str, ...] = ()
    properties_changed: tuple[str, ...] = ()
    partitions_added: int = 0
    partitions_moved: int = 0
    partitions_dropped: int = 0
    partition_examples: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Return the changes as lines of a log."""
        columns = (
            *(f"new column {each}" for each in self.columns_added if not self.created),
            *(f"changed column {each}" for each in self.columns_changed),
            *(f"removed column {each}" for each in self.columns_removed),
        )
        created = [f"new table with {counted(len(self.columns_added), 'column')}"] if self.created else []
        properties = "" if self.created else ", ".join(self.properties_changed)
        return [
            *created,
            *columns,
            *([f"properties: {properties}"] if properties else []),
            *([self.partition_counts] if self.partition_counts else []),
            *self.partition_examples,
        ]

    @property
    def partition_counts(self) -> str:
        """Return the numbers of changed partitions in words; empty if there are none."""
        counts = (
            (self.partitions_added, "added"),
            (self.partitions_moved, "moved"),
            (self.partitions_dropped, "dropped"),
        )
        return ", ".join(f"{counted(number, 'partition')} {verb}" for number, verb in counts if number)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogReport(Report):
    """Result of a catalog sync; in a preview, the expected result.

    Attributes:
        catalog: ``hms`` or ``glue``.
        database_created: whether the database was created.
        synced_commit: requested time of the newest completed write that the catalog shows.
        partition_count: number of partitions of the Hudi table.
        tables: changes of each table of the catalog; several tables only for a merge-on-read table.
    """

    service: ClassVar[str] = CATALOG

    catalog: str = ""
    database_created: bool = False
    synced_commit: str = ""
    partition_count: int = 0
    tables: tuple[SyncedTable, ...] = ()

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "CatalogReport":
        fields = dict(values)
        fields["tables"] = tuple(
            SyncedTable(**{**table, **{name: tuple(table[name]) for name in _TUPLES}})
            for table in fields["tables"]
        )
        return cls(**fields)

    def summary(self, result: "JobResult") -> str:
        names = ", ".join(table.table for table in self.tables)
        changes = [table.partition_counts for table in self.tables if table.partition_counts]
        text = "; ".join([f"{names} in {self.catalog} shows {self.synced_commit}", *changes])
        return outcome_line(result, text)

    def sections(self, result: "JobResult") -> list[Section]:
        return [(f"Table {table.table}", table.lines) for table in self.tables]
