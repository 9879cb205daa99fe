"""Partitions of a table and the files in them, each folder listed once, in parallel."""

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE
from hudi_table_services.storage.paths import join_path
from hudi_table_services.storage.storage import FolderListing, Storage, StoredObject

_THREADS = 8


def list_partitions(
    storage: Storage, partitions: Collection[str] | None = None
) -> Mapping[str, tuple[StoredObject, ...]]:
    """Partition path → files of its folder.

    Args:
        partitions: only these, and not their sub-folders; None: all, found by their metadata files. A folder
            without one is no partition, as for Hudi.
    """
    found: dict[str, tuple[StoredObject, ...]] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        folders = [""] if partitions is None else sorted(partitions)
        while folders:
            deeper: list[str] = []
            for folder, listing in zip(folders, pool.map(storage.list_folder, folders), strict=True):
                if _is_partition(listing):
                    found[folder] = listing.files
                elif partitions is None:
                    deeper += [join_path(folder, n) for n in listing.folders if not n.startswith(".hoodie")]
            folders = deeper
    return found


def list_folders(storage: Storage) -> Mapping[str, tuple[StoredObject, ...]]:
    """Every folder outside of ``.hoodie`` → its files, partition or not."""
    found: dict[str, tuple[StoredObject, ...]] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        folders = [""]
        while folders:
            deeper: list[str] = []
            for folder, listing in zip(folders, pool.map(storage.list_folder, folders), strict=True):
                found[folder] = listing.files
                deeper += [join_path(folder, n) for n in listing.folders if not n.startswith(".hoodie")]
            folders = deeper
    return found


def _is_partition(listing: FolderListing) -> bool:
    return any(stored.name.startswith(PARTITION_METAFILE) for stored in listing.files)
