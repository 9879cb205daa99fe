"""The work of each phase of a load, in units that executors do at the same time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE
from scale.load_values import Load, Requests

_KEY_SHARE = 0.1
"""Bytes of the key column for each byte of a base file. A search reads no other column."""

_BYTES_OF_A_KEY, _BYTES_OF_FILE_KEYS = 16, (1 << 20, 4 << 20)
"""The write job estimates the work of a search from these bytes for each row of the batch, and from the size of each
base file, but at least and at most from these bytes for a file (execution/writing/record_index.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Equal units of work that executors do. A unit is not divided, but a Spark task may do several units.

    Attributes:
        count: number of units.
        amounts: work of one unit; see `Costs.of`.
        moved_rows: rows that one unit exchanges with the storage. A row that is read and written counts twice.
        requests: requests of one unit.
        weight: bytes of one unit, by which the write job combines units to Spark tasks.
    """

    count: int
    amounts: Mapping[str, float]
    moved_rows: float
    requests: float = 0.0
    weight: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWork:
    """Work of a phase: `serial` work of the driver, and parts that executors do at the same time."""

    name: str
    serial: Mapping[str, float]
    parts: tuple[Part, ...] = ()

    @property
    def amounts(self) -> dict[str, float]:
        """All work of the phase."""
        found = dict(self.serial)
        for part in self.parts:
            for name, amount in part.amounts.items():
                found[name] = found.get(name, 0.0) + part.count * amount
        return found


def phase_works(load: Load, requests: Requests, cores: int) -> tuple[PhaseWork, ...]:
    """Return the work of the phases of a load on a number of cores."""
    writes = tuple(each for each in _writes(load, requests) if each.count)
    files = sum(each.count for each in writes)
    staged = Part(
        count=cores,
        amounts={"stage_s_per_row": load.rows / cores},
        moved_rows=2 * load.rows / cores,
        weight=float("inf"),
    )
    searches = tuple(_searches(load, requests, cores))
    found: dict[str, float] = {"search_job_s": 1} if searches else {}
    if searches and load.changed_rows:
        found["route_job_s"] = 1
    return (
        PhaseWork(name="open table", serial={"open_s": 1, "open_s_per_group": load.table_groups}),
        PhaseWork(name="stage rows", serial={"stage_job_s": 1}, parts=(staged,)),
        PhaseWork(name="find rows", serial=found, parts=searches),
        PhaseWork(name="plan", serial={"plan_s": 1, "plan_s_per_file": files}),
        PhaseWork(name="write files", serial={"write_job_s": 1}, parts=writes),
        PhaseWork(name="commit", serial={"commit_s": 1}),
    )


def _searches(load: Load, requests: Requests, cores: int) -> Iterator[Part]:
    """Yield the search of groups of consecutive files of a partition, and the routing of each partition.

    Each file is compared with all rows of the batch for its partition. The write job divides the files of a partition
    so that there are at least two groups for each core.
    """
    if not load.groups_searched:
        return
    of_partition = load.groups_searched / load.partitions
    count = ceil(load.groups_searched / min(of_partition, max(1, load.groups_searched // (2 * cores))))
    group = load.groups_searched / count
    batch = load.rows / load.partitions
    least, most = _BYTES_OF_FILE_KEYS
    keys = max(least, min(load.rows_of_a_group * load.row_bytes, most))
    yield Part(
        count=count,
        amounts={
            "search_s_per_file": group,
            "search_s_per_stored_row": group * load.rows_of_a_group,
            "search_s_per_row": group * batch,
        },
        moved_rows=_KEY_SHARE * group * load.rows_of_a_group,
        requests=requests.search * group,
        weight=BYTES_OF_A_FILE + _BYTES_OF_A_KEY * batch + group * keys,
    )
    if load.changed_rows:
        yield Part(
            count=load.partitions,
            amounts={"route_s_per_row": batch},
            moved_rows=2 * batch,
            weight=BYTES_OF_A_FILE + batch * load.row_bytes,
        )


def _writes(load: Load, requests: Requests) -> Iterator[Part]:
    """Yield the files to write: the changed file groups, the small file of each partition, and new files."""

    def part(kind: str, count: int, rows: float, requests: float, copied: float = 0.0) -> Part:
        size = rows + copied
        return Part(
            count=count,
            amounts={f"{kind}_s_per_file": 1, f"{kind}_s_per_row": rows, "copy_s_per_row": copied},
            moved_rows=2 * size,
            requests=requests,
            weight=BYTES_OF_A_FILE + size * load.row_bytes,
        )

    if load.groups_changed and load.writes_logs:
        yield part("log", load.groups_changed, load.changed_rows / load.groups_changed, requests.log)
    elif load.groups_changed:
        yield part("rewrite", load.groups_changed, load.rows_of_a_group, requests.rewrite)
    new, small = (load.rows - load.changed_rows) / load.partitions, load.small_file_rows
    filled = min(new, load.rows_of_a_group - small) if small else 0.0
    if filled > 0:
        yield part("insert", load.partitions, filled, requests.fill, copied=small)
    if new > filled:
        count = ceil((new - filled) / load.rows_of_a_group)
        yield part("insert", load.partitions * count, (new - filled) / count, requests.insert)
