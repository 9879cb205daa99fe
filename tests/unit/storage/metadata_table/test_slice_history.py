"""All slices of a file group: which files belong to which slice, and which files belong to none."""

import pytest

from hudi_table_services.hudi_format.metadata_table.file_groups import FILES, file_group_id
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.upkeep import superseded_slices
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.slice_history import slice_history
from support.metadata_table.small_metadata_tables import FIRST, SmallMetadataTable, all_partitions, moment
from support.metadata_table.whole_metadata_golden import NAMES, VERSIONS, whole_table

BY_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=lambda v: v.name)
GROUP = FileGroupId(FILES, file_group_id(FILES, 0))


def history(table: SmallMetadataTable) -> list[tuple[str, bool, list[str]]]:
    """Describe each slice: its instant, whether it has a base file, and the instants in the names of its log files."""
    slices = slice_history(table.open(), FILES)[GROUP]
    return [
        (each.base_instant_time, each.base_file is not None, [log.instant_time for log in each.log_files])
        for each in slices
    ]


def test_log_files_belong_to_the_slice_that_was_newest_when_they_were_completed() -> None:
    table = SmallMetadataTable(TableVersion.V9)
    table.own(FIRST, files=[table.log(FIRST, table.deletes(FIRST))])
    table.own(moment(10), files=[table.log(moment(10), table.records(moment(10), all_partitions("a")))])
    table.own(moment(20), files=[table.base(moment(20), [])])
    late = table.log(moment(15), table.records(moment(15), all_partitions("b")))
    table.own(moment(15), files=[late], completed_at=moment(25))
    table.own(moment(30), files=[table.base(moment(30), [])])
    table.own(moment(40), files=[table.log(moment(40), table.deletes(moment(40)))])
    assert history(table) == [
        (FIRST, False, [FIRST, moment(10)]),
        (moment(20), True, [moment(15)]),
        (moment(30), True, [moment(40)]),
    ]


def test_the_names_of_log_files_decide_in_version_6() -> None:
    table = SmallMetadataTable(TableVersion.V6)
    table.own(FIRST, files=[table.base(FIRST, []), table.log(FIRST, table.deletes(FIRST))])
    table.own(moment(20), files=[table.base(moment(20), [])])
    table.log(moment(20), table.deletes(moment(25)))
    table.log(moment(20), table.deletes(moment(26)), version=2)
    assert history(table) == [(FIRST, True, [FIRST]), (moment(20), True, [moment(20)] * 2)]


@BY_VERSION
def test_files_of_pending_instants_belong_to_no_slice(version: TableVersion) -> None:
    table = SmallMetadataTable(version)
    table.own(FIRST, files=[table.base(FIRST, [])])
    table.base(moment(20), [])
    table.log(moment(20), table.deletes(moment(20)))
    table.own(moment(20), pending=True)
    table.storage.write(".hoodie/metadata/files/.hoodie_partition_metadata", b"x")
    table.storage.write(".hoodie/metadata/files/notes.txt", b"x")
    assert history(table) == [(FIRST, True, [])]


@BY_VERSION
def test_cleans_delete_all_base_files_that_a_retried_task_left_except_those_of_the_newest_slice(
    version: TableVersion,
) -> None:
    table = SmallMetadataTable(version)
    for time in (FIRST, moment(10), moment(20), moment(30)):
        name = table.base(time, [])
        content = table.storage.read(f".hoodie/metadata/files/{name}")
        table.storage.write(f".hoodie/metadata/files/{name.replace('_0-1-2_', '_0-1-3_')}", content)
        table.own(time, files=[name])
    (newest,) = partition_slices(table.open(), FILES)
    deleted = []
    for _ in range(2):  # one clean deletes one base file of each slice
        for outdated in superseded_slices(slice_history(table.open(), FILES)):
            deleted.append(f"{outdated.base_file_path}")
            table.storage.delete(f".hoodie/metadata/{outdated.base_file_path}")
    assert sorted(name.split("_")[1] for name in deleted) == ["0-1-2", "0-1-3"]
    assert {name.partition(".")[0].split("_")[2] for name in deleted} == {FIRST}
    assert superseded_slices(slice_history(table.open(), FILES)) == ()
    assert partition_slices(table.open(), FILES) == (newest,)


@BY_VERSION
@pytest.mark.parametrize("name", NAMES)
def test_the_newest_slices_of_tables_of_hudi_are_those_that_readers_use(
    version: TableVersion, name: str
) -> None:
    metadata = whole_table(version, name).metadata_table()
    for partition in metadata.partitions:
        slices = slice_history(metadata, partition)
        for newest in partition_slices(metadata, partition):
            found = slices[newest.file_group_id][-1]
            assert found.base_instant_time == newest.base_instant_time
            assert found.base_file == newest.base_file
            assert set(found.log_files) == set(newest.log_files)
