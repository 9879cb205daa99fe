"""Derive the costs of the load model from measured runs on one core, and compare its predictions with other runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TypeAlias

from scale.load_model import Cluster, Costs, Load, Prediction, predict
from scale.measuring import Measurement

ROW_BYTES = 100
"""Approximate bytes of a row in the files of the measured runs. The predictions of the runs do not depend on this
number, because local disks are much faster than these runs."""

_LOCAL_BYTES_PER_S = 1e9


class Batch(Enum):
    """The kind of the batch of a measured run."""

    UPDATES = "updates"
    INSERTS = "inserts"
    """New rows, which are written to new files."""

    SMALL_FILES = "inserts into small files"
    """New rows, which fill up the files of the table. The write copies the row groups of these files."""

    LOGS = "updates in log files"
    """Updates of a merge-on-read table."""

    @property
    def changes_rows(self) -> bool:
        """Whether the batch changes stored rows. Otherwise it has only new rows."""
        return self in (Batch.UPDATES, Batch.LOGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRun:
    """One measured load on a local disk. Every file group of the table gets the same number of rows of the batch.

    Attributes:
        batch: value of a `Batch`.
        groups: number of file groups and partitions of the table.
        timings_s: seconds by phase, from the result of the write job; medians of several equal loads.
        empty_task_s: seconds for each task of a Spark job without work.
    """

    batch: str
    cores: int
    groups: int
    table_rows: int
    batch_rows: int
    timings_s: Mapping[str, float]
    empty_task_s: float

    def seconds(self, phase: str) -> float:
        return self.timings_s.get(phase, 0.0)

    @property
    def load(self) -> Load:
        """The load that this run made."""
        batch = Batch(self.batch)
        rows_of_a_group = self.table_rows / self.groups
        return Load(
            rows=self.batch_rows,
            row_bytes=ROW_BYTES,
            update_share=1.0 if batch.changes_rows else 0.0,
            partitions=self.groups,
            table_groups=self.groups,
            groups_changed=self.groups if batch.changes_rows else 0,
            rows_of_a_group=rows_of_a_group,
            groups_searched=self.groups,
            # New keys are greater than all stored keys.
            keys_read_of_a_group=rows_of_a_group if batch.changes_rows else 0.0,
            small_file_rows=rows_of_a_group if batch is Batch.SMALL_FILES else 0.0,
            footers=self.groups,
            writes_logs=batch is Batch.LOGS,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Numbers of requests of a load that do not depend on its rows; see `Costs`."""

    open_requests: float
    task_requests: float
    commit_requests: float


def costs_of(runs: Sequence[LoadRun], *, open_s_per_group: float, requests: Requests) -> Costs:
    """Return the costs that runs on one core show.

    The smallest and the largest run of each batch, with the same number of file groups, show the rates. The run of
    updates with the most file groups shows the seconds of a task and of a job.

    Args:
        open_s_per_group: see `Costs`; measured on generated tables of many file groups.

    Raises:
        ValueError: a batch has fewer than two runs on one core, there is no run of updates with more file groups, or a
            larger run was not slower.
    """
    alone = [each for each in runs if each.cores == 1]
    updates, inserts, small_files, logs = (_pair(alone, batch) for batch in Batch)
    wide = max((each for each in alone if each.batch == Batch.UPDATES.value), key=lambda each: each.groups)
    if wide.groups == updates.small.groups:
        raise ValueError("The model needs runs of updates with two numbers of file groups on one core.")

    stage_s_per_row = updates.s_per_row("stage rows", _batch_rows)
    look_up_s_per_row = inserts.s_per_row("find rows", _batch_rows)
    search_s_per_row = updates.s_per_row("find rows", _table_rows, less=_work(_batch_rows, look_up_s_per_row))
    rewrite_s_per_row = updates.s_per_row("write files", _table_rows)
    insert_s_per_row = inserts.s_per_row("write files", _batch_rows)
    copy_s_per_row = small_files.s_per_row(
        "write files", _table_rows, less=_work(_batch_rows, insert_s_per_row)
    )
    log_s_per_row = logs.s_per_row("write files", _batch_rows)

    search_task_s, search_job_s = _fixed_s(
        updates.small,
        wide,
        lambda each: (
            each.seconds("find rows")
            - look_up_s_per_row * each.batch_rows
            - search_s_per_row * each.table_rows
        ),
    )
    rewrite_task_s, write_job_s = _fixed_s(
        updates.small, wide, lambda each: each.seconds("write files") - rewrite_s_per_row * each.table_rows
    )

    def other_task_s(run: LoadRun, s_per_row: float) -> float:
        rest = run.seconds("write files") - s_per_row * run.batch_rows - write_job_s
        return max(0.0, rest / run.groups)

    return Costs(
        open_s=_mean(each.seconds("open table") for each in alone),
        open_s_per_group=open_s_per_group,
        plan_s_per_task=_mean(each.seconds("plan") / each.groups for each in alone),
        driver_s_per_task=_mean(each.empty_task_s for each in alone),
        stage_job_s=max(
            0.0, updates.small.seconds("stage rows") - stage_s_per_row * updates.small.batch_rows
        ),
        stage_rows_per_s=1 / stage_s_per_row,
        look_up_rows_per_s=1 / look_up_s_per_row,
        search_job_s=search_job_s,
        search_task_s=search_task_s,
        search_rows_per_s=1 / search_s_per_row,
        write_job_s=write_job_s,
        rewrite_task_s=rewrite_task_s,
        rewrite_rows_per_s=1 / rewrite_s_per_row,
        insert_task_s=other_task_s(inserts.small, insert_s_per_row),
        insert_rows_per_s=1 / insert_s_per_row,
        copy_rows_per_s=1 / copy_s_per_row,
        log_task_s=other_task_s(logs.small, log_s_per_row),
        log_rows_per_s=1 / log_s_per_row,
        commit_s=_mean(each.seconds("commit") for each in alone),
        **asdict(requests),
    )


