"""Predict what a load costs on clusters of any size, from costs that were measured on one core.

The model has the phases of the write job. In some phases, the driver works alone: it opens the table, reads footers,
plans, and commits. In the other phases, executors stage the batch, search the keys and write files. Such a phase begins
with the start of a Spark job, and then takes as long as the largest of these times:

- the work divided by the cores, and then the longest task, which may start last;
- the bytes divided by the bandwidth of the cores;
- the time in which the driver starts all tasks and collects their results, one after the other.

The model ignores skew between partitions, failures, and other load on the storage.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from math import ceil


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Measured costs. Rates are rows for each second of one core. Seconds do not include waiting for the storage.

    The seconds of a task (``…_task_s``) do not depend on its rows, and the seconds of a job (``…_job_s``) depend
    neither on the rows nor on the number of tasks.

    Attributes:
        open_s, open_requests: seconds and requests with which the driver opens the table, whatever its size.
        open_s_per_group: seconds of the driver for each file group of the table, to load its file slice.
        plan_s_per_task: seconds of the driver to plan one write task.
        driver_s_per_task: seconds of the driver to start one task of Spark and to collect its result.
        requests_per_footer: requests to read one footer. The driver reads `footer_threads` footers at the same time.
        stage_job_s, stage_rows_per_s: rows of the batch that are read, converted and staged.
        look_up_rows_per_s: rows of the batch whose keys are compared with stored keys.
        search_job_s, search_task_s, search_rows_per_s: stored rows whose keys are read.
        write_job_s: seconds of the job that writes files of all kinds.
        rewrite_task_s, rewrite_rows_per_s: rows of a base file that are read, merged and written.
        insert_task_s, insert_rows_per_s: rows of the batch that are written to a base file.
        copy_rows_per_s: rows of a small base file that are copied with their row groups when rows are added.
        log_task_s, log_rows_per_s: rows that are written to a log file.
        task_requests: requests of a task.
        commit_s, commit_requests: seconds and requests with which the driver commits.
    """

    open_s: float
    open_requests: float
    open_s_per_group: float
    plan_s_per_task: float
    driver_s_per_task: float
    requests_per_footer: float = 3.0
    footer_threads: int = 8
    stage_job_s: float
    stage_rows_per_s: float
    look_up_rows_per_s: float
    search_job_s: float
    search_task_s: float
    search_rows_per_s: float
    write_job_s: float
    rewrite_task_s: float
    rewrite_rows_per_s: float
    insert_task_s: float
    insert_rows_per_s: float
    copy_rows_per_s: float
    log_task_s: float
    log_rows_per_s: float
    task_requests: float
    commit_s: float
    commit_requests: float

    def __post_init__(self) -> None:
        for each in fields(self):
            least = "above 0" if each.name.endswith("rows_per_s") or each.name == "footer_threads" else ""
            value = getattr(self, each.name)
            if not (value > 0 if least else value >= 0):
                raise ValueError(f"{each.name} is {value}, but must be {least or 'at least 0'}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Executors and storage.

    Attributes:
        request_s: seconds until the storage answers a request.
        bytes_per_s_of_a_core: share of one core in the bandwidth between its machine and the storage.
        core_speed: work of a core while all cores are busy, divided by its work while it is the only busy core. Less
            than 1 if two cores of the operating system share a physical core, as in most virtual machines.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load, and the table that it changes.

    Attributes:
        rows: rows of the batch.
        update_share: share of the rows that change stored rows. The other rows are new.
        row_bytes: bytes of a row in a file.
        partitions: number of partitions that the batch changes.
        table_groups: number of file groups of the table.
        groups_changed: number of file groups whose rows change.
        rows_of_a_group: rows of a base file.
        groups_searched: number of base files in which rows are searched; 0 with a bucket index.
        keys_read_of_a_group: stored rows of a searched file whose keys are read; 0 if the key ranges of the files
            exclude all keys of the batch.
        small_file_rows: rows of the small base file of each partition that the write fills up with new rows; 0 if new
            rows are written to new files only.
        footers: number of footers that the driver reads for the estimate of the record size.
        writes_logs: whether changes are written to log files, as in merge-on-read tables.
    """

    rows: float
    row_bytes: float
    update_share: float
    partitions: int
    table_groups: int
    groups_changed: int
    rows_of_a_group: float
    groups_searched: int
    keys_read_of_a_group: float
    small_file_rows: float
    footers: int
    writes_logs: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.update_share <= 1:
            raise ValueError(f"update_share is {self.update_share}, but must be from 0 to 1.")
        if max(self.groups_changed, self.groups_searched) > self.table_groups:
            raise ValueError("A load cannot change or search more file groups than the table has.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Predicted time of one phase.

    Attributes:
        core_s: seconds of work of all executor cores; 0 for a phase of the driver.
        bound: what determines the time: ``driver``, ``cores``, ``longest task`` or ``bandwidth``.
    """

    name: str
    seconds: float
    core_s: float = 0.0
    requests: float = 0.0
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
        """Share of the time of the executor cores in which they work. In the rest of the time they are idle."""
        return sum(each.core_s for each in self.phases) / (self.seconds * self.cluster.cores)

    @property
    def bottleneck(self) -> Phase:
        return max(self.phases, key=lambda each: each.seconds)

    def phase(self, name: str) -> Phase:
        return next(each for each in self.phases if each.name == name)


def predict(costs: Costs, cluster: Cluster, load: Load) -> Prediction:
    """Predict the phases of one load. Their names are those of the phases in the result of the write job."""
    writes = tuple(_writes(costs, load))
    opened = (
        costs.open_s + costs.open_requests * cluster.request_s + costs.open_s_per_group * load.table_groups
    )
    footers = ceil(load.footers / costs.footer_threads) * costs.requests_per_footer * cluster.request_s
    planned = costs.plan_s_per_task * sum(each.count for each in writes)
    staged = _Tasks(
        count=cluster.cores,
        seconds=load.rows / cluster.cores / costs.stage_rows_per_s,
        moved_rows=2 * load.rows / cluster.cores,
    )
    committed = costs.commit_s + costs.commit_requests * cluster.request_s
    return Prediction(
        cluster=cluster,
        phases=(
            Phase(name="open table", seconds=opened, requests=costs.open_requests),
            _distributed("stage rows", costs.stage_job_s, (staged,), costs, cluster, load),
            _distributed(
                "find rows", costs.search_job_s, tuple(_searches(costs, load)), costs, cluster, load
            ),
            Phase(name="plan", seconds=footers + planned, requests=costs.requests_per_footer * load.footers),
            _distributed("write files", costs.write_job_s, writes, costs, cluster, load),
            Phase(name="commit", seconds=committed, requests=costs.commit_requests),
        ),
    )


def cores_worth_adding(costs: Costs, cluster: Cluster, load: Load, *, least_gain: float = 1.5) -> int:
    """Return the number of cores up to which doubling the cores makes a load at least `least_gain` times as fast.

    The search doubles the cores, from 1 on. The other attributes of the cluster stay the same.
    """
    cores = 1
    while cores < _MOST_CORES:
        now = predict(costs, replace(cluster, cores=cores), load).seconds
        doubled = predict(costs, replace(cluster, cores=2 * cores), load).seconds
        if now / doubled < least_gain:
            break
        cores *= 2
    return cores


_KEY_SHARE = 0.1
"""Bytes of the key column for each byte of a base file. A search reads no other column."""

_MOST_CORES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tasks:
    """Equal tasks.

    Attributes:
        count: number of tasks.
        seconds: seconds of one task on a core that works alone, without waiting for the storage.
        moved_rows: rows that one task exchanges with the storage. A row that is read and written counts twice.
    """

    count: int
    seconds: float
    moved_rows: float


def _searches(costs: Costs, load: Load) -> Iterator[_Tasks]:
    """Yield the tasks that search for the keys of the batch. They compare equal shares of the batch."""
    if not load.groups_searched:
        return
    read, compared = load.keys_read_of_a_group, load.rows / load.groups_searched
    yield _Tasks(
        count=load.groups_searched,
        seconds=costs.search_task_s + read / costs.search_rows_per_s + compared / costs.look_up_rows_per_s,
        moved_rows=_KEY_SHARE * read,
    )


def _writes(costs: Costs, load: Load) -> Iterator[_Tasks]:
    """Yield the write tasks: one for each changed file group, and one for each file that gets new rows."""
    changed, new = load.rows * load.update_share, load.rows * (1 - load.update_share)
    if load.groups_changed and load.writes_logs:
        rows = changed / load.groups_changed
        seconds = costs.log_task_s + rows / costs.log_rows_per_s
        yield _Tasks(count=load.groups_changed, seconds=seconds, moved_rows=2 * rows)
    elif load.groups_changed:
        rows = load.rows_of_a_group
        seconds = costs.rewrite_task_s + rows / costs.rewrite_rows_per_s
        yield _Tasks(count=load.groups_changed, seconds=seconds, moved_rows=2 * rows)
    if new > 0:
        count = max(load.partitions, ceil(new / load.rows_of_a_group))
        rows, copied = new / count, load.small_file_rows
        seconds = costs.insert_task_s + rows / costs.insert_rows_per_s
        yield _Tasks(count=count - load.partitions, seconds=seconds, moved_rows=2 * rows)
        yield _Tasks(
            count=load.partitions,
            seconds=seconds + copied / costs.copy_rows_per_s,
            moved_rows=2 * (rows + copied),
        )


def _distributed(
    name: str, job_s: float, tasks: tuple[_Tasks, ...], costs: Costs, cluster: Cluster, load: Load
) -> Phase:
    started = [each for each in tasks if each.count]
    if not started:
        return Phase(name=name, seconds=0.0)
    waited_s = costs.task_requests * cluster.request_s
    task_s = [each.seconds / cluster.core_speed + waited_s for each in started]
    count = sum(each.count for each in started)
    core_s = sum(each.count * seconds for each, seconds in zip(started, task_s, strict=True))
    moved = sum(each.count * each.moved_rows for each in started) * load.row_bytes
    even = core_s / cluster.cores
    longest = max(task_s)
    # If each core runs at most one task, the phase ends with the longest task. Otherwise, the longest task may be the
    # last to start, when the other cores have just become idle.
    end = longest if count <= cluster.cores else even + longest * (1 - 1 / cluster.cores)
    times = {
        "cores": end,
        "bandwidth": moved / (min(cluster.cores, count) * cluster.bytes_per_s_of_a_core),
        "driver": count * costs.driver_s_per_task,
    }
    bound = max(times, key=lambda each: times[each])
    return Phase(
        name=name,
        seconds=job_s + times[bound],
        core_s=core_s,
        requests=count * costs.task_requests,
        bound="longest task" if bound == "cores" and longest > even else bound,
    )
