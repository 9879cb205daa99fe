"""Drop and rebuild the metadata table if a restore undoes writes that base files of the metadata table contain.

In this case, Hudi undoes the compactions of the metadata table. This project drops the metadata table before it undoes
the first write, and builds the metadata table again after the restore. Between these two steps, readers list folders.
"""

from collections.abc import Collection

from hudi_table_services.commits.metadata_table_building.contents import BuildSettings
from hudi_table_services.commits.metadata_table_building.drop import drop_partitions
from hudi_table_services.commits.metadata_table_building.rebuild import build_metadata_table
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES, RECORD_INDEX
from hudi_table_services.planning.metadata_table.build_plan import BUILD_ORDER
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess


def drop_before_restore(table: TableAccess, lock: TableLock) -> tuple[str, ...]:
    """Drop the metadata table and return its partitions. Call this under the table lock.

    Raises:
        LockNotAcquiredError: the lock expired, was removed, or was taken over by another writer.
    """
    return drop_partitions(table, (FILES,), lock)


def build_after_restore(table: TableAccess, wanted: Collection[str], lock: TableLock) -> tuple[str, ...]:
    """Build partitions of the metadata table that are missing. Call this under the table lock.

    A failure does not affect the restore: without a metadata table, readers list folders.

    Args:
        wanted: partitions that the metadata table had before the restore.

    Returns:
        Sentences for the result: what was not built, and how to build it.
    """
    config = read_table_config(table.storage)
    missing = [name for name in wanted if name not in config.metadata_partitions]
    buildable = [name for name in missing if name in BUILD_ORDER and name != RECORD_INDEX]
    others = [name for name in missing if name not in buildable]
    warnings = []
    if buildable:
        try:
            build_metadata_table(table, buildable, BuildSettings(), DataFileReader(table.storage), lock)
        except HudiTableServiceError as failure:
            warnings.append(_not_built(buildable, str(failure)))
    if others:
        warnings.append(_not_built(others, "the restore cannot build them"))
    return tuple(warnings)


def _not_built(names: Collection[str], reason: str) -> str:
    return (
        f"The restore dropped the partitions {', '.join(names)} of the metadata table and did not build them again "
        f"({reason}). "
        f"Run rebuild_metadata_table.py --partitions {','.join(names)}, or let a write of Hudi build them."
    )
