"""Tables with a partitioned record index: Hudi 1.2.0 finds keys that we wrote, and we find keys that Hudi wrote."""

from pathlib import Path

import pytest

from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from judges.engine import Engine
from judges.partitioned_tables import PARTITIONS, PartitionedTable, groups_of, merged, rows_of
from judges.rows import PLAIN, as_table

A, B, C, D = PARTITIONS
RECORDS = ".hoodie/metadata/record_index"
OUR_TOKEN = "_0-1-0_"
"""Write token in the names of the base files of our compactions; the tokens of Hudi have other numbers."""


def compacts_after(delta_commits: int) -> dict[str, str]:
    return {"hoodie.metadata.compact.max.delta.commits": str(delta_commits)}


@pytest.mark.thorough
def test_hudi_finds_the_keys_that_we_wrote(hudi, engine: Engine, tmp_path: Path) -> None:
    """Hudi looks up keys only in the index, so a key that is missing there would be written a second time."""
    table = PartitionedTable(engine, hudi("1.2.0"), tmp_path / "t")
    table.hudi_upserts([*rows_of(A, range(20), 1), *rows_of(B, range(20, 40), 1)])
    table.assert_as_expected(reads=False)

    table.we_upsert([*rows_of(A, range(10, 30), 2), *rows_of(B, range(30), 2), *rows_of(C, range(20), 2)])
    table.assert_as_expected(reads=False)

    table.hudi_upserts(
        [*rows_of(A, range(5, 15), 3), *rows_of(C, range(15, 25), 3), *rows_of(D, range(25, 30), 3)]
    )
    table.assert_as_expected()


@pytest.mark.thorough
def test_the_index_stays_exact_while_hudi_and_we_write_in_turns(hudi, engine: Engine, tmp_path: Path) -> None:
    """Hudi and the engine make every kind of change, and both compact the metadata table in between."""
    table = PartitionedTable(
        engine, hudi("1.2.0"), tmp_path / "t", settings=compacts_after(1), our_settings=compacts_after(50)
    )
    table.hudi_upserts([*rows_of(A, range(20), 1), *rows_of(B, range(20, 40), 1)])
    steps = [
        lambda: table.we_upsert([*rows_of(B, range(25), 2), *rows_of(C, range(12), 2)]),
        lambda: table.hudi_deletes([*rows_of(C, range(3), 3), *rows_of(B, range(5, 7), 3)]),
        lambda: table.we_delete([*rows_of(A, range(4), 4), *rows_of(C, range(3, 5), 4)]),
        lambda: table.hudi_upserts([*rows_of(A, range(3), 5), *rows_of(C, range(3, 6), 5)]),
        table.we_cluster,
        lambda: table.hudi_upserts(rows_of(A, range(3, 9), 6)),
        table.hudi_clusters,
        lambda: table.we_upsert([*rows_of(B, range(3), 7), *rows_of(D, range(5), 7)]),
        lambda: table.we_delete_partition(B),
        lambda: table.hudi_upserts(rows_of(B, range(4), 8)),
        table.we_clean,
        lambda: table.we_overwrite(rows_of(A, range(3, 6), 9)),
        lambda: table.hudi_upserts(rows_of(A, range(8), 10)),
        lambda: table.hudi_deletes_partition(C),
        table.hudi_cleans,
        lambda: table.we_upsert([*rows_of(C, range(7), 11), *rows_of(B, range(2, 6), 11)]),
        lambda: table.hudi_overwrites(rows_of(D, range(2), 12)),
        lambda: table.we_upsert(rows_of(D, range(4), 13)),
    ]
    written = set()
    for number, step in enumerate(steps):
        try:
            if number == len(steps) // 2:
                table.settings.update(compacts_after(50))
                table.our_settings.update(compacts_after(2))
            step()
            written |= {path.name for path in (table.base_path / RECORDS).glob("*.hfile")}
            table.assert_as_expected(reads=number % 6 == 5)
        except BaseException as error:
            error.add_note(f"step {number}")
            raise
    table.assert_as_expected()
    assert set(groups_of(table.base_path)) == set(PARTITIONS)
    compacted_by_us = {name for name in written if OUR_TOKEN in name}
    assert compacted_by_us
    assert written - compacted_by_us, "Hudi compacted nothing"


