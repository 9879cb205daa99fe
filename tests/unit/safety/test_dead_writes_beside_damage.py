"""A write died, and the metadata table is damaged: the hints of the refused jobs lead to a table that works again."""

from collections.abc import Callable

import pytest

from hudi_table_services.contract.metadata_table import ALL, RebuildMetadataTableRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.errors import CorruptTableError, PendingPlanError
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.metadata_table.checked_tables import check_end
from support.metadata_table.maintained_table_jobs import add_dead_write
from support.metadata_table.maintained_tables import A, C, Write, access, copied, maintained, ticking

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
PARTITIONS = ("files", "column_stats")


def damage_properties(storage: Storage) -> None:
    storage.write(f"{METADATA_TABLE}/.hoodie/hoodie.properties", b"\x00")


def lose_the_list_of_files(storage: Storage) -> None:
    for stored in storage.list_files(f"{METADATA_TABLE}/files"):
        if not stored.name.startswith(".hoodie"):
            storage.delete(stored.path)


def rebuild(storage: Storage, *drop: str, partitions: tuple[str, ...] = ()) -> None:
    request = RebuildMetadataTableRequest(base_path="/t", drop=drop, partitions=partitions)
    rebuild_metadata_table(request, storage=storage, clock=ticking(4))


def undo_dead_writes(storage: Storage) -> None:
    rollback(RollbackRequest(base_path="/t", all_failed=True), storage=storage, clock=ticking(4))


@VERSIONS
@pytest.mark.parametrize("damage", [damage_properties, lose_the_list_of_files])
def test_a_user_who_follows_the_hints_repairs_the_table(
    version: TableVersion, damage: Callable[[Storage], None]
) -> None:
    storage = copied(maintained(version))
    dead = add_dead_write(storage, ticking(1))
    damage(storage)
    with pytest.raises(CorruptTableError) as caught:
        Write((A, C), "w3", 3)(storage, ticking(4))
    assert "rollback.py --all-failed" in caught.value.hint
    with pytest.raises(PendingPlanError, match=dead.requested_time):
        rebuild(storage)

    if damage is damage_properties:
        with pytest.raises(CorruptTableError) as caught:
            undo_dead_writes(storage)
        assert "--drop all" in caught.value.hint
        rebuild(storage, ALL)
        undo_dead_writes(storage)
        rebuild(storage, partitions=PARTITIONS)
    else:
        undo_dead_writes(storage)
        rebuild(storage)
    Write((A, C), "w3", 3)(storage, ticking(5))
    check_end(storage, "after the cure")
    assert not access(storage, ticking(6)).load_timeline().pending
