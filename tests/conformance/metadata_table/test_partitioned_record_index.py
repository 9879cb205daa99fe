"""Tables with a partitioned record index: Hudi 1.2.0 finds keys that we wrote, and we find keys that Hudi wrote."""

from pathlib import Path

from judges.engine import Engine
from judges.partitioned_tables import PARTITIONS, PartitionedTable, rows_of

A, B, C, D = PARTITIONS
COMPACTS_OFTEN = {"hoodie.metadata.compact.max.delta.commits": "3"}


def test_hudi_finds_the_keys_that_we_wrote(hudi, engine: Engine, tmp_path: Path) -> None:
    """Hudi looks up keys only in the index, so a key that is missing there would be written a second time."""
    table = PartitionedTable(engine, hudi("1.2.0"), tmp_path / "t")
    table.hudi_upserts([*rows_of(A, range(20), 1), *rows_of(B, range(20), 1)])
    table.assert_as_expected(reads=False)

    table.we_upsert([*rows_of(A, range(10, 30), 2), *rows_of(C, range(20), 2)])
    table.assert_as_expected(reads=False)

    table.hudi_upserts(
        [*rows_of(A, range(5, 35), 3), *rows_of(C, range(10, 25), 3), *rows_of(D, range(4), 3)]
    )
    table.assert_as_expected()
