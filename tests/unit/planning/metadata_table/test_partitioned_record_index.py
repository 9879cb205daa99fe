"""Names and kinds of the file groups of a partitioned record index, and the file groups that a commit creates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, InvalidRequestError
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX, file_group_id
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.metadata_table.build_plan import RecordIndexSize, partitioned_index_size
from hudi_table_services.planning.metadata_table.index_choice import record_index_definition
from hudi_table_services.planning.metadata_table.partitioned_record_index import (
    group_ids,
    groups_by_partition,
    is_partitioned_index,
    new_group_ids,
    require_kind,
    usual_count,
)

PATHS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


def commit(**prev_commits: str) -> CommitMetadata:
    """A write of one file in each partition, with the previous commit of its file group."""
    return CommitMetadata(
        operation_type=WriteOperation.UPSERT,
        partition_to_write_stats={
            path: (WriteStat(file_id="f", partition_path=path, path=f"{path}/f", prev_commit=before),)
            for path, before in prev_commits.items()
        },
    )


@given(st.dictionaries(PATHS, st.integers(1, 12), max_size=5))
def test_the_ids_show_their_partition(counts: dict[str, int]) -> None:
    ids = [file_id for path, count in counts.items() for file_id in group_ids(path, count)]
    assert len(set(ids)) == len(ids)
    found = groups_by_partition(reversed(ids))
    assert {path: len(each) for path, each in found.items()} == counts
    assert all(found[path] == group_ids(path, count) for path, count in counts.items())


def test_the_names_are_those_of_hudi() -> None:
    assert group_ids("2024-01/a_b", 2) == (
        "record-index-2024%2D01%2Fa%5Fb-0000-0",
        "record-index-2024%2D01%2Fa%5Fb-0001-0",
    )
    assert group_ids("", 1) == ("record-index--0000-0",)


def test_the_file_groups_must_be_of_the_kind_in_the_definition() -> None:
    whole, of_partition = file_group_id(RECORD_INDEX, 0), group_ids("a", 1)[0]
    require_kind([], is_partitioned=True)
    require_kind([whole], is_partitioned=False)
    require_kind([of_partition], is_partitioned=True)
    with pytest.raises(
        CorruptTableError, match=r"for each partition of the table, but 'record-index-0000-0'"
    ):
        require_kind([of_partition, whole], is_partitioned=True)
    with pytest.raises(CorruptTableError, match=r"for the whole table, but 'record-index-a-0000-0'"):
        require_kind([whole, of_partition], is_partitioned=False)


def test_a_commit_creates_the_file_groups_of_new_partitions() -> None:
    existing = groups_by_partition(group_ids("a", 2))
    written = commit(a="001", c=NEW_FILE_GROUP, b=NEW_FILE_GROUP)
    assert new_group_ids(written, existing, 2) == (*group_ids("b", 2), *group_ids("c", 2))
    assert new_group_ids(commit(a=NEW_FILE_GROUP), existing, 1) == ()
    assert new_group_ids(commit(), {}, 1) == ()


def test_an_index_without_file_groups_for_a_partition_with_files_is_an_error() -> None:
    with pytest.raises(CorruptTableError, match="no file groups for the partition 'b'") as caught:
        new_group_ids(commit(b="001"), groups_by_partition(group_ids("a", 1)), 1)
    assert "--partitions record_index" in caught.value.hint


def test_the_usual_number_of_file_groups_is_the_most_frequent_one() -> None:
    assert usual_count([1, 3, 3], 7) == 3
    assert usual_count([], 7) == 7


def test_the_definition_says_whether_the_index_is_partitioned() -> None:
    partitioned = record_index_definition(TableVersion.V9, is_partitioned=True)
    whole = record_index_definition(TableVersion.V9)
    assert partitioned is not None
    assert whole is not None
    assert is_partitioned_index({RECORD_INDEX: partitioned})
    assert not is_partitioned_index({RECORD_INDEX: whole})
    assert not is_partitioned_index({})
    assert isinstance(partitioned, IndexDefinition)
    assert partitioned.options == {"isPartitioned": "true"}


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8])
def test_earlier_table_versions_have_no_partitioned_record_index(version: TableVersion) -> None:
    with pytest.raises(InvalidRequestError, match="have no partitioned record index"):
        record_index_definition(version, is_partitioned=True)


def test_a_partition_has_between_one_and_ten_file_groups_by_default() -> None:
    size = partitioned_index_size()
    assert [size.group_count(keys) for keys in (0, 22_000_000, 25_000_000, 10**12)] == [1, 1, 2, 10]
    assert size == RecordIndexSize(min_groups=1, max_groups=10)
