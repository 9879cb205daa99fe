"""A metadata table is damaged while one of its services is pending: jobs are refused and change nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from damaged_metadata_tables import VERSIONS, WRITE, contents, cured, newest_file, opened, own_pending

from hudi_table_services.commits.commit_point import prepare_deletion
from hudi_table_services.commits.metadata_table_services.run import finish_services
from hudi_table_services.errors import CorruptTableError
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.metadata_table.checked_tables import check_end
from support.metadata_table.maintained_tables import access, copied, maintained, ticking


def with_pending_compaction(version: TableVersion) -> Storage:
    storage = copied(maintained(version))
    WRITE(storage, ticking(2))
    metadata = opened(storage)
    [compaction] = [i for i in metadata.timeline.completed if i.action is Action.COMMIT]
    metadata.timeline_store.remove_completed(compaction)
    assert [i.requested_time for i in own_pending(storage)] == [compaction.requested_time]
    return storage


def lose(storage: Storage) -> None:
    storage.delete(newest_file(storage, "column_stats", is_log=True))


def lose_blocks(storage: Storage) -> None:
    """Give the newest log file only blocks of an earlier write. Its size does not show the loss."""
    newest = newest_file(storage, "column_stats", is_log=True)
    earlier = newest.replace(".log.3_", ".log.2_")
    assert newest != earlier
    storage.write(newest, storage.read(earlier) * 2)


LOSSES = pytest.mark.parametrize("damage", [lose, lose_blocks])


@LOSSES
def test_in_version_6_a_write_is_refused_without_a_change_if_damage_prevents_a_pending_compaction(
    damage: Callable[[Storage], None],
) -> None:
    storage = with_pending_compaction(TableVersion.V6)
    damage(storage)
    before = contents(storage)
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py"):
        replace(WRITE, request_id="w4")(storage, ticking(3))
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py"):
        prepare_deletion(access(storage, ticking(3)), undoes=None)
    assert contents(storage) == before
    cured(storage, TableVersion.V6)


@LOSSES
def test_in_version_6_a_pending_compaction_stays_pending_if_blocks_are_lost(
    damage: Callable[[Storage], None],
) -> None:
    storage = with_pending_compaction(TableVersion.V6)
    damage(storage)
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py"):
        finish_services(access(storage, ticking(3)), None)
    assert own_pending(storage)


@VERSIONS
def test_an_error_about_a_pending_clean_names_the_file_and_the_cure(version: TableVersion) -> None:
    storage = copied(maintained(version))
    store = opened(storage).timeline_store
    clean = store.request(Action.CLEAN, b"damaged")
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py") as caught:
        finish_services(access(storage, ticking(3)), None)
    assert caught.value.path == f"{METADATA_TABLE}/{store.requested_path_of(clean)}"


def test_in_version_6_a_write_finishes_a_pending_compaction() -> None:
    storage = with_pending_compaction(TableVersion.V6)
    replace(WRITE, request_id="w4")(storage, ticking(3))
    assert own_pending(storage) == ()
    check_end(storage, "after the write")
