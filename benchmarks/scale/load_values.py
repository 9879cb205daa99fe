"""Values of the load model: costs, clusters, loads and predictions."""

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Measured costs in seconds of one core. They do not include waiting for the storage.

    Costs of a job (``…_job_s``) depend neither on rows nor on files. The other parts of a cost are seconds for each
    file and for each row.

    Attributes:
        open_s, open_s_per_group: the driver opens the table and loads the file slice of each file group.
        plan_s, plan_s_per_file: the driver plans the files of the write.
        driver_s_per_task: the driver starts a Spark task and collects its result.
        stage_job_s, stage_s_per_row: rows of the batch are read, converted and staged.
        search_job_s, search_s_per_file, search_s_per_stored_row: the keys of base files are read.
        search_s_per_row: a row of the batch is compared with the keys of one file.
        route_job_s, route_s_per_row: rows of the batch are distributed to the file groups of their keys.
        write_job_s: start of the job that writes files of all kinds.
        rewrite_s_per_file, rewrite_s_per_row: rows of a base file are read, merged and written.
        insert_s_per_file, insert_s_per_row: rows of the batch are written to a base file.
        copy_s_per_row: rows of a small file are copied with their row groups when rows are added to the file.
        log_s_per_file, log_s_per_row: rows are written to a log file.
        commit_s: the driver commits.
    """

    open_s: float
    open_s_per_group: float
    plan_s: float
    plan_s_per_file: float
    driver_s_per_task: float
    stage_job_s: float
    stage_s_per_row: float
    search_job_s: float
    search_s_per_file: float
    search_s_per_stored_row: float
    search_s_per_row: float
    route_job_s: float
    route_s_per_row: float
    write_job_s: float
    rewrite_s_per_file: float
    rewrite_s_per_row: float
    insert_s_per_file: float
    insert_s_per_row: float
    copy_s_per_row: float
    log_s_per_file: float
    log_s_per_row: float
    commit_s: float

    def __post_init__(self) -> None:
        for each in fields(self):
            if not getattr(self, each.name) >= 0:
                raise ValueError(f"{each.name} is {getattr(self, each.name)}, but must be at least 0.")

    def of(self, amounts: Mapping[str, float]) -> float:
        """Return the seconds of an amount of work: for each name of a cost, how often the cost occurs."""
        return sum(amount * getattr(self, name) for name, amount in amounts.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Requests to the storage, one after the other, of the driver and for each file.

    Attributes:
        driver: requests of the driver that do not depend on the number of files.
        footer: to read one footer for the estimate of the record size. The driver reads `footer_threads` at a time.
        search: to read the keys of a base file.
        rewrite, insert, fill, log: to write a changed base file, a new base file, a small file to which rows are added,
            and a log file.
    """

    driver: float
    footer: float
    footer_threads: int = 8
    search: float
    rewrite: float
    insert: float
    fill: float
    log: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Executors and storage.

    Attributes:
        request_s: seconds until the storage answers a request.
        bytes_per_s_of_a_core: share of one core in the bandwidth between its machine and the storage.
        core_speed: work of a core while all cores are busy, divided by its work while it is the only busy core. Less
            than 1 if two cores of the operating system share a physical core.
    """

    cores: int
    request_s: float
    bytes_per_s_of_a_core: float
    core_speed: float = 1.0

    def __post_init__(self) -> None:
        if self.cores < 1 or self.request_s < 0 or self.bytes_per_s_of_a_core <= 0:
            raise ValueError(
                "A cluster needs at least one core, a latency of 0 or more, and a bandwidth above 0."
            )
        if not 0 < self.core_speed <= 1:
            raise ValueError(f"core_speed is {self.core_speed}, but must be above 0 and at most 1.")

    def speed_of(self, tasks: int) -> float:
        """Work of each core while this number of tasks runs. Few tasks do not share physical cores."""
        return self.core_speed if 2 * tasks > self.cores else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load, and the table that it changes.

    Attributes:
        rows: rows of the batch.
        changed_rows: rows of the batch that change stored rows. The other rows are new.
        row_bytes: bytes of a row in a file.
        partitions: number of partitions that the batch changes.
        table_groups: number of file groups of the table.
        groups_changed: number of file groups whose rows change.
        rows_of_a_group: rows of a base file; new files get at most this number of rows.
        groups_searched: number of base files whose keys are read; 0 with a bucket index.
        small_file_rows: rows of the small file of each partition that the write fills up with new rows; 0 if new rows
            are written to new files only.
        footers: number of footers that the driver reads for the estimate of the record size.
        writes_logs: whether changes are written to log files, as in merge-on-read tables.
    """

    rows: float
    changed_rows: float
    row_bytes: float
    partitions: int
    table_groups: int
    groups_changed: int
    rows_of_a_group: float
    groups_searched: int
    small_file_rows: float
    footers: int
    writes_logs: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.changed_rows <= self.rows:
            raise ValueError(f"changed_rows is {self.changed_rows}, but must be from 0 to {self.rows}.")
        if max(self.groups_changed, self.groups_searched) > self.table_groups:
            raise ValueError("A load cannot change or search more file groups than the table has.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Predicted time of one phase.

    Attributes:
        core_s: seconds in which tasks occupy executor cores; 0 for a phase of the driver.
        tasks: number of Spark tasks.
        bound: what determines the time: ``driver``, ``cores``, ``longest task`` or ``bandwidth``.
    """

    name: str
    seconds: float
    core_s: float = 0.0
    requests: float = 0.0
    tasks: int = 0
    bound: str = "driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Predicted phases of one load."""

    cluster: Cluster
    phases: tuple[Phase, ...]

    @property
    def seconds(self) -> float:
        return sum(each.seconds for each in self.phases)

    @property
    def requests(self) -> float:
        return sum(each.requests for each in self.phases)

    @property
    def busy_share(self) -> float:
        """Share of the time of the executor cores in which they work or wait for the storage."""
        return sum(each.core_s for each in self.phases) / (self.seconds * self.cluster.cores)

    @property
    def bottleneck(self) -> Phase:
        return max(self.phases, key=lambda each: each.seconds)

    def phase(self, name: str) -> Phase:
        return next(each for each in self.phases if each.name == name)
