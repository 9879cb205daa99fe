"""Read only the partitions that a user names, and refuse names that the table does not have."""

from collections.abc import Collection

from hudi_table_services.contract.request import refuse_text_for_lists
from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot


def load_named_partitions(storage: Storage, partitions: Collection[str] = ()) -> TableSnapshot:
    """Load the table with the file slices of the named partitions.

    Args:
        partitions: partition paths; empty means all partitions.

    Raises:
        InvalidRequestError: `partitions` is a string, contains a value that is not a string, or names a partition
            without live files.
        TableNotFoundError, CorruptTableError, UnsupportedTableError: see `load_snapshot`.
    """
    refuse_text_for_lists(partitions=partitions)
    for each in partitions:
        if not isinstance(each, str):
            raise InvalidRequestError(
                f"The partition path {each!r} is a {type(each).__name__}, but it must be a string.",
                hint="Pass each partition path as a string of its own.",
            )
    snapshot = load_snapshot(storage, tuple(partitions) or None)
    if set(partitions) - set(snapshot.partitions):
        refuse_unknown_partitions(partitions, load_snapshot(storage, config=snapshot.config).partitions)
    return snapshot


def refuse_unknown_partitions(wanted: Collection[str], known: Collection[str]) -> None:
    """Raise InvalidRequestError if a wanted partition is not known. The error names the most similar partition.

    Args:
        known: the partitions of the table with live files.
    """
    if unknown := sorted(set(wanted) - set(known)):
        raise InvalidRequestError(
            f"The table has no partition {unknown[0]!r} with files.",
            hint=did_you_mean(
                unknown[0], known, otherwise="`hudi-services show partitions` lists the partitions."
            ),
        )
