"""Laws of the assignment of changes to file groups of the metadata table."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX, file_group_number
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.metadata_table import (
    DeletedKey,
    MetadataChange,
    MetadataRecord,
    RecordLocation,
    RecordType,
)
from hudi_table_services.planning.metadata_table.grouping import MAINTAINED, group_changes, is_maintained

keys = st.text(max_size=8)


def located(key: str, file_id: str = "f") -> MetadataRecord:
    location = RecordLocation(partition_path="a", file_id=file_id, instant_millis=1, is_plain_text=True)
    return MetadataRecord(key=key, record_type=RecordType.RECORD_INDEX, payload=location)


changes = st.lists(st.one_of(st.builds(located, keys), st.builds(DeletedKey, keys)), max_size=30)
counts = st.integers(1, 10)


@given(changes, counts)
def test_each_change_is_in_the_group_of_its_key_and_none_is_lost(
    made: list[MetadataChange], count: int
) -> None:
    groups = group_changes(RECORD_INDEX, made, count)
    for group in groups:
        assert group.file_group_id.partition_path == RECORD_INDEX
        number = file_group_number(group.file_group_id.file_id)
        for key in (*(r.key for r in group.records), *group.deleted_keys):
            assert file_group_of(key, count) == number
    written = {r.key for group in groups for r in group.records}
    deleted = {key for group in groups for key in group.deleted_keys}
    assert written == {c.key for c in made if isinstance(c, MetadataRecord)}
    assert deleted == {c.key for c in made if isinstance(c, DeletedKey)}


@given(changes, counts)
def test_keys_are_unique_and_sorted_by_their_bytes(made: list[MetadataChange], count: int) -> None:
    for group in group_changes(RECORD_INDEX, made, count):
        assert group.records or group.deleted_keys
        for found in ([r.key for r in group.records], list(group.deleted_keys)):
            assert all(one.encode() < other.encode() for one, other in pairwise(found))


@given(st.lists(keys, unique=True), counts, st.randoms(use_true_random=False))
def test_the_order_of_changes_of_different_keys_does_not_matter(made: list[str], count: int, random) -> None:
    shuffled = list(made)
    random.shuffle(shuffled)
    one = group_changes(RECORD_INDEX, map(located, made), count)
    assert one == group_changes(RECORD_INDEX, map(located, shuffled), count)


def test_of_two_records_with_one_key_the_later_one_counts() -> None:
    (group,) = group_changes(RECORD_INDEX, [located("k", "old"), located("k", "new")], 1)
    assert group.records == (located("k", "new"),)


def test_changes_are_read_once() -> None:
    assert len(group_changes(RECORD_INDEX, (located(str(number)) for number in range(100)), 3)) == 3


@pytest.mark.parametrize("partition", ["secondary_index_names", "expr_index_x", "unknown"])
def test_an_index_that_cannot_be_kept_up_to_date_is_refused(partition: str) -> None:
    with pytest.raises(UnsupportedTableError, match=partition):
        group_changes(partition, [located("k")], 1)


def test_only_indexes_of_known_kinds_are_kept_up_to_date() -> None:
    assert all(is_maintained(name) for name in (*MAINTAINED, "secondary_index_names"))
    assert not any(is_maintained(name) for name in ("expr_index_x", "unknown"))


def test_a_partition_without_file_groups_is_refused() -> None:
    with pytest.raises(UnsupportedTableError, match="no file group"):
        group_changes(RECORD_INDEX, [located("k")], 0)
