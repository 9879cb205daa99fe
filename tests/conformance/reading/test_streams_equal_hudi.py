"""The batches of a stream have the rows and the positions of a stream of real Hudi over the same commits.

The jobs of these tests run on Spark 3.5, which has no Python data sources. So the tests plan and read each batch as
`reading/stream_source.py` does, and tests/spark/reading/test_streams.py proves that Spark 4 executes these batches.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from judges.clusterings import call_procedure
from judges.merge_on_read.broken_logs import we_execute, we_schedule
from judges.merge_on_read.shared_log_tables import SharedTable
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.reading.two_streams import TwoStreams
from judges.rows import PLAIN, a_key, some_rows
from judges.table_files import instant_names
from support.depth import cases
from support.with_logs import clusterings_here

pytestmark = pytest.mark.oracles(V6_OLD, V8, V9)

COPY, MERGE = "COPY_ON_WRITE", "MERGE_ON_READ"
START = "hoodie.datasource.streaming.startOffset"
Kind = tuple[Oracle, str]
KINDS: list[Kind] = [(oracle, kind) for kind in (COPY, MERGE) for oracle in (V6_OLD, V8, V9)]


def kinds(*sampled: Kind) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", cases(KINDS, sampled, name=lambda kind: f"{kind[0]}-{kind[1]}"))


class StreamedTable(SharedTable):
    """A table with one commit, and two streams that have returned this commit."""

    def __init__(self, hudi, folder: Path, kind: Kind) -> None:
        oracle, self.table_type = kind
        judge = hudi(oracle.release)
        super().__init__(folder / "t", oracle, judge, PLAIN, {"hoodie.table.type": self.table_type})
        self.hudi_upserts(range(8), 1)
        self.begin(folder / "checkpoint", "earliest")
        self.compare(range(8), "the first commit")

    def begin(self, checkpoint: Path, start: str) -> None:
        """Begin two new streams."""
        self.streams = TwoStreams(self.judge, self.base_path, checkpoint, {START: start})

    def hudi_upserts(self, numbers: Sequence[int], version: int, operation: str = "upsert") -> None:
        options = {"datasource__write__table__type": self.table_type}
        self.hudi_writes(some_rows(numbers, version, PLAIN), operation, **options)

    def we_upsert(self, numbers: Sequence[int], version: int, operation: str = "upsert") -> None:
        self.write(some_rows(numbers, version, PLAIN), operation)

    def hudi_clusters(self) -> None:
        before = self._replacements()
        call_procedure(
            self.judge, self.base_path, "run_clustering", "op => 'scheduleAndExecute'", self.oracle
        )
        assert self._replacements() == before + 1, "Hudi clustered nothing"

    def we_cluster(self) -> None:
        before, storage, clock = self._replacements(), LocalStorage(str(self.base_path)), SystemClock()
        clusterings_here.schedule(storage, clock, sort_columns=["double"])
        clusterings_here.execute(storage, clock, options=clusterings_here.NOW)
        assert self._replacements() == before + 1, "this project clustered nothing"

    def _replacements(self) -> int:
        return len(instant_names(self.base_path, ".replacecommit"))

    def compare(self, numbers: Sequence[int], what: str) -> None:
        self.streams.compare([a_key(number) for number in numbers], f"{what}, {self.oracle}")


@kinds()
def test_upserts_deletes_and_clusterings_give_the_batches_of_hudi(hudi, tmp_path: Path, kind: Kind) -> None:
    table = StreamedTable(hudi, tmp_path, kind)
    table.hudi_upserts(range(3), 2)
    table.we_upsert(range(2, 5), 3)
    table.compare(range(5), "two upserts")
    table.hudi_upserts([7], 4, "delete")
    table.compare([], "a delete")
    table.we_upsert([6], 4, "delete")
    table.we_upsert([5, 20], 5)
    table.compare([5, 20], "a delete and an upsert")
    table.hudi_clusters()
    table.compare([], "a clustering of Hudi")
    table.hudi_upserts([0, 1, 21], 6)
    table.we_cluster()
    table.we_upsert([1, 2], 7)
    table.compare([0, 1, 2, 21], "a clustering of this project between two upserts")


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", [V6_OLD, V8, V9], ids=str)
def test_compactions_give_the_batches_of_hudi(hudi, tmp_path: Path, oracle: Oracle) -> None:
    table = StreamedTable(hudi, tmp_path, (oracle, MERGE))
    table.hudi_upserts([0, 1], 2)
    table.hudi_compacts("schedule")
    table.compare([0, 1], "an upsert before a pending compaction")
    table.we_upsert([1, 20], 3)
    table.hudi_compacts("execute")
    table.compare([1, 20], "an upsert between plan and execution of a compaction of Hudi")
    table.hudi_upserts([0, 1], 4)
    we_schedule(table.base_path)
    we_execute(table.base_path)
    table.compare([0, 1], "an upsert before a compaction of this project")
    table.we_upsert([0], 5)
    table.compare([0], "an upsert")
    table.hudi_compacts()
    table.compare([], "a compaction of Hudi")


@kinds((V9, MERGE))
def test_overwritten_partitions_and_starts_give_the_batches_of_hudi(hudi, tmp_path: Path, kind: Kind) -> None:
    table = StreamedTable(hudi, tmp_path, kind)
    table.hudi_upserts([1, 3], 2)
    table.hudi_upserts([40, 42], 3, "insert_overwrite")
    table.compare([1, 3, 40, 42], "an upsert and an insert_overwrite of Hudi")
    position = table.streams.position
    table.we_upsert([44], 4, "insert_overwrite")
    table.compare([44], "an insert_overwrite of this project")
    table.begin(tmp_path / "latest", "latest")
    table.compare([], "a start at the newest commit")
    table.we_upsert([44, 3], 5)
    table.compare([3, 44], "an upsert")
    table.begin(tmp_path / "time", position)
    table.compare([3, 44], "a start after the first insert_overwrite")
    table.begin(tmp_path / "earliest", "earliest")
    table.compare([1, 3, 5, 7, 44], "a start before all commits")
