"""Define the measured reads: tables, queries, and the smallest allowed ratios."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from bench.figures import Target
from bench.scenarios import BATCH_COUNT, System, update_name

COLUMNS = (
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
)
"""The sixteen columns of the rows; meta columns and the partition column are not read."""

CLUSTERED_COLUMN = "l_partkey"
CHANGED = "everywhere"
"""Input with 50,000 changed rows, which is 0.8 % of the rows at scale 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCase:
    """One read to measure.

    Attributes:
        table: name of the prepared table, see `TABLES`.
        columns: columns of the result.
        filters: conditions joined by AND, as triples; the values are numbers.
        finds_a_key: whether the read also has conditions for the key of one row, which `with_key` adds.
        is_incremental: whether only the changes of the newest commit are read.
        systems: the systems that can read the table.
        targets: bound of the ratio of the seconds of another system to the seconds of this engine.
    """

    name: str
    title: str
    table: str
    columns: tuple[str, ...] = COLUMNS
    filters: tuple[tuple[str, str, int], ...] = ()
    finds_a_key: bool = False
    is_incremental: bool = False
    systems: tuple[System, ...] = (System.OURS, System.HUDI)
    targets: Mapping[System, Target] = field(default_factory=dict)

    def ratio_to(self, other: System, rounds: "list[ReadRound]") -> float | None:
        """Return the median ratio of the other system's seconds to this engine's; None if no round has both."""
        mine = {r.number: r.seconds for r in rounds if (r.case, r.system) == (self.name, System.OURS)}
        theirs = {r.number: r.seconds for r in rounds if (r.case, r.system) == (self.name, other)}
        found = [theirs[number] / mine[number] for number in mine.keys() & theirs.keys()]
        return median(found) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRound:
    """One measurement of one system.

    Attributes:
        rows, checksum: number of rows of the result, and the sum of a hash of each row.
    """

    case: str
    system: System
    number: int
    seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    rows: int
    checksum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTable:
    """A table that this engine prepares.

    Attributes:
        updates: inputs that are upserted after the first insert.
        options: options of each write.
        sorted_by: column by which the table is clustered after the writes; empty means no clustering.
    """

    updates: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    sorted_by: str = ""


_WITHOUT_METADATA = {"hoodie.metadata.enable": "false"}
TABLES = {
    "written": ReadTable(options=_WITHOUT_METADATA),
    "clustered": ReadTable(options=_WITHOUT_METADATA, sorted_by=CLUSTERED_COLUMN),
    "indexed": ReadTable(
        options={
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.global.record.level.index.enable": "true",
        }
    ),
    "changed": ReadTable(updates=(CHANGED,), options=_WITHOUT_METADATA),
    "logs": ReadTable(
        updates=tuple(update_name(number) for number in range(BATCH_COUNT)),
        options={"hoodie.table.type": "MERGE_ON_READ", **_WITHOUT_METADATA},
    ),
}
"""The tables by name; the first input of each table is ``lineitem``."""

READ_CASES = (
    ReadCase(
        name="full_scan",
        title="full scan",
        table="written",
        systems=(System.OURS, System.HUDI, System.SPARK),
        targets={System.HUDI: Target(1.0, at_least=True), System.SPARK: Target(0.8, at_least=True)},
    ),
    ReadCase(
        name="two_columns",
        title="two columns, a range of a clustered column",
        table="clustered",
        columns=(CLUSTERED_COLUMN, "l_extendedprice"),
        filters=((CLUSTERED_COLUMN, ">=", 1_000), (CLUSTERED_COLUMN, "<", 1_200)),
        systems=(System.OURS, System.HUDI, System.SPARK),
        targets={System.HUDI: Target(3.0, at_least=True)},
    ),
    ReadCase(
        name="point_query",
        title="one key, with a record index",
        table="indexed",
        finds_a_key=True,
        targets={System.HUDI: Target(5.0, at_least=True)},
    ),
    ReadCase(
        name="incremental",
        title="changes of the newest commit",
        table="changed",
        is_incremental=True,
        targets={System.HUDI: Target(4.0, at_least=True)},
    ),
    ReadCase(
        name="log_snapshot",
        title="snapshot with log files in every slice",
        table="logs",
        targets={System.HUDI: Target(3.0, at_least=True)},
    ),
)


def read_case_named(name: str) -> ReadCase:
    """Return a case by name. Raises KeyError."""
    return next(case for case in READ_CASES if case.name == name)
