"""Several threads load the changes of one or two sources into one target, while the sources get new commits.

At the end, the target equals the full computation, and the windows of the loads contain each commit exactly once. The
targets count the loads of each row (`CountedChain`). ``LOOP_SECONDS`` sets the duration of the loop.
"""

import itertools
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import CommitConflictError, CommitStateUnknownError
from support.depth import number_from
from support.reading.counted_loads import CountedChain, assert_windows_join, windows
from support.spark.log_tables import Row, new_log_table

SECONDS = number_from("LOOP_SECONDS", 6, 20)
LONGEST_S = 90.0
KEYS = 8


@dataclass
class Loop:
    """One source with its writer and its loads.

    Attributes:
        states: the rows of the source after each of its commits, by the time at which the commit became visible.
        outcomes: counts the outcomes and errors of the loads.
        unexpected: errors of threads that are no conflicts.
    """

    chain: CountedChain
    seed: int
    stop: threading.Event
    states: dict[str, list[Row]] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    unexpected: list[BaseException] = field(default_factory=list)

    def write(self, rows: list[Row], operation: str = "upsert") -> None:
        self.chain.source.write(rows, operation)
        self.states[self.chain.source.newest()[0].visible_from] = self.chain.source.rows()

    def write_until_stopped(self) -> None:
        """Upsert and delete rows; the ordering value of each commit is new."""
        choose = random.Random(self.seed)
        for number in itertools.count(1):
            if self.stop.wait(0.2):
                return
            self.write([self.row(i, number, choose) for i in choose.sample(range(KEYS), 3)])
            if number % 3 == 0:
                self.write([choose.choice(self.chain.source.rows())], "delete")

    def row(self, i: int, number: int, choose: random.Random) -> Row:
        """A row whose key and group occur only in this source."""
        return (f"s{self.seed}-{i}", number, f"p{i % 2}", f"{choose.choice('xyz')}{self.seed}")

    def load_until_stopped(self, name: str) -> None:
        for number in itertools.count():
            if self.stop.is_set():
                return
            try:
                result = self.chain.load(f"{self.chain.chain}/{name}/{number}")
                self.outcomes[result.outcome.value] += 1
            except (CommitConflictError, CommitStateUnknownError) as error:
                self.outcomes[error.kind] += 1

    def thread(self, action: str, *arguments: str) -> threading.Thread:
        def run() -> None:
            try:
                getattr(self, action)(*arguments)
            except BaseException as error:
                self.unexpected.append(error)
                self.stop.set()

        return threading.Thread(target=run, name=f"{action} {arguments}", daemon=True)

    def expected(self) -> list[Row]:
        """The full computation of the rows of this source, with the number of loads that the windows require."""
        chain = self.chain
        for _, end in windows(chain.target, chain.chain):
            chain = chain.after_load(self.states[end])
        return chain.expected()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sources", "loaders", "is_grouped", "version", "table_type"),
    [
        (2, 2, False, 9, "MERGE_ON_READ"),
        (1, 3, False, 6, "COPY_ON_WRITE"),
        (1, 3, True, 9, "COPY_ON_WRITE"),
        (2, 2, True, 6, "MERGE_ON_READ"),
        (2, 2, False, 8, "MERGE_ON_READ"),
    ],
)
def test_each_change_is_loaded_once(
    spark: SparkSession,
    tmp_path: Path,
    sources: int,
    loaders: int,
    is_grouped: bool,
    version: int,
    table_type: str,
) -> None:
    target = new_log_table(tmp_path / "t", version, hoodie__table__type=table_type)
    target.ordering_field = ""
    stop = threading.Event()
    loops = []
    for number in range(sources):
        source = new_log_table(tmp_path / f"s{number}", version, hoodie__table__type="COPY_ON_WRITE")
        chain = CountedChain(spark, source, target, is_grouped, f"chain-{number}")
        loops.append(Loop(chain, number, stop))
        loops[-1].write([loops[-1].row(i, 0, random.Random(number)) for i in range(KEYS)])
    threads = [loop.thread("write_until_stopped") for loop in loops]
    threads += [loop.thread("load_until_stopped", f"{i}") for loop in loops for i in range(loaders)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    while not stop.wait(0.1) and time.monotonic() - began < LONGEST_S:
        enough = target.base_path.exists() and all(loop.outcomes["completed"] > 1 for loop in loops)
        if enough and time.monotonic() - began > SECONDS:
            break
    stop.set()
    for thread in threads:
        thread.join(5 * LONGEST_S)
        assert not thread.is_alive(), thread.name
    for loop in loops:
        assert not loop.unexpected, loop.unexpected
        loop.write([loop.row(0, 10**6, random.Random(0))])
        loop.chain.load()
    print([dict(loop.outcomes) for loop in loops])
    assert loops[0].chain.rows() == sorted(row for loop in loops for row in loop.expected())
    for loop in loops:
        assert_windows_join(target, loop.chain.source, loop.chain.chain)
        assert loop.chain.load().outcome is Outcome.NOTHING_TO_DO
    assert not target.timeline_store.load().pending
    assert not (left := target.leftovers()), left