@pytest.mark.thorough
def test_hudi_and_we_undo_writes_that_created_file_groups_of_the_index(
    hudi, engine: Engine, tmp_path: Path
) -> None:
    """After such a rollback by Hudi 1.2.0, writes of Hudi to the new partition fail until we write to the partition."""
    table = PartitionedTable(engine, hudi("1.2.0"), tmp_path / "t")
    table.hudi_upserts(rows_of(A, range(10), 1))
    before = table.model
    table.we_upsert([*rows_of(A, range(5, 15), 2), *rows_of(B, range(4), 2)])
    table.hudi_rolls_back(before)
    table.assert_as_expected(reads=False)
    table.we_upsert(rows_of(B, range(2), 3))
    before = table.model
    table.hudi_upserts([*rows_of(B, range(3), 4), *rows_of(C, range(3, 6), 4)])
    table.assert_as_expected(reads=False)

    table.we_roll_back(before)
    table.assert_as_expected(reads=False)
    table.hudi_upserts([*rows_of(A, range(12), 5), *rows_of(C, range(13, 16), 5)])
    table.we_upsert([*rows_of(A, range(14), 6), *rows_of(C, range(16), 6)])
    table.assert_as_expected()


@pytest.mark.thorough
def test_hudi_uses_an_index_that_we_built(spark, hudi, engine: Engine, tmp_path: Path) -> None:
    table = PartitionedTable(
        engine,
        hudi("1.2.0"),
        tmp_path / "t",
        settings={"hoodie.metadata.record.level.index.min.filegroup.count": "2"},
    )
    rows = [row for partition in (A, B, C) for row in rows_of(partition, range(30), 1)]
    engine.write(table.base_path, as_table(rows, PLAIN), version=9, operation="insert")
    table.model = merged({}, rows)
    options = {
        "hoodie.metadata.record.level.index.enable": "true",
        "hoodie.metadata.record.level.index.min.filegroup.count": "2",
    }
    request = RebuildMetadataTableRequest(
        base_path=str(table.base_path),
        partitions=("files", "column_stats", "partition_stats", "record_index"),
        options=options,
    )
    rebuild_metadata_table(request, spark=spark)
    table.assert_as_expected(reads=False)
    table.hudi_upserts([*rows_of(A, range(20, 40), 2), *rows_of(D, range(5), 2)])
    table.we_upsert([*rows_of(D, range(8), 3), *rows_of(C, range(28, 33), 3)])
    table.hudi_upserts([*rows_of(D, range(10), 4), *rows_of(C, range(25, 35), 4)])
    table.assert_as_expected()
    assert set(groups_of(table.base_path).values()) <= {1, 2}


@pytest.mark.thorough
def test_hudi_without_the_option_damages_the_index(hudi, engine: Engine, tmp_path: Path) -> None:
    """This damage is the reason for the rule `record-index-kind` of the configuration check. Our checks find it."""
    table = PartitionedTable(engine, hudi("1.2.0"), tmp_path / "t")
    firsts = {A: 0, B: 100, C: 200}
    table.hudi_upserts([row for path, n in firsts.items() for row in rows_of(path, range(n, n + 5), 1)])
    table.settings.update(
        {"hoodie.metadata.record.level.index.enable": "false", "hoodie.index.type": "SIMPLE"}
    )
    table.hudi_upserts([row for path, n in firsts.items() for row in rows_of(path, range(n, n + 20), 2)])
    with pytest.raises(AssertionError):
        table.assert_as_expected(reads=False)


@pytest.mark.thorough
def test_hudi_mixes_up_rows_of_a_key_in_several_partitions(hudi, engine: Engine, tmp_path: Path) -> None:
    """Therefore no other batch of Hudi in this module contains a key twice. We write such batches correctly."""
    table = PartitionedTable(engine, hudi("1.2.0"), tmp_path / "t")
    table.hudi_upserts(rows_of(A, range(10), 1))
    table.we_upsert([*rows_of(A, range(10), 2), *rows_of(C, range(10), 2)])
    table.assert_as_expected()
    table.hudi_upserts_at_once([*rows_of(A, range(5), 3), *rows_of(B, range(5), 3)])
    with pytest.raises(AssertionError):
        table.assert_as_expected()
