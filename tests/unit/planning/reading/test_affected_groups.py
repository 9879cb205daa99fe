"""The file groups that may contain rows that commits changed, before or after clusterings move these rows."""

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.reading.affected_groups import (
    affected_groups,
    by_partition,
    may_delete_rows,
)

COW, MOR = TableType.COPY_ON_WRITE, TableType.MERGE_ON_READ


def commit(
    operation: WriteOperation, written: str = "", replaced: str = "", deletes: int = 0
) -> CommitMetadata:
    """A commit that wrote and replaced file groups, each named by one letter."""
    stats = tuple(
        WriteStat(file_id=name, partition_path="p", path=f"p/{name}.parquet", num_deletes=deletes)
        for name in written
    )
    return CommitMetadata(
        operation_type=operation,
        partition_to_write_stats={"p": stats},
        partition_to_replace_file_ids={"p": tuple(replaced)} if replaced else None,
    )


def affected(*commits: CommitMetadata) -> str:
    return "".join(sorted(each.file_id for each in affected_groups(commits)))


UPSERT, CLUSTER = WriteOperation.UPSERT, WriteOperation.CLUSTER


def test_written_and_replaced_groups_are_affected() -> None:
    assert affected(commit(UPSERT, "ab")) == "ab"
    assert affected(commit(WriteOperation.INSERT_OVERWRITE, "c", "ab")) == "abc"
    assert affected(commit(WriteOperation.DELETE_PARTITION, "", "ab")) == "ab"


def test_services_alone_affect_nothing() -> None:
    assert affected(commit(CLUSTER, "c", "ab"), commit(WriteOperation.COMPACT, "d")) == ""


def test_all_groups_that_a_clustering_read_or_wrote_with_a_changed_group_are_affected() -> None:
    assert affected(commit(UPSERT, "a"), commit(CLUSTER, "c", "ab")) == "abc"
    assert affected(commit(CLUSTER, "c", "ab"), commit(UPSERT, "c")) == "abc"
    chain = (commit(CLUSTER, "c", "ab"), commit(CLUSTER, "e", "cd"), commit(CLUSTER, "z", "y"))
    assert affected(commit(UPSERT, "e"), *chain) == "abcde"
    assert affected(commit(UPSERT, "x"), *chain) == "x"


def test_write_stats_prove_that_copy_on_write_tables_lost_no_rows() -> None:
    assert not may_delete_rows([commit(UPSERT, "a"), commit(CLUSTER, "c", "ab")], COW)
    assert may_delete_rows([commit(UPSERT, "a", deletes=1)], COW)
    assert may_delete_rows([commit(WriteOperation.INSERT_OVERWRITE, "c", "a")], COW)
    assert may_delete_rows([commit(UPSERT, "a")], MOR)
    assert not may_delete_rows([commit(CLUSTER, "c", "ab"), commit(WriteOperation.COMPACT, "d")], MOR)


def test_file_ids_are_grouped_by_partition() -> None:
    groups = [FileGroupId("p", "a"), FileGroupId("q", "a"), FileGroupId("p", "b")]
    assert by_partition(groups) == {"p": frozenset("ab"), "q": frozenset("a")}
