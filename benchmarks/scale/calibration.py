"""Derive the costs of the load model from measured runs on one core, and compare its predictions with other runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from scale.load_model import predict
from scale.load_values import Cluster, Costs, Load, Prediction, Requests
from scale.load_work import phase_works
from scale.measuring import Measurement

ROW_BYTES = 100
"""Approximate bytes of a row in the files of the measured runs."""

_LOCAL_BYTES_PER_S = 1e9
_NO_REQUESTS = Requests(driver=0, footer=0, search=0, rewrite=0, insert=0, fill=0, log=0)


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
        timings_s: seconds by phase, from the result of the write job, of the load with the median of all seconds.
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
        fills = batch is Batch.SMALL_FILES
        return Load(
            rows=self.batch_rows,
            changed_rows=self.batch_rows if batch.changes_rows else 0,
            row_bytes=ROW_BYTES,
            partitions=self.groups,
            table_groups=self.groups,
            groups_changed=self.groups if batch.changes_rows else 0,
            # The tables of these runs have no largest file size, so that all new rows fit into a small file.
            rows_of_a_group=rows_of_a_group + (self.batch_rows / self.groups if fills else 0),
            groups_searched=self.groups,
            small_file_rows=rows_of_a_group if fills else 0,
            footers=self.groups,
            writes_logs=batch is Batch.LOGS,
        )


def costs_of(runs: Sequence[LoadRun], *, open_s_per_group: float) -> Costs:
    """Return the costs with which the model is closest to the runs on one core.

    For each phase, the sum of the squared relative errors is smallest. A cost that would be negative is 0.

    Args:
        open_s_per_group: see `Costs`; measured on generated tables of many file groups.

    Raises:
        ValueError: a kind of batch has no run on one core.
    """
    alone = [each for each in runs if each.cores == 1]
    missing = {each.value for each in Batch} - {each.batch for each in alone}
    if missing:
        raise ValueError(f"There is no run on one core with the batch {min(missing)!r}.")
    works = [phase_works(each.load, _NO_REQUESTS, cores=1) for each in alone]
    found: dict[str, float] = {}
    for phases in zip(*works, strict=True):
        measured = [run.seconds(phases[0].name) for run in alone]
        found |= _fitted([each.amounts for each in phases], measured)
    found["open_s_per_group"] = open_s_per_group
    found["driver_s_per_task"] = min(each.empty_task_s for each in alone)
    return Costs(**found)


def _fitted(amounts: Sequence[Mapping[str, float]], seconds: Sequence[float]) -> dict[str, float]:
    """Return non-negative costs by name, so that the amounts times the costs are close to the seconds."""
    names = sorted({name for each in amounts for name in each if name != "open_s_per_group"})
    scale = 1 / np.maximum(np.array(seconds), _LEAST_SECONDS)
    rows = np.array([[each.get(name, 0.0) for name in names] for each in amounts]) * scale[:, None]
    used = list(range(len(names)))
    while True:
        values = np.linalg.lstsq(rows[:, used], np.array(seconds) * scale, rcond=None)[0]
        if values.min(initial=0.0) >= 0:
            break
        del used[int(values.argmin())]
    return dict.fromkeys(names, 0.0) | {names[i]: float(value) for i, value in zip(used, values, strict=True)}


_LEAST_SECONDS = 0.01
"""Shorter measurements count as if they took this time, so that their errors do not count too much."""


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
    found = []
    for run in runs:
        cluster = Cluster(
            cores=run.cores,
            request_s=0.0,
            bytes_per_s_of_a_core=_LOCAL_BYTES_PER_S,
            core_speed=core_speed if run.cores > 1 else 1.0,
        )
        found.append(Check(run=run, prediction=predict(costs, _NO_REQUESTS, cluster, run.load)))
    return found


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
