"""The rounds of a run: in each round, every table is loaded once."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from many_tables.usage import Usage

ROWS_OF_A_TABLE = 300_000
"""Number of rows of a new table. Its base files have about 10 MB."""

CHANGED_ROWS, NEW_ROWS = 1_000, 1_000
"""Number of changed and of new rows in each later round."""

_REGIONS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One load of every table.

    Attributes:
        number: position of the round, from 0. Round 0 creates the tables.
        loads: number of successful tasks.
        failed: number of tasks that did not succeed.
        seconds: from the request of the run until its end.
        cpu_seconds: processor seconds of each component.
    """

    number: int
    loads: int
    failed: int
    seconds: float
    cpu_seconds: Mapping[str, float]

    @property
    def loads_per_hour(self) -> float:
        return self.loads / self.seconds * 3600

    @property
    def cpu_seconds_of_a_load(self) -> float:
        return sum(self.cpu_seconds.values()) / max(1, self.loads)


def cpu_between(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> dict[str, float]:
    """Return the processor seconds of each component between two samples."""
    return {name: after[name].cpu_seconds - before[name].cpu_seconds for name in after}


def rows_of_round(number: int) -> pa.Table:
    """Return the rows that every table gets in a round. Each round changes other rows."""
    random = np.random.default_rng(number)
    if number == 0:
        ids = np.arange(ROWS_OF_A_TABLE)
    else:
        new = ROWS_OF_A_TABLE + (number - 1) * NEW_ROWS
        ids = np.concatenate(
            [random.choice(ROWS_OF_A_TABLE, CHANGED_ROWS, replace=False), np.arange(new, new + NEW_ROWS)]
        )
    return pa.table(
        {
            "id": ids,
            "region": pa.array([f"r{i % _REGIONS}" for i in ids]),
            "version": pa.array(np.full(len(ids), number), pa.int32()),
            "amount": random.random(len(ids)),
            "price": random.random(len(ids)),
            "note": pa.array([f"note {value:x}" for value in random.integers(0, 1 << 60, len(ids))]),
        }
    )
