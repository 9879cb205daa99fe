"""Define the measured systems and scenarios, and the target ratios."""

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
    """A system that writes tables."""

    OURS = "ours"
    HUDI = "hudi"
    DELTA = "delta"
    ICEBERG = "iceberg"
    SPARK = "spark"


OTHER_FORMATS = (System.DELTA, System.ICEBERG)
"""Systems with tables of other formats than Hudi's. Their tables cannot be copied, because Iceberg's metadata contains
absolute paths. A separate process creates the initial table of each measurement."""

_ALL_FORMATS = (System.OURS, System.HUDI, *OTHER_FORMATS)


class Operation(str, Enum):
    """The measured operation, under Hudi's name. ``PLAIN`` means Spark's own parquet writer."""

    INSERT = "insert"
    UPSERT = "upsert"
    BULK_INSERT = "bulk_insert"
    PLAIN = "plain"
    CLUSTER = "cluster"
    CLEAN = "clean"
    COMPACT = "compact"
    READ = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """The files of a table before a clustering, and the clustering itself.

    Attributes:
        tasks: number of files in each partition before the clustering.
        columns: sort columns; empty means that files are joined without sorting.
        strategy: ``linear``, ``z-order`` or ``hilbert``.
        target_bytes: bytes of a new file; None means the defaults.
        schedules_only: whether the plan is scheduled but not executed.
    """

    tasks: int
    columns: tuple[str, ...] = ()
    strategy: str = "linear"
    target_bytes: int | None = None
    schedules_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """The history of a table before it is cleaned.

    Attributes:
        commits: number of commits that rewrote every file.
    """

    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario to measure.

    Attributes:
        inputs: names of the prepared inputs, which are written one after the other.
        partition_by: partition column; None means that the table is not partitioned.
        on_base: whether the scenario starts from the table of the first insert instead of an empty folder.
        merge_on_read: whether the table is merge-on-read. `COMPACT` and `READ` start from a table that has all inputs:
            the first one as base files, the others as log files.
        speed_target: smallest allowed ratio of Hudi's seconds to this engine's seconds; None means no target. This
            engine must also be at least as fast as the systems of `OTHER_FORMATS`.
        storage_target: largest allowed ratio of this engine's bytes to Delta's bytes; None means no target.
        plain_scenario: name of the scenario in which Spark's own Parquet writer writes the same rows; empty if this
            engine is not compared with it.
        clustering: how the operation CLUSTER clusters a table that has the inputs in small files.
        cleaning: the history of the table before the operation CLEAN, which keeps only the last commit.
    """

    name: str
    title: str
    operation: Operation
    inputs: tuple[str, ...]
    systems: tuple[System, ...] = (System.OURS, System.HUDI)
    partition_by: str | None = SHIP_YEAR
    on_base: bool = False
    merge_on_read: bool = False
    speed_target: float | None = None
    storage_target: float | None = None
    plain_scenario: str = ""
    clustering: Clustering | None = None
    cleaning: Cleaning | None = None

    @property
    def is_service(self) -> bool:
        """Whether the scenario starts from an existing table: in Hudi's format, a copy of a table that Hudi wrote."""
        is_of_logs = self.operation in (Operation.COMPACT, Operation.READ)
        return self.clustering is not None or self.cleaning is not None or is_of_logs

    @property
    def prepared_name(self) -> str:
        """Name of the table that a service starts from. Scenarios with the same name share the table."""
        if self.clustering is not None:
            return f"{self.inputs[0]}-{self.clustering.tasks}"
        if self.cleaning is not None:
            return f"{self.inputs[0]}-{self.name}"
        return f"{self.inputs[0]}-{len(self.inputs) - 1}-logs"


def batch_name(number: int) -> str:
    """Return the name of input number ``number`` (from 0) of the twenty small inserts."""
    return f"batch_{number:02d}"


def update_name(number: int) -> str:
    """Return the name of input number ``number`` (from 0) of the twenty small upserts."""
    return f"update_{number:02d}"


FIRST_INSERT = Scenario(
    name="first_insert",
    title="first insert",
    operation=Operation.INSERT,
    inputs=(LINEITEM,),
    systems=_ALL_FORMATS,
    speed_target=8.0,
    plain_scenario="plain_write_partitioned",
)

FIRST_LOG_INSERT = Scenario(
    name="first_log_insert",
    title="first insert, merge-on-read",
    operation=Operation.INSERT,
    inputs=(LINEITEM,),
    merge_on_read=True,
)
"""This scenario is not measured. Its table is the initial table of the scenarios with `merge_on_read` and `on_base`."""

