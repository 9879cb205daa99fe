"""What is measured: systems, scenarios, and the ratios we want to reach."""

from dataclasses import dataclass
from enum import Enum

KEY_COLUMNS = ("l_orderkey", "l_linenumber")
SHIP_YEAR = "ship_year"
FILE_NUMBER = "file_number"
LINEITEM = "lineitem"
SMALL_FILES = "small_files"
BATCH_COUNT = 20
BATCH_ROWS = 50_000
SMALL_FILE_COUNT = 560
SMALL_FILE_ROWS = 1_800
MILLION = "million"
MILLION_ROWS = 1_008_000
SHIP_YEARS = 7


class System(str, Enum):
    """Who writes."""

    OURS = "ours"
    HUDI = "hudi"
    DELTA = "delta"
    SPARK = "spark"


class Operation(str, Enum):
    """How rows are written; Hudi's names. ``PLAIN``: Spark's own parquet writer."""

    INSERT = "insert"
    UPSERT = "upsert"
    BULK_INSERT = "bulk_insert"
    PLAIN = "plain"
    CLUSTER = "cluster"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """How a table is laid out before, and what is to become of it.

    Attributes:
        tasks: files in each partition before.
        columns: sort columns; empty: files are only stitched together.
        strategy: ``linear``, ``z-order`` or ``hilbert``.
        target_bytes: bytes of a new file; None: the defaults.
        schedules_only: the plan is made and not executed.
    """

    tasks: int
    columns: tuple[str, ...] = ()
    strategy: str = "linear"
    target_bytes: int | None = None
    schedules_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """What a table has behind it before it is cleaned.

    Attributes:
        commits: those that rewrote every file.
    """

    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One thing to measure.

    Attributes:
        inputs: names of the prepared inputs, written one after the other.
        partition_by: partition column; None: not partitioned.
        on_base: starts from the table that the first insert made, not from nothing.
        speed_target: how many times faster than Hudi we want to be; None: no target.
        storage_target: bytes on storage, ours over Delta's, not above this; None: no target.
        clustering: operation CLUSTER: what is done with a table that holds the inputs in small files.
        cleaning: operation CLEAN: the past of the table that is cleaned down to its last commit.
    """

    name: str
    title: str
    operation: Operation
    inputs: tuple[str, ...]
    systems: tuple[System, ...] = (System.OURS, System.HUDI)
    partition_by: str | None = SHIP_YEAR
    on_base: bool = False
    speed_target: float | None = None
    storage_target: float | None = None
    clustering: Clustering | None = None
    cleaning: Cleaning | None = None

    @property
    def is_service(self) -> bool:
        """Whether it starts from a table that real Hudi prepared, of which each system gets a copy."""
        return self.clustering is not None or self.cleaning is not None


def batch_name(number: int) -> str:
    """Name of the input of the twenty small inserts with this number, from 0."""
    return f"batch_{number:02d}"


FIRST_INSERT = Scenario(
    name="first_insert",
    title="first insert",
    operation=Operation.INSERT,
    inputs=(LINEITEM,),
    speed_target=3.0,
)

_SMALL = SMALL_FILE_COUNT // SHIP_YEARS
_LARGE = 400 // SHIP_YEARS
_CURVE = ("l_partkey", "l_suppkey")


def _clustering(name: str, title: str, target: float, rows: str, clustering: Clustering) -> Scenario:
    return Scenario(
        name=name,
        title=title,
        operation=Operation.CLUSTER,
        inputs=(rows,),
        speed_target=target,
        clustering=clustering,
    )


CLUSTERINGS = (
    _clustering(
        "cluster_schedule",
        "plan for 560 files",
        5.0,
        MILLION,
        Clustering(tasks=_SMALL, schedules_only=True),
    ),
    _clustering("cluster_stitch", "560 files stitched", 8.0, MILLION, Clustering(tasks=_SMALL)),
    _clustering(
        "cluster_sort", "560 files sorted", 4.0, MILLION, Clustering(tasks=_SMALL, columns=("l_partkey",))
    ),
    _clustering(
        "cluster_zorder",
        "560 files in z-order",
        4.0,
        MILLION,
        Clustering(tasks=_SMALL, columns=_CURVE, strategy="z-order", target_bytes=1 << 20),
    ),
    _clustering(
        "cluster_hilbert",
        "560 files along a Hilbert curve",
        4.0,
        MILLION,
        Clustering(tasks=_SMALL, columns=_CURVE, strategy="hilbert", target_bytes=1 << 20),
    ),
    _clustering(
        "cluster_large",
        "6.0 million rows in 400 files sorted",
        3.0,
        LINEITEM,
        Clustering(tasks=_LARGE, columns=("l_partkey",)),
    ),
)

WARM_UP = "warm_up"
WARM_UP_CLUSTERING = _clustering(WARM_UP, "", 1.0, WARM_UP, Clustering(tasks=4))
"""Not measured: its table warms the others up."""

SCENARIOS = (
    Scenario(
        name="plain_write",
        title="Spark read, write.parquet",
        operation=Operation.PLAIN,
        inputs=(LINEITEM,),
        systems=(System.SPARK,),
        partition_by=None,
    ),
    Scenario(
        name="plain_write_partitioned",
        title="Spark read, write.partitionBy.parquet",
        operation=Operation.PLAIN,
        inputs=(LINEITEM,),
        systems=(System.SPARK,),
    ),
    FIRST_INSERT,
    Scenario(
        name="first_upsert",
        title="first upsert",
        operation=Operation.UPSERT,
        inputs=(LINEITEM,),
        speed_target=7.0,
    ),
    Scenario(name="bulk_insert", title="bulk_insert", operation=Operation.BULK_INSERT, inputs=(LINEITEM,)),
    Scenario(
        name="upsert_changed_and_new",
        title="upsert of 5 % changed + 1 % new rows",
        operation=Operation.UPSERT,
        inputs=("changed_and_new",),
        on_base=True,
        speed_target=5.0,
    ),
    Scenario(
        name="upsert_everywhere",
        title="upsert of 50,000 rows, every file group",
        operation=Operation.UPSERT,
        inputs=("everywhere",),
        on_base=True,
        speed_target=5.0,
    ),
    Scenario(
        name="twenty_inserts",
        title="twenty inserts of 50,000 rows with sizing",
        operation=Operation.INSERT,
        inputs=tuple(batch_name(number) for number in range(BATCH_COUNT)),
        speed_target=2.5,
    ),
    Scenario(
        name="small_files",
        title="560 files of 1,800 rows",
        operation=Operation.INSERT,
        inputs=(SMALL_FILES,),
        systems=(System.OURS, System.HUDI, System.DELTA),
        partition_by=FILE_NUMBER,
        storage_target=1.5,
    ),
    *CLUSTERINGS,
    Scenario(
        name="clean",
        title="clean of 140 files in 20 commits",
        operation=Operation.CLEAN,
        inputs=(WARM_UP,),
        speed_target=10.0,
        cleaning=Cleaning(commits=20),
    ),
)


def scenario_named(name: str) -> Scenario:
    """Raises KeyError with the known names when there is no such scenario."""
    for scenario in (*SCENARIOS, WARM_UP_CLUSTERING):
        if scenario.name == name:
            return scenario
    raise KeyError(f"No scenario {name!r}; known: {', '.join(s.name for s in SCENARIOS)}.")
