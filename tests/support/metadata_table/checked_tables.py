"""Checks of small tables with a metadata table, after a job has failed and after the next run."""

from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.model.instant import Action
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.stores.storage import Storage
from support.metadata_table.all_indexes import assert_groups, contents, expected_contents
from support.metadata_table.built_tables import opened
from support.metadata_table.maintained_tables import (
    access,
    files_in,
    listed_files,
    listing,
    live_files,
    rebuilt_statistics,
    statistics,
    ticking,
    visible_files,
)


def check_readers(storage: Storage, where: str) -> None:
    """Check that a listing from the metadata table is right or refused, and that the indexes match the live files."""
    if check_listing(storage, where):
        check_indexes(storage, where)


def check_listing(storage: Storage, where: str) -> bool:
    """Check that a listing from the metadata table equals the listing of the folders, or is refused.

    Two differences are allowed. A clean deletes files before it removes them from the metadata table. And, as in Hudi,
    a file that a clean could not delete is no longer in the metadata table; no reader needs the file.
    """
    outcome = listing(storage)
    if not isinstance(outcome, ListedTable):
        return False
    listed, present = files_in(listed_files(outcome)), files_in(visible_files(storage))
    actions = {i.action for i in access(storage, ticking()).load_timeline()}
    assert live_files(storage) <= listed, where
    assert listed == present or Action.CLEAN in actions, (where, listed ^ present)
    return True


def check_indexes(storage: Storage, where: str) -> None:
    """Check that the indexes locate exactly the keys in the live files, and have the bloom filters of these files."""
    if RECORD_INDEX in opened(storage).partitions:
        assert contents(storage) == expected_contents(storage), where
        assert_groups(storage)


def check_end(storage: Storage, where: str) -> None:
    outcome = listing(storage)
    assert isinstance(outcome, ListedTable), (where, outcome)
    listed, present = files_in(listed_files(outcome)), files_in(visible_files(storage))
    actions = {i.action for i in access(storage, ticking()).load_timeline()}
    assert live_files(storage) <= listed <= present, where
    assert listed == present or Action.CLEAN in actions, where
    found = statistics(storage)
    assert found, where
    assert found == rebuilt_statistics(storage), where
    check_indexes(storage, where)
