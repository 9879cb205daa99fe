"""List the partitions of a table and their files; each folder is listed once, in parallel if that is faster."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE
from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.storage.parallel import READ_THREADS, map_in_parallel
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import BY_PATH, FolderListing, Storage, StoredObject

_FIRST_BATCH = 8 * READ_THREADS
"""Number of folders in the first batch of listings. This batch shows how quickly the storage responds."""

SLOW_THREADS = 4 * READ_THREADS
"""Number of folders that are listed at the same time if the storage makes them wait. With this number, a table of 5,000
partitions takes 4.7 seconds instead of 19 if each request takes 30 milliseconds."""

_QUICK_SECONDS_PER_ENTRY = 50e-6
"""If a batch takes less time per file, one thread lists the next batch. On a local disk, a file takes about 5
microseconds in one thread, and 10 microseconds in several threads, which take turns."""

_QUICK_SECONDS_IN_ONE_THREAD = 20e-6
"""The same for a batch that one thread listed. A request for 1,000 files, the most that one answer of an object store
contains, takes at least 20 milliseconds."""


def list_partitions(
    storage: Storage, partitions: Collection[str] | None = None
) -> Mapping[str, tuple[StoredObject, ...]]:
    """Map each partition path to the files of its folder.

    Args:
        partitions: list only these partitions, without their sub-folders. None lists all partitions. As in Hudi, a
            folder without a partition metadata file is not a partition.
    """
    found: dict[str, tuple[StoredObject, ...]] = {}
    folders = [""] if partitions is None else sorted(partitions)
    while folders:
        deeper: list[str] = []
        for folder, listing in _list_each(storage, folders):
            if is_partition(listing.files):
                found[folder] = listing.files
            elif partitions is None:
                deeper += [join_path(folder, n) for n in listing.folders if not n.startswith(".hoodie")]
        folders = deeper
    return found


def list_folders(storage: Storage) -> Mapping[str, tuple[StoredObject, ...]]:
    """Map every folder outside of ``.hoodie``, whether a partition or not, to its files."""
    found: dict[str, tuple[StoredObject, ...]] = {}
    folders = [""]
    while folders:
        deeper: list[str] = []
        for folder, listing in _list_each(storage, folders):
            found[folder] = listing.files
            deeper += [join_path(folder, n) for n in listing.folders if not n.startswith(".hoodie")]
        folders = deeper
    return found


def _list_each(storage: Storage, folders: Sequence[str]) -> Iterator[tuple[str, FolderListing]]:
    """List folders in batches. One thread lists the next batch if the storage responded quickly, else many threads.

    Once many threads have been necessary, they list all later batches.

    Threads that never wait for the storage only take turns, because they share the interpreter. On a local disk, one
    thread lists a table of 100,000 file slices in half of the time of eight threads.
    """
    threads, end = READ_THREADS, 0
    while end < len(folders):
        begin, end = end, 2 * end or _FIRST_BATCH
        started = time.perf_counter()
        listings = map_in_parallel(storage.list_folder, folders[begin:end], threads=threads)
        seconds = time.perf_counter() - started
        entries = sum(1 + len(listing.files) + len(listing.folders) for listing in listings)
        # With many threads, a slow storage seems to respond quickly. So their number is not reduced again.
        if threads < SLOW_THREADS:
            limit = _QUICK_SECONDS_IN_ONE_THREAD if threads == 1 else _QUICK_SECONDS_PER_ENTRY
            threads = 1 if seconds < limit * entries else SLOW_THREADS
        yield from zip(folders[begin:end], listings, strict=True)


def is_partition(files: Iterable[StoredObject]) -> bool:
    """Whether Hudi treats a folder with these files as a partition, because one is a partition metadata file."""
    return any(stored.name.startswith(PARTITION_METAFILE) for stored in files)


def foreign_files(listed: Mapping[str, tuple[StoredObject, ...]]) -> tuple[StoredObject, ...]:
    """Return the files in partitions that Hudi did not write and that readers do not ignore, sorted by path.

    Readers ignore files whose names start with ``.`` or ``_``. A reader that treats every Parquet file of a partition
    as a data file fails on foreign files, or returns their rows.
    """
    found = [
        stored
        for files in listed.values()
        if is_partition(files)
        for stored in files
        if not stored.name.startswith((".", "_")) and instant_in_file_name(stored.name) is None
    ]
    return tuple(sorted(found, key=BY_PATH))
