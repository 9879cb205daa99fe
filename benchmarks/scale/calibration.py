"""Derive the costs of the load model from measured runs on one core, and compare its predictions with other runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum

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
    LOGS = "logs"
    """Updates of a merge-on-read table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRun:
    """One measured load on a local disk. Every file group of the table gets the same number of rows of the batch.

    Attributes:
        batch: value of a `Batch`.
        groups: number of file groups and partitions of the table.
        timings_s: seconds by phase, from the result of the write job.
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
        changes = self.batch != Batch.INSERTS.value
        return Load(
            rows=self.batch_rows,
            row_bytes=ROW_BYTES,
            update_share=1.0 if changes else 0.0,
            partitions=self.groups,
            table_groups=self.groups,
            groups_changed=self.groups if changes else 0,
            rows_of_a_group=self.table_rows / self.groups,
            groups_searched=self.groups,
            footers=self.groups,
            writes_logs=self.batch == Batch.LOGS.value,
        )


@dataclass(frozen=True, slots=True)
class _Line:
    """Seconds that a phase takes: `fixed_s`, and one second for each `rows_per_s` rows."""

    fixed_s: float
    rows_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Numbers of requests of a load that do not depend on its rows; see `Costs`."""

    open_requests: float
    task_requests: float
    commit_requests: float


def costs_of(runs: Sequence[LoadRun], *, open_s_per_group: float, requests: Requests) -> Costs:
    """Return the costs that the smallest and the largest run of each batch on one core show.

    Args:
        open_s_per_group: see `Costs`; measured on generated tables of many file groups.

    Raises:
        ValueError: a batch has fewer than two runs on one core, or a larger run was not slower.
    """
    by_batch = {
        batch: sorted(
            (each for each in runs if each.cores == 1 and each.batch == batch.value),
            key=lambda each: each.table_rows,
        )
        for batch in Batch
    }
    for batch, found in by_batch.items():
        if len({each.table_rows for each in found}) < 2:
            raise ValueError(f"The model needs runs of two sizes on one core with the batch {batch.value}.")
    updates, inserts, logs = (by_batch[batch] for batch in Batch)
    every = [*updates, *inserts, *logs]
    rewrite = _line(updates, "write files", lambda each: each.table_rows)
    return Costs(
        open_s=_mean(each.seconds("open table") for each in every),
        open_s_per_group=open_s_per_group,
        plan_s_per_task=_mean(each.seconds("plan") / each.groups for each in every),
        driver_s_per_task=_mean(each.empty_task_s for each in every),
        stage_rows_per_s=_line(updates, "stage rows", lambda each: each.batch_rows).rows_per_s,
        search_rows_per_s=_line(updates, "find rows", lambda each: each.table_rows).rows_per_s,
        rewrite_rows_per_s=rewrite.rows_per_s,
        insert_rows_per_s=_line(inserts, "write files", lambda each: each.batch_rows).rows_per_s,
        log_rows_per_s=_line(logs, "write files", lambda each: each.batch_rows).rows_per_s,
        task_s=max(0.0, rewrite.fixed_s / updates[0].groups),
        commit_s=_mean(each.seconds("commit") for each in every),
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


def checks(costs: Costs, runs: Iterable[LoadRun]) -> list[Check]:
    """Predict each run on a local disk, where a request takes no time."""
    return [Check(run=each, prediction=predict(costs, _local(each.cores), each.load)) for each in runs]


def _local(cores: int) -> Cluster:
    return Cluster(cores=cores, request_s=0.0, bytes_per_s_of_a_core=_LOCAL_BYTES_PER_S)


def _line(runs: Sequence[LoadRun], phase: str, rows: Callable[[LoadRun], float]) -> _Line:
    """Return the line through the smallest and the largest run."""
    small, large = runs[0], runs[-1]
    more_rows, more_s = rows(large) - rows(small), large.seconds(phase) - small.seconds(phase)
    if more_rows <= 0 or more_s <= 0:
        raise ValueError(
            f"The larger run with the batch {large.batch} was not slower in the phase {phase!r}: "
            f"{small.seconds(phase):.2f} s, then {large.seconds(phase):.2f} s. Measure again without other load."
        )
    rate = more_rows / more_s
    return _Line(fixed_s=small.seconds(phase) - rows(small) / rate, rows_per_s=rate)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