_SMALL = SMALL_FILE_COUNT // SHIP_YEARS
_LARGE = 400 // SHIP_YEARS
_CURVE = ("l_partkey", "l_suppkey")


def _clustering(
    name: str,
    title: str,
    target: float,
    rows: str,
    clustering: Clustering,
    systems: tuple[System, ...] = (System.OURS, System.HUDI),
) -> Scenario:
    return Scenario(
        name=name,
        title=title,
        operation=Operation.CLUSTER,
        inputs=(rows,),
        systems=systems,
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
    _clustering("cluster_stitch", "560 files joined", 8.0, MILLION, Clustering(tasks=_SMALL), _ALL_FORMATS),
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
        8.0,
        LINEITEM,
        Clustering(tasks=_LARGE, columns=("l_partkey",)),
        _ALL_FORMATS,
    ),
)

WARM_UP = "warm_up"
WARM_UP_TASKS = 4
WARM_UP_CLUSTERING = _clustering(
    WARM_UP, "warm-up of clusterings", 1.0, WARM_UP, Clustering(tasks=WARM_UP_TASKS)
)
"""This scenario is not measured. Its table is used for the warm-up of the measured scenarios."""

WARM_UP_LOGS = Scenario(
    name="warm_up_logs",
    title="warm-up of compactions and snapshot reads",
    operation=Operation.COMPACT,
    inputs=(WARM_UP, "warm_up_changed"),
    merge_on_read=True,
)
"""This scenario is not measured. Its table is used for the warm-up of compactions and snapshot reads."""

_UPDATES = tuple(update_name(number) for number in range(BATCH_COUNT))


def _of_logs(name: str, title: str, operation: Operation, inputs: tuple[str, ...], target: float) -> Scenario:
    return Scenario(
        name=name,
        title=f"{title}, merge-on-read",
        operation=operation,
        inputs=inputs,
        on_base=operation is Operation.UPSERT,
        merge_on_read=True,
        speed_target=target,
    )


OF_LOGS = (
    _of_logs(
        "log_upsert_changed_and_new",
        "upsert of 5 % + 1 %",
        Operation.UPSERT,
        ("changed_and_new",),
        4.0,
    ),
    _of_logs("log_upsert_everywhere", "upsert of 50,000 rows", Operation.UPSERT, ("everywhere",), 5.0),
    _of_logs("twenty_log_upserts", "twenty upserts of 50,000", Operation.UPSERT, _UPDATES, 5.0),
    _of_logs("compact", "compaction of twenty upserts", Operation.COMPACT, (LINEITEM, *_UPDATES), 5.0),
    _of_logs("snapshot_read", "snapshot of twenty upserts", Operation.READ, (LINEITEM, *_UPDATES), 3.0),
)
"""Scenarios of merge-on-read tables: writes into log files, and services and reads of tables with log files."""

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
        speed_target=14.0,
    ),
    Scenario(
        name="bulk_insert",
        title="bulk_insert",
        operation=Operation.BULK_INSERT,
        inputs=(LINEITEM,),
        speed_target=4.0,
    ),
    Scenario(
        name="upsert_changed_and_new",
        title="upsert of 5 % changed + 1 % new rows",
        operation=Operation.UPSERT,
        inputs=("changed_and_new",),
        systems=_ALL_FORMATS,
        on_base=True,
        speed_target=10.0,
    ),
    Scenario(
        name="upsert_everywhere",
        title="upsert of 50,000 rows, every file group",
        operation=Operation.UPSERT,
        inputs=("everywhere",),
        systems=_ALL_FORMATS,
        on_base=True,
        speed_target=10.0,
    ),
    Scenario(
        name="twenty_inserts",
        title="twenty inserts of 50,000 rows with sizing",
        operation=Operation.INSERT,
        inputs=tuple(batch_name(number) for number in range(BATCH_COUNT)),
        speed_target=6.0,
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
    *OF_LOGS,
)

UPSERT_BY_RECORD_INDEX = Scenario(
    name="upsert_record_index",
    title="upsert of 50,000 rows through the record index",
    operation=Operation.UPSERT,
    inputs=("everywhere",),
    on_base=True,
)
"""`metadata_table.py` measures this scenario: without a metadata table there is no record index."""


_NOT_MEASURED = (FIRST_LOG_INSERT, WARM_UP_CLUSTERING, WARM_UP_LOGS, UPSERT_BY_RECORD_INDEX)


def scenario_named(name: str) -> Scenario:
    """Return a scenario by name. Raises KeyError with the known names if there is no such scenario."""
    for scenario in (*SCENARIOS, *_NOT_MEASURED):
        if scenario.name == name:
            return scenario
    raise KeyError(f"There is no scenario {name!r}; known: {', '.join(s.name for s in SCENARIOS)}.")