def open_s_per_group(measured: Iterable[Measurement]) -> float:
    """Return the processor seconds of an upsert plan for each additional file group of the table.

    The number of planned rows is the same in all tables, so the difference is the load of the file slices. The result
    is the mean over the kinds of tables.

    Raises:
        ValueError: there is no kind of table with upsert plans of two sizes on the local disk.
    """
    found: dict[str, dict[int, float]] = {}
    for each in measured:
        if (each.operation, each.store) == ("upsert plan", "disk"):
            found.setdefault(each.kind, {})[each.groups] = each.cpu_s
    rates = [
        max(0.0, sizes[max(sizes)] - sizes[min(sizes)]) / (max(sizes) - min(sizes))
        for sizes in found.values()
        if len(sizes) > 1
    ]
    if not rates:
        raise ValueError("The model needs upsert plans on tables of two sizes on the local disk.")
    return _mean(rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A measured run and its prediction."""

    run: LoadRun
    prediction: Prediction

    @property
    def measured_s(self) -> float:
        """Measured seconds of all phases that the model has."""
        return sum(self.run.seconds(each.name) for each in self.prediction.phases)

    @property
    def error(self) -> float:
        """Predicted seconds divided by measured seconds, less 1: 0.1 means that the prediction is 10 % too high."""
        return self.prediction.seconds / self.measured_s - 1


def checks(costs: Costs, runs: Iterable[LoadRun], *, core_speed: float) -> list[Check]:
    """Predict each run on a local disk, where a request takes no time.

    Args:
        core_speed: `Cluster.core_speed` of this machine while two cores are busy.
    """
    return [
        Check(
            run=each,
            prediction=predict(costs, _local(each.cores, core_speed if each.cores > 1 else 1.0), each.load),
        )
        for each in runs
    ]


def _local(cores: int, core_speed: float) -> Cluster:
    return Cluster(
        cores=cores, request_s=0.0, bytes_per_s_of_a_core=_LOCAL_BYTES_PER_S, core_speed=core_speed
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    """The smallest and the largest run of a batch."""

    small: LoadRun
    large: LoadRun

    def s_per_row(self, phase: str, rows: "_Rows", less: Callable[[LoadRun], float] = lambda _: 0.0) -> float:
        """Seconds of a phase for each additional row, without the seconds that `less` returns."""
        more_rows = rows(self.large) - rows(self.small)
        small_s, large_s = (each.seconds(phase) - less(each) for each in (self.small, self.large))
        if more_rows <= 0 or large_s <= small_s:
            raise ValueError(
                f"The larger run with the batch {self.large.batch!r} was not slower in the phase {phase!r}: "
                f"{small_s:.2f} s, then {large_s:.2f} s. Measure again without other load."
            )
        return (large_s - small_s) / more_rows


_Rows: TypeAlias = Callable[[LoadRun], float]


def _batch_rows(run: LoadRun) -> float:
    return run.batch_rows


def _table_rows(run: LoadRun) -> float:
    return run.table_rows


def _work(rows: _Rows, s_per_row: float) -> Callable[[LoadRun], float]:
    return lambda run: rows(run) * s_per_row


def _pair(runs: Iterable[LoadRun], batch: Batch) -> _Pair:
    """Return the smallest and the largest of the runs that have the fewest file groups."""
    found = sorted(
        (each for each in runs if each.batch == batch.value), key=lambda each: (each.groups, each.table_rows)
    )
    same = [each for each in found if each.groups == found[0].groups]
    if len(same) < 2:
        raise ValueError(f"The model needs runs of two sizes on one core with the batch {batch.value!r}.")
    return _Pair(same[0], same[-1])


def _fixed_s(few: LoadRun, many: LoadRun, rest: Callable[[LoadRun], float]) -> tuple[float, float]:
    """Return seconds of a task and of a job, from two runs with few and with many file groups.

    Args:
        rest: returns the seconds of a run that do not depend on rows.
    """
    task_s = max(0.0, (rest(many) - rest(few)) / (many.groups - few.groups))
    return task_s, max(0.0, rest(few) - task_s * few.groups)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
